"""The reviews of a day: which of those that are due, and in which order."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from app.course.content.catalog import Catalog
from app.course.learning.memory import Memory
from app.course.learning.prerequisites import Prerequisites
from app.course.learning.suggestions import Suggestion, due_exercises

MOST_A_DAY = 10  # reviews; the others wait for the days after


@dataclass(frozen=True, slots=True)
class ReviewSession:
    """The reviews of a day: those that are *left*, in order, and how many were *done*.

    *later*: how many more are due, and wait for the days after.
    """

    left: tuple[Suggestion, ...]
    done: int
    later: int

    @property
    def total(self) -> int:
        """All reviews of the day."""
        return self.done + len(self.left)

    @property
    def minutes(self) -> int:
        """About how long those take that are left."""
        return sum(one.exercise.minutes for one in self.left)


def review_session(
    catalog: Catalog, memories: Mapping[str, Memory], today: date, most: int = MOST_A_DAY
) -> ReviewSession:
    """The reviews of *today*, at most *most*: what others build on first, then the least known."""
    listed = {one.id for one in catalog.exercises}
    reviewed = (m for name, m in memories.items() if name in listed and m.first < m.last == today)
    done = sum(1 for _ in reviewed)
    waiting = tuple(_needed_first(catalog, due_exercises(catalog, memories, today)))
    room = max(0, most - done)
    return ReviewSession(waiting[:room], done, len(waiting[room:]))


def _needed_first(catalog: Catalog, waiting: Sequence[Suggestion]) -> Iterator[Suggestion]:
    """*waiting* in its order, but each after those of the chapters that its own builds on."""
    before = Prerequisites(catalog.topics).before
    left = list(waiting)
    while left:
        needs = before[_chapter(left[0])]
        first = [one for one in left if _chapter(one) in needs]
        first.sort(key=lambda one: len(before[_chapter(one)]))  # stable: else in their order
        chosen = [*first, left[0]]
        yield from chosen
        left = [one for one in left if one not in chosen]


def _chapter(one: Suggestion) -> str:
    return one.exercise.id.partition("/")[0]
