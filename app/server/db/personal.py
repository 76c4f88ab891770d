"""Everything stored about one learner: to export, to merge with what is imported, or to delete."""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

from sqlalchemy import Connection, CursorResult, Engine, delete, func, insert, text
from sqlalchemy import select as columns
from sqlmodel import Session, SQLModel, col, select

from app.core.errors import InputError
from app.server.db.assessments import AssessedRow, KnownChapterRow
from app.server.db.lab_runs import SENT, SENT_LIMIT
from app.server.db.measurements import MOST as MOST_MEASUREMENTS
from app.server.db.measurements import MeasurementRow
from app.server.db.records import MergeResult, PersonalRows
from app.server.db.session import BEGIN, open_connection
from app.server.db.tables import AttemptRow, BoardRow, DailyGuessRow, LabRunRow, PredictionRow, RevealRow

MOST = 20_000  # answers of one learner after an import: every page of theirs looks at all of them
# Where a row is stored, and where it came from.
_NOT_OF_A_FILE = {"id", "learner", "carried"}
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
# What is imported, and the fields that make two rows the same.
_SAME: Mapping[str, tuple[str, ...]] = {
    "attempts": ("exercise", "seed", "at", "answer"),
    "reveals": ("exercise", "seed", "number"),
    "predictions": ("exercise", "seed"),
    "guesses": ("day",),
    "runs": ("name",),
    "measurements": ("name",),
    "assessed": ("assessment", "draw", "number"),
    "known_chapters": ("chapter",),
}
_LIMITS = {
    "attempts": (MOST, "answers"),
    "runs": (SENT_LIMIT, "sent runs"),
    "measurements": (MOST_MEASUREMENTS, "saved measurements"),
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
        if connection.dialect.name == "postgresql":  # on SQLite no other writer runs meanwhile
            number = int.from_bytes(sha256(learner.encode()).digest()[:8], signed=True)
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": number})
        fresh = {name: _missing(connection, name, getattr(rows, name), learner) for name in _SAME}
        _refuse_too_many(connection, fresh, learner)
        for name, some in fresh.items():
            if some:
                connection.execute(insert(_TABLES[name]), [row.model_dump(exclude={"id"}) for row in some])
    added = sum(map(len, fresh.values()))
    return MergeResult(added, rows.count - added)


def _missing(connection: Connection, name: str, rows: Sequence[SQLModel], learner: str) -> list[SQLModel]:
    """Those of *rows* that are neither stored nor the same as an earlier one."""
    table: Any = _TABLES[name]
    fields = _SAME[name]
    # A run and a measurement have the name of their page, and may be of another learner.
    which = table.name.in_([_key(row, fields)[0] for row in rows]) if fields == ("name",) else table.learner == learner
    stored = columns(*(getattr(table, field) for field in fields)).where(which)
    known = {_key(row, fields) for row in connection.execute(stored, execution_options={"yield_per": 1000})}
    found = []
    for row in rows:
        if (own := _key(row, fields)) not in known:
            known.add(own)
            found.append(row)
    return found


def _key(row: object, fields: Sequence[str]) -> tuple[object, ...]:
    """What makes *row* the same as another: not the text of an answer, of which thousands would fill the memory."""
    values = ((field, getattr(row, field)) for field in fields)
    return tuple(sha256(one.encode()).digest() if field == "answer" else one for field, one in values)


def _refuse_too_many(connection: Connection, fresh: Mapping[str, Sequence[SQLModel]], learner: str) -> None:
    for name, (most, noun) in _LIMITS.items():
        own = columns(func.count()).where(col(_TABLES[name].learner) == learner)
        if name == "runs":
            own = own.where(col(LabRunRow.host) == SENT)
        if fresh[name] and len(fresh[name]) + int(connection.scalar(own) or 0) > most:
            raise InputError(f"with this file there would be more than {most:,} {noun}, the limit")
