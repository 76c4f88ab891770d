"""The scores that platforms should have, from points here, and what of them a platform knows already."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from sqlalchemy import ColumnElement, func, or_, update
from sqlalchemy import select as columns
from sqlmodel import Session, col, select

from app.classes.federation.lti.platforms import identities_of
from app.classes.people.assignments import Assignment, assignment_with
from app.classes.people.classes import members_of
from app.classes.people.counted_answers import dates_for
from app.classes.people.gradebook import Cells, best_answer_times, cells_of, points_in, possible_in
from app.classes.people.work import release_of
from app.core.translation import translate
from app.server.db.people import AssignmentRow, ContextRow, IdentityRow, LinkRow, OutboxRow, PlatformRow

NO_SCORE = -1.0  # instead of a share: a platform has to have no score, or none was posted yet


@dataclass(frozen=True, slots=True)
class EarnedShare:
    """The *share* of the points, 0 to 1, or `NO_SCORE`, and when the last answer that counts was given."""

    share: float
    answered: datetime | None


def shares_of(
    session: Session, secret: str, assignment: int, at: datetime, persons: Collection[int] | None = None
) -> Mapping[int, EarnedShare]:
    """The share of the points of *persons*, or everyone, as platforms should have it.

    A person without an answer has no score yet, and one who is excused has none anymore. Points that students do not
    see before the due date are not sent before it either.
    """
    found = assignment_with(session, assignment)
    everyone = members_of(session, found.class_id)
    members = [one for one in everyone if persons is None or one.person in persons]
    cells = cells_of(session, secret, found, members)
    times = best_answer_times(session, secret, found, members)
    answered: dict[int, datetime | None] = {}  # the last of the answers that earned points, by person
    for key in cells:
        before, last = answered.get(key[0]), times.get(key)
        answered[key[0]] = max(before, last) if before and last else before or last
    shares = {person: EarnedShare(_share(cells, person, found), last) for person, last in answered.items()}
    if found.policy.show_points:
        return shares
    released = {person: release_of(found, dates_for(session, found, person)) for person in shares}
    return {person: share for person, share in shares.items() if (moment := released[person]) is None or at > moment}


def _share(cells: Cells, person: int, assignment: Assignment) -> float:
    """The share of the points that are possible for *person*, from 0 to 1, or `NO_SCORE`."""
    points, most = points_in(cells, person, assignment), possible_in(cells, person, assignment)
    if points is None:
        return NO_SCORE
    return min(1.0, max(0.0, points / most)) if most else 0.0


LEASE = timedelta(minutes=3)  # longer than a score takes on its way
_APART = timedelta(seconds=2)  # between two scores of a cell: platforms drop the second of a second
_FIRST_WAIT = timedelta(seconds=15)
_LONGEST_WAIT = timedelta(hours=6)
_DOUBLINGS = 20
_TRIES_DOWN, _TRIES_REFUSED = 24, 5  # about four days, and four minutes
_SAID = 500  # characters
_NEAR = 1e-9  # of a share
_COMMITTING = timedelta(seconds=10)  # a change may be dated that long before others see it


@dataclass(frozen=True, slots=True, kw_only=True)
class DueScore:
    """A score on its way: *previous* is when the last one was sent, *answered* as it was earned."""

    link: int
    person: int
    platform: int
    subject: str
    share: float
    answered: datetime | None
    tries: int
    previous: datetime | None


def linked_assignments(session: Session) -> Sequence[int]:
    """The assignments that a link of a platform opens."""
    return sorted(session.exec(select(LinkRow.assignment).distinct()))


def find_unposted(session: Session) -> Collection[int]:
    """The assignments with a link whose points were computed before the last change, or never."""
    behind = or_(col(LinkRow.posted).is_(None), col(LinkRow.posted) <= col(AssignmentRow.changed))
    statement = (
        columns(col(LinkRow.assignment))
        .distinct()
        .join_from(LinkRow, AssignmentRow, col(AssignmentRow.id) == col(LinkRow.assignment))
        .where(behind)
    )
    return set(session.connection().execute(statement).scalars())


def post(
    session: Session, assignment: int, shares: Mapping[int, EarnedShare], at: datetime, *, everyone: bool = False
) -> int:
    """Put *shares* of persons in an assignment into the outbox; how many have changed. Commits.

    Servers take turns at each link: two would insert the same row. With *everyone*, nothing that
    was changed before *at* is missing.
    """
    linked = select(LinkRow).where(LinkRow.assignment == assignment).order_by(col(LinkRow.id))
    links = session.exec(linked.with_for_update()).all()
    changes = sum(_post_link(session, link, shares, at) for link in links)
    for link in links if everyone else ():
        link.posted = at - _COMMITTING
        session.add(link)
    session.commit()
    return changes


def due_scores(session: Session, platform: int, at: datetime, most: int) -> Sequence[DueScore]:
    """The scores of a platform that are due, those that wait longest first."""
    statement = (
        select(OutboxRow)
        .where(LinkRow.id == OutboxRow.link, LinkRow.platform == platform, col(OutboxRow.next) <= at)
        .order_by(col(OutboxRow.next))
        .limit(most)
    )
    return [_due(row, platform) for row in session.exec(statement)]


def waiting_platforms(session: Session, at: datetime) -> Sequence[int]:
    """The active platforms for which a score is due."""
    statement = (
        columns(col(LinkRow.platform))
        .distinct()
        .join_from(OutboxRow, LinkRow, col(LinkRow.id) == col(OutboxRow.link))
        .join(PlatformRow, col(PlatformRow.id) == col(LinkRow.platform))
        .where(col(OutboxRow.next) <= at, col(PlatformRow.active))
    )
    return sorted(session.connection().execute(statement).scalars())


def claim_score(session: Session, one: DueScore, at: datetime) -> bool:
    """Whether this server may send a score now: another may have taken it. Commits."""
    taken = update(OutboxRow).where(*_cell(one), col(OutboxRow.next) <= at).values(next=at + LEASE, tries=one.tries + 1)
    count = session.connection().execute(taken).rowcount
    session.commit()
    return bool(count)


def note_arrival(session: Session, one: DueScore, sent: datetime) -> None:
    """Note that the platform has a score; a newer one stays due. Commits."""
    connection = session.connection()
    connection.execute(update(OutboxRow).where(*_cell(one)).values(sent_points=one.share, sent_at=sent))
    connection.execute(
        update(OutboxRow).where(*_cell(one), col(OutboxRow.points) == one.share).values(next=None, tries=0, said="")
    )
    session.commit()


def mark_failed(
    session: Session, one: DueScore, why: str, at: datetime, *, refused: bool, after: timedelta | None = None
) -> None:
    """Note why a score did not arrive, and when it is sent again, if at all. Commits.

    *after* is how long the platform has asked to wait.
    """
    most = _TRIES_REFUSED if refused else _TRIES_DOWN
    again = None if one.tries + 1 >= most else at + (after or wait_after(one.tries))
    connection = session.connection()
    connection.execute(
        update(OutboxRow).where(*_cell(one), col(OutboxRow.points) == one.share).values(next=again, said=why[:_SAID])
    )
    session.commit()


def postpone(session: Session, platform: int, at: datetime, until: datetime) -> None:
    """Send what is due to a platform later: it does not answer. Counts no try. Commits."""
    links = columns(col(LinkRow.id)).where(col(LinkRow.platform) == platform)
    later = update(OutboxRow).where(col(OutboxRow.link).in_(links), col(OutboxRow.next) <= at).values(next=until)
    session.connection().execute(later)
    session.commit()


def send_again(session: Session, assignment: int, person: int, at: datetime) -> int:
    """Make the scores of a person in an assignment due now; how many. Commits."""
    return _make_due(session, at, col(LinkRow.assignment) == assignment, col(OutboxRow.person) == person)


def send_refused_again(session: Session, class_id: int, at: datetime) -> int:
    """Make every score of a class due now that did not arrive; how many. Commits."""
    mine = columns(col(AssignmentRow.id)).where(col(AssignmentRow.class_id) == class_id)
    return _make_due(session, at, col(LinkRow.assignment).in_(mine), col(OutboxRow.said) != "")


def _make_due(session: Session, at: datetime, of_link: ColumnElement[bool], of_score: ColumnElement[bool]) -> int:
    links = columns(col(LinkRow.id)).where(of_link)
    again = update(OutboxRow).where(col(OutboxRow.link).in_(links), of_score).values(next=at, tries=0, said="")
    count = session.connection().execute(again).rowcount
    session.commit()
    return count


def wait_after(tries: int) -> timedelta:
    """The wait after a try that failed, which was the one after *tries* others.

    >>> [wait_after(tries).total_seconds() for tries in (0, 1, 2, 30)]
    [15.0, 30.0, 60.0, 21600.0]
    """
    doubled = int(2 ** min(tries, _DOUBLINGS))
    return min(_FIRST_WAIT * doubled, _LONGEST_WAIT)


def _post_link(session: Session, link: LinkRow, shares: Mapping[int, EarnedShare], at: datetime) -> int:
    """Store what a link should have; the number of cells that changed."""
    if link.id is None:
        raise ValueError("this link is not stored yet")
    issuer = identities_of(link.platform)
    subjects = {
        row.person: row.subject
        for row in session.exec(select(IdentityRow).where(IdentityRow.issuer == issuer))
        if row.person in shares
    }
    known = {row.person: row for row in session.exec(select(OutboxRow).where(OutboxRow.link == link.id))}
    changes = 0
    for person, subject in subjects.items():
        row = known.get(person) or OutboxRow(link=link.id, person=person, subject=subject, points=NO_SCORE)
        earned = shares[person]
        if abs(row.points - earned.share) > _NEAR or row.subject != subject:
            row.subject, row.points, row.tries, row.said = subject, earned.share, 0, ""
            row.answered = earned.answered
            row.next = max(at, row.sent_at + _APART) if row.sent_at else at
            session.add(row)
            changes += 1
    return changes


def _cell(one: DueScore) -> tuple[ColumnElement[bool], ...]:
    return (col(OutboxRow.link) == one.link, col(OutboxRow.person) == one.person)


def _due(row: OutboxRow, platform: int) -> DueScore:
    return DueScore(
        link=row.link,
        person=row.person,
        platform=platform,
        subject=row.subject,
        share=row.points,
        answered=row.answered,
        tries=row.tries,
        previous=row.sent_at,
    )


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
    title: str
    memberships: str


@dataclass(frozen=True, slots=True)
class DeliveryCounts:
    """How many scores of a class have arrived at platforms, wait, or were refused.

    Those of *computing* assignments are computed again, since something has just changed.
    """

    arrived: int = 0
    waiting: int = 0
    refused: int = 0
    computing: int = 0


@dataclass(frozen=True, slots=True)
class UndeliveredScore:
    """A score that has not arrived: whose, in which assignment, and why."""

    name: str
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
            title=row.title or row.context,
            memberships=row.memberships_url,
        )
        for row, platform in session.exec(statement)
    ]


def sending_of(session: Session, class_id: int) -> DeliveryCounts:
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
    return DeliveryCounts(**counts, computing=len(mine.intersection(find_unposted(session))))


def unsent_of(session: Session, class_id: int, most: int) -> Sequence[UndeliveredScore]:
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
        UndeliveredScore(
            names.get(row.person, translate("a former member")), assignment.title, _receipt(row, platform.name)
        )
        for row, platform, assignment in session.exec(statement)
    ]


def _receipt(row: OutboxRow, platform: str) -> Receipt:
    at_rest: Arrived = "refused" if row.said else "arrived"
    return Receipt(
        platform=platform,
        state=at_rest if row.next is None else "waiting",
        share=row.points,
        sent=row.sent_points,
        at=row.sent_at,
        said=row.said,
        next=row.next,
    )
