"""The parameters of labs: numbers, choices and several numbers, read from text and shown again."""

import re
from collections.abc import Iterable, Mapping
from importlib import import_module

from pydantic import BaseModel, ConfigDict

from app.core.errors import InputError, nearest
from app.core.translation import Numeral, translate
from app.core.units import BYTE, COUNT, RATIO, Unit, scale_of, show, show_size

Value = float | str | tuple[float, ...]
_RANGE = re.compile(r"\A(?P<low>.+?)\.\.(?P<high>.+)")
_STEP = 4  # ratio of neighboring values in a range
_MOST = 24  # values of a parameter that takes several
_LONGEST_COMMAND = 2000  # characters
_BEFORE_PARAMETERS = 4  # words: wallclock lab run LAB


class FrozenModel(BaseModel):
    """Frozen, with no fields but its own."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, defer_build=True)


class Parameter(FrozenModel):
    """A number, a choice or several numbers, which may be arithmetic; bare ones are in *unit*.

    *words* may stand in place of a number. One that is *implied* is not in the command where it has
    its *start*: runs of earlier versions have none.
    """

    says: str
    start: str | int | float
    unit: str = ""
    least: str | int | float = 0
    most: str | int | float = 0
    one_of: tuple[str, ...] = ()
    several: bool = False
    whole: bool = False
    words: tuple[str, ...] = ()
    implied: bool = False

    @property
    def measured_in(self) -> Unit:
        """The unit of its numbers."""
        return scale_of(self.unit).unit if self.unit else (COUNT if self.whole else RATIO)

    def read(self, name: str, text: str) -> Value:
        """The value of *text*.

        Raises:
            InputError: it cannot be read or is out of bounds; the message says what is allowed.
        """
        if self.one_of:
            if text not in self.one_of:
                raise InputError(
                    translate(
                        "{name} must be one of {one_of}, not {text!r}{near}",
                        name=name,
                        one_of=", ".join(self.one_of),
                        text=text[:60],
                        near=nearest(text[:60], self.one_of),
                    )
                )
            return text
        if text in self.words:
            return text
        if not self.several:
            return self.number(name, text)
        if match := _RANGE.fullmatch(text):
            return tuple(self._between(name, match["low"], match["high"]))
        parts = text.split(",", _MOST)
        if len(parts) > _MOST:
            raise InputError(translate("{name} takes at most {most} values", name=name, most=_MOST))
        return tuple(self.number(name, part) for part in parts)

    def is_implied(self, name: str, value: Value) -> bool:
        """Whether a command without it has this *value*, and is to stay without."""
        return self.implied and value == self.read(name, str(self.start))

    def shown(self, value: Value) -> str:
        """*value* as a person would write it."""
        if isinstance(value, str):
            return value
        if isinstance(value, tuple):
            return ", ".join(self.shown(one) for one in value)
        return amount(value, self.measured_in)

    def number(self, name: str, text: str) -> float:
        """The one number that *text* is.

        Raises:
            InputError: as for `read`.
        """
        try:
            value = self._parsed(text)
        except ValueError as error:
            raise InputError(f"{name}: {error}") from None
        low, high = self._parsed(str(self.least)), self._parsed(str(self.most))
        if low == high != value:
            raise InputError(translate("{name} must be {only}, not {text}", name=name, only=self.least, text=text))
        if not low <= value <= high:
            raise InputError(
                translate(
                    "{name} must be from {least} to {most}, not {text}",
                    name=name,
                    least=self.least,
                    most=self.most,
                    text=text.strip(),
                )
            )
        if self.whole and value != round(value):
            raise InputError(translate("{name} must be a whole number, not {text}", name=name, text=text.strip()))
        return value

    def _parsed(self, text: str) -> float:
        try:
            return float(text) * scale_of(self.unit).factor
        except ValueError:
            expressions = import_module("app.core.expressions")  # with all formulas, which a listing does without
            return float(expressions.read_answer(text, scale_of(self.unit)).value)

    def _between(self, name: str, low: str, high: str) -> Iterable[float]:
        value, last = self.number(name, low), self.number(name, high)
        if not 0 < value <= last:
            raise InputError(
                translate("{name}: {low} to {high} is not a range", name=name, low=low.strip(), high=high.strip())
            )
        for _ in range(_MOST):
            if value > last:
                return
            yield value
            value *= _STEP


def amount(value: float, unit: Unit) -> str:
    """*value* with its unit; bytes in those of programs, such as MiB."""
    if unit is BYTE:
        return show_size(value)
    return show(value, unit) if unit.symbol else Numeral(f"{value:g}")


def parameters_in(command: str) -> Mapping[str, str]:
    """The parameters of a run that an earlier version wrote down as its *command* alone."""
    words = command[:_LONGEST_COMMAND].split()[_BEFORE_PARAMETERS:]
    return dict(word.partition("=")[::2] for word in words)
