"""Copies of the assignments of a class, in it or in another one, with their dates moved."""

import hashlib
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from sqlmodel import Session, col, select

from app.classes.people.assignments import Assignment, AssignmentEntry, assignments_of, create_assignment, entries_left
from app.classes.people.local_time import local_moment
from app.classes.people.policy import GroupDates, Policy
from app.core.errors import InputError, NotFoundError
from app.core.translation import translate
from app.server.db.people import AssignmentRow

_WEEK = timedelta(weeks=1)
MOST_WEEKS = 1_000
_ENDS = {"opens": False, "due": True, "closes": True}  # whether something ends then


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignmentCopy:
    """A copy to be made of *source*.

    *groups* have their dates moved as well. *gone* are exercises that the course does not have
    anymore: they are left out, and a pool draws no more than it then has. *notes* say what was
    decided where clocks are changed.
    """

    source: Assignment
    policy: Policy
    entries: tuple[AssignmentEntry, ...]
    groups: tuple[GroupDates, ...]
    draws: tuple[int, ...]
    gone: tuple[str, ...]
    notes: tuple[str, ...]


def copies_of(
    assignments: Iterable[Assignment], weeks: int, zone: ZoneInfo, known: Container[str]
) -> Sequence[AssignmentCopy]:
    """Copies of *assignments*, *weeks* later, with the exercises that are *known*.

    Clocks in *zone* show the same time on the same day of the week as those of the class did.

    Raises:
        InputError: a date would be too far away, or nothing would be left of an assignment.
    """
    if abs(weeks) > MOST_WEEKS:
        raise InputError(
            translate("dates are moved by at most {most:,} weeks, not {weeks:,}", most=MOST_WEEKS, weeks=weeks)
        )
    return [_copy(one, weeks, zone, known) for one in assignments]


def weeks_to(assignments: Iterable[Assignment], start: date) -> int:
    """The weeks by which the first of all dates comes into the week of *start*."""
    first = min((day for one in assignments for day in _days(one)), default=start)
    return (_monday(start) - _monday(first)) // _WEEK


def chosen_assignments(session: Session, class_id: int, numbers: Collection[int] = ()) -> Sequence[Assignment]:
    """The assignments of a class with those *numbers*, or all of them, as teachers set them.

    Raises:
        InputError: the class has none.
        NotFoundError: one of *numbers* is not in the class.
    """
    found = assignments_of(session, class_id)
    if unknown := set(numbers) - {one.id for one in found}:
        raise NotFoundError(translate("this class has no assignment {number}", number=min(unknown)))
    if not found:
        raise InputError(translate("this class has no assignments that could be copied"))
    return [one for one in found if not numbers or one.id in numbers]


def copies_digest(copies: Sequence[AssignmentCopy]) -> str:
    """A name for *copies*: what was shown is what is made."""
    said = repr([(one.source.id, one.source.title, one.policy, one.entries, one.groups, one.draws) for one in copies])
    return hashlib.sha256(said.encode()).hexdigest()[:16]


def store_copies(session: Session, class_id: int, copies: Iterable[AssignmentCopy]) -> Mapping[int, int]:
    """The number of each copy, by that of its source; not committed."""
    made = {}
    for one in copies:
        source = one.source.id
        number = create_assignment(session, class_id, one.source.title, one.policy, one.entries, one.groups, one.draws)
        row = session.get_one(AssignmentRow, number)
        row.weight = one.source.weight
        row.origins = f"{session.get_one(AssignmentRow, source).origins} {source}".strip()
        session.add(row)
        made[source] = number
    session.flush()
    return made


def copy_in_class(session: Session, class_id: int, assignment: int) -> int:
    """The assignment of a class that is *assignment*, or the first copy of it; 0: there is none."""
    rows = select(AssignmentRow).where(AssignmentRow.class_id == class_id)
    found = {row.id: row for row in session.exec(rows.order_by(col(AssignmentRow.id)))}
    if assignment in found:
        return assignment
    copies = (row.id for row in found.values() if str(assignment) in row.origins.split())
    return next(copies, None) or 0


def _copy(one: Assignment, weeks: int, zone: ZoneInfo, known: Container[str]) -> AssignmentCopy:
    left = [entry for entry in one.entries if entry.exercise in known]
    entries, draws = entries_left(one, left)
    if not entries:
        raise InputError(
            translate("the course does not have the exercises of {title} anymore: leave it out", title=one.title)
        )
    notes: dict[str, None] = {}

    def moved(dates: Policy | GroupDates) -> dict[str, Any]:
        found = {
            name: local_moment(_later(at, one.policy.zone, weeks), zone, ends=ends)
            for name, ends in _ENDS.items()
            if (at := getattr(dates, name)) is not None
        }
        notes.update(dict.fromkeys(moment.note for moment in found.values() if moment.note))
        return {name: moment.at for name, moment in found.items()}

    return AssignmentCopy(
        source=one,
        policy=replace(one.policy, zone=zone, archived=None, **moved(one.policy)),
        entries=tuple(entries),
        draws=tuple(draws),
        groups=tuple(replace(dates, **moved(dates)) for dates in one.groups),
        gone=tuple(entry.exercise for entry in one.entries if entry.exercise not in known),
        notes=tuple(notes),
    )


def _later(at: datetime, zone: ZoneInfo, weeks: int) -> datetime:
    """What clocks that show *at* in *zone* show some *weeks* later."""
    try:
        return at.astimezone(zone).replace(tzinfo=None, fold=0) + weeks * _WEEK
    except OverflowError:
        raise InputError(translate("a date would be too far away")) from None


def _days(one: Assignment) -> Iterable[date]:
    """The days of the dates of an assignment."""
    found = (getattr(dates, name) for dates in (one.policy, *one.groups) for name in _ENDS)
    return (at.astimezone(one.policy.zone).date() for at in found if at is not None)


def _monday(day: date) -> date:
    return day - timedelta(days=day.weekday())
