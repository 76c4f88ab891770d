"""Assignments: exercises or pools of them, dates and rules."""

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import sha256
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import ScalarSelect, delete, func, update
from sqlalchemy import select as columns
from sqlalchemy.orm import Mapped
from sqlmodel import Session, col, select

from app.classes.people.persons import clean_name
from app.classes.people.policy import DATES, RULES, GroupDates, Policy, check_policy
from app.core.errors import InputError, NotFoundError, input_error
from app.core.translation import translate
from app.server.db.people import AssignedRow, AssignmentRow, ClassRow, GroupDatesRow, MemberRow
from app.server.db.tables import now


@dataclass(frozen=True, slots=True)
class ExercisePool:
    """The *exercises* of which each student has as many as are to *draw*; *points* are of one."""

    draw: int
    exercises: tuple[str, ...]
    points: float

    def drawn(self, origin: int, learner: str) -> Sequence[str]:
        """The exercises that *learner* has, in their order.

        They follow from the learner and the *origin* of the assignment, the first that it is a copy
        of: a copy draws the same. Of the exercises, each with a number that follows from both, the
        lowest are drawn, so that one that comes or goes changes as few draws as can be.
        """
        ranked = sorted(self.exercises, key=lambda name: sha256(f"pool:{origin}:{name}:{learner}".encode()).digest())
        chosen = set(ranked[: self.draw])
        return [name for name in self.exercises if name in chosen]


def check_pool(number: int, draw: int, points: Collection[float]) -> None:
    """Refuse a pool that cannot be, with the *points* of each of its exercises.

    Raises:
        InputError: it is empty, draws none or more than there are, or the points differ.
    """
    if not points:
        raise input_error("pool {number} has no exercises", number=number)
    if not 1 <= draw <= len(points):
        raise input_error(
            "pool {number} draws {draw} of {count} exercises: draw at least 1, and at most all",
            number=number,
            count=len(points),
            draw=draw,
        )
    if len(set(points)) > 1:
        raise input_error(
            "the exercises of pool {number} need the same points, not {low:g} and {high:g}",
            number=number,
            low=min(points),
            high=max(points),
        )


def read_draws(stored: str) -> tuple[int, ...]:
    """How many exercises are drawn of each pool, as it is stored."""
    return tuple(map(int, stored.split()))


def first_origin(assignment: int, origins: str) -> int:
    """The first of the assignments that one is a copy of, or itself."""
    return int(origins.split()[0]) if origins else assignment


MOST_GROUPS = 500
MOST_EXERCISES = 200
MOST_POINTS = 1_000.0
_WITHOUT_COLUMN = tuple(name for name in RULES if name not in AssignmentRow.model_fields)


def read_group_dates(session: Session, assignments: Collection[int]) -> Mapping[int, Sequence[GroupDates]]:
    """The groups with dates of their own in each of *assignments* that has some, by name."""
    found: dict[int, list[GroupDates]] = {}
    rows = select(GroupDatesRow).where(col(GroupDatesRow.assignment).in_(assignments))
    for row in session.exec(rows.order_by(col(GroupDatesRow.group_name))):
        moments = {name: getattr(row, name) for name in DATES}
        found.setdefault(row.assignment, []).append(GroupDates(group=row.group_name, **moments))
    return found


def store_group_dates(session: Session, assignment: int, policy: Policy, groups: Iterable[GroupDates]) -> None:
    """Store the dates of the groups of an assignment in place of the earlier ones; not committed.

    Raises:
        InputError: there are too many, one is there twice, or its dates cannot be.
    """
    given = list(groups)
    if len(given) > MOST_GROUPS:
        raise input_error(
            "an assignment has dates for at most {most:,} groups, not {count:,}", most=MOST_GROUPS, count=len(given)
        )
    names = Counter(one.group for one in given)
    if twice := next((name for name, count in names.items() if count > 1), ""):
        raise input_error("the group {group} is there twice", group=twice)
    session.connection().execute(delete(GroupDatesRow).where(col(GroupDatesRow.assignment) == assignment))
    for one in given:
        one.check(policy)
        dates = {name: getattr(one, name) for name in DATES}
        session.add(GroupDatesRow(assignment=assignment, group_name=one.group, **dates))
    session.flush()


