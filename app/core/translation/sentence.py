"""Sentences as values: English text that knows its form and what fills it in.

Rooms that know no language say what is wrong with `say`, and raise it. It is a text like any other,
in English; where it reaches a person, `translate` looks its form up and fills it in again.
"""

from collections.abc import Callable, Mapping, Sequence
from reprlib import repr as _short_repr

from app.core.quotation import plain, quote_value
from app.core.translation.numeral import Numeral


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
        made = super().__new__(cls, filled(form, values) if values else form)
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


def noted(sentence: str, /) -> str:
    """The sentence *sentence*, which a constant holds, to be translated where it is used."""
    return Sentence(sentence, {})


def short_value(value: object) -> str:
    """*value* as Python writes it, with dots in the middle if it is long; 0.0 is 0.

    >>> short_value(-1.0)
    '-1'
    """
    return _short_repr(plain(value))


def joined(sentences: Sequence[str], form: str = noted("{first}; {others}")) -> str:
    """*sentences*, at least one, in a row of this *form*."""
    first, *others = sentences
    return say(form, first=first, others=joined(others, form)) if others else first


def filled(form: str, values: Mapping[str, object]) -> str:
    """*form* with *values* for its names."""
    values = {name: v[:] if isinstance(v, Numeral) else plain(v) for name, v in values.items()}
    if "!r}" in form:
        values = {name: _Quotation(value) for name, value in values.items()}
    return form.format(**values)


class _Quotation:
    """A value in a sentence, where `{name!r}` quotes it: a stranger may have written it."""

    def __init__(self, value: object) -> None:
        self._value = value

    def __repr__(self) -> str:
        return quote_value(self._value)

    def __format__(self, form: str) -> str:
        return format(self._value, form)
