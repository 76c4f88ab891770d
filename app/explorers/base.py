"""What every explorer is made of."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from app.charts.axes import percent_text
from app.charts.svg import Figure
from app.explorers.controls import Control, ControlValue
from app.units import RATIO, Unit, figures, show

_NOISE = 1e-9  # of a sum


class Values(dict[str, ControlValue]):
    """The values of the controls, by name, in base units."""

    def number(self, name: str) -> float:
        """A number."""
        value = self[name]
        if isinstance(value, str):
            raise TypeError(f"{name} is a choice")
        return value

    def count(self, name: str) -> int:
        """A whole number."""
        return round(self.number(name))

    def word(self, name: str) -> str:
        """A choice."""
        return str(self[name])


@dataclass(frozen=True, slots=True)
class Fact:
    """A number that the figures show, with its name; *exact* and *unit* where it can be guessed."""

    label: str
    value: str
    exact: float | None = None
    unit: Unit = RATIO


def quantity(label: str, value: float, unit: Unit, digits: int = 4) -> Fact:
    """A number with its unit."""
    return Fact(label, show(value, unit, digits), value, unit)


def share(label: str, value: float) -> Fact:
    """A share, as a percentage."""
    return Fact(label, percent_text(value), value)


def left(whole: float, part: float) -> float:
    """*whole* without *part*; 0 where both are one sum, added up in two orders."""
    rest = whole - part
    return rest if abs(rest) > _NOISE * abs(whole) else 0.0


def plain(label: str, value: float, digits: int = 4) -> Fact:
    """A number without a unit."""
    return Fact(label, figures(value, digits), value)


@dataclass(frozen=True, slots=True)
class Explored:
    """What is shown for some values: a sentence (Markdown), numbers, figures.

    *ended*: what plays has come to its end.
    """

    says: str
    facts: tuple[Fact, ...]
    figures: tuple[Figure, ...]
    ended: bool = False


@dataclass(frozen=True, slots=True)
class Explorer:
    """Something to play with; *question* asks for a prediction before one looks.

    *predicts* is the name of the fact that a learner may guess first, where one can be; *asks* is
    the same question without the numbers that it starts with. Of the figures, those at the places
    *open* do not tell it, and may be looked at before.

    Raises:
        ValueError: (by *explore*) the values do not go together; the message says why.
    """

    name: str
    title: str
    summary: str
    question: str
    predicts: str
    chapter: str
    formulas: Sequence[str]
    controls: Sequence[Control]
    explore: Callable[[Values], Explored]
    asks: str = ""
    open: tuple[int, ...] = ()


Explorers = Mapping[str, Explorer]
