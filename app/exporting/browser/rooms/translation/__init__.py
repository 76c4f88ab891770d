"""In place of the catalogs, in a browser: one language, whose sentences were read at export."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from app.resolved import resolved

from app.translation.marks import noted as noted
from app.translation.unit_words import FORMS, parted

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
    return found.format(**_spelled(values)) if values else found


def plural(one: str, many: str, number: int, /, **values: object) -> str:
    """*one* or *many* for *number*; `{number}` is filled in as well."""
    form = 0 if number == 1 else 1
    found = _spoken.said.get((one, form)) or _spoken.said.get((one, 0)) or (one, many)[form]
    return str(found).format(number=number, **_spelled(values))


def quantity(text: str) -> str:
    """*text*, its unit in the language of the export if it is a number with a word."""
    if _spoken.code == SOURCE or not (parts := parted(text)):
        return text
    number, unit = parts
    return translate(FORMS[unit], number=number)


def unit_word(symbol: str) -> str:
    """The unit *symbol* in the language of the export, as it stands after a number."""
    if _spoken.code == SOURCE or symbol not in FORMS:
        return symbol
    return translate(FORMS[symbol], number="").strip()


def _spelled(values: Mapping[str, object]) -> Mapping[str, object]:
    """*values*, the units of those that are quantities in the language of the export."""
    return {n: quantity(value) if type(value) is str else value for n, value in values.items()}


def of_scripts(code: str) -> str:
    """The sentences of the scripts, by the English ones: JSON."""
    return str(_spoken.scripts)
