"""What learners have done, as queries return it: plain values, and what they are after one more."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from app.server.db.tables import Attempt

Drawing = tuple[str, int | None]  # an exercise, and its seed; None: any
SOLUTION = 0  # the number of a reveal that is the worked solution
SHOWN = 5  # answers at an exercise that its page lists


@dataclass(frozen=True, slots=True)
class Standing:
    """A learner's standing with one exercise; *unaided* is solved with no hint seen."""

    tried: int = 0
    solved: bool = False
    unaided: bool = False
    last: datetime | None = None


def join_histories(one: Standing | None, other: Standing) -> Standing:
    """The standing after what led to *one*, and to the *other*."""
    if one is None:
        return other
    return Standing(one.tried + other.tried, one.solved or other.solved, one.unaided or other.unaided)


@dataclass(frozen=True, slots=True)
class RevealedParts:
    """The hints, and whether the solution, that a learner has seen of one drawing."""

    hints: int
    solution: bool


@dataclass(frozen=True, slots=True)
class PastAnswer:
    """One answer, for the model of memory; *own*: correct without the worked solution."""

    exercise: str
    at: datetime
    own: bool
    unaided: bool


@dataclass(frozen=True, slots=True)
class Effort:
    """The effort spent on an exercise: answers, correct ones, and the time with its page open."""

    answers: int
    right: int
    seconds: float | None


@dataclass(frozen=True, slots=True)
class LastAnswer:
    """An answer at an exercise, as its page lists it.

    *revealed*: its solution had been shown before; *mistake*: the known mistake that it was.
    """

    seed: int
    at: datetime
    answer: str
    correct: bool
    revealed: bool = False
    mistake: str = ""

    @classmethod
    def of(cls, attempt: "Attempt") -> Self:
        """A stored answer, as its page lists it."""
        return cls(attempt.seed, attempt.at, attempt.answer, attempt.correct, attempt.revealed, attempt.mistake or "")


@dataclass(frozen=True, slots=True)
class LastAnswers:
    """The last answers of a learner at an exercise, newest first; *right*: drawings solved."""

    shown: tuple[LastAnswer, ...] = ()
    right: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class LearnerDrawing:
    """A learner at a drawing of an exercise."""

    learner: str
    exercise: str
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ExerciseHistory:
    """What a learner has done before, as seen from a drawing of an exercise.

    *seen*: the hints and the solution of that drawing; *last*: answers to the exercise, newest
    first; *veil*: the drawings whose verdicts are hidden, which *known* leaves out.
    """

    seen: RevealedParts = RevealedParts(0, solution=False)
    last: LastAnswers = LastAnswers()
    known: Mapping[str, Standing] = field(default_factory=dict)
    veil: frozenset[Drawing] = frozenset()

    def hides(self, exercise: str, seed: int) -> bool:
        """Whether verdicts on that drawing are hidden."""
        return (exercise, seed) in self.veil or (exercise, None) in self.veil

    def has_solved(self, exercise: str, seed: int) -> bool:
        """Whether that drawing was answered right, and the verdict is not hidden."""
        return seed in self.last.right and not self.hides(exercise, seed)

    def after_reveal(self, number: int) -> Self:
        """The history after the hint with that *number*, or the solution, was shown."""
        if number:
            return replace(self, seen=RevealedParts(max(number, self.seen.hints), self.seen.solution))
        return replace(self, seen=RevealedParts(self.seen.hints, solution=True))

    def after_answer(self, attempt: "Attempt") -> Self:
        """The history after one more answer."""
        one = LastAnswer.of(attempt)
        right = self.last.right | {attempt.seed} if attempt.correct else self.last.right
        last = LastAnswers((one, *self.last.shown)[:SHOWN], right)
        if self.hides(attempt.exercise, attempt.seed):
            return replace(self, last=last)
        own = attempt.correct and not attempt.revealed
        standing = Standing(1, own, own and not attempt.hints)
        standing = join_histories(self.known.get(attempt.exercise), standing)
        return replace(self, last=last, known={**self.known, attempt.exercise: standing})
