"""What every explorer is made of."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from app.charts.bars import Bars
from app.charts.plot import Plot
from app.charts.timeline import Timeline
from app.explorers.controls import Control, Value

Figure = Bars | Plot | Timeline


class Values(dict[str, Value]):
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
    """A number that the figures show, with its name."""

    label: str
    value: str


@dataclass(frozen=True, slots=True)
class Explored:
    """What is shown for some values: a sentence (Markdown), numbers, figures."""

    says: str
    facts: tuple[Fact, ...]
    figures: tuple[Figure, ...]


@dataclass(frozen=True, slots=True)
class Explorer:
    """Something to play with; *question* asks for a prediction before one looks.

    Raises:
        ValueError: (by *explore*) the values do not go together; the message says why.
    """

    name: str
    title: str
    summary: str
    question: str
    chapter: str
    formulas: Sequence[str]
    controls: Sequence[Control]
    explore: Callable[[Values], Explored]


Explorers = Mapping[str, Explorer]
