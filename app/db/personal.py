"""All that is kept about one learner: to take away, or to delete."""

from collections.abc import Mapping, Sequence

from sqlalchemy import CursorResult, delete
from sqlmodel import Session, col, select

from app.db.tables import AttemptRow, LabRunRow, PredictionRow, RevealRow

Record = Mapping[str, object]
_Table = type[AttemptRow | RevealRow | PredictionRow | LabRunRow]
_TABLES: Mapping[str, _Table] = {
    "attempts": AttemptRow,
    "reveals": RevealRow,
    "predictions": PredictionRow,
    "runs": LabRunRow,
}


def everything(session: Session, learner: str) -> Mapping[str, str | Sequence[Record]]:
    """All that is kept about *learner*, ready for JSON."""
    kept: dict[str, str | Sequence[Record]] = {"learner": learner}
    for name, table in _TABLES.items():
        rows = select(table).where(table.learner == learner).order_by(col(table.id))
        kept[name] = [
            row.model_dump(mode="json", exclude={"learner"}) for row in session.exec(rows)
        ]
    return kept


def delete_everything(session: Session, learner: str) -> int:
    """Delete all that is kept about *learner*; how many rows that was."""
    count = 0
    for table in _TABLES.values():
        result = session.connection().execute(delete(table).where(col(table.learner) == learner))
        count += result.rowcount if isinstance(result, CursorResult) else 0
    session.commit()
    return count
