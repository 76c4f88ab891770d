"""The languages of the interface.

Sentences are written in English where they are used and serve as the keys of one catalog for each
other language (`catalogs/LANGUAGE.po`, GNU gettext). A sentence that a catalog lacks stays English.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from app.quoting import quoted
from app.translation.compiled import read_compiled
from app.translation.marks import noted as noted
from app.translation.unit_words import FORMS, parted

if TYPE_CHECKING:
    from gettext import NullTranslations

SOURCE = "en"
LANGUAGES = {SOURCE: "English", "de": "Deutsch", "zh": "简体中文"}  # code: its name for itself
CATALOGS = Path(__file__).parent / "catalogs"

_TAGS = {"zh": "zh-Hans"}  # in HTML and headers, where the code says too little

_spoken = ContextVar("spoken", default=SOURCE)


def language() -> str:
    """The code of the language that the current request is answered in."""
    return _spoken.get()


def tag(code: str) -> str:
    """The language *code* as HTML and HTTP name it (BCP 47)."""
    return _TAGS.get(code, code)


def foreign(code: str) -> str:
    """The `lang` of a text in the language *code*; empty if the page is in that language."""
    return "" if code == _spoken.get() else tag(code)


@contextmanager
def speaking(code: str) -> Iterator[None]:
    """Answer in the language *code* inside the block; one that is not offered means English."""
    token = _spoken.set(code if code in LANGUAGES else SOURCE)
    try:
        yield
    finally:
        _spoken.reset(token)


def translate(sentence: str, /, **values: object) -> str:
    """*sentence* in the current language, its `{names}` filled in with *values*."""
    code = _spoken.get()
    found = sentence if code == SOURCE else catalog(code).gettext(sentence)
    return _filled(found, values) if values else found


def plural(one: str, many: str, number: int, /, **values: object) -> str:
    """*one* or *many* for *number*, in the current language; `{number}` is filled in as well."""
    code = _spoken.get()
    if code == SOURCE:
        found = one if number == 1 else many
    else:
        found = catalog(code).ngettext(one, many, number)
    return _filled(found, {**values, "number": number})


def quantity(text: str) -> str:
    """*text*, its unit in the current language if it is a number with a word; else as it is."""
    if _spoken.get() == SOURCE or not (parts := parted(text)):
        return text
    number, unit = parts
    return translate(FORMS[unit], number=number)


def unit_word(symbol: str) -> str:
    """The unit *symbol* in the current language, as it stands after a number."""
    if _spoken.get() == SOURCE or symbol not in FORMS:
        return symbol
    return translate(FORMS[symbol], number="").strip()


class _Quotation:
    """A value in a sentence, where `{name!r}` quotes it: a stranger may have written it."""

    def __init__(self, value: object) -> None:
        self._value = value

    def __repr__(self) -> str:
        return quoted(self._value)

    def __format__(self, form: str) -> str:
        return format(self._value, form)


def _filled(sentence: str, values: Mapping[str, object]) -> str:
    """*sentence* with *values* for its names."""
    spelled = _spelled(values)
    if "!r}" in sentence:
        spelled = {name: _Quotation(value) for name, value in spelled.items()}
    return sentence.format(**spelled)


def _spelled(values: Mapping[str, object]) -> Mapping[str, object]:
    """*values*, the units of those that are quantities in the current language."""
    if _spoken.get() == SOURCE:
        return values
    return {n: quantity(value) if type(value) is str else value for n, value in values.items()}


@cache
def catalog(code: str) -> "NullTranslations":
    """The sentences of the language *code*, read once."""
    from gettext import GNUTranslations

    with (CATALOGS / f"{code}.mo").open("rb") as file:
        return GNUTranslations(file)


@dataclass(frozen=True, slots=True)
class Sentences:
    """All sentences of one language, for a place that has no catalogs.

    *said* has a sentence by the English one, and a form of it by its singular and a number.
    """

    code: str
    name: str
    tag: str
    said: Mapping[str | tuple[str, int], str]
    scripts: str


def sentences(code: str) -> Sentences:
    """All sentences of the language *code*."""
    said = {} if code == SOURCE else read_compiled((CATALOGS / f"{code}.mo").read_bytes())
    return Sentences(code, LANGUAGES[code], tag(code), said, of_scripts(code))


@cache
def of_scripts(code: str) -> str:
    """The sentences of the scripts in the language *code*, by the English ones: JSON, read once."""
    return "" if code == SOURCE else (CATALOGS / f"{code}.json").read_text("utf-8").strip()
