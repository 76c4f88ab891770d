"""Numbers as the languages write them: 1,234.5 GB is 1 234,5 GB in German.

A number that was written for a person is a `Numeral`: English text, which becomes that of the
language where it reaches a person: in a template, as a value of a sentence, in an f-string.
Programs and files get the English text, and formulas and code never hold one.
"""

import html
import re
from collections.abc import Callable

from app.translation.languages import SPOKEN

_NARROW = "\N{NARROW NO-BREAK SPACE}"  # between thousands: read back as it stands, unlike a point
_NUMBER = re.compile(r"(?<![\w.,])\d+(?:,\d{3})*(?:\.\d+)?(?![\d,]|\.\d)")
_DOLLARS = re.compile(r"\$([\d.,e]+(?:-\d+)?)(/\w+)?")
_GERMAN = str.maketrans({",": _NARROW, ".": ","})


def _german(text: str) -> str:
    money_last = _DOLLARS.sub(lambda found: f"{found[1]} ${found[2] or ''}", text)
    return _NUMBER.sub(lambda found: found[0].translate(_GERMAN), money_last)


# The languages that write numbers in another way than English does.
_FORMS: dict[str, Callable[[str], str]] = {"de": _german}


def has_own_numerals(code: str) -> bool:
    """Whether numbers look different in the language *code* than in English."""
    return code in _FORMS


def numeral_in(code: str, text: str) -> str:
    """*text*, the numbers of which are English, with those of the language *code*.

    >>> numeral_in("de", "26,120,000 GPU-hours"), numeral_in("de", "$2.50/h")
    ('26\\u202f120\\u202f000 GPU-hours', '2,50 $/h')
    """
    form = _FORMS.get(code)
    return form(text) if form else text


class Numeral(str):
    """A number, with its unit, in English; in HTML, in the language of the page."""

    __slots__ = ()

    def __str__(self) -> str:
        return self

    def __format__(self, form: str) -> str:
        """The number in a longer text, which is in the current language."""
        return format(numeral_in(SPOKEN.get(), self[:]), form)

    def __add__(self, text: str) -> str:
        """A longer text, which is in the current language."""
        return numeral_in(SPOKEN.get(), self[:]) + text

    def __radd__(self, text: str) -> str:
        """A longer text, which is in the current language."""
        return text + numeral_in(SPOKEN.get(), self[:])

    def __html__(self) -> str:
        """The number as a template shows it."""
        return html.escape(numeral_in(SPOKEN.get(), self[:]))


class LocalizedNumber:
    """A number that a sentence formats, `{ranks:,}`, in the language *code*."""

    def __init__(self, code: str, value: float) -> None:
        self._code = code
        self._value = value

    def __format__(self, form: str) -> str:
        text = format(self._value, form)
        return numeral_in(self._code, text) if form else text

    def __repr__(self) -> str:
        return repr(self._value)
