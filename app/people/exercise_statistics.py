"""Figures of the exercises of a class that can be kept, and compared with those of another term."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import StatisticsError, correlation, fmean
from typing import Any

from sqlalchemy import select as columns
from sqlmodel import Session, col

from app.content.catalog import Catalog
from app.db.tables import AttemptRow
from app.kinds.visible_values import visible_values
from app.people.activity import exercise_figures, work_in
from app.people.assignments import Assignment, assignments_of
from app.people.cells import Cell, Key, judged_again
from app.people.classes import Member, Role, members_of
from app.people.csv_text import csv_text
from app.people.gradebook import cells_of
from app.people.variants import Drawings, former_learners

_FEWEST = 3  # students, of whom a correlation says anything
COLUMNS = (
    "assignment", "title", "exercise", "values", "students", "first_try", "answers", "solved",
    "share", "discrimination",
)  # fmt: skip
_AT_ONCE = 500  # learners of a query: databases limit its parameters
Values = Callable[[str, int], str]
_Drawn = tuple[str, int]  # an exercise and a seed


@dataclass(frozen=True, slots=True, kw_only=True)
class ExerciseStatistics:
    """How the students of a class did with an exercise of an assignment.

    *values*: of the drawings alone that have these values; empty: of all of them. *students* is how
    many have answered. Of those, *first_try* is the share whose first answer was right, *answers*
    the mean number of answers, *solved* the share with a right answer, and *share* the mean share
    of the points. *discrimination* is the correlation of these shares with the points in the other
    exercises of the assignment, from -1 to 1; None: too few students, or no difference among them.

        r = cov(x, y) / sqrt(var(x) var(y)), with y the points without those of the exercise

    Source:
        Henrysson, Correction of item-total correlations in item analysis, Psychometrika 28 (1963),
        211-218; https://doi.org/10.1007/BF02289618
    """

    assignment: int
    title: str
    exercise: str
    values: str
    students: int
    first_try: float
    answers: float
    solved: float
    share: float | None
    discrimination: float | None


@dataclass(slots=True)
class _DrawingRun:
    """The answers of a student to one drawing."""

    tries: int = 0
    first: bool = False
    solved: bool = False


def statistics_of(
    session: Session,
    secret: str,
    assignment: Assignment,
    students: Sequence[Member],
    values: Values | None = None,
) -> Iterator[ExerciseStatistics]:
    """The figures of each exercise with an answer.

    With *values*, which says those of a drawing, the figures by drawing follow each.
    """
    cells = cells_of(session, secret, assignment, students)
    work = work_in(session, secret, assignment, students)
    figures = exercise_figures(one for one in work if one.tries)
    runs = _runs(session, secret, assignment, students) if values else {}
    for entry in assignment.entries:
        one = figures.get(entry.exercise)
        if one is None:
            continue
        shares = _shares(cells, entry.exercise, entry.points)
        yield ExerciseStatistics(
            assignment=assignment.id,
            title=assignment.title,
            exercise=entry.exercise,
            values="",
            students=one.begun,
            first_try=one.first_try,
            answers=one.answers,
            solved=one.solved / one.begun,
            share=fmean(shares.values()) if shares else None,
            discrimination=_discrimination(assignment, entry.exercise, cells, shares),
        )
        if values:
            yield from _by_values(assignment, entry.exercise, runs, values)


def statistics_of_class(
    session: Session, secret: str, catalog: Catalog, class_id: int, *, drawings: bool = False
) -> Iterator[ExerciseStatistics]:
    """The figures of every exercise of a class, by assignment; also by drawing, if asked for."""
    students = [one for one in members_of(session, class_id) if one.role is Role.STUDENT]

    def values(exercise: str, seed: int) -> str:
        known = catalog.by_id.get(exercise)
        shown = visible_values(known, seed) if known else {}
        return ", ".join(f"{name} {text}" for name, text in sorted(shown.items()))

    for one in assignments_of(session, class_id):
        yield from statistics_of(session, secret, one, students, values if drawings else None)


def statistics_csv(found: Iterable[ExerciseStatistics]) -> str:
    """The figures as CSV: a line for each exercise, and each drawing, with shares from 0 to 1."""
    rows = ([_cell(getattr(one, name)) for name in COLUMNS] for one in found)
    return csv_text([COLUMNS, *rows])


def _shares(cells: Mapping[Key, Cell], exercise: str, points: float) -> Mapping[int, float]:
    """The share of the points of each student who has an answer that counts."""
    if not points:
        return {}
    return {
        person: cell.points / points
        for (person, name), cell in cells.items()
        if name == exercise and cell.tries
    }


def _discrimination(
    assignment: Assignment, exercise: str, cells: Mapping[Key, Cell], shares: Mapping[int, float]
) -> float | None:
    """The correlation of *shares* with the points of the same students in the other exercises."""
    others = {entry.exercise for entry in assignment.entries} - {exercise}
    rest, enough = dict.fromkeys(shares, 0.0), len(shares) >= _FEWEST
    for (person, name), cell in cells.items():
        if person in rest and name in others:
            rest[person] += cell.points
    try:
        return correlation(list(shares.values()), list(rest.values())) if enough else None
    except StatisticsError:  # one of them is constant
        return None


def _by_values(
    assignment: Assignment,
    exercise: str,
    runs: Mapping[_Drawn, Sequence[_DrawingRun]],
    values: Values,
) -> Iterator[ExerciseStatistics]:
    """The figures of the drawings with the same values, the most frequent first."""
    found: dict[str, list[_DrawingRun]] = {}
    for (name, seed), those in runs.items():
        if name == exercise:
            found.setdefault(values(exercise, seed), []).extend(those)
    for text, those in sorted(found.items(), key=lambda item: (-len(item[1]), item[0])):
        if text:
            yield ExerciseStatistics(
                assignment=assignment.id,
                title=assignment.title,
                exercise=exercise,
                values=text,
                students=len(those),
                first_try=fmean(one.first for one in those),
                answers=fmean(one.tries for one in those),
                solved=fmean(one.solved for one in those),
                share=None,
                discrimination=None,
            )


def _runs(
    session: Session, secret: str, assignment: Assignment, students: Sequence[Member]
) -> Mapping[_Drawn, Sequence[_DrawingRun]]:
    """The answers of each student to each drawing that counts, by exercise and seed."""
    former, again = former_learners(session), judged_again(session, assignment)
    drawings = Drawings(secret, assignment, former)
    found: dict[tuple[str, str, int], _DrawingRun] = {}
    for learner, exercise, seed, number, correct, revealed in _answers(
        session, assignment, [one.learner for one in students]
    ):
        if drawings.counts(learner, exercise, seed):
            run = found.setdefault((learner, exercise, seed), _DrawingRun())
            right = again[number].correct if number in again else correct
            run.tries += 1
            run.solved |= right and not revealed
            run.first |= run.tries == 1 and right and not revealed
    grouped: dict[_Drawn, list[_DrawingRun]] = {}
    for (_, exercise, seed), run in found.items():
        grouped.setdefault((exercise, seed), []).append(run)
    return grouped


def _answers(
    session: Session, assignment: Assignment, learners: Sequence[str]
) -> Iterator[Sequence[Any]]:
    names = ("learner", "exercise", "seed", "id", "correct", "revealed")
    exercises = [entry.exercise for entry in assignment.entries]
    for start in range(0, len(learners), _AT_ONCE):
        rows = columns(*(getattr(AttemptRow, name) for name in names)).where(
            col(AttemptRow.learner).in_(learners[start : start + _AT_ONCE]),
            col(AttemptRow.exercise).in_(exercises),
            ~col(AttemptRow.carried),
        )
        yield from session.connection().execute(rows.order_by(col(AttemptRow.id))).all()


def _cell(value: str | float | None) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
