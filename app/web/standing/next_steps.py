"""The two ways on that pages offer: an exercise to continue with, and the reviews that are due."""

from dataclasses import dataclass
from datetime import date

from app.content.catalog import Catalog
from app.learning import Suggestion, due_exercises, onward
from app.web.standing.view import LearnerHistory
from app.web.urls import exercise_url


@dataclass(frozen=True, slots=True)
class SuggestedExercise:
    """A suggested exercise, with the reason."""

    href: str
    text: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NextSteps:
    """What to continue with, the first review that is due, and how many there are."""

    begun: bool
    following: SuggestedExercise | None
    review: SuggestedExercise | None
    due: int


def next_steps(
    course: Catalog,
    past: LearnerHistory,
    chapter: str,
    today: date,
    *,
    current: str = "",
    seed: int = 0,
) -> NextSteps:
    """The ways on from *chapter* for a learner with that *past*, after the exercise *current*.

    The exercises of a chapter with parameters are drawn with its *seed*.
    """
    following = onward(course, past.solved(course), chapter, current, past.chapters)
    waiting = due_exercises(course, past.memories, today)
    return NextSteps(
        begun=bool(past.answers),
        following=_suggested(following, seed) if following else None,
        review=_renewed(waiting[0]) if waiting else None,
        due=len(waiting),
    )


def _suggested(found: Suggestion, seed: int) -> SuggestedExercise:
    exercise = found.exercise
    href = exercise_url(exercise.id, seed if exercise.from_chapter else 0)
    return SuggestedExercise(href, exercise.title, found.reason)


def _renewed(found: Suggestion) -> SuggestedExercise:
    """A review has new numbers, if the exercise draws any."""
    again = "/another" if found.exercise.variation else ""
    address = f"{exercise_url(found.exercise.id)}{again}"
    return SuggestedExercise(address, found.exercise.title, found.reason)
