"""The grades of a class as columns and rows: for files, for programs and for other systems."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlmodel import Session

from app.people.assignments import Assignment, assignments_of
from app.people.classes import Member, Role, members_of
from app.people.csv_files import Format, GradeColumn, Graded, write_grades
from app.people.gradebook import Cells, gradebook_of, total

_TOTAL = "total"


@dataclass(frozen=True, slots=True)
class Grades:
    """The students of a class, its assignments, and the cells of each assignment."""

    members: Sequence[Member]
    assignments: Sequence[Assignment]
    cells: Mapping[int, Cells]

    def points(self, person: int, assignment: Assignment) -> float | None:
        """The points of *person* in an assignment; None if nothing was begun or given."""
        cells = self.cells[assignment.id]
        begun = any((person, entry.exercise) in cells for entry in assignment.entries)
        return total(cells, person, assignment) if begun else None

    def sum(self, person: int) -> float:
        """The points of *person* in all assignments."""
        return sum(self.points(person, one) or 0.0 for one in self.assignments)


def grades_of(session: Session, secret: str, class_id: int) -> Grades:
    """The grades of every student of a class."""
    assignments = assignments_of(session, class_id)
    students = [one for one in members_of(session, class_id) if one.role is Role.STUDENT]
    return Grades(students, assignments, gradebook_of(session, secret, assignments, students))


def grade_file(grades: Grades, form: Format) -> str:
    """The points in each assignment, and their sum, as a CSV file."""
    names = column_names(grades.assignments)
    columns = [GradeColumn(names[one.id], one.points) for one in grades.assignments]
    rows = [
        _graded(one, [*(grades.points(one.person, a) for a in grades.assignments),
                      grades.sum(one.person)])
        for one in grades.members
    ]  # fmt: skip
    return write_grades([*columns, GradeColumn(_TOTAL)], rows, form)


def assignment_file(grades: Grades, assignment: Assignment, form: Format) -> str:
    """The points in each exercise of an assignment, and their sum, as a CSV file."""
    columns = [GradeColumn(entry.exercise, entry.points) for entry in assignment.entries]
    cells = grades.cells[assignment.id]

    def row(member: Member) -> Graded:
        found = [cells.get((member.person, entry.exercise)) for entry in assignment.entries]
        points = [cell.points if cell else None for cell in found]
        return _graded(member, [*points, grades.points(member.person, assignment)])

    rows = [row(member) for member in grades.members]
    return write_grades([*columns, GradeColumn(_TOTAL)], rows, form)


def column_names(assignments: Sequence[Assignment]) -> Mapping[int, str]:
    """A name for each assignment that no other has."""
    counts = Counter(one.title for one in assignments)
    return {
        one.id: one.title if counts[one.title] == 1 else f"{one.title} [{one.id}]"
        for one in assignments
    }


def _graded(member: Member, points: Sequence[float | None]) -> Graded:
    return Graded(member.person, member.outside_id, member.name, tuple(points))
