"""Figures of the exercises of a class that can be kept, and compared with those of another term."""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain, groupby
from operator import itemgetter
from statistics import StatisticsError, correlation, fmean
from typing import Any, NamedTuple

from sqlalchemy import Select, case, func
from sqlalchemy import select as columns
from sqlmodel import Session, col

from app.classes.people.assignments import Assignment, AssignmentEntry, assignments_of
from app.classes.people.cells import AssignmentAnswers, Cell, JudgedAgain
from app.classes.people.classes import Member, Role, members_of
from app.classes.people.counted_answers import since_joined
from app.classes.people.csv_text import csv_text
from app.classes.people.gradebook import Cells, cells_from, points_by_hand
from app.classes.people.members import in_parts
from app.course.content.catalog import Catalog
from app.course.kinds.numeric import shown_slots
from app.server.db.tables import AttemptRow

_AT_ONCE = 1_000  # learners of a query: databases limit its parameters
_DRAWING = (col(AttemptRow.learner), col(AttemptRow.seed))
# What is right has a score. Asked first, it spares SQLite a look at the row of what is not: the
# index has all but `correct`.
_OWN = (col(AttemptRow.score) > 0) & ~col(AttemptRow.revealed) & col(AttemptRow.correct)
_COUNTED = columns(
    *_DRAWING, func.count(), func.min(col(AttemptRow.id)), func.min(case((_OWN, col(AttemptRow.id))))
).group_by(*_DRAWING)
_EACH = columns(*_DRAWING, col(AttemptRow.id), col(AttemptRow.correct), col(AttemptRow.revealed)).order_by(
    *_DRAWING, col(AttemptRow.id)
)
_FEWEST = 3  # students, of whom a correlation says anything
COLUMNS = (
    "assignment",
    "title",
    "exercise",
    "values",
    "students",
    "first_try",
    "answers",
    "solved",
    "share",
    "discrimination",
)
_DIGITS = 9  # after the point, of a difference of points: sums in other orders are equal
_REMEMBERED = 100_000  # texts of drawings
Values = Callable[[str, str], str]  # of an exercise and what a drawing stored, as a text


class DrawingRun(NamedTuple):
    """How many *tries* a person had at a drawing, and the numbers of the first and of a right one.

    An answer after the solution is not right.
    """

    person: int
    tries: int
    first: int
    right: int | None

    def with_run(self, other: "DrawingRun") -> "DrawingRun":
        """Both together."""
        rights = [one for one in (self.right, other.right) if one is not None]
        return self._replace(
            tries=self.tries + other.tries, first=min(self.first, other.first), right=min(rights, default=None)
        )


def drawing_runs(
    session: Session, answers: AssignmentAnswers
) -> Iterator[tuple[AssignmentEntry, Sequence[DrawingRun]]]:
    """The runs of an assignment, exercise by exercise; the latest verdict on an answer counts."""
    persons, counts = answers.persons, answers.drawings.counts
    for entry in answers.assignment.entries:
        rows = _run_rows(session, answers.assignment, entry.exercise, persons.keys(), answers.regraded)
        runs = [
            DrawingRun(persons[learner], *counted)
            for learner, seed, *counted in rows
            if counts(learner, entry.exercise, seed)
        ]
        yield entry, runs


def shown_values(session: Session, runs: Iterable[DrawingRun]) -> Iterator[tuple[DrawingRun, str]]:
    """Each of *runs* with the values that its drawing showed, as JSON."""
    by_number = {run.first: run for run in runs}
    for some in in_parts(by_number):
        number = col(AttemptRow.id)
        rows = columns(number, col(AttemptRow.drawn)).where(number.in_(some))
        for first, drawn in session.connection().execute(rows).all():
            yield by_number[first or 0], drawn


def _run_rows(
    session: Session, assignment: Assignment, exercise: str, learners: Set[str], again: Mapping[int, JudgedAgain]
) -> Iterator[Sequence[Any]]:
    """Learner and seed before the rest of a run; the database adds up where nobody judged again."""
    single = learners & {one.learner for one in again.values() if one.exercise == exercise}
    counted = _found(session, assignment, _COUNTED, exercise, learners - single)
    return chain(counted, _runs_again(_found(session, assignment, _EACH, exercise, single), again))


def _runs_again(rows: Iterable[Sequence[Any]], again: Mapping[int, JudgedAgain]) -> Iterator[Sequence[Any]]:
    """The runs of answers of which some were judged *again*."""
    for (learner, seed), those in groupby(rows, itemgetter(0, 1)):
        answers = list(those)
        rights = (
            number
            for _, _, number, correct, revealed in answers
            if not revealed and (again[number].correct if number in again else correct)
        )
        yield learner, seed, len(answers), answers[0][2], next(rights, None)


def _found(
    session: Session,
    assignment: Assignment,
    statement: Select[*tuple[Any, ...]],
    exercise: str,
    learners: Collection[str],
) -> Iterator[Sequence[Any]]:
    whose = sorted(learners)
    for start in range(0, len(whose), _AT_ONCE):
        these = statement.where(
            col(AttemptRow.exercise) == exercise,
            col(AttemptRow.learner).in_(whose[start : start + _AT_ONCE]),
            ~col(AttemptRow.carried),
            *since_joined(assignment),
        )
        yield from session.connection().execute(these).all()


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


