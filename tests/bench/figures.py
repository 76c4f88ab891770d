"""One measured figure and the goal it is held against."""

import time
from dataclasses import dataclass
from functools import cache
from typing import Literal

_TURNS = 1_000_000
_REFERENCE = 0.05  # seconds that the loop takes on the machine on which the goals of times were set
_LONGER, _FEWER = ("s", "ms", "µs"), ("/s", "layouts/s")  # units of what a slow machine has more or less of


def loop_seconds() -> float:
    """The processor time of a fixed loop in pure Python."""
    begin, total = time.process_time(), 0
    for number in range(_TURNS):
        total += number * number % 7
    return time.process_time() - begin


@cache
def slowness() -> float:
    """How many times as long as there this machine takes for the loop, in this run."""
    return min(loop_seconds() for _ in range(3)) / _REFERENCE


@dataclass(frozen=True, slots=True)
class Figure:
    """What was measured, in one run; *goal* is None for a figure that is only told.

    The goal of a time is one beside the loop: it is larger on a slower machine.
    """

    name: str
    value: float
    unit: str
    goal: float | None = None
    better: Literal["lower", "higher"] = "lower"

    @property
    def bound(self) -> float | None:
        """The goal on this machine."""
        if self.goal is None:
            return None
        factor = slowness() if self.unit in (*_LONGER, *_FEWER) else 1.0
        return self.goal / factor if self.unit in _FEWER else self.goal * factor

    @property
    def met(self) -> bool:
        """Whether the value is on the right side of the bound."""
        if (bound := self.bound) is None:
            return True
        return self.value <= bound if self.better == "lower" else self.value >= bound


def row(figure: Figure) -> str:
    """A figure as a line of the table."""
    sign = "≤" if figure.better == "lower" else "≥"
    goal = f"{sign} {figure.bound:.4g} {figure.unit}" if figure.bound is not None else ""
    mark = "ok" if figure.met else "MISSED"
    value = f"{figure.value:,.4g}" if abs(figure.value) < 1000 else f"{figure.value:,.0f}"
    return f"{figure.name:<48} {value:>10} {figure.unit:<5} {goal:<16} {mark}\n"
