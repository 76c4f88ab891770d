"""The queue of lab runs: each function is named after what it does to it or asks of it."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta

from sqlalchemy import ColumnElement, Engine, func, update
from sqlalchemy import select as columns
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import aliased, defer
from sqlmodel import Session, col, select

from app.core.errors import UnavailableError
from app.server.db.run_state import UNFINISHED, RunState
from app.server.db.session import open_connection, open_session, open_writing_session
from app.server.db.tables import LabRunRow, now

_OWN = 3  # unfinished runs that one learner may have
SENT_LIMIT = 50  # runs of other machines that one learner may send in
_LISTED = 200  # runs of this server that are listed, the newest
_SENT_LISTED = 50  # runs that were sent in; they must not crowd out the others
REPORT_LIMIT = 1 << 20  # characters of a report that are read
SENT = "sent in"  # the host of a run that was made elsewhere


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """What has changed about a run; None for what has not."""

    state: RunState | None = None
    says: str | None = None
    report: str | None = None
    log: str | None = None

    @property
    def changes(self) -> Mapping[str, str]:
        """The columns to change, and their values."""
        return {name: value for name, value in asdict(self).items() if value is not None}


class QueueFullError(UnavailableError):
    """Too many runs are in the queue already."""


def enqueue(engine: Engine, row: LabRunRow, most: int, nearby: Collection[str] = ()) -> None:
    """Put *row* at the end of the queue, which holds up to *most* rows.

    *nearby* are the names of runs from the same network address, which together may take half of the queue.

    Raises:
        QueueFullError: the queue is full, or has too many runs of the same learner or address.
        UnavailableError: the database cannot store it.
    """
    with open_writing_session(engine) as session:
        if _waiting(session, col(LabRunRow.host) == row.host) >= most:
            raise QueueFullError(f"{most} runs are in the queue already; try again in a while")
        if _waiting(session, col(LabRunRow.learner) == row.learner) >= _OWN:
            raise QueueFullError(
                f"{_OWN} of your runs are in the queue already; cancel one, or try again when one has finished"
            )
        if nearby and _waiting(session, col(LabRunRow.name).in_(nearby)) >= queue_share(most):
            raise QueueFullError(
                "half of the queue is taken by runs from your network address; try again when one has finished"
            )
        session.add(row)
        session.commit()


def queue_share(most: int) -> int:
    """How many places in a queue of *most* one network address may take."""
    return max(1, most // 2)


def _waiting(session: Session, *which: ColumnElement[bool]) -> int:
    rows = columns(func.count()).where(col(LabRunRow.state).in_(UNFINISHED), *which)
    return int(session.scalar(rows) or 0)


def keep_sent(engine: Engine, row: LabRunRow) -> None:
    """Store a finished run that a learner sent in from another machine.

    Raises:
        QueueFullError: the same learner has sent in too many.
    """
    with open_writing_session(engine) as session:
        sent = columns(func.count()).where(col(LabRunRow.learner) == row.learner, col(LabRunRow.host) == SENT)
        if int(session.scalar(sent) or 0) >= SENT_LIMIT:
            raise QueueFullError(f"you have already sent in {SENT_LIMIT} runs, which is the limit")
        session.add(row)
        session.commit()


def claim_run(engine: Engine, host: str, worker: str) -> LabRunRow | None:
    """The next run for *host* whose devices are free, now followed by *worker*."""
    other = aliased(LabRunRow)
    busy = columns(col(other.id)).where(col(other.state) == RunState.RUNNING, col(other.pool) == col(LabRunRow.pool))
    following = (
        columns(col(LabRunRow.id))
        .where(col(LabRunRow.state) == RunState.QUEUED, col(LabRunRow.host) == host)
        .where(~busy.exists())
        .order_by(col(LabRunRow.id))
        .limit(1)
    )
    change = (
        update(LabRunRow)
        .where(col(LabRunRow.id) == following.scalar_subquery(), col(LabRunRow.state) == RunState.QUEUED)
        .values(state=RunState.RUNNING, worker=worker, beat=now())
        .returning(col(LabRunRow.name))
    )
    with open_connection(engine) as connection:
        with connection.begin():  # usually the queue is empty, and nothing needs to be locked
            if connection.execute(following).scalar() is None:
                return None
        try:
            with connection.begin():
                name = connection.execute(change).scalar()
        except IntegrityError:  # another server was faster, and has the devices
            return None
    return lab_run(engine, name) if name else None


def record_progress(engine: Engine, name: str, worker: str, progress: Progress | None = None) -> bool | None:
    """Store the *progress* of run *name*; whether its cancellation was requested.

    None if *worker* no longer follows it: another process does, and nothing was stored.
    """
    mine = (col(LabRunRow.name) == name, col(LabRunRow.worker) == worker)
    changes = progress.changes if progress else {}
    change = update(LabRunRow).where(*mine).values(beat=now(), **changes)
    with open_connection(engine) as connection, connection.begin():
        return connection.execute(change.returning(col(LabRunRow.cancel))).scalar()


def request_cancel(engine: Engine, name: str) -> None:
    """Have run *name* stopped; one that is still in the queue is canceled at once."""
    own = col(LabRunRow.name) == name
    waits, runs = col(LabRunRow.state) == RunState.QUEUED, col(LabRunRow.state) == RunState.RUNNING
    ended = {"state": RunState.CANCELED, "says": "taken out of the queue before it started"}
    with open_connection(engine) as connection, connection.begin():
        connection.execute(update(LabRunRow).where(own, waits).values(**ended))
        connection.execute(update(LabRunRow).where(own, runs).values(cancel=True))


def adopt(engine: Engine, host: str, worker: str, silent: float) -> Sequence[LabRunRow]:
    """The running rows of *host* with no beat for *silent* seconds; *worker* takes them over."""
    change = (
        update(LabRunRow)
        .where(
            col(LabRunRow.state) == RunState.RUNNING,
            col(LabRunRow.host) == host,
            col(LabRunRow.worker) != worker,
            col(LabRunRow.beat) < now() - timedelta(seconds=silent),
        )
        .values(worker=worker, beat=now())
        .returning(col(LabRunRow.name))
    )
    with open_connection(engine) as connection, connection.begin():
        names = [str(name) for (name,) in connection.execute(change).all()]
    rows = (lab_run(engine, name) for name in names)
    return [row for row in rows if row]


def lab_run(engine: Engine, name: str) -> LabRunRow | None:
    """The run with that name."""
    with open_session(engine) as session:
        return session.exec(select(LabRunRow).where(LabRunRow.name == name)).first()


def ahead_of(session: Session, row: LabRunRow) -> int:
    """How many runs are ahead of *row* on the same devices."""
    return _waiting(session, col(LabRunRow.pool) == row.pool, col(LabRunRow.id) < row.id)


def finished_runs(session: Session, lab: str) -> Sequence[LabRunRow]:
    """The runs of *lab* that are done, the newest first, those of this server before sent ones.

    They come without their reports and logs, which are long: see `report_text`.
    """
    own, sent = col(LabRunRow.host) != SENT, col(LabRunRow.host) == SENT
    return [*_finished(session, lab, own, _LISTED), *_finished(session, lab, sent, _SENT_LISTED)]


def _finished(session: Session, lab: str, which: ColumnElement[bool], most: int) -> Sequence[LabRunRow]:
    light = (defer(getattr(LabRunRow, name), raiseload=True) for name in ("report", "log"))
    statement = (
        select(LabRunRow)
        .options(*light)
        .where(LabRunRow.lab == lab, LabRunRow.state == RunState.DONE, which)
        .order_by(col(LabRunRow.id).desc())
    )
    return session.exec(statement.limit(most)).all()


def report_text(engine: Engine, name: str) -> str:
    """The report of run *name* as JSON; empty if it is longer than any report can be."""
    text = col(LabRunRow.report)
    statement = columns(text).where(col(LabRunRow.name) == name, func.length(text) <= REPORT_LIMIT)
    with open_session(engine) as session:
        return str(session.scalar(statement) or "")


def counted_runs(session: Session, learner: str = "") -> Mapping[str, int]:
    """How many runs of each lab are done, by anyone or by *learner*."""
    done = columns(col(LabRunRow.lab), func.count()).where(col(LabRunRow.state) == RunState.DONE)
    if learner:
        done = done.where(col(LabRunRow.learner) == learner)
    rows = session.connection().execute(done.group_by(col(LabRunRow.lab))).all()
    return {str(lab): int(count) for lab, count in rows}
