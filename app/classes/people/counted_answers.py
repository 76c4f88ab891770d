"""The answers that a person gave in an assignment, and what each is worth and why."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlmodel import Session, col, select

from app.classes.people.assignments import Assignment
from app.classes.people.classes import Member
from app.classes.people.personal_dates import dates_for
from app.classes.people.policy import CountableAnswer, Dates, Policy, counts, unaided, worth
from app.classes.people.variants import Drawings, former_learners, since_joined
from app.core.translation import noted, translate
from app.server.db.people import RegradeRow
from app.server.db.tables import AttemptRow

_LATEST = 200  # answers of an exercise that are listed

_UNCOUNTED = {"before": noted("before it opened"), "closed": noted("after it closed")}
_NOT_BEGUN = noted("before the exam was begun")


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """An answer to a drawing that counts.

    *score* is that of the latest regrade, if there is one: then *before* is what it had been.
    *earned* is the share of the points that it is worth, and *why* says what took the rest.
    """

    seed: int
    answer: str
    at: datetime
    correct: bool
    score: float
    before: float | None
    hints: int
    revealed: bool
    seconds: float | None
    mistake: str
    earned: float
    why: str


def given_in(session: Session, secret: str, assignment: Assignment, member: Member) -> Mapping[str, Sequence[Given]]:
    """The answers of *member* in *assignment*, by exercise; the first one first."""
    drawings = Drawings(secret, assignment, former_learners(session))
    dates = dates_for(session, assignment, member.person)
    rows = session.exec(
        select(AttemptRow)
        .where(
            AttemptRow.learner == member.learner,
            ~col(AttemptRow.carried),
            col(AttemptRow.exercise).in_([entry.exercise for entry in assignment.entries]),
            *since_joined(assignment),
        )
        .order_by(col(AttemptRow.id))
    )
    own: dict[str, list[AttemptRow]] = {}
    for row in rows:
        if drawings.counts(row.learner, row.exercise, row.seed):
            own.setdefault(row.exercise, []).append(row)
    regraded = _regraded(session, [row.id or 0 for those in own.values() for row in those])
    return {exercise: _judged(assignment.policy, dates, those, regraded)[-_LATEST:] for exercise, those in own.items()}


def _judged(
    policy: Policy, dates: Dates, rows: Sequence[AttemptRow], regraded: Mapping[int, RegradeRow]
) -> Sequence[Given]:
    found, counted = [], 0
    for row in rows:
        new = regraded.get(row.id or 0)
        score = new.score if new else row.score
        answered = CountableAnswer(row.at, score, row.hints, row.revealed)
        counted += counts(dates, policy, row.at)
        part, why = _part(policy, dates, answered, counted)
        found.append(
            Given(
                seed=row.seed,
                answer=row.answer,
                at=row.at,
                correct=new.correct if new else row.correct,
                score=score,
                before=row.score if new else None,
                hints=row.hints,
                revealed=row.revealed,
                seconds=row.seconds,
                mistake=row.mistake or "",
                earned=score * part,
                why=why,
            )
        )
    return found


def _part(policy: Policy, dates: Dates, one: CountableAnswer, counted: int) -> tuple[float, str]:
    """The share of its score that an answer is worth, and what took the rest."""
    phase = dates.phase(one.at, policy.grace)
    if not counts(dates, policy, one.at):
        return 0.0, translate(_UNCOUNTED.get(phase, _NOT_BEGUN))
    if policy.attempts and counted > policy.attempts:
        return 0.0, translate("beyond the {attempts} that count", attempts=policy.attempts)
    if one.revealed:
        return 0.0, translate("after the solution was shown")
    in_time, alone = worth(policy, dates, one.at), unaided(policy, one)
    why = []
    if in_time < 1:
        why.append(translate("late: {percent:.3g} % less", percent=100 * (1 - in_time)))
    if alone < 1:
        why.append(translate("hints: {percent:.3g} % less", percent=100 * (1 - alone)))
    return in_time * alone, "; ".join(why)


def _regraded(session: Session, attempts: Sequence[int]) -> Mapping[int, RegradeRow]:
    """The latest regrade of each of *attempts* that has one."""
    rows = session.exec(select(RegradeRow).where(col(RegradeRow.attempt).in_(attempts)).order_by(col(RegradeRow.at)))
    return {row.attempt: row for row in rows}
