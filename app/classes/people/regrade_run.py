"""Judge stored answers again after an exercise was mended; the answers themselves never change."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy import Engine
from sqlmodel import Session, col, select

from app.classes.people.assignments import Assignment, assignments_of
from app.classes.people.classes import Member, Role, members_of
from app.classes.people.counted_answers import Drawings, former_learners, since_joined
from app.classes.people.members import in_parts
from app.core.errors import AnswerError
from app.core.translation import translate
from app.course.content.catalog import Catalog
from app.course.kinds import Exercise
from app.course.kinds.base import stored_answer
from app.course.sandbox.runner import Runner
from app.server.db.people import AssignmentRow, RegradeRow
from app.server.db.session import open_writing_session
from app.server.db.tables import AttemptRow, now

_AT_ONCE = 100  # answers between two writes
_RUNS = 16  # programs that run, or wait for a slot, at once


@dataclass(frozen=True, slots=True)
class StaleAnswer:
    """An answer of *member* that another version of its exercise judged; *before*: its score."""

    member: Member
    attempt: int
    exercise: str
    seed: int
    answer: str
    drawn: str
    before: float


@dataclass(frozen=True, slots=True, kw_only=True)
class NewJudgment:
    """What the present version says of an answer; *why* is said where its score stays."""

    stale: StaleAnswer
    score: float
    correct: bool
    digest: str
    why: str = ""

    @property
    def changes(self) -> bool:
        """Whether the score becomes another one."""
        return not self.why and self.score != self.stale.before


@dataclass(slots=True)
class RegradeResult:
    """How many answers were judged again, and what became of them; *kept*: why scores stay.

    The *last* attempt is where to go on, if there was not enough time for all.
    """

    judged: int = 0
    last: int = 0
    raised: int = 0
    lowered: int = 0
    kept: list[str] = field(default_factory=list)
    changes: list[NewJudgment] = field(default_factory=list)

    def count(self, one: NewJudgment) -> None:
        """Add an answer."""
        self.judged += 1
        self.last = one.stale.attempt
        if one.changes:
            self.raised += one.score > one.stale.before
            self.lowered += one.score < one.stale.before
            self.changes.append(one)
        self.kept += [one.why] if one.why else []


def stale_answers(
    session: Session, secret: str, catalog: Catalog, class_id: int, exercises: Collection[str] = (), after: int = 0
) -> Sequence[StaleAnswer]:
    """The answers in a class that another version of their exercise judged; the first one first.

    Those to drawings that count in no assignment are left out. With *exercises*, only those to
    these; and only those that came after an attempt.
    """
    students = [one for one in members_of(session, class_id) if one.role is Role.STUDENT]
    found: dict[int, StaleAnswer] = {}
    for assignment in assignments_of(session, class_id):
        for entry in assignment.entries:
            exercise = catalog.by_id.get(entry.exercise)
            if exercise is not None and (not exercises or exercise.id in exercises):
                those = _stale(session, secret, assignment, exercise, students, after)
                found |= {one.attempt: one for one in those}
    return [found[number] for number in sorted(found)]


async def regrade_answers(
    engine: Engine,
    stale: Sequence[StaleAnswer],
    catalog: Catalog,
    runner: Runner,
    *,
    lower: bool = False,
    store: bool = True,
    enough: Callable[[], bool] = lambda: False,
) -> RegradeResult:
    """Judge *stale* answers again, and store scores that rise; with *lower*, those that fall, too.

    A score never falls where the exercise draws other values now. Programs run in the sandbox. A
    run that is interrupted has stored what it had judged, and can be begun again. It ends early
    once it is *enough*, but not before the first answers are judged.

    Raises:
        UnavailableError: the sandbox or the database is unavailable.
    """
    result = RegradeResult()
    async for some in _judged(stale, catalog, runner, lower=lower):
        for one in some:
            result.count(one)
        if store:
            await asyncio.to_thread(_store_scores, engine, [one for one in some if one.changes])
        if enough():
            break
    return result


def classes_with_assignments(session: Session) -> Sequence[int]:
    """The classes that have assignments."""
    return sorted(session.exec(select(AssignmentRow.class_id).distinct()))


@dataclass(frozen=True, slots=True)
class RegradedAnswer:
    """An answer whose score was changed by a regrade."""

    exercise: str
    before: float
    after: float
    at: datetime


def raised_for(session: Session, assignment: Assignment, learner: str) -> Sequence[RegradedAnswer]:
    """What regrades changed for *learner* in an assignment, to be told; the last one first."""
    statement = (
        select(RegradeRow, AttemptRow)
        .where(
            AttemptRow.learner == learner,
            col(AttemptRow.exercise).in_([entry.exercise for entry in assignment.entries]),
            RegradeRow.attempt == AttemptRow.id,
        )
        .order_by(col(RegradeRow.at).desc())
    )
    latest: dict[int, RegradedAnswer] = {}
    for row, attempt in session.exec(statement):
        one = RegradedAnswer(attempt.exercise, attempt.score, row.score, row.at)
        latest.setdefault(row.attempt, one)
    return [one for one in latest.values() if one.before != one.after]


def _stale(
    session: Session, secret: str, assignment: Assignment, exercise: Exercise, students: Sequence[Member], after: int
) -> Iterator[StaleAnswer]:
    drawings = Drawings(secret, assignment, former_learners(session))
    whose = {one.learner: one for one in students}
    for learners in in_parts(sorted(whose)):
        rows = session.exec(
            select(AttemptRow)
            .where(
                AttemptRow.exercise == exercise.id,
                col(AttemptRow.id) > after,
                ~col(AttemptRow.carried),
                col(AttemptRow.learner).in_(learners),
                *since_joined(assignment),
            )
            .order_by(col(AttemptRow.id))
        ).all()
        scores = _latest(session, rows)
        for row in rows:
            number = row.id or 0
            digest, score = scores.get(number, (row.digest, row.score))
            if digest != exercise.digest and drawings.counts(row.learner, exercise.id, row.seed):
                member = whose[row.learner]
                yield StaleAnswer(member, number, exercise.id, row.seed, row.answer, row.drawn, score)


def _latest(session: Session, rows: Sequence[AttemptRow]) -> Mapping[int, tuple[str, float]]:
    """The digest and the score of the latest regrade, by attempt."""
    found: dict[int, tuple[str, float]] = {}
    for numbers in in_parts(row.id for row in rows):
        some = col(RegradeRow.attempt).in_(numbers)
        for row in session.exec(select(RegradeRow).where(some).order_by(col(RegradeRow.at))):
            found[row.attempt] = row.digest, row.score
    return found


async def _judged(
    stale: Sequence[StaleAnswer], catalog: Catalog, runner: Runner, *, lower: bool
) -> AsyncIterator[Sequence[NewJudgment]]:
    runs = asyncio.Semaphore(_RUNS)

    async def judge(one: StaleAnswer) -> NewJudgment:
        async with runs:
            return await _judge(one, catalog.exercise(one.exercise), runner, lower=lower)

    for start in range(0, len(stale), _AT_ONCE):
        yield await asyncio.gather(*map(judge, stale[start : start + _AT_ONCE]))


async def _judge(one: StaleAnswer, exercise: Exercise, runner: Runner, *, lower: bool) -> NewJudgment:
    """What *exercise* says now."""
    try:
        answer = stored_answer(one.answer, exercise.right_answer(one.seed))
        verdict = await exercise.grade(one.seed, answer, runner, one.member.learner)
    except AnswerError as error:
        kept = translate("cannot be read anymore: {error}", error=error)
        return NewJudgment(stale=one, score=one.before, correct=False, digest="", why=kept)
    drawn = json.dumps(dict(exercise.draw(one.seed).shown), ensure_ascii=False)
    why = ""
    if verdict.score < one.before:
        why = "" if lower else translate("would be lower")
        why = translate("the exercise draws other values now") if drawn != one.drawn else why
    return NewJudgment(stale=one, score=verdict.score, correct=verdict.correct, digest=exercise.digest, why=why)


def _store_scores(engine: Engine, changed: Sequence[NewJudgment]) -> None:
    with open_writing_session(engine) as session:
        for one in changed:
            session.merge(
                RegradeRow(attempt=one.stale.attempt, digest=one.digest, score=one.score, correct=one.correct, at=now())
            )
        session.commit()
