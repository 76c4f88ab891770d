"""In place of weekly goals, which a cookie keeps, in a browser of an export: there are none."""

from dataclasses import dataclass


@dataclass(frozen=True)
class WeeklyGoal:
    """The class of a goal, for annotations."""


def chosen_goal(_: object) -> int:
    """No goal."""
    return 0


def weekly_goal(*_: object) -> None:
    """Nothing to show."""
