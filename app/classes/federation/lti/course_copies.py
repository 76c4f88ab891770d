"""A course that its platform copied: its links name assignments of the class that it was before."""

from collections.abc import Collection, Container, Sequence
from datetime import date
from zoneinfo import ZoneInfo

from sqlmodel import Session

from app.classes.federation.lti.launch_message import Launch
from app.classes.people.assignment_copies import copies_of, copy_in_class, store_copies, weeks_to
from app.classes.people.assignments import Assignment, assignments_of
from app.classes.people.classes import Role, class_with, classes_of, number_of
from app.server.db.people import ClassRow


def classes_before(session: Session, launch: Launch, persons: Collection[int], class_id: int = 0) -> Sequence[ClassRow]:
    """The classes with the assignment that a launch names, or a copy of it, the newest first.

    Those that one of *persons* teaches, without the class *class_id* that the course is now.
    """
    found = {
        number_of(row): row
        for person in persons
        for row, role in classes_of(session, person)
        if role is Role.TEACHER and number_of(row) != class_id
    }
    named = launch.assignment if launch.link else 0
    return [
        row for number, row in sorted(found.items(), reverse=True) if named and copy_in_class(session, number, named)
    ]


def copyable_assignments(session: Session, class_id: int, known: Container[str]) -> Sequence[Assignment]:
    """The assignments of a class that have an exercise which is still *known*."""
    return [one for one in assignments_of(session, class_id) if any(entry.exercise in known for entry in one.entries)]


def suggested_weeks(assignments: Sequence[Assignment], today: date) -> int:
    """The weeks that bring the first date of *assignments* into this week."""
    return max(0, weeks_to(assignments, today))


def copy_course(session: Session, source: int, class_id: int, weeks: int, known: Container[str]) -> None:
    """Copy the assignments of the class *source* into another one; not committed.

    Old links of the course open the copies from then on: each knows what it is a copy of.
    """
    zone = ZoneInfo(class_with(session, class_id).zone)
    chosen = copyable_assignments(session, source, known)
    store_copies(session, class_id, copies_of(chosen, weeks, zone, known))
