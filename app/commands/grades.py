"""`wallclock grades`: the points of a class, as CSV for other systems or as JSON."""

from argparse import Namespace
from collections.abc import Mapping

from app.commands.files import output
from app.commands.people import class_called, opened, print_json
from app.errors import NotFoundError
from app.people.assignments import Assignment
from app.people.classes import number_of
from app.people.grade_files import Grades, assignment_file, grade_file, grades_of


def run(arguments: Namespace) -> int:
    """Write the grades of a class."""
    with opened() as here:
        row = class_called(here.session, arguments.name)
        grades = grades_of(here.session, here.secret, number_of(row))
    if arguments.json:
        print_json(described(grades))
        return 0
    chosen = _chosen(grades, arguments.assignment) if arguments.assignment else None
    text = (
        assignment_file(grades, chosen, arguments.format)
        if chosen
        else grade_file(grades, arguments.format)
    )
    with output(arguments.output) as file:
        file.write(text.encode())
    return 0


def _chosen(grades: Grades, number: int) -> Assignment:
    found = next((one for one in grades.assignments if one.id == number), None)
    if found is None:
        known = ", ".join(f"{one.id} ({one.title})" for one in grades.assignments) or "none"
        raise NotFoundError(f"this class has no assignment {number}; it has {known}")
    return found


def described(grades: Grades) -> Mapping[str, object]:
    """The grades as JSON has them."""
    return {
        "assignments": [
            {"id": one.id, "title": one.title, "points": one.points} for one in grades.assignments
        ],
        "people": [
            {
                "number": member.person,
                "id": member.outside_id,
                "name": member.name,
                "points": {
                    str(one.id): grades.points(member.person, one) for one in grades.assignments
                },
                "total": grades.sum(member.person),
            }
            for member in grades.members
        ],
    }
