"""Numbers as the languages write them: 1,234.5 GB is 1 234,5 GB in German.

A number that was written for a person is a `Numeral`: English text, which becomes that of the
language where it reaches a person: in a template, as a value of a sentence, in an f-string.
Programs and files get the English text, and formulas and code never hold one.
"""

import html
import re
from collections.abc import Callable
from decimal import Decimal

from app.core.translation.languages import SPOKEN

_NARROW = "\N{NARROW NO-BREAK SPACE}"  # between thousands: read back as it stands, unlike a point
# Of Chinese, which counts by ten thousands: what a sentence says, and to which power of ten.
_LARGE_WORDS = {"百万": 6, "十亿": 9}
_LARGE = re.compile(rf"(?<![\w.,])(\d[\d,]*(?:\.\d+)?) ({'|'.join(_LARGE_WORDS)})")
_BY_TEN_THOUSANDS = ((12, "万亿"), (8, "亿"), (4, "万"))
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


def with_large_numbers(code: str, text: str) -> str:
    """*text*, a sentence in the language *code*, with large numbers as the language counts them."""
    return counted_by_ten_thousands(text) if code == "zh" else text


def counted_by_ten_thousands(text: str) -> str:
    """*text*, a Chinese sentence, with its large numbers as Chinese counts them.

    >>> counted_by_ten_thousands("8.03 十亿"), counted_by_ten_thousands("2,250 百万")
    ('80.3 亿', '22.5 亿')
    """
    return _LARGE.sub(_by_ten_thousands, text)


def _by_ten_thousands(found: re.Match[str]) -> str:
    number = Decimal(found[1].replace(",", "")).scaleb(_LARGE_WORDS[found[2]])
    rows = (row for row in _BY_TEN_THOUSANDS if number.adjusted() >= row[0])
    power, word = next(rows, (0, ""))
    return f"{number.scaleb(-power).normalize():,f} {word}".rstrip()


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
