"""In place of everything that a server stores about a learner: what this browser stores."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.db.measurements import MeasurementRow
from app.db.session import Shelf
from app.db.tables import (
    KINDS,
    Assessed,
    Attempt,
    DailyGuess,
    KnownChapter,
    LabRunRow,
    Prediction,
    Reveal,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Personal:
    """Rows of one learner, as they come from a file."""

    attempts: Sequence[Attempt]
    reveals: Sequence[Reveal]
    predictions: Sequence[Prediction]
    guesses: Sequence[DailyGuess]
    runs: Sequence[LabRunRow]
    measurements: Sequence[MeasurementRow] = ()
    assessed: Sequence[Assessed] = ()
    known_chapters: Sequence[KnownChapter] = ()

    @property
    def count(self) -> int:
        """The number of rows."""
        return sum(len(getattr(self, name)) for name in KINDS)


@dataclass(frozen=True, slots=True)
class Merged:
    """How many rows were added, and how many were left out because they were stored already."""

    added: int
    known: int


def everything(session: Shelf, learner: str) -> Mapping[str, object]:
    """Everything stored, ready for JSON; a server reads it."""
    rows = {name: [row.stored() for row in session.rows[name]] for name in KINDS}
    return {"learner": learner, **rows, "runs": []}


def delete_everything(session: Shelf, _: str) -> int:
    """Delete everything, and return the number of rows deleted."""
    return session.clear()


def merge(engine: Shelf, _: str, rows: Personal) -> Merged:
    """Store those of *rows* that are not stored yet."""
    before = sum(map(len, engine.rows.values()))
    known = {_key(row) for row in engine.rows["attempts"]}
    for row in rows.attempts:
        if _key(row) not in known:
            engine.add(row)
    for name in ("reveals", "predictions", "guesses", "assessed", "known_chapters"):
        for other in getattr(rows, name):
            engine.add(other)
    added = sum(map(len, engine.rows.values())) - before
    return Merged(added, rows.count - added)


def _key(row: Attempt) -> tuple[object, ...]:
    return row.exercise, row.seed, row.at, row.answer
