"""In place of the queries for many learners, in a browser: the same, of its one learner's rows."""

from app.db.history import (
    SHOWN,
    SOLUTION,
    ExerciseHistory,
    LastAnswer,
    LastAnswers,
    LearnerDrawing,
    Revealed,
)
from app.db.queries import standings
from app.db.session import Shelf


def history_at(shelf: Shelf, at: LearnerDrawing) -> ExerciseHistory:
    """What the learner of this browser has done, as seen from a drawing."""
    rows = sorted(shelf.rows["attempts"], key=lambda row: row.at, reverse=True)
    own = [row for row in rows if row.exercise == at.exercise]
    shown = tuple(LastAnswer(row.seed, row.at, row.answer, row.correct) for row in own[:SHOWN])
    right = frozenset(row.seed for row in own if row.correct)
    numbers = {
        row.number
        for row in shelf.rows["reveals"]
        if (row.exercise, row.seed) == (at.exercise, at.seed)
    }
    return ExerciseHistory(
        seen=Revealed(len(numbers - {SOLUTION}), SOLUTION in numbers),
        last=LastAnswers(shown, right),
        known=standings(shelf, at.learner),
    )
