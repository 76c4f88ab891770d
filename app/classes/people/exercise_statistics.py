"""Figures of the exercises of a class that can be kept, and compared with those of another term."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from statistics import StatisticsError, correlation, fmean

from sqlmodel import Session

from app.classes.people.activity import exercise_figures, tries_in
from app.classes.people.assignments import Assignment, assignments_of
from app.classes.people.classes import Member
from app.classes.people.csv_text import csv_text
from app.classes.people.gradebook import NO_ANSWER, cells_of
from app.classes.people.members import students_in

_FEWEST = 3  # students, of whom a correlation says anything
_DIGITS = 9  # after the point, of a difference of points: sums in other orders are equal


@dataclass(frozen=True, slots=True, kw_only=True)
class ExerciseStatistics:
    """How the students of a class did with an exercise of an assignment.

    *students* is how many have answered. Of those, *first_try* is the share whose first answer was right, *answers* the
    mean number of answers, *solved* the share with a right answer, and *share* the mean share of the points.
    *discrimination* is the correlation of these shares with the points in the other exercises of the assignment, from
    -1 to 1; None: too few students, or no difference among them.

        r = cov(x, y) / sqrt(var(x) var(y)), with y the points without those of the exercise

    Source:
        Henrysson, Correction of item-total correlations in item analysis, Psychometrika 28 (1963),
        211-218; https://doi.org/10.1007/BF02289618
    """

    assignment: int
    title: str
    exercise: str
    students: int
    first_try: float
    answers: float
    solved: float
    share: float | None
    discrimination: float | None


COLUMNS = tuple(one.name for one in fields(ExerciseStatistics))


def statistics_of(
    session: Session, secret: str, assignment: Assignment, students: Sequence[Member]
) -> Iterator[ExerciseStatistics]:
    """The figures of each exercise with an answer."""
    exercises = [entry.exercise for entry in assignment.entries]
    cells = {key: cell for key, cell in cells_of(session, secret, assignment, students).items() if not cell.excused}
    sums = {one.person: sum(cells.get((one.person, name), NO_ANSWER).points for name in exercises) for one in students}
    answered = [one for one in tries_in(session, secret, assignment, students) if one.tries]
    figures = exercise_figures(answered)
    for entry in assignment.entries:
        if entry.exercise not in figures:
            continue
        earned = {
            person: cell.points for (person, name), cell in cells.items() if name == entry.exercise and cell.tries
        }
        shares = [points / entry.points for points in earned.values()] if entry.points else []
        rest = [round(sums[person] - points, _DIGITS) for person, points in earned.items()]
        one = figures[entry.exercise]
        yield ExerciseStatistics(
            assignment=assignment.id,
            title=assignment.title,
            exercise=entry.exercise,
            students=one.begun,
            first_try=one.first_try,
            answers=one.answers,
            solved=one.solved / one.begun,
            share=fmean(shares) if shares else None,
            discrimination=_discrimination(shares, rest),
        )


def statistics_of_class(session: Session, secret: str, class_id: int) -> Iterator[ExerciseStatistics]:
    """The figures of every exercise of a class, by assignment."""
    students = students_in(session, class_id)
    for one in assignments_of(session, class_id):
        yield from statistics_of(session, secret, one, students)


def statistics_csv(found: Iterable[ExerciseStatistics]) -> str:
    """The figures as CSV: a line for each exercise, with shares from 0 to 1."""
    rows = ([_cell(getattr(one, name)) for name in COLUMNS] for one in found)
    return csv_text([COLUMNS, *rows])


def _discrimination(shares: Sequence[float], rest: Sequence[float]) -> float | None:
    """The correlation of *shares* with the points of the same students in the other exercises."""
    try:
        return correlation(shares, rest) if len(shares) >= _FEWEST else None
    except StatisticsError:  # one of them is constant
        return None


def _cell(value: str | float | None) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
