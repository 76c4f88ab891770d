"""Whose points in which linked assignment may have changed, from what is new in the tables."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Executable, func
from sqlalchemy import select as columns
from sqlmodel import Session, col

from app.server.db.people import AssignedRow, ExtensionRow, OverrideRow, PersonRow, RegradeRow
from app.server.db.platforms import LinkRow
from app.server.db.tables import AttemptRow

# Rows are not committed in the order of their numbers and times: the last minute is read again.
_OVERLAP = timedelta(minutes=1)


@dataclass(slots=True)
class _Mark:
    """Up to where attempts and overrides were read, and when."""

    at: datetime
    attempt: int
    override: int


class Changes:
    """Remembers up to where the tables were read."""

    def __init__(self) -> None:
        self._marks: list[_Mark] = []

    def skip(self, session: Session, at: datetime) -> None:
        """Regard everything until now as read."""
        self._marks = [self._mark(session, at)]

    def since(self, session: Session, at: datetime) -> Mapping[int, set[int]]:
        """The persons whose points may have changed since the last call, by assignment."""
        newest = self._mark(session, at)
        start = self._marks[0] if self._marks else newest
        found: dict[int, set[int]] = defaultdict(set)
        for statement in _changed(start):
            for assignment, person in session.connection().execute(statement):
                found[assignment].add(person)
        self._marks.append(newest)
        while len(self._marks) > 1 and self._marks[1].at <= at - _OVERLAP:
            del self._marks[0]
        return found

    def _mark(self, session: Session, at: datetime) -> _Mark:
        connection = session.connection()
        attempt = connection.execute(columns(func.max(col(AttemptRow.id)))).scalar()
        override = connection.execute(columns(func.max(col(OverrideRow.id)))).scalar()
        return _Mark(at, attempt or 0, override or 0)


def _changed(start: _Mark) -> Iterable[Executable]:
    """Statements for pairs of an assignment and a person."""
    linked = columns(col(LinkRow.assignment))
    answered = (
        columns(col(AssignedRow.assignment), col(PersonRow.id))
        .distinct()
        .join_from(AttemptRow, PersonRow, col(PersonRow.learner) == col(AttemptRow.learner))
        .join(AssignedRow, col(AssignedRow.exercise) == col(AttemptRow.exercise))
        .where(col(AssignedRow.assignment).in_(linked))
    )
    since = start.at - _OVERLAP
    yield answered.where(col(AttemptRow.id) > start.attempt)
    yield answered.join(RegradeRow, col(RegradeRow.attempt) == col(AttemptRow.id)).where(col(RegradeRow.at) > since)
    yield columns(col(ExtensionRow.assignment), col(ExtensionRow.person)).where(
        col(ExtensionRow.at) > since, col(ExtensionRow.assignment).in_(linked)
    )
    yield (
        columns(col(OverrideRow.assignment), col(OverrideRow.person))
        .distinct()
        .where(col(OverrideRow.id) > start.override, col(OverrideRow.assignment).in_(linked))
    )
