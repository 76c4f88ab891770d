"""In place of the catalogs, in a browser: one language, whose sentences were read at export."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from app.resolved import resolved

SOURCE = "en"


@dataclass(frozen=True, slots=True)
class Sentences:
    """All sentences of the language of the export, as it was written."""

    code: str
    name: str
    tag: str
    said: Mapping[str | tuple[str, int], str]
    scripts: str


_spoken = resolved("sentences")
LANGUAGES = {_spoken.code: _spoken.name}


def language() -> str:
    """The code of the language of the export."""
    return str(_spoken.code)


def tag(code: str) -> str:
    """The language *code* as HTML names it."""
    return str(_spoken.tag) if code == _spoken.code else code


def foreign(code: str) -> str:
    """The `lang` of a text in the language *code*; empty if the page is in that language."""
    return "" if code == _spoken.code else code


@contextmanager
def speaking(code: str) -> Iterator[None]:
    """An export has one language."""
    yield


def translate(sentence: str, /, **values: object) -> str:
    """*sentence* in the language of the export, its `{names}` filled in with *values*."""
    found = str(_spoken.said.get(sentence, sentence))
    return found.format(**values) if values else found


def plural(one: str, many: str, number: int, /, **values: object) -> str:
    """*one* or *many* for *number*; `{number}` is filled in as well."""
    form = 0 if number == 1 else 1
    found = _spoken.said.get((one, form)) or _spoken.said.get((one, 0)) or (one, many)[form]
    return str(found).format(number=number, **values)


def noted(sentence: str, /) -> str:
    """*sentence* itself: it is translated where it is used."""
    return sentence


def of_scripts(code: str) -> str:
    """The sentences of the scripts, by the English ones: JSON."""
    return str(_spoken.scripts)
