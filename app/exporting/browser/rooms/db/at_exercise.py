"""In place of the queries for many learners, in a browser: the same, of its one learner's rows."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime

from app.db.queries import SOLUTION, Revealed, Standing, standings
from app.db.session import Shelf

SHOWN = 5  # answers at an exercise that its page lists


@dataclass(frozen=True, slots=True)
class LastAnswer:
    """An answer at an exercise, as its page lists it."""

    seed: int
    at: datetime
    answer: str
    correct: bool


@dataclass(frozen=True, slots=True)
class LastAnswers:
    """The last answers at an exercise, newest first; *right*: drawings solved."""

    shown: tuple[LastAnswer, ...] = ()
    right: frozenset[int] = frozenset()


def reveals_of(
    shelf: Shelf, learners: Collection[str], exercises: Collection[str], seeds: Collection[int]
) -> Mapping[tuple[str, str, int], Revealed]:
    """What was shown of drawings, by learner, exercise and seed."""
    found: dict[tuple[str, str, int], set[int]] = {}
    (learner,) = learners
    for row in shelf.rows["reveals"]:
        if row.exercise in exercises and row.seed in seeds:
            found.setdefault((learner, row.exercise, row.seed), set()).add(row.number)
    return {
        drawing: Revealed(len(numbers - {SOLUTION}), SOLUTION in numbers)
        for drawing, numbers in found.items()
    }


def last_answers(
    shelf: Shelf, learners: Collection[str], exercises: Collection[str]
) -> Mapping[tuple[str, str], LastAnswers]:
    """The last answers at *exercises*."""
    (learner,) = learners
    rows = sorted(shelf.rows["attempts"], key=lambda row: row.at, reverse=True)
    found = {}
    for exercise in exercises:
        own = [row for row in rows if row.exercise == exercise]
        shown = tuple(LastAnswer(row.seed, row.at, row.answer, row.correct) for row in own[:SHOWN])
        right = frozenset(row.seed for row in own if row.correct)
        found[learner, exercise] = LastAnswers(shown, right)
    return found


def standings_by(shelf: Shelf, veils: Mapping[str, object]) -> Mapping[str, Mapping[str, Standing]]:
    """The standings of each learner by exercise."""
    return {learner: standings(shelf, learner) for learner in veils}


def joined(one: Standing | None, other: Standing) -> Standing:
    """The standing after what led to *one*, and to the *other*."""
    if one is None:
        return other
    return Standing(
        one.tried + other.tried, one.solved or other.solved, one.unaided or other.unaided
    )
