"""One measured figure and the goal it is held against."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Figure:
    """What was measured, in one run; *goal* is None for a figure that is only told."""

    name: str
    value: float
    unit: str
    goal: float | None = None
    better: Literal["lower", "higher"] = "lower"

    @property
    def met(self) -> bool:
        """Whether the value is on the right side of the goal."""
        if self.goal is None:
            return True
        return self.value <= self.goal if self.better == "lower" else self.value >= self.goal
