"""All that is kept about one learner: to take away, or to delete."""

from collections.abc import Mapping, Sequence

from sqlalchemy import CursorResult, delete
from sqlmodel import Session, col, select

from app.db.tables import AttemptRow, RevealRow

Record = Mapping[str, object]


def everything(session: Session, learner: str) -> Mapping[str, str | Sequence[Record]]:
    """All that is kept about *learner*, ready for JSON."""
    attempts = select(AttemptRow).where(AttemptRow.learner == learner).order_by(col(AttemptRow.id))
    reveals = select(RevealRow).where(RevealRow.learner == learner).order_by(col(RevealRow.id))
    return {
        "learner": learner,
        "attempts": [
            row.model_dump(mode="json", exclude={"learner"}) for row in session.exec(attempts)
        ],
        "reveals": [
            row.model_dump(mode="json", exclude={"learner"}) for row in session.exec(reveals)
        ],
    }


def delete_everything(session: Session, learner: str) -> int:
    """Delete all that is kept about *learner*; how many rows that was."""
    count = 0
    for table in (AttemptRow, RevealRow):
        result = session.connection().execute(delete(table).where(col(table.learner) == learner))
        count += result.rowcount if isinstance(result, CursorResult) else 0
    session.commit()
    return count
