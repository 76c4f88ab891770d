"""Assignments: exercises, dates and rules."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from zoneinfo import ZoneInfo

from sqlalchemy import delete, update
from sqlmodel import Session, col, select

from app.db.people import AssignedRow, AssignmentRow, ClassRow, GroupDatesRow
from app.db.tables import now
from app.errors import InputError, NotFoundError
from app.people.persons import clean_name
from app.people.policy import DATES, RULES, GroupDates, Policy, check_policy
from app.translation import translate

MOST_EXERCISES = 200
MOST_POINTS = 1_000.0
MOST_GROUPS = 500


@dataclass(frozen=True, slots=True)
class AssignmentEntry:
    """An exercise of an assignment, and its points."""

    exercise: str
    points: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """An assignment of a class; without a *weight* it weighs as much as its points.

    *groups* are those whose dates are not everyone's.
    """

    id: int
    class_id: int
    title: str
    policy: Policy
    entries: tuple[AssignmentEntry, ...]
    weight: float | None = None
    groups: tuple[GroupDates, ...] = ()

    def policy_in(self, group: str) -> Policy:
        """The policy as it is for a *group*; empty: for those who are in none."""
        own = next((one for one in self.groups if one.group == group), None)
        return own.policy(self.policy) if own else self.policy

    @property
    def policies(self) -> Sequence[Policy]:
        """The policy for everyone, and that of each group with dates of its own."""
        return [self.policy, *(one.policy(self.policy) for one in self.groups)]

    @property
    def weighs(self) -> float:
        """What it weighs in the overall grade."""
        return self.points if self.weight is None else self.weight

    @property
    def points(self) -> float:
        """The points of all its exercises."""
        return sum(entry.points for entry in self.entries)

    @property
    def version(self) -> str:
        """The same for the same title, rules and exercises."""
        rules = [str(getattr(self.policy, name)) for name in RULES]
        entries = [(one.exercise, one.points) for one in self.entries]
        parts = (self.title, rules, entries, *(str(one) for one in self.groups))
        return sha256(repr(parts).encode()).hexdigest()[:20]


def create_assignment(
    session: Session,
    class_id: int,
    title: str,
    policy: Policy,
    entries: Iterable[AssignmentEntry],
    groups: Iterable[GroupDates] = (),
) -> int:
    """The number of a new assignment; not committed.

    Raises:
        InputError: the title, a rule, an entry or the dates of a group are not valid.
    """
    row = AssignmentRow(class_id=class_id, title=clean_name(title))
    session.add(_with(row, policy))
    session.flush()
    if row.id is None:
        raise ValueError("the assignment got no number")
    _store_entries(session, row.id, entries)
    _store_groups(session, row.id, policy, groups)
    return row.id


def change_assignment(
    session: Session,
    assignment: int,
    title: str,
    policy: Policy,
    entries: Iterable[AssignmentEntry],
    groups: Iterable[GroupDates] | None = None,
) -> None:
    """Change an assignment; without *groups*, those keep their dates. Not committed.

    Raises:
        InputError: the title, a rule, an entry or the dates of a group are not valid.
        NotFoundError: there is no such assignment.
    """
    row = _assignments_row(session, assignment)
    if groups is None:
        groups = assignment_with(session, assignment).groups
    row.title, row.changed = clean_name(title), now()
    session.add(_with(row, policy))
    _store_entries(session, assignment, entries)
    _store_groups(session, assignment, policy, groups)


def change_groups(session: Session, stored: Assignment, groups: Iterable[GroupDates]) -> None:
    """Give the groups of an assignment other dates; not committed.

    Raises:
        InputError: there are too many, or the dates of one cannot be.
    """
    row = _assignments_row(session, stored.id)
    row.changed = now()
    session.add(row)
    _store_groups(session, stored.id, stored.policy, groups)


def _store_groups(
    session: Session, assignment: int, policy: Policy, groups: Iterable[GroupDates]
) -> None:
    """Store the dates of the groups of an assignment in place of the earlier ones; not committed.

    Raises:
        InputError: there are too many, one is there twice, or its dates cannot be.
    """
    given = list(groups)
    if len(given) > MOST_GROUPS:
        raise InputError(
            translate(
                "an assignment has dates for at most {most:,} groups, not {count:,}",
                most=MOST_GROUPS,
                count=len(given),
            )
        )
    names = Counter(one.group for one in given)
    if twice := next((name for name, count in names.items() if count > 1), ""):
        raise InputError(translate("the group {group} is there twice", group=twice))
    session.connection().execute(
        delete(GroupDatesRow).where(col(GroupDatesRow.assignment) == assignment)
    )
    for one in given:
        one.check(policy)
        dates = {name: getattr(one, name) for name in DATES}
        session.add(GroupDatesRow(assignment=assignment, group_name=one.group, **dates))
    session.flush()


def mark_changed(session: Session, class_id: int) -> None:
    """Note that everyone's points in a class may have changed. Not committed."""
    mine = col(AssignmentRow.class_id) == class_id
    session.connection().execute(update(AssignmentRow).where(mine).values(changed=now()))


