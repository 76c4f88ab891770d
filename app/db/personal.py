"""Everything stored about one learner: to export, or to delete."""

from collections.abc import Mapping, Sequence

from sqlalchemy import CursorResult, delete
from sqlmodel import Session, col, select

from app.db.tables import AttemptRow, LabRunRow, PredictionRow, RevealRow

_PersonalTable = type[AttemptRow | RevealRow | PredictionRow | LabRunRow]
_TABLES: Mapping[str, _PersonalTable] = {
    "attempts": AttemptRow,
    "reveals": RevealRow,
    "predictions": PredictionRow,
    "runs": LabRunRow,
}


def everything(
    session: Session, learner: str
) -> Mapping[str, str | Sequence[Mapping[str, object]]]:
    """Everything stored about *learner*, ready for JSON."""
    stored: dict[str, str | Sequence[Mapping[str, object]]] = {"learner": learner}
    for name, table in _TABLES.items():
        rows = select(table).where(table.learner == learner).order_by(col(table.id))
        stored[name] = [
            row.model_dump(mode="json", exclude={"learner"}) for row in session.exec(rows)
        ]
    return stored


def delete_everything(session: Session, learner: str) -> int:
    """Delete everything stored about *learner*, and return the number of rows deleted."""
    count = 0
    for table in _TABLES.values():
        result = session.connection().execute(delete(table).where(col(table.learner) == learner))
        count += result.rowcount if isinstance(result, CursorResult) else 0
    session.commit()
    return count
