"""Sentences as values: English text that knows its form, with numbers and units as languages write them."""

import html
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from difflib import get_close_matches
from functools import lru_cache
from reprlib import repr as _short_repr

from app.core.quotation import LONGEST, plain, quote_value
from app.core.translation.languages import SPOKEN

_NARROW = "\N{NARROW NO-BREAK SPACE}"  # between thousands: read back as it stands, unlike a point
# Of Chinese, which counts by ten thousands: what a sentence says, and to which power of ten.
_LARGE_WORDS = {"百万": 6, "十亿": 9}
_LARGE = re.compile(rf"(?<![\w.,])(\d[\d,]*(?:\.\d+)?) ({'|'.join(_LARGE_WORDS)})")
_SPACE_IN_CHINESE = re.compile("(?<=[\u3000-\u9fff\uff01-\uff60]) (?=[\u3000-\u9fff\uff01-\uff60])")
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


def written_in(code: str, text: str) -> str:
    """*text*, a sentence in the language *code*, with its large numbers and without spaces that it does not write.

    >>> written_in("zh", "给出的是 8.03 十亿，应为 无单位的数"), written_in("zh", "2,250 百万")
    ('给出的是 80.3 亿，应为无单位的数', '22.5 亿')
    """
    return _SPACE_IN_CHINESE.sub("", _LARGE.sub(_by_ten_thousands, text)) if code == "zh" else text


def _by_ten_thousands(found: re.Match[str]) -> str:
    number = Decimal(found[1].replace(",", "")).scaleb(_LARGE_WORDS[found[2]])
    rows = (row for row in _BY_TEN_THOUSANDS if number.adjusted() >= row[0])
    power, word = next(rows, (0, ""))
    return f"{number.scaleb(-power).normalize():,f} {word}".rstrip()


_escaped = lru_cache(4_096)(html.escape)


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
        return _escaped(numeral_in(SPOKEN.get(), self[:]))


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


class Sentence(str):
    """An English sentence made of a *form* and of *values* for its `{names}`.

    What `str` makes of it, or of an error that was raised with it, is the sentence itself.

    >>> said = say("{name} must be at least {least}, not {value}", name="ranks", least=1, value=0)
    >>> said
    'ranks must be at least 1, not 0'
    >>> str(ValueError(said)).form
    '{name} must be at least {least}, not {value}'
    """

    __slots__ = ("form", "values")

    form: str
    values: Mapping[str, object]

    def __new__(cls, form: str, values: Mapping[str, object]) -> "Sentence":
        """The sentence of *form* with *values*."""
        made = super().__new__(cls, fill_form(form, values) if values else form)
        made.form = form
        made.values = values
        return made

    def __str__(self) -> str:
        return self

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source: object, handler: Callable[[type[str]], dict[str, object]]
    ) -> dict[str, object]:
        """That of any text: a field of a model may have one by default."""
        return handler(str)

    def __reduce__(self) -> tuple[type["Sentence"], tuple[str, Mapping[str, object]]]:
        return Sentence, (self.form, self.values)


def say(form: str, /, **values: object) -> Sentence:
    """The sentence of this *form* with *values* for its `{names}`; `{name!r}` quotes a value."""
    return Sentence(form, values)


def value_error(form: str, /, **values: object) -> ValueError:
    """The error that says the sentence of this *form* with *values*."""
    return ValueError(Sentence(form, values))


def noted(sentence: str, /) -> str:
    """The sentence *sentence*, which a constant holds, to be translated where it is used."""
    return Sentence(sentence, {})


def short_value(value: object) -> str:
    """*value* as Python writes it, with dots in the middle if it is long; 0.0 is 0.

    >>> short_value(-1.0)
    '-1'
    """
    return _short_repr(plain(value))


def join_sentences(sentences: Sequence[str], form: str = noted("{first}; {others}")) -> str:
    """*sentences*, at least one, in a row of this *form*."""
    first, *others = sentences
    return say(form, first=first, others=join_sentences(others, form)) if others else first


_MARKS = {"de": "»«", "zh": "“”"}  # around what is quoted, where they are not those of Python


def fill_form(form: str, values: Mapping[str, object], code: str = "") -> str:
    """*form*, which is in the language *code*, with *values* for its names."""
    values = {name: v[:] if isinstance(v, Numeral) else plain(v) for name, v in values.items()}
    if "!r}" in form:
        values = {name: _Quotation(value, _MARKS.get(code, "")) for name, value in values.items()}
    return form.format(**values)


class _Quotation:
    """A value in a sentence, where `{name!r}` quotes it: a stranger may have written it."""

    def __init__(self, value: object, marks: str) -> None:
        self._value = value
        self._marks = marks

    def __repr__(self) -> str:
        text = quote_value(self._value)
        return self._marks[0] + text[1:-1] + self._marks[1] if self._marks and isinstance(self._value, str) else text

    def __format__(self, form: str) -> str:
        return format(self._value, form)


_REMEMBERED = 256  # names; proofs of a course ask for the same ones again and again


def offer(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """The end of a sentence that offers the *known* name closest to *name*; *otherwise* if none is.

    >>> offer("ring_allreduce", ["ring_all_reduce", "tree"])
    "; did you mean 'ring_all_reduce'?"
    """
    closest = _closest(name, tuple(known)) if len(name) <= LONGEST else ""
    return say("; did you mean {name!r}?", name=closest) if closest else otherwise


@lru_cache(_REMEMBERED)
def _closest(name: str, known: tuple[str, ...]) -> str:
    return next(iter(get_close_matches(name, known, n=1)), "")


# By the symbol that units write; most others are signs, which are the same everywhere.
FORMS = {
    "days": noted("{number} days"),
    "years": noted("{number} years"),
    "GPU-hours": noted("{number} GPU-hours"),
    "PF-days": noted("{number} PF-days"),
    "million": noted("{number} million"),
    "nodes": noted("{number} nodes"),
    "steps": noted("{number} steps"),
    "tokens": noted("{number} tokens"),
    "sequences": noted("{number} sequences"),
    "steps/s": noted("{number} steps/s"),
    "tokens/s": noted("{number} tokens/s"),
    "sequences/s": noted("{number} sequences/s"),
    "thousand": noted("{number} thousand"),
    "billion": noted("{number} billion"),
    "trillion": noted("{number} trillion"),
}
# The same for a single one, where it differs.
FORMS_OF_ONE = FORMS | {
    "days": noted("{number} day"),
    "years": noted("{number} year"),
    "GPU-hours": noted("{number} GPU-hour"),
    "PF-days": noted("{number} PF-day"),
    "nodes": noted("{number} node"),
    "steps": noted("{number} step"),
    "tokens": noted("{number} token"),
    "sequences": noted("{number} sequence"),
}
