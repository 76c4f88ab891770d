"""The languages of the interface.

Sentences are written in English where they are used and serve as the keys of one catalog for each
other language (`catalogs/LANGUAGE.po`, GNU gettext). A sentence that a catalog lacks stays English.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache

from app.core.translation.languages import LANGUAGES as LANGUAGES
from app.core.translation.languages import SOURCE as SOURCE
from app.core.translation.languages import SPOKEN
from app.core.translation.languages import catalog as catalog
from app.core.translation.sentence import (
    FORMS,
    LocalizedNumber,
    Sentence,
    fill_form,
    has_own_numerals,
    numeral_in,
    written_in,
)
from app.core.translation.sentence import Numeral as Numeral
from app.core.translation.sentence import join_sentences as join_sentences
from app.core.translation.sentence import noted as noted
from app.core.translation.sentence import offer as offer
from app.core.translation.sentence import say as say
from app.core.translation.sentence import short_value as short_value
from app.core.translation.sentence import value_error as value_error

_TAGS = {"zh": "zh-Hans"}  # in HTML and headers, where the code says too little


def language() -> str:
    """The code of the language that the current request is answered in."""
    return SPOKEN.get()


def has_decimal_comma() -> bool:
    """Whether numbers of the current language have a comma where English ones have a point."""
    return has_own_numerals(SPOKEN.get())


def tag(code: str) -> str:
    """The language *code* as HTML and HTTP name it (BCP 47)."""
    return _TAGS.get(code, code)


def foreign(code: str) -> str:
    """The `lang` of a text in the language *code*; empty if the page is in that language."""
    return "" if code == SPOKEN.get() else tag(code)


@contextmanager
def speaking(code: str) -> Iterator[None]:
    """Answer in the language *code* inside the block; one that is not offered means English."""
    token = SPOKEN.set(code if code in LANGUAGES else SOURCE)
    try:
        yield
    finally:
        SPOKEN.reset(token)


def translate(sentence: str, /, **values: object) -> str:
    """*sentence* in the current language, its `{names}` filled in with *values*, of which sentences are translated."""
    form = sentence
    if isinstance(sentence, Sentence):
        form, values = sentence.form, {**sentence.values, **values}
    found = form_of(form)
    code = SPOKEN.get()
    return written_in(code, fill_form(found, _spelled(values), code)) if values else found


def form_of(english: str) -> str:
    """The form of a sentence in the current language, with the names of its values; English where there is none."""
    code = SPOKEN.get()
    return english if code == SOURCE else catalog(code).sentence(english) or english


def localize(text: str) -> str:
    """*text* in the current language if it is a sentence or a number of ours, else as it is."""
    if isinstance(text, Numeral):
        return numeral_in(SPOKEN.get(), text)
    return translate(text) if isinstance(text, Sentence) else text


def translate_known(text: str) -> str:
    """*text* in the current language if the catalog has it: a name that may be a sentence of ours.

    Unlike a sentence, it need not be English, and nobody misses its translation.
    """
    if isinstance(text, Sentence | Numeral):
        return localize(text)
    code = SPOKEN.get()
    return text if code == SOURCE else catalog(code).sentence(text) or text


def plural(one: str, many: str, number: int, /, **values: object) -> str:
    """*one* or *many* for *number*, in the current language; `{number}` is filled in as well."""
    found = form_of_number(one, many, number)
    return fill_form(found, _spelled({**values, "number": number}), SPOKEN.get())


def form_of_number(one: str, many: str, number: int) -> str:
    """The form for *number* of a sentence that is *one* or *many* in English."""
    code = SPOKEN.get()
    english = one if number == 1 else many
    if code == SOURCE:
        return english
    found = catalog(code).counted(one, number)
    return english if found is None else found


def unit_word(symbol: str) -> str:
    """The unit *symbol* in the current language, as it stands after a number."""
    if SPOKEN.get() == SOURCE or symbol not in FORMS:
        return symbol
    return translate(FORMS[symbol], number="").strip()


def _spelled(values: Mapping[str, object]) -> Mapping[str, object]:
    """*values*, those that are sentences or numbers in the current language."""
    if (code := SPOKEN.get()) == SOURCE:
        return values
    return {name: _spelled_value(code, value) for name, value in values.items()}


def _spelled_value(code: str, value: object) -> object:
    if isinstance(value, int | float):
        return LocalizedNumber(code, value) if has_own_numerals(code) else value
    text = value if isinstance(value, str) else str(value)
    return localize(text) if isinstance(text, Sentence | Numeral) else value


@cache
def of_scripts(code: str) -> str:
    """The sentences of the scripts in the language *code*, by the English ones: JSON."""
    said = catalog(code).of_scripts
    return json.dumps(said, ensure_ascii=False) if said else ""
