"""Pools of an assignment: each student has some of their exercises, which follow from who it is."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from hashlib import sha256

from app.core.errors import InputError
from app.core.translation import translate


@dataclass(frozen=True, slots=True)
class ExercisePool:
    """The *exercises* of which each student has as many as are to *draw*; *points* are of one."""

    draw: int
    exercises: tuple[str, ...]
    points: float

    def drawn(self, origin: int, learner: str) -> Sequence[str]:
        """The exercises that *learner* has, in their order.

        They follow from the learner and the *origin* of the assignment, the first that it is a copy
        of: a copy draws the same. Of the exercises, each with a number that follows from both, the
        lowest are drawn, so that one that comes or goes changes as few draws as can be.
        """
        ranked = sorted(self.exercises, key=lambda name: _rank(origin, name, learner))
        chosen = set(ranked[: self.draw])
        return [name for name in self.exercises if name in chosen]


def check_pool(number: int, draw: int, points: Collection[float]) -> None:
    """Refuse a pool that cannot be, with the *points* of each of its exercises.

    Raises:
        InputError: it is empty, draws none or more than there are, or the points differ.
    """
    if not points:
        raise InputError(translate("pool {number} has no exercises", number=number))
    if not 1 <= draw <= len(points):
        raise InputError(
            translate(
                "pool {number} draws {draw} of {count} exercises: draw at least 1, and at most all",
                number=number,
                count=len(points),
                draw=draw,
            )
        )
    if len(set(points)) > 1:
        raise InputError(
            translate(
                "the exercises of pool {number} need the same points, not {low:g} and {high:g}",
                number=number,
                low=min(points),
                high=max(points),
            )
        )


def read_draws(stored: str) -> tuple[int, ...]:
    """How many exercises are drawn of each pool, as it is stored."""
    return tuple(map(int, stored.split()))


def first_origin(assignment: int, origins: str) -> int:
    """The first of the assignments that one is a copy of, or itself."""
    return int(origins.split()[0]) if origins else assignment


def _rank(origin: int, exercise: str, learner: str) -> bytes:
    return sha256(f"pool:{origin}:{exercise}:{learner}".encode()).digest()
