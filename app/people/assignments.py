"""Assignments: exercises, dates and rules, and the extensions of single persons."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import sha256
from zoneinfo import ZoneInfo

from sqlalchemy import delete, update
from sqlmodel import Session, col, select

from app.db.people import AssignedRow, AssignmentRow, ClassRow, ExtensionRow, SittingRow
from app.db.tables import now
from app.errors import InputError, NotFoundError
from app.people.persons import clean_name
from app.people.policy import Dates, Policy, check_policy, dates_of
from app.translation import translate

MOST_EXERCISES = 200
MOST_POINTS = 1_000.0


@dataclass(frozen=True, slots=True)
class AssignmentEntry:
    """An exercise of an assignment, and its points."""

    exercise: str
    points: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """An assignment of a class; without a *weight* it weighs as much as its points."""

    id: int
    class_id: int
    title: str
    policy: Policy
    entries: tuple[AssignmentEntry, ...]
    weight: float | None = None

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
        rules = [str(getattr(self.policy, name)) for name in Policy.__slots__ if name != "zone"]
        entries = [(one.exercise, one.points) for one in self.entries]
        return sha256(repr((self.title, rules, entries)).encode()).hexdigest()[:20]


def create_assignment(
    session: Session, class_id: int, title: str, policy: Policy, entries: Iterable[AssignmentEntry]
) -> int:
    """The number of a new assignment; not committed.

    Raises:
        InputError: the title, a rule or an entry is not valid.
    """
    row = AssignmentRow(class_id=class_id, title=clean_name(title))
    session.add(_with(row, policy))
    session.flush()
    if row.id is None:
        raise ValueError("the assignment got no number")
    _store_entries(session, row.id, entries)
    return row.id


def change_assignment(
    session: Session,
    assignment: int,
    title: str,
    policy: Policy,
    entries: Iterable[AssignmentEntry],
) -> None:
    """Change an assignment; not committed.

    Raises:
        InputError: the title, a rule or an entry is not valid.
        NotFoundError: there is no such assignment.
    """
    row = _assignments_row(session, assignment)
    row.title, row.changed = clean_name(title), now()
    session.add(_with(row, policy))
    _store_entries(session, assignment, entries)


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


def assignments_as_set(session: Session, class_id: int) -> Sequence[Assignment]:
    """The assignments of a class with the dates that teachers set, even if it is archived."""
    found = assignments_of(session, class_id)
    zone = session.get_one(ClassRow, class_id).zone
    return [
        replace(one, policy=policy_of(session.get_one(AssignmentRow, one.id), zone))
        for one in found
    ]


def dates_for(session: Session, assignment: Assignment, person: int) -> Dates:
    """The dates of *person*: the one place that knows them."""
    extension = session.get(ExtensionRow, (assignment.id, person))
    sitting = session.get(SittingRow, (assignment.id, person))
    return dates_of(
        assignment.policy,
        extension.until if extension else None,
        sitting.began if sitting else None,
    )


def dates_of_everyone(session: Session, assignment: Assignment) -> Mapping[int, Dates]:
    """The dates of those persons whose dates differ from everyone's."""
    extended = {
        row.person: row.until
        for row in session.exec(
            select(ExtensionRow).where(ExtensionRow.assignment == assignment.id)
        )
    }
    began = {
        row.person: row.began
        for row in session.exec(select(SittingRow).where(SittingRow.assignment == assignment.id))
    }
    return {
        person: dates_of(assignment.policy, extended.get(person), began.get(person))
        for person in extended.keys() | began.keys()
    }


def extend(
    session: Session,
    assignment: int,
    persons: Iterable[int],
    until: datetime,
    by: str = "",
    why: str = "",
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


def _assignments_row(session: Session, assignment: int) -> AssignmentRow:
    row = session.get(AssignmentRow, assignment)
    if row is None:
        raise NotFoundError(translate("there is no such assignment"))
    return row


def _with(row: AssignmentRow, policy: Policy) -> AssignmentRow:
    """*row* with the rules of *policy*."""
    check_policy(policy)
    for name in Policy.__slots__:
        if name != "zone":
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
        )
        for row in rows
    ]


def policy_of(row: object, zone: str = "UTC", archived: datetime | None = None) -> Policy:
    """The rules in a *row* that has the columns of an assignment; *archived*: closed since then."""
    rules = {name: getattr(row, name) for name in Policy.__slots__ if name != "zone"}
    if archived is not None:
        rules["closes"] = min(rules["closes"] or archived, archived)
    return Policy(zone=ZoneInfo(zone), **rules)
