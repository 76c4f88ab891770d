"""What a learning platform knows of points here: for students, and for the teacher's page."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from sqlalchemy import func
from sqlalchemy import select as columns
from sqlmodel import Session, col, select

from app.classes.federation.outbox import unposted
from app.classes.people.classes import members_of
from app.core.translation import translate
from app.server.db.people import AssignmentRow
from app.server.db.platforms import ContextRow, LinkRow, OutboxRow, PlatformRow

Arrived = Literal["arrived", "waiting", "refused"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """Whether a platform has the points of a person in an assignment.

    *share* is the share of the points that it should have, 0 to 1, and *sent* the one that it
    has, since *at*. *said* is why the last try failed, and *next* when the next one is.
    """

    platform: str
    state: Arrived
    share: float
    sent: float | None
    at: datetime | None
    said: str
    next: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tie:
    """A course of a platform that a class is; *memberships*: whether its people can be read."""

    platform_id: int
    platform: str
    deployment: str
    context: str
    title: str
    memberships: str


@dataclass(frozen=True, slots=True)
class Sending:
    """How many scores of a class have arrived at platforms, wait, or were refused.

    Those of *computing* assignments are computed again, since something has just changed.
    """

    arrived: int = 0
    waiting: int = 0
    refused: int = 0
    computing: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsent:
    """A score that has not arrived, and why."""

    person: int
    name: str
    assignment: int
    title: str
    receipt: Receipt


def receipts(session: Session, assignment: int, person: int) -> Sequence[Receipt]:
    """What each platform knows of the points of a person; empty if none has to know them."""
    statement = (
        select(OutboxRow, PlatformRow)
        .where(
            LinkRow.assignment == assignment,
            OutboxRow.link == LinkRow.id,
            OutboxRow.person == person,
            PlatformRow.id == LinkRow.platform,
        )
        .order_by(col(OutboxRow.link))
    )
    return [_receipt(row, platform.name) for row, platform in session.exec(statement)]


def ties_of(session: Session, class_id: int) -> Sequence[Tie]:
    """The courses of platforms that a class is."""
    statement = (
        select(ContextRow, PlatformRow)
        .where(ContextRow.class_id == class_id, PlatformRow.id == ContextRow.platform)
        .order_by(col(PlatformRow.name), col(ContextRow.context))
    )
    return [
        Tie(
            platform_id=row.platform,
            platform=platform.name,
            deployment=row.deployment,
            context=row.context,
            title=row.title or row.context,
            memberships=row.memberships_url,
        )
        for row, platform in session.exec(statement)
    ]


def sending_of(session: Session, class_id: int) -> Sending:
    """How far the scores of a class are."""
    failed = (col(OutboxRow.said) != "") & col(OutboxRow.next).is_(None)
    statement = (
        columns(failed, col(OutboxRow.next).is_(None), func.count())
        .join_from(OutboxRow, LinkRow, col(LinkRow.id) == col(OutboxRow.link))
        .join(AssignmentRow, col(AssignmentRow.id) == col(LinkRow.assignment))
        .where(col(AssignmentRow.class_id) == class_id)
        .group_by(failed, col(OutboxRow.next).is_(None))
    )
    counts = {"arrived": 0, "waiting": 0, "refused": 0}
    for refused, at_rest, count in session.connection().execute(statement):
        counts["refused" if refused else "arrived" if at_rest else "waiting"] += count
    own = columns(col(AssignmentRow.id)).where(col(AssignmentRow.class_id) == class_id)
    mine = set(session.connection().execute(own).scalars())
    return Sending(**counts, computing=len(mine.intersection(unposted(session))))


def unsent_of(session: Session, class_id: int, most: int) -> Sequence[Unsent]:
    """The scores of a class that a platform has refused, or that failed and are tried again."""
    statement = (
        select(OutboxRow, PlatformRow, AssignmentRow)
        .where(
            AssignmentRow.class_id == class_id,
            LinkRow.assignment == AssignmentRow.id,
            OutboxRow.link == LinkRow.id,
            OutboxRow.said != "",
            PlatformRow.id == LinkRow.platform,
        )
        .order_by(col(AssignmentRow.id), col(OutboxRow.person))
        .limit(most)
    )
    names = {member.person: member.name for member in members_of(session, class_id)}
    return [
        Unsent(
            person=row.person,
            name=names.get(row.person, translate("a former member")),
            assignment=assignment.id or 0,
            title=assignment.title,
            receipt=_receipt(row, platform.name),
        )
        for row, platform, assignment in session.exec(statement)
    ]


def _receipt(row: OutboxRow, platform: str) -> Receipt:
    return Receipt(
        platform=platform,
        state=_state(row),
        share=row.points,
        sent=row.sent_points,
        at=row.sent_at,
        said=row.said,
        next=row.next,
    )


def _state(row: OutboxRow) -> Arrived:
    if row.next is not None:
        return "waiting"
    return "refused" if row.said else "arrived"
