"""The dates of single persons: their own extension, else those of their group, else everyone's."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime

from sqlmodel import Session, col, select

from app.classes.people.assignments import Assignment
from app.classes.people.classes import Member, members_of
from app.classes.people.local_time import on_the_calendar
from app.classes.people.policy import Dates, Policy, dates_of
from app.core.errors import InputError
from app.core.translation import translate
from app.server.db.people import REASON_LIMIT, ExtensionRow, MemberRow, SittingRow


class EarlyExtensionError(InputError):
    """An extension ends by the *first* moment at which one of its persons has to be ready."""

    def __init__(self, first: datetime, words: str) -> None:
        super().__init__(translate("everyone has until {words}; an extension must be later", words=words))
        self.first = first


def group_policy(session: Session, assignment: Assignment, person: int) -> Policy:
    """The policy as it is for the group that *person* is in."""
    member = session.get(MemberRow, (assignment.class_id, person)) if assignment.groups else None
    return assignment.policy_in(member.group_name if member else "")


def dates_for(session: Session, assignment: Assignment, person: int) -> Dates:
    """The dates of *person*: the one place that knows them."""
    extension = session.get(ExtensionRow, (assignment.id, person))
    sitting = session.get(SittingRow, (assignment.id, person))
    return dates_of(
        group_policy(session, assignment, person),
        extension.until if extension else None,
        sitting.began if sitting else None,
    )


def dates_of_everyone(session: Session, assignment: Assignment) -> Mapping[int, Dates]:
    """The dates of those persons whose dates differ from everyone's."""
    extended = {
        row.person: row.until
        for row in session.exec(select(ExtensionRow).where(ExtensionRow.assignment == assignment.id))
    }
    began = {
        row.person: row.began for row in session.exec(select(SittingRow).where(SittingRow.assignment == assignment.id))
    }
    groups = _grouped(session, assignment)
    return {
        person: dates_of(assignment.policy_in(groups.get(person, "")), extended.get(person), began.get(person))
        for person in extended.keys() | began.keys() | groups.keys()
    }


def first_end(session: Session, assignment: Assignment, persons: Collection[int]) -> datetime | None:
    """The first moment at which one of *persons* had to be ready without an extension, if any."""
    groups = _grouped(session, assignment)
    policies = [assignment.policy_in(groups.get(person, "")) for person in persons]
    return min((end for one in policies if (end := one.due or one.closes)), default=None)


def give_extension(
    session: Session,
    assignment: Assignment,
    persons: Collection[int],
    until: datetime,
    by: str,
    why: str,
    now: datetime,
) -> None:
    """Give *persons* until *until*; *by* whom and *why* stand beside it. Not committed.

    Raises:
        EarlyExtensionError: it moves no date.
        InputError: there is no date to be moved, or the reason is not valid.
    """
    if len(why) > REASON_LIMIT or not why.isprintable():
        says = translate("a reason has at most {reason_limit} printable characters", reason_limit=REASON_LIMIT)
        raise InputError(says)
    if not assignment.policy.sitting:  # of an exam, it is the moment by which the student stops, earlier or later
        first = first_end(session, assignment, persons)
        if first is None:
            raise InputError(translate("this assignment has no due date: nothing can be extended"))
        if until <= first:
            raise EarlyExtensionError(first, on_the_calendar(first, assignment.policy.zone, now))
    extend(session, assignment.id, sorted(persons), until, by, why)


def extensions_of(session: Session, assignment: Assignment) -> Sequence[tuple[Member, ExtensionRow]]:
    """The extensions of an assignment, and those in its class who have them, by number."""
    members = {one.person: one for one in members_of(session, assignment.class_id)}
    rows = session.exec(select(ExtensionRow).where(ExtensionRow.assignment == assignment.id))
    those = sorted(rows, key=lambda row: row.person)
    return [(members[row.person], row) for row in those if row.person in members]


def drop_extension(session: Session, assignment: int, person: int) -> bool:
    """Take the extension of *person* back; whether there was one. Not committed."""
    row = session.get(ExtensionRow, (assignment, person))
    if row is not None:
        session.delete(row)
    return row is not None


def extend(
    session: Session, assignment: int, persons: Iterable[int], until: datetime, by: str = "", why: str = ""
) -> None:
    """Give *persons* until *until*; an earlier extension is replaced. Not committed."""
    for person in persons:
        row = ExtensionRow(assignment=assignment, person=person, until=until, by=by, why=why)
        session.merge(row)


def begin_sitting(session: Session, assignment: int, person: int) -> None:
    """Start the exam of *person*; the first start stays. Commits."""
    if session.get(SittingRow, (assignment, person)) is None:
        session.add(SittingRow(assignment=assignment, person=person))
        session.commit()


def _grouped(session: Session, assignment: Assignment) -> Mapping[int, str]:
    """The groups of those who are in one with dates of its own."""
    if not assignment.groups:
        return {}
    names = [one.group for one in assignment.groups]
    rows = select(MemberRow).where(MemberRow.class_id == assignment.class_id, col(MemberRow.group_name).in_(names))
    return {row.person: row.group_name for row in session.exec(rows)}
