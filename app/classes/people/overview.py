"""How far a class is with each of its assignments."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlmodel import Session

from app.classes.people.assignments import Assignment
from app.classes.people.cells import Cell, Key
from app.classes.people.classes import Member, Role
from app.classes.people.gradebook import cells_of, cells_of_person, total


@dataclass(frozen=True, slots=True)
class Turnout:
    """The students who have *begun* an assignment, and who have answered *all* of it.

    *mean*: the share of its points that those who began have, 0 to 1.
    """

    students: int
    begun: int
    all: int
    mean: float


def turnouts(
    session: Session, secret: str, assignments: Sequence[Assignment], members: Sequence[Member]
) -> Mapping[int, Turnout]:
    """The turnout of each of *assignments*, by its number."""
    students = [member for member in members if member.role is Role.STUDENT]
    return {one.id: _turnout(one, students, cells_of(session, secret, one, students)) for one in assignments}


def _turnout(assignment: Assignment, students: Sequence[Member], cells: Mapping[Key, Cell]) -> Turnout:
    counts = [len(cells_of_person(cells, one.person, assignment)) for one in students]
    earned = [total(cells, one.person, assignment) for one, count in zip(students, counts, strict=True) if count]
    possible = len(earned) * assignment.points
    return Turnout(
        students=len(students),
        begun=len(earned),
        all=counts.count(assignment.length),
        mean=sum(earned) / possible if possible else 0.0,
    )
