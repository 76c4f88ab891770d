"""The grades of a class, for programs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlmodel import Session

from app.people.assignments import Assignment, assignments_of
from app.people.classes import Member, class_with
from app.people.csv_grades import PointsDifference, columns_of, points_difference
from app.people.gradebook import Cells, gradebook_of, points_in
from app.people.groups import students_in
from app.people.overall_grades import overall_percent


@dataclass(frozen=True, slots=True)
class Grades:
    """The students of a class, its assignments, and the cells of each assignment.

    *lowest*: assignments of each student that are left out of the overall grade.
    """

    members: Sequence[Member]
    assignments: Sequence[Assignment]
    cells: Mapping[int, Cells]
    lowest: int = 0

    def points(self, person: int, assignment: Assignment) -> float | None:
        """The points of *person* in an assignment; None if nothing was begun or given."""
        return points_in(self.cells[assignment.id], person, assignment)

    def sum(self, person: int) -> float:
        """The total of *person* over the assignments."""
        return sum(self.points(person, one) or 0.0 for one in self.assignments)

    def overall(self, person: int) -> float | None:
        """The overall grade of *person*, in percent."""
        points = {one.id: self.points(person, one) or 0.0 for one in self.assignments}
        return overall_percent(self.assignments, points, self.lowest)


def grades_of(session: Session, secret: str, class_id: int, group: str | None = None) -> Grades:
    """The grades of every student of a class, or of one *group* of it.

    Raises:
        InputError: the class has no such group.
    """
    assignments = assignments_of(session, class_id)
    students = students_in(session, class_id, group)
    book = gradebook_of(session, secret, assignments, students)
    return Grades(students, assignments, book, class_with(session, class_id).lowest)


def difference_in(session: Session, secret: str, class_id: int, text: str) -> PointsDifference:
    """What the CSV file *text* would change in the points of a class.

    Its columns are whole assignments, or the exercises of one: whichever more of are in its head.

    Raises:
        InputError: it is not a file of grades.
    """
    found = grades_of(session, secret, class_id)
    choices = [columns_of(found.assignments), *(columns_of((), one) for one in found.assignments)]
    return points_difference(text, choices, found.members, found.cells)


def described(grades: Grades) -> Mapping[str, object]:
    """The grades as JSON has them."""
    return {
        "assignments": [
            {"id": one.id, "title": one.title, "points": one.points, "weight": one.weight} for one in grades.assignments
        ],
        "lowest": grades.lowest,
        "people": [
            {
                "number": member.person,
                "id": member.outside_id,
                "name": member.name,
                "group": member.group,
                "points": {str(one.id): grades.points(member.person, one) for one in grades.assignments},
                "total": grades.sum(member.person),
                "overall_percent": grades.overall(member.person),
            }
            for member in grades.members
        ],
    }
