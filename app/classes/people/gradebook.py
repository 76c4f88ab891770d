"""The points of a class: a pure function of what is stored, never a stored sum."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from sqlmodel import Session, col, select

from app.classes.people.assignments import Assignment
from app.classes.people.cells import AssignmentAnswers, Cell, Key
from app.classes.people.classes import Member
from app.server.db.people import OverrideRow

WHOLE = ""  # the exercise of an override that is of the whole assignment
_NO_ANSWER = Cell(0.0)
Cells = Mapping[Key, Cell]


def gradebook_of(
    session: Session, secret: str, assignments: Iterable[Assignment], members: Sequence[Member]
) -> Mapping[int, Cells]:
    """The cells of *members* in each of *assignments*, by its number."""
    return {one.id: cells_of(session, secret, one, members) for one in assignments}


def cells_of(session: Session, secret: str, assignment: Assignment, members: Iterable[Member]) -> Cells:
    """The cells of *members* in an assignment; one without an answer that counts has none."""
    return cells_from(session, AssignmentAnswers.read(session, secret, assignment, members))


def cells_from(session: Session, answers: AssignmentAnswers) -> Cells:
    """The cells of those who gave the *answers*, and of those with points by hand."""
    found = answers.cells(session)
    learners = {person: learner for learner, person in answers.persons.items()}
    for key, points in points_by_hand(session, answers.assignment).items():
        person, exercise = key
        learner = learners.get(person)
        if learner and (exercise == WHOLE or answers.drawings.has(learner, exercise)):
            found[key] = found.get(key, _NO_ANSWER)._replace(points=points, overridden=True)
    return found


def best_answer_times(
    session: Session, secret: str, assignment: Assignment, members: Iterable[Member]
) -> Mapping[Key, datetime]:
    """When the answers were given that earned what *members* have, without points by hand."""
    return dict(AssignmentAnswers.read(session, secret, assignment, members).times(session))


def total(cells: Cells, person: int, assignment: Assignment) -> float:
    """The points of *person* in an assignment."""
    return points_in(cells, person, assignment) or 0.0


def points_in(cells: Cells, person: int, assignment: Assignment) -> float | None:
    """The points of *person* in an assignment: those given by hand for all of it, or the sum.

    None if nothing was begun or given.
    """
    if whole := cells.get((person, WHOLE)):
        return whole.points
    found = cells_of_person(cells, person, assignment)
    return sum([cell.points for cell in found]) if found else None


def cells_of_person(cells: Cells, person: int, assignment: Assignment) -> Sequence[Cell]:
    """The cells of *person* for the exercises of an assignment, in their order."""
    get = cells.get
    return [cell for entry in assignment.entries if (cell := get((person, entry.exercise)))]


def points_by_hand(session: Session, assignment: Assignment) -> Mapping[Key, float]:
    """The points in an assignment that were given by hand, and hold."""
    last: dict[Key, float | None] = {}
    rows = select(OverrideRow).where(OverrideRow.assignment == assignment.id)
    for row in session.exec(rows.order_by(col(OverrideRow.id))):
        last[row.person, row.exercise] = row.points
    return {key: points for key, points in last.items() if points is not None}