@dataclass(frozen=True, slots=True)
class AssignmentEntry:
    """An exercise of an assignment, and its points; *pool* 0: every student has it."""

    exercise: str
    points: float
    pool: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """An assignment of a class; without a *weight* it weighs as much as its points.

    *groups* have dates of their own. *draws*: how many exercises of each pool a student has.
    *origin* is the first assignment that it is a copy of, or itself. *points* are those of all
    exercises that a student has. *longest* is the largest factor of the time in exams in the class.
    """

    id: int
    class_id: int
    title: str
    policy: Policy
    entries: tuple[AssignmentEntry, ...]
    weight: float | None = None
    groups: tuple[GroupDates, ...] = ()
    draws: tuple[int, ...] = ()
    origin: int = 0
    longest: float = 1.0
    points: float = field(init=False)

    def __post_init__(self) -> None:
        fixed = sum(entry.points for entry in self.entries if not entry.pool)
        drawn = sum(pool.draw * pool.points for pool in self.pools)
        object.__setattr__(self, "points", fixed + drawn)

    @property
    def pools(self) -> Sequence[ExercisePool]:
        """The pools of which each student has some exercises."""
        those = [[e for e in self.entries if e.pool == n + 1] for n in range(len(self.draws))]
        return [
            ExercisePool(draw, tuple(one.exercise for one in entries), entries[0].points)
            for draw, entries in zip(self.draws, those, strict=True)
        ]

    @property
    def length(self) -> int:
        """How many exercises a student has."""
        return sum(not one.pool for one in self.entries) + sum(self.draws)

    def drawn(self, learner: str) -> Collection[str]:
        """The exercises that *learner* has."""
        fixed = {one.exercise for one in self.entries if not one.pool}
        return fixed.union(*(pool.drawn(self.origin, learner) for pool in self.pools))

    def personal(self, learner: str) -> "Assignment":
        """The assignment as *learner* has it, with the exercises that were drawn alone."""
        if not self.draws:
            return self
        drawn = self.drawn(learner)
        own = (replace(one, pool=0) for one in self.entries if one.exercise in drawn)
        return replace(self, entries=tuple(own), draws=())

    def policy_in(self, group: str) -> Policy:
        """The policy as it is for a *group*; empty: for those who are in none."""
        own = next((one for one in self.groups if one.group == group), None)
        return own.policy(self.policy) if own else self.policy

    @property
    def policies(self) -> Sequence[Policy]:
        """The policy for everyone, and that of each group with dates of its own."""
        return [self.policy, *(one.policy(self.policy) for one in self.groups)]

    @property
    def version(self) -> str:
        """The same for the same title, rules and exercises."""
        rules = [str(getattr(self.policy, name)) for name in RULES]
        entries = [(one.exercise, one.points) for one in self.entries]
        pools = [(pool.draw, pool.exercises) for pool in self.pools]
        parts = (self.title, rules, entries, *pools, *(str(one) for one in self.groups))
        return sha256(repr(parts).encode()).hexdigest()[:20]


def create_assignment(
    session: Session,
    class_id: int,
    title: str,
    policy: Policy,
    entries: Iterable[AssignmentEntry],
    groups: Iterable[GroupDates] = (),
    draws: Sequence[int] = (),
) -> int:
    """The number of a new assignment; not committed.

    Raises:
        InputError: the title, a rule, an entry, a pool or the dates of a group are not valid.
    """
    return _store(session, AssignmentRow(class_id=class_id, title=""), title, policy, entries, groups, draws)


def change_assignment(
    session: Session,
    assignment: int,
    title: str,
    policy: Policy,
    entries: Iterable[AssignmentEntry],
    groups: Iterable[GroupDates] | None = None,
    draws: Sequence[int] = (),
) -> None:
    """Change an assignment; without *groups*, those keep their dates. Not committed.

    Raises:
        InputError: the title, a rule, an entry, a pool or dates of a group are not valid.
        NotFoundError: there is none with this number.
    """
    row = _assignments_row(session, assignment)
    if groups is None:
        groups = assignment_with(session, assignment).groups
    row.changed = now()
    _store(session, row, title, policy, entries, groups, draws)


def _store(
    session: Session,
    row: AssignmentRow,
    title: str,
    policy: Policy,
    entries: Iterable[AssignmentEntry],
    groups: Iterable[GroupDates],
    draws: Sequence[int],
) -> int:
    """The number of the assignment of *row*, as it is to be from now on."""
    row.title, row.draws = clean_name(title), " ".join(map(str, draws))
    check_policy(policy)
    rules = {name: getattr(policy, name) for name in RULES}
    row.rules = json.dumps(more) if (more := {name: rules.pop(name) for name in _WITHOUT_COLUMN}) else ""
    for name, value in rules.items():
        setattr(row, name, value)
    session.add(row)
    session.flush()
    number = row.id or 0
    _store_entries(session, number, entries, draws)
    store_group_dates(session, number, policy, groups)
    return number


def change_groups(session: Session, stored: Assignment, groups: Iterable[GroupDates]) -> None:
    """Give the groups of an assignment other dates; not committed.

    Raises:
        InputError: there are too many, or the dates of one cannot be.
    """
    row = _assignments_row(session, stored.id)
    row.changed = now()
    session.add(row)
    store_group_dates(session, stored.id, stored.policy, groups)


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
    return _assignments(session, session.exec(select(AssignmentRow).where(known).order_by(col(AssignmentRow.id))).all())


def assignments_of(session: Session, class_id: int) -> Sequence[Assignment]:
    """The assignments of a class, in the order in which they were made."""
    rows = session.exec(
        select(AssignmentRow).where(AssignmentRow.class_id == class_id).order_by(col(AssignmentRow.id))
    ).all()
    return _assignments(session, rows)