def delete_assignment(session: Session, assignment: int) -> None:
    """Delete an assignment, its extensions and overrides; answers stay. Not committed."""
    session.connection().execute(delete(AssignmentRow).where(col(AssignmentRow.id) == assignment))


def assignment_with(session: Session, assignment: int) -> Assignment:
    """The assignment with that number.

    Raises:
        NotFoundError: there is none.
    """
    row = _assignments_row(session, assignment)
    return _assignments(session, [row])[0]


def assignment_to_change(session: Session, assignment: int) -> Assignment:
    """The assignment with that number, which nobody else changes before this session ends.

    Raises:
        NotFoundError: there is none.
    """
    row = select(AssignmentRow).where(AssignmentRow.id == assignment).with_for_update()
    session.exec(row.execution_options(populate_existing=True)).first()
    return assignment_with(session, assignment)


def assignments_with(session: Session, numbers: Collection[int]) -> Sequence[Assignment]:
    """The assignments with those numbers, in their order."""
    known = col(AssignmentRow.id).in_(numbers)
    return _assignments(
        session,
        session.exec(select(AssignmentRow).where(known).order_by(col(AssignmentRow.id))).all(),
    )


def assignments_of(session: Session, class_id: int) -> Sequence[Assignment]:
    """The assignments of a class, in the order in which they were made."""
    rows = session.exec(
        select(AssignmentRow)
        .where(AssignmentRow.class_id == class_id)
        .order_by(col(AssignmentRow.id))
    ).all()
    return _assignments(session, rows)


def _assignments_row(session: Session, assignment: int) -> AssignmentRow:
    row = session.get(AssignmentRow, assignment)
    if row is None:
        raise NotFoundError(translate("there is no such assignment"))
    return row


def _with(row: AssignmentRow, policy: Policy) -> AssignmentRow:
    """*row* with the rules of *policy*."""
    check_policy(policy)
    for name in RULES:
        setattr(row, name, getattr(policy, name))
    return row


def _store_entries(session: Session, assignment: int, entries: Iterable[AssignmentEntry]) -> None:
    chosen = {entry.exercise: entry for entry in entries}
    if not 0 < len(chosen) <= MOST_EXERCISES:
        raise InputError(f"an assignment has 1 to {MOST_EXERCISES} exercises, not {len(chosen)}")
    for entry in chosen.values():
        if not 0 <= entry.points <= MOST_POINTS:
            raise InputError(
                f"{entry.exercise}: points must be from 0 to {MOST_POINTS:,.0f}, "
                f"not {entry.points:g}"
            )
    session.connection().execute(
        delete(AssignedRow).where(col(AssignedRow.assignment) == assignment)
    )
    for place, entry in enumerate(chosen.values()):
        session.add(
            AssignedRow(
                assignment=assignment, exercise=entry.exercise, points=entry.points, place=place
            )
        )
    session.flush()


def _assignments(session: Session, rows: Sequence[AssignmentRow]) -> Sequence[Assignment]:
    numbers = [row.id for row in rows if row.id is not None]
    entries: dict[int, list[AssignmentEntry]] = {number: [] for number in numbers}
    assigned = (
        select(AssignedRow)
        .where(col(AssignedRow.assignment).in_(numbers))
        .order_by(col(AssignedRow.place))
    )
    for row in session.exec(assigned):
        entries[row.assignment].append(AssignmentEntry(row.exercise, row.points))
    groups: dict[int, list[GroupDates]] = {number: [] for number in numbers}
    own = select(GroupDatesRow).where(col(GroupDatesRow.assignment).in_(numbers))
    for dates in session.exec(own.order_by(col(GroupDatesRow.group_name))):
        moments = {name: getattr(dates, name) for name in DATES}
        groups[dates.assignment].append(GroupDates(group=dates.group_name, **moments))
    classes = {
        row.id: row
        for row in session.exec(
            select(ClassRow).where(col(ClassRow.id).in_({row.class_id for row in rows}))
        )
    }
    return [
        Assignment(
            id=row.id or 0,
            class_id=row.class_id,
            title=row.title,
            policy=policy_of(row, classes[row.class_id].zone, classes[row.class_id].archived),
            entries=tuple(entries[row.id or 0]),
            weight=row.weight,
            groups=tuple(groups[row.id or 0]),
        )
        for row in rows
    ]


def policy_of(row: object, zone: str = "UTC", archived: datetime | None = None) -> Policy:
    """The rules in a *row* that has the columns of an assignment."""
    rules = {name: getattr(row, name) for name in RULES}
    return Policy(zone=ZoneInfo(zone), archived=archived, **rules)