def statistics_of(
    session: Session, secret: str, assignment: Assignment, students: Sequence[Member], values: Values | None = None
) -> Iterator[ExerciseStatistics]:
    """The figures of each exercise with an answer.

    With *values*, which says those of a drawing, the figures by drawing follow each.
    """
    answers = AssignmentAnswers.read(session, secret, assignment, students)
    earned = _earned(assignment, cells_from(session, answers))
    totals = _totals(earned.values())
    by_hand = points_by_hand(session, assignment)
    for entry, runs in drawing_runs(session, answers):
        if not runs:
            continue
        given = {person: points >= entry.points for (person, name), points in by_hand.items() if name == entry.exercise}
        cells = {person: one for person, one in earned[entry.exercise].items() if one.tries}
        shares = [one.points / entry.points for one in cells.values()] if entry.points else []
        rest = [round(totals[person] - one.points, _DIGITS) for person, one in cells.items()]
        figures = _figures(assignment, entry.exercise, _by_person(runs), given)
        share = fmean(shares) if shares else None
        yield replace(figures, share=share, discrimination=_discrimination(shares, rest))
        if values:
            shown = shown_values(session, runs)
            yield from _by_values(assignment, entry.exercise, shown, values)


def statistics_of_class(
    session: Session, secret: str, catalog: Catalog, class_id: int, *, drawings: bool = False
) -> Iterator[ExerciseStatistics]:
    """The figures of every exercise of a class, by assignment; also by drawing, if asked for."""
    students = [one for one in members_of(session, class_id) if one.role is Role.STUDENT]

    names = {one.id: shown_slots(one) for one in catalog.exercises} if drawings else {}

    @lru_cache(_REMEMBERED)
    def values(exercise: str, drawn: str) -> str:
        shown = json.loads(drawn)
        known = sorted(names.get(exercise, frozenset()) & shown.keys())
        return ", ".join(f"{name} {shown[name]}" for name in known)

    for one in assignments_of(session, class_id):
        yield from statistics_of(session, secret, one, students, values if drawings else None)


def statistics_csv(found: Iterable[ExerciseStatistics]) -> str:
    """The figures as CSV: a line for each exercise, and each drawing, with shares from 0 to 1."""
    rows = ([_cell(getattr(one, name)) for name in COLUMNS] for one in found)
    return csv_text([COLUMNS, *rows])


def _earned(assignment: Assignment, cells: Cells) -> Mapping[str, Mapping[int, Cell]]:
    """The cells of each exercise of an assignment, by person."""
    found: dict[str, dict[int, Cell]] = {entry.exercise: {} for entry in assignment.entries}
    for (person, exercise), cell in cells.items():
        if exercise in found and not cell.excused:
            found[exercise][person] = cell
    return found


def _totals(earned: Iterable[Mapping[int, Cell]]) -> Mapping[int, float]:
    """The sum of the points of each person."""
    found: dict[int, float] = {}
    for cells in earned:
        for person, cell in cells.items():
            found[person] = found.get(person, 0.0) + cell.points
    return found


def _discrimination(shares: Sequence[float], rest: Sequence[float]) -> float | None:
    """The correlation of *shares* with the points of the same students in the other exercises."""
    try:
        return correlation(shares, rest) if len(shares) >= _FEWEST else None
    except StatisticsError:  # one of them is constant
        return None


def _by_person(runs: Iterable[DrawingRun]) -> Sequence[DrawingRun]:
    """The runs of each person, as if all answers were to one drawing."""
    found: dict[int, DrawingRun] = {}
    for run in runs:
        one = found.get(run.person)
        found[run.person] = one.with_run(run) if one else run
    return list(found.values())


def _figures(
    assignment: Assignment, exercise: str, runs: Sequence[DrawingRun], given: Mapping[int, bool], values: str = ""
) -> ExerciseStatistics:
    """The figures of *runs*; *given*: whether those with points by hand have all of them."""
    count = len(runs)
    return ExerciseStatistics(
        assignment=assignment.id,
        title=assignment.title,
        exercise=exercise,
        values=values,
        students=count,
        first_try=sum(one.right == one.first for one in runs) / count,
        answers=sum(one.tries for one in runs) / count,
        solved=sum(given.get(one.person, one.right is not None) for one in runs) / count,
        share=None,
        discrimination=None,
    )


def _by_values(
    assignment: Assignment, exercise: str, runs: Iterable[tuple[DrawingRun, str]], values: Values
) -> Iterator[ExerciseStatistics]:
    """The figures of the drawings with the same values, the most frequent first."""
    found: dict[str, list[DrawingRun]] = {}
    for run, drawn in runs:
        if text := values(exercise, drawn):
            found.setdefault(text, []).append(run)
    for text, those in sorted(found.items(), key=lambda item: (-len(item[1]), item[0])):
        yield _figures(assignment, exercise, those, {}, text)


def _cell(value: str | float | None) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
