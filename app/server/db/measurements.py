"""Measurements that learners have saved: what was read in their files, never the files."""

import hmac
from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Engine, Index, Text, UniqueConstraint, delete, func, update
from sqlalchemy import select as columns
from sqlalchemy.orm import defer
from sqlmodel import Field, SQLModel, col, select

from app.core.errors import InputError
from app.server.db.session import RowNumber, UtcDateTime, open_connection, open_session, open_writing_session
from app.server.db.tables import LEARNER_LIMIT, NAME_LIMIT, now

MOST = 100  # of one learner
REPORT_LIMIT = 1 << 20  # characters of a report; a trace has about 130,000
_BYTES = 16  # of a name, which nobody can guess


class MeasurementRow(SQLModel, table=True):
    """The table of measurements that were saved. Its *name* is what opens it."""

    __tablename__ = "measurement"
    __table_args__ = (
        UniqueConstraint("name", name="uq_measurement_name"),
        Index("ix_measurement_learner", "learner", "id"),
    )

    id: int | None = Field(default=None, primary_key=True, sa_type=RowNumber)
    name: str = Field(max_length=NAME_LIMIT, description="of its page: 32 random digits")
    learner: str = Field(max_length=LEARNER_LIMIT)
    title: str = Field(max_length=NAME_LIMIT)
    report: str = Field(sa_type=Text, description="what was read, JSON")
    given: str = Field(default="{}", sa_type=Text, description="cluster, model and layout, JSON")
    at: datetime = Field(default_factory=now, sa_type=UtcDateTime)


def measurement_name(secret: str, serial: str) -> str:
    """The name for the page of the measurement *serial*; without *secret*, nobody can guess it."""
    digest = hmac.digest(secret.encode(), f"measurement:{serial}".encode(), "sha256")
    return digest[:_BYTES].hex()


def is_measurement_name(text: str) -> bool:
    """Whether *text* could be a name that `measurement_name` made."""
    return len(text) == 2 * _BYTES and not text.strip("0123456789abcdef")


def save_measurement(engine: Engine, row: MeasurementRow) -> bool:
    """Store *row*, unless there is one of that name; whether it was stored.

    Raises:
        InputError: its learner has saved too many.
        UnavailableError: the database cannot store it.
    """
    with open_writing_session(engine) as session:
        if session.exec(select(MeasurementRow.id).where(MeasurementRow.name == row.name)).first():
            return False
        own = columns(func.count()).where(col(MeasurementRow.learner) == row.learner)
        if int(session.scalar(own) or 0) >= MOST:
            raise InputError(f"you have saved {MOST} measurements, the limit: delete one first")
        session.add(row)
        session.commit()
    return True


def rename_measurement(engine: Engine, name: str, learner: str, title: str) -> None:
    """Give a measurement another *title*, if it is one of *learner*."""
    own = (col(MeasurementRow.name) == name, col(MeasurementRow.learner) == learner)
    with open_writing_session(engine) as session:
        session.connection().execute(update(MeasurementRow).where(*own).values(title=title))
        session.commit()


def saved_measurement(engine: Engine, name: str) -> MeasurementRow | None:
    """The measurement with that name."""
    with open_session(engine) as session:
        return session.exec(select(MeasurementRow).where(MeasurementRow.name == name)).first()


def saved_measurements(engine: Engine, learner: str) -> Sequence[MeasurementRow]:
    """The measurements of *learner*, the newest first; without a learner, there are none."""
    if not learner:
        return ()
    with open_session(engine) as session:
        own = select(MeasurementRow).where(MeasurementRow.learner == learner)
        return session.exec(own.order_by(col(MeasurementRow.id).desc()).limit(MOST)).all()


def titles_of_measurements(engine: Engine, learner: str) -> Sequence[MeasurementRow]:
    """As `saved_measurements`, without the reports, which are long."""
    if not learner:
        return ()
    light = defer(getattr(MeasurementRow, "report"), raiseload=True)  # noqa: B009 (typed as str)
    with open_session(engine) as session:
        own = select(MeasurementRow).options(light).where(MeasurementRow.learner == learner)
        return session.exec(own.order_by(col(MeasurementRow.id).desc()).limit(MOST)).all()


def delete_measurement(engine: Engine, name: str, learner: str) -> bool:
    """Delete the measurement with that name if it is of *learner*; whether it was."""
    own = (col(MeasurementRow.name) == name, col(MeasurementRow.learner) == learner)
    with open_connection(engine) as connection, connection.begin():
        return connection.execute(delete(MeasurementRow).where(*own)).rowcount > 0
