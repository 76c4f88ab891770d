"""What a learner has done at one exercise before, as its page lists it."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from markupsafe import Markup

from app.kinds import Exercise
from app.people.past import PastAt
from app.web.exercise.views import view_of
from app.web.urls import exercise_url


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptView:
    """An earlier attempt; *correct* is None while its verdict is hidden."""

    at: datetime
    correct: bool | None
    answer: tuple[Markup, ...]
    href: str
    same: bool


def attempts_in(past: PastAt, exercise: Exercise, seed: int) -> Iterator[AttemptView]:
    """The last attempts; verdicts that an assignment hides are left out."""
    for one in past.last.shown:
        yield AttemptView(
            at=one.at,
            correct=None if past.hides(exercise.id, one.seed) else one.correct,
            answer=tuple(view_of(exercise).told(exercise, one.seed, one.answer)),
            href=exercise_url(exercise.id, one.seed),
            same=one.seed == seed,
        )


def has_solved(past: PastAt, exercise: Exercise, seed: int) -> bool:
    """Whether that drawing was answered right, and the verdict is not hidden."""
    return seed in past.last.right and not past.hides(exercise.id, seed)
