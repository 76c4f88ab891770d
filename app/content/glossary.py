"""The terms in `terms.yaml`."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from app.errors import ContentError
from app.yaml_file import read_document

_FILE = Path(__file__).parent / "data" / "terms.yaml"


class Term(BaseModel):
    """A word, what it means, and the chapter that is about it.

    *also* are other spellings; a *quiet* term is an everyday word and not marked in texts.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    term: str
    also: tuple[str, ...] = ()
    says: str
    chapter: str
    quiet: bool = False


@cache
def terms() -> Mapping[str, Term]:
    """Every term by its key, in the order of the alphabet.

    Raises:
        ContentError: the file is wrong.
    """
    document = read_document(_FILE)
    found = {}
    for key, values in document.values.items():
        try:
            found[key] = Term.model_validate(values)
        except ValidationError as error:
            says = error.errors()[0]["msg"]
            raise ContentError([document.problem((key,), says)]) from error
    ordered = sorted(found.items(), key=lambda pair: pair[1].term.removeprefix("the ").casefold())
    return dict(ordered)