def assignment_numbered(assignments: Sequence[Assignment], number: int) -> Assignment:
    """The one of *assignments* with that number.

    Raises:
        NotFoundError: there is none.
    """
    for one in assignments:
        if one.id == number:
            return one
    raise NotFoundError(translate("this class has no assignment {number}", number=number))


def _assignments_row(session: Session, assignment: int) -> AssignmentRow:
    row = session.get(AssignmentRow, assignment)
    if row is None:
        raise NotFoundError(translate("this assignment does not exist"))
    return row


def _store_entries(session: Session, assignment: int, entries: Iterable[AssignmentEntry], draws: Sequence[int]) -> None:
    chosen = {entry.exercise: entry for entry in entries}
    if not 0 < len(chosen) <= MOST_EXERCISES:
        raise InputError(f"an assignment has 1 to {MOST_EXERCISES} exercises, not {len(chosen)}")
    for entry in chosen.values():
        if not 0 <= entry.points <= MOST_POINTS:
            raise InputError(f"{entry.exercise}: points must be from 0 to {MOST_POINTS:,.0f}, not {entry.points:g}")
    for number, draw in enumerate(draws, 1):
        check_pool(number, draw, [one.points for one in chosen.values() if one.pool == number])
    session.connection().execute(delete(AssignedRow).where(col(AssignedRow.assignment) == assignment))
    for place, entry in enumerate(chosen.values()):
        session.add(
            AssignedRow(
                assignment=assignment,
                exercise=entry.exercise,
                points=entry.points,
                place=place,
                pool=entry.pool if entry.pool <= len(draws) else 0,
            )
        )
    session.flush()


def _assignments(session: Session, rows: Sequence[AssignmentRow]) -> Sequence[Assignment]:
    numbers = [row.id for row in rows if row.id is not None]
    entries: dict[int, list[AssignmentEntry]] = {number: [] for number in numbers}
    assigned = select(AssignedRow).where(col(AssignedRow.assignment).in_(numbers))
    for row in session.exec(assigned.order_by(col(AssignedRow.place))):
        entries[row.assignment].append(AssignmentEntry(row.exercise, row.points, row.pool))
    groups = read_group_dates(session, numbers)
    known = col(ClassRow.id).in_({row.class_id for row in rows})
    classes = {
        row.id: (row, longest)
        for row, longest in session.exec(select(ClassRow, longest_time(col(ClassRow.id))).where(known))
    }
    return [
        Assignment(
            id=row.id or 0,
            class_id=row.class_id,
            title=row.title,
            policy=policy_of(row, classes[row.class_id][0].zone, classes[row.class_id][0].archived),
            entries=tuple(entries[row.id or 0]),
            weight=row.weight,
            groups=tuple(groups.get(row.id or 0, ())),
            draws=read_draws(row.draws),
            origin=first_origin(row.id or 0, row.origins),
            longest=classes[row.class_id][1],
        )
        for row in rows
    ]


def longest_time(class_id: Mapped[Any]) -> ScalarSelect[float]:
    """The largest factor of the time in exams in a class, as part of a query."""
    factors = columns(func.coalesce(func.max(col(MemberRow.time_factor)), 1.0))
    return factors.where(col(MemberRow.class_id) == class_id, col(MemberRow.left).is_(None)).scalar_subquery()


def policy_of(row: object, zone: str = "UTC", archived: datetime | None = None) -> Policy:
    """The rules in a *row* that has the columns of an assignment."""
    rules = {name: getattr(row, name) for name in RULES if name not in _WITHOUT_COLUMN}
    stored = getattr(row, "rules", "")
    more = json.loads(stored) if stored else {}
    known = {name: value for name, value in more.items() if name in _WITHOUT_COLUMN}
    return Policy(zone=ZoneInfo(zone), archived=archived, **rules, **known)


Pooled = tuple[Sequence[AssignmentEntry], Sequence[int]]  # entries, and draws of their pools


def number_pools(entries: Iterable[AssignmentEntry], draws: Mapping[int, int]) -> Pooled:
    """*entries* with their pools numbered from 1 on, and how many are drawn of each.

    A pool without *draws* draws one exercise.
    """
    left = list(entries)
    pools = sorted({one.pool for one in left} - {0})
    numbers = {0: 0} | {pool: number for number, pool in enumerate(pools, 1)}
    return [replace(one, pool=numbers[one.pool]) for one in left], [draws.get(pool, 1) for pool in pools]


def entries_left(one: Assignment, left: Iterable[AssignmentEntry]) -> Pooled:
    """The entries of *one* that are *left*; a pool draws no more than it then has."""
    those = list(left)
    sizes = Counter(entry.pool for entry in those)
    return number_pools(those, {number: min(draw, sizes[number]) for number, draw in enumerate(one.draws, 1)})


def entries_in_pools(entries: Iterable[AssignmentEntry], stored: Assignment) -> Pooled:
    """*entries*, each in the pool that it has in the assignment as *stored*."""
    pools = {one.exercise: one.pool for one in stored.entries}
    placed = [replace(one, pool=pools.get(one.exercise, 0)) for one in entries]
    return number_pools(placed, dict(enumerate(stored.draws, 1)))
