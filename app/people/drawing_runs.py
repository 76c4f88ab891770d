"""The answers of each person to each drawing that counts: what statistics add up."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from itertools import chain, groupby
from operator import itemgetter
from typing import Any, NamedTuple

from sqlalchemy import Select, case, func
from sqlalchemy import select as columns
from sqlmodel import Session, col

from app.db.tables import AttemptRow
from app.people.assignments import Assignment, AssignmentEntry
from app.people.cells import AssignmentAnswers, JudgedAgain
from app.people.members import in_parts
from app.people.variants import since_joined

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
