"""Everything stored about one learner: to export, to merge with what is imported, or to delete."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import TypeVar

from sqlalchemy import Connection, CursorResult, Engine, delete, func, insert, text
from sqlalchemy import select as columns
from sqlmodel import Session, SQLModel, col, select

from app.core.errors import InputError
from app.server.db.assessments import AssessedAnswer, AssessedRow, KnownChapter, KnownChapterRow
from app.server.db.lab_runs import SENT, SENT_LIMIT
from app.server.db.measurements import MOST as MOST_MEASUREMENTS
from app.server.db.measurements import MeasurementRow
from app.server.db.records import MergeResult, PersonalRows
from app.server.db.session import BEGIN, open_connection
from app.server.db.tables import (
    Attempt,
    AttemptRow,
    BoardRow,
    DailyGuess,
    DailyGuessRow,
    LabRunRow,
    Prediction,
    PredictionRow,
    Reveal,
    RevealRow,
)

MOST = 20_000  # answers of one learner after an import: every page of theirs looks at all of them
# Where a row is stored, and where it came from.
_NOT_OF_A_FILE = {"id", "learner", "carried"}
T = TypeVar("T")
Key = tuple[object, ...]
_PersonalTable = type[
    AttemptRow
    | RevealRow
    | PredictionRow
    | DailyGuessRow
    | LabRunRow
    | MeasurementRow
    | AssessedRow
    | KnownChapterRow
    | BoardRow
]
_TABLES: Mapping[str, _PersonalTable] = {
    "attempts": AttemptRow,
    "reveals": RevealRow,
    "predictions": PredictionRow,
    "guesses": DailyGuessRow,
    "runs": LabRunRow,
    "measurements": MeasurementRow,
    "assessed": AssessedRow,
    "known_chapters": KnownChapterRow,
    "boards": BoardRow,
}


def collect_everything(session: Session, learner: str) -> Mapping[str, str | Sequence[Mapping[str, object]]]:
    """Everything stored about *learner*, ready for JSON."""
    stored: dict[str, str | Sequence[Mapping[str, object]]] = {"learner": learner}
    for name, table in _TABLES.items():
        rows = select(table).where(table.learner == learner).order_by(col(table.id))
        stored[name] = [row.model_dump(mode="json", exclude=_NOT_OF_A_FILE) for row in session.exec(rows)]
    return stored


def delete_everything(session: Session, learner: str) -> int:
    """Delete everything stored about *learner*, and return the number of rows deleted."""
    count = 0
    for table in _TABLES.values():
        result = session.connection().execute(delete(table).where(col(table.learner) == learner))
        count += result.rowcount if isinstance(result, CursorResult) else 0
    session.commit()
    return count


def delete_learners(session: Session, learners: Sequence[str]) -> None:
    """Delete everything stored about *learners*, a few hundred at most; not committed."""
    for table in _TABLES.values():
        session.connection().execute(delete(table).where(col(table.learner).in_(learners)))


def merge(engine: Engine, learner: str, rows: PersonalRows) -> MergeResult:
    """Store those of *rows* that are not stored about *learner* yet: all of them, or none.

    What is stored stays as it is; a prediction or a guess, once made, is not replaced by another.

    Raises:
        InputError: the learner would have too many answers, runs or measurements.
        UnavailableError: the database cannot store them.
    """
    immediate = engine.execution_options(**{BEGIN: "BEGIN IMMEDIATE"})
    with open_connection(immediate) as connection, connection.begin():
        _lock(connection, learner)
        attempts = _new(rows.attempts, _of_attempt, _stored(connection, AttemptRow, learner))
        reveals = _new(rows.reveals, _of_reveal, _stored(connection, RevealRow, learner))
        predictions = _new(rows.predictions, _of_prediction, _stored(connection, PredictionRow, learner))
        guesses = _new(rows.guesses, _of_guess, _guessed(connection, learner))
        runs = _new(rows.runs, _row_key, _names(connection, LabRunRow, rows.runs))
        saved = _new(rows.measurements, _row_key, _names(connection, MeasurementRow, rows.measurements))
        assessed = _new(rows.assessed, _of_question, _keys(connection, AssessedRow, learner))
        chapters = _new(rows.known_chapters, _of_chapter, _keys(connection, KnownChapterRow, learner))
        _refuse_too_many(connection, learner, len(attempts), len(runs))
        _refuse_measurements(connection, learner, len(saved))
        _insert(connection, AttemptRow, attempts)
        _insert(connection, RevealRow, reveals)
        _insert(connection, PredictionRow, predictions)
        _insert(connection, DailyGuessRow, guesses)
        _insert(connection, LabRunRow, runs)
        _insert(connection, MeasurementRow, saved)
        _insert(connection, AssessedRow, assessed)
        _insert(connection, KnownChapterRow, chapters)
    lists: Sequence[Sequence[SQLModel]] = (attempts, reveals, predictions, guesses, runs, saved)
    lists = (*lists, assessed, chapters)
    added = sum(map(len, lists))
    return MergeResult(added, rows.count - added)


def _lock(connection: Connection, learner: str) -> None:
    """Let no other merge of *learner* run meanwhile; on SQLite no other writer does anyway."""
    if connection.dialect.name == "postgresql":
        number = int.from_bytes(sha256(learner.encode()).digest()[:8], signed=True)
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": number})


def _insert(connection: Connection, table: _PersonalTable, rows: Sequence[SQLModel]) -> None:
    if rows:
        connection.execute(insert(table), [row.model_dump(exclude={"id"}) for row in rows])


def _new(rows: Sequence[T], key: Callable[[T], Key], stored: Iterable[Key]) -> list[T]:
    """Those of *rows* whose key is neither *stored* nor that of an earlier one."""
    known, found = set(stored), []
    for row in rows:
        if (own := key(row)) not in known:
            known.add(own)
            found.append(row)
    return found


def _of_attempt(row: Attempt) -> Key:
    """What makes an answer the same: when it was given to which drawing, and its text."""
    # Not the text itself: thousands of programs would fill the memory.
    answer = sha256(row.answer.encode()).digest()
    return row.exercise, row.seed, row.at, answer


def _of_reveal(row: Reveal) -> Key:
    return row.exercise, row.seed, row.number


def _of_prediction(row: Prediction) -> Key:
    return row.exercise, row.seed


def _of_guess(row: DailyGuess) -> Key:
    return (row.day,)


def _of_question(row: AssessedAnswer) -> Key:
    return row.assessment, row.draw, row.number


def _of_chapter(row: KnownChapter) -> Key:
    return (row.chapter,)


def _keys(connection: Connection, table: type[AssessedRow | KnownChapterRow], learner: str) -> Iterator[Key]:
    """The keys of the rows of *learner* in *table*."""
    names = ("assessment", "draw", "number") if table is AssessedRow else ("chapter",)
    own = columns(*(getattr(table, name) for name in names)).where(col(table.learner) == learner)
    return (tuple(row) for row in connection.execute(own))


def _row_key(row: LabRunRow | MeasurementRow) -> Key:
    return (row.name,)


def _stored(connection: Connection, table: type[AttemptRow | RevealRow | PredictionRow], learner: str) -> Iterator[Key]:
    """The keys of the rows of *learner* in *table*."""
    what = {AttemptRow: ("at", "answer"), RevealRow: ("number",), PredictionRow: ()}[table]
    fields = [getattr(table, name) for name in ("exercise", "seed", *what)]
    rows = columns(*fields).where(col(table.learner) == learner)
    for exercise, seed, *more in connection.execute(rows, execution_options={"yield_per": 1000}):
        if table is AttemptRow:
            more[1] = sha256(more[1].encode()).digest()
        yield exercise, seed, *more


def _guessed(connection: Connection, learner: str) -> Iterator[Key]:
    """The days on which *learner* has guessed."""
    days = columns(col(DailyGuessRow.day)).where(col(DailyGuessRow.learner) == learner)
    return ((day,) for (day,) in connection.execute(days))


def _names(
    connection: Connection, table: type[LabRunRow | MeasurementRow], rows: Sequence[LabRunRow | MeasurementRow]
) -> Iterator[Key]:
    """The names of those of *rows* that are stored in *table*, of any learner."""
    names = columns(col(table.name)).where(col(table.name).in_([row.name for row in rows]))
    return ((name,) for (name,) in connection.execute(names))


def _refuse_too_many(connection: Connection, learner: str, answers: int, runs: int) -> None:
    own = columns(func.count()).where(col(AttemptRow.learner) == learner)
    if answers and answers + int(connection.scalar(own) or 0) > MOST:
        raise InputError(f"with this file there would be more than {MOST:,} answers, the limit")
    sent = columns(func.count()).where(col(LabRunRow.learner) == learner, col(LabRunRow.host) == SENT)
    if runs and runs + int(connection.scalar(sent) or 0) > SENT_LIMIT:
        raise InputError(f"with this file there would be more than {SENT_LIMIT} sent runs, the limit")


def _refuse_measurements(connection: Connection, learner: str, count: int) -> None:
    own = columns(func.count()).where(col(MeasurementRow.learner) == learner)
    if count and count + int(connection.scalar(own) or 0) > MOST_MEASUREMENTS:
        raise InputError(f"with this file there would be more than {MOST_MEASUREMENTS} saved measurements, the limit")
