"""Queries on what several learners have done at exercises: one query for all of them."""

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType

from sqlalchemy import BindParameter, Connection, Engine, bindparam, case, func, or_
from sqlalchemy import select as columns
from sqlmodel import col

from app.server.db import history
from app.server.db.session import open_session
from app.server.db.tables import AttemptRow, RevealRow

_LEARNERS: BindParameter[str] = bindparam("learners", expanding=True)
_EXERCISES: BindParameter[str] = bindparam("exercises", expanding=True)
_SEEDS: BindParameter[int] = bindparam("seeds", expanding=True)

_REVEALED = columns(col(RevealRow.learner), col(RevealRow.exercise), col(RevealRow.seed), col(RevealRow.number)).where(
    col(RevealRow.learner).in_(_LEARNERS), col(RevealRow.exercise).in_(_EXERCISES), col(RevealRow.seed).in_(_SEEDS)
)
_CELL = (col(AttemptRow.learner), col(AttemptRow.exercise))
_RANKED = (
    columns(
        *_CELL,
        col(AttemptRow.seed),
        col(AttemptRow.at),
        col(AttemptRow.answer),
        col(AttemptRow.correct),
        col(AttemptRow.revealed),
        func.coalesce(col(AttemptRow.mistake), "").label("mistake"),
        func.row_number()
        .over(partition_by=_CELL, order_by=(col(AttemptRow.at).desc(), col(AttemptRow.id).desc()))
        .label("place"),
    )
    .where(col(AttemptRow.learner).in_(_LEARNERS), col(AttemptRow.exercise).in_(_EXERCISES))
    .subquery()
)
_ANSWERS = (
    columns(
        _RANKED.c.learner,
        _RANKED.c.exercise,
        _RANKED.c.place,
        _RANKED.c.seed,
        _RANKED.c.at,
        case((_RANKED.c.place <= history.SHOWN, _RANKED.c.answer), else_=""),
        _RANKED.c.correct,
        _RANKED.c.revealed,
        _RANKED.c.mistake,
    )
    .where(or_(_RANKED.c.place <= history.SHOWN, _RANKED.c.correct))
    .order_by(_RANKED.c.place)
)
_OWN = col(AttemptRow.correct) & ~col(AttemptRow.revealed)
_UNAIDED = _OWN & (col(AttemptRow.hints) == 0)
_FIGURES = (func.count(), func.max(case((_OWN, 1), else_=0)), func.max(case((_UNAIDED, 1), else_=0)))
_STANDINGS = columns(*_CELL, *_FIGURES).where(col(AttemptRow.learner).in_(_LEARNERS))
_BY_EXERCISE = _STANDINGS.group_by(*_CELL)
_BY_DRAWING = _STANDINGS.add_columns(col(AttemptRow.seed)).group_by(*_CELL, col(AttemptRow.seed))

Cell = tuple[str, str]  # a learner, an exercise


def reveals_of(
    connection: Connection, learners: Collection[str], exercises: Collection[str], seeds: Collection[int]
) -> Mapping[tuple[str, str, int], history.RevealedParts]:
    """What *learners* were shown of drawings, by learner, exercise and seed; nothing: no entry."""
    wanted = {"learners": [*learners], "exercises": [*exercises], "seeds": [*seeds]}
    found: dict[tuple[str, str, int], set[int]] = {}
    for learner, exercise, seed, number in connection.execute(_REVEALED, wanted):
        found.setdefault((learner, exercise, seed), set()).add(number)
    return {
        drawing: history.RevealedParts(len(numbers - {history.SOLUTION}), history.SOLUTION in numbers)
        for drawing, numbers in found.items()
    }


def last_answers(
    connection: Connection, learners: Collection[str], exercises: Collection[str]
) -> Mapping[Cell, history.LastAnswers]:
    """The last answers of *learners* at *exercises*; none were given: no entry."""
    shown: dict[Cell, list[history.LastAnswer]] = {}
    right: dict[Cell, set[int]] = {}
    wanted = {"learners": [*learners], "exercises": [*exercises]}
    for learner, exercise, place, *row in connection.execute(_ANSWERS, wanted):
        cell, last = (learner, exercise), history.LastAnswer(*row)
        rows = shown.setdefault(cell, [])
        if place <= history.SHOWN:
            rows.append(last)
        if last.correct:
            right.setdefault(cell, set()).add(last.seed)
    return {cell: history.LastAnswers(tuple(rows), frozenset(right.get(cell, ()))) for cell, rows in shown.items()}


def standings_by(
    connection: Connection, veils: Mapping[str, Collection[history.Drawing]]
) -> Mapping[str, Mapping[str, history.Standing]]:
    """The standings of each learner by exercise, without the drawings under the learner's veil."""
    found: dict[str, dict[str, history.Standing]] = {learner: {} for learner in veils}
    everything = [learner for learner, veil in veils.items() if not veil]
    if everything:
        rows = connection.execute(_BY_EXERCISE, {"learners": everything})
        for learner, exercise, count, right, free in rows:
            found[learner][exercise] = history.Standing(count, bool(right), bool(free))
    some = [learner for learner, veil in veils.items() if veil]
    if some:
        rows = connection.execute(_BY_DRAWING, {"learners": some})
        for learner, exercise, count, right, free, seed in rows:
            veil, known = veils[learner], found[learner]
            if (exercise, seed) not in veil and (exercise, None) not in veil:
                standing = history.Standing(count, bool(right), bool(free))
                known[exercise] = history.join_histories(known.get(exercise), standing)
    return found


def read_histories(
    connection: Connection,
    drawings: Sequence[history.LearnerDrawing],
    veils: Mapping[str, frozenset[history.Drawing]] = MappingProxyType({}),
) -> Sequence[history.ExerciseHistory]:
    """The history at each of *drawings*, in their order, under the *veils* of learners."""
    learners = {one.learner for one in drawings}
    exercises = {one.exercise for one in drawings}
    seen = reveals_of(connection, learners, exercises, {one.seed for one in drawings})
    last = last_answers(connection, learners, exercises)
    veil = {learner: veils.get(learner, frozenset[history.Drawing]()) for learner in learners}
    known = standings_by(connection, veil)
    nothing = history.ExerciseHistory()
    return [
        history.ExerciseHistory(
            seen=seen.get((one.learner, one.exercise, one.seed), nothing.seen),
            last=last.get((one.learner, one.exercise), nothing.last),
            known=known[one.learner],
            veil=veil[one.learner],
        )
        for one in drawings
    ]


def histories(engine: Engine, drawings: Sequence[history.LearnerDrawing]) -> Sequence[history.ExerciseHistory]:
    """The history at each of *drawings*, in their order, of learners without a class.

    Raises:
        UnavailableError: the database cannot be read.
    """
    with open_session(engine) as session:
        return read_histories(session.connection(), drawings)
