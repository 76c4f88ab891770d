"""The two ways on that pages offer: an exercise to continue with, and the reviews of the day."""

from dataclasses import dataclass
from datetime import date
from random import Random

from app.core.translation import translate
from app.course.content.catalog import Catalog
from app.course.learning import Memory, Prerequisites, ReviewSession, Suggestion, onward, review_session
from app.site.web.standing.view import LearnerHistory
from app.site.web.urls import exercise_url, review_url

_SEEDS = 1_000_000  # short enough to read out


@dataclass(frozen=True, slots=True)
class SuggestedExercise:
    """A suggested exercise, with the reason."""

    href: str
    text: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NextReview:
    """The first review of the day that is left: its number, how many there are, how long.

    *later*: how many more are due on the days after.
    """

    exercise: SuggestedExercise
    number: int
    total: int
    minutes: int
    later: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NextSteps:
    """What to continue with, and the next review of the day.

    It *is_review_first* where what comes next builds on what is due, and during a review.
    """

    begun: bool
    following: SuggestedExercise | None
    review: NextReview | None
    is_review_first: bool


def next_steps(
    course: Catalog,
    past: LearnerHistory,
    chapter: str,
    today: date,
    *,
    current: str = "",
    seed: int = 0,
    reviewing: bool = False,
) -> NextSteps:
    """The ways on from *chapter* for a learner with that *past*, after the exercise *current*.

    The exercises of a chapter with parameters are drawn with its *seed*.
    """
    solved = past.solved(course)
    following = onward(course, solved, chapter, current, past.chapters, past.route)
    session = review_session(course, past.memories, today)
    review = next_review(session, past.memories[session.left[0].exercise.id]) if session.left else None
    return NextSteps(
        begun=bool(past.answers),
        following=_suggested(following, seed) if following else None,
        review=review,
        is_review_first=bool(review) and (reviewing or _builds_on(course, following, session)),
    )


def next_review(session: ReviewSession, memory: Memory) -> NextReview:
    """The first review that is left of *session*, whose exercise has that *memory*."""
    found = session.left[0]
    exercise = found.exercise
    numbers = _review_seed(exercise.id, memory) if exercise.variation else 0
    return NextReview(
        exercise=SuggestedExercise(review_url(exercise.id, numbers), exercise.title, found.reason),
        number=session.done + 1,
        total=session.total,
        minutes=session.minutes,
        later=session.later,
    )


def review_place(course: Catalog, past: LearnerHistory, exercise: str, today: date) -> str:
    """Where *exercise* stands among the reviews of the day, in words; empty if it is none."""
    session = review_session(course, past.memories, today)
    memory = past.memories.get(exercise)
    is_done = memory is not None and memory.first < memory.last == today
    if not is_done and exercise not in (one.exercise.id for one in session.left):
        return ""
    number = session.done if is_done else session.done + 1
    return translate("Review {number} of {total}", number=number, total=session.total)


def _builds_on(course: Catalog, following: Suggestion | None, session: ReviewSession) -> bool:
    """Whether the chapter of *following* builds on one of which something is due."""
    if following is None:
        return False
    needs = Prerequisites(course.topics).before[following.exercise.id.partition("/")[0]]
    return any(one.exercise.id.partition("/")[0] in needs for one in session.left)


def _suggested(found: Suggestion, seed: int) -> SuggestedExercise:
    exercise = found.exercise
    href = exercise_url(exercise.id, seed if exercise.from_chapter else 0)
    return SuggestedExercise(href, exercise.title, found.reason)


def _review_seed(exercise: str, memory: Memory) -> int:
    """New numbers for a review, and the same ones until it is done."""
    return 1 + Random(f"{exercise} {memory.last}").randrange(_SEEDS)
