"""What belongs to each person in an assignment: dates, exercises, drawings, and the answers that count."""

import hmac
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from hashlib import sha256
from types import MappingProxyType

from sqlalchemy import ColumnElement, func
from sqlalchemy import select as columns
from sqlalchemy.orm import aliased
from sqlmodel import Session, col, select

from app.classes.people.assignment_copies import on_the_calendar
from app.classes.people.assignments import Assignment
from app.classes.people.classes import Member, members_of
from app.classes.people.policy import CountableAnswer, Dates, Policy, counts, dates_of, unaided_share, worth
from app.core.errors import InputError, input_error
from app.core.translation import noted, translate
from app.course.kinds import SEEDS
from app.server.db.people import REASON_LIMIT, ExtensionRow, MemberRow, MergeRow, PersonRow, RegradeRow, SittingRow
from app.server.db.tables import AttemptRow

_EARLY = noted("everyone has until {words}; an extension must be later")
_EARLY_IN_EXAM = noted("without it, the first of them has until {words}; an extension must be later")


class EarlyExtensionError(InputError):
    """An extension ends by the *first* moment at which one of its persons has to be ready."""

    def __init__(self, first: datetime, says: str) -> None:
        super().__init__(says)
        self.first = first


def group_policy(session: Session, assignment: Assignment, person: int) -> Policy:
    """The policy as it is for the group that *person* is in."""
    member = session.get(MemberRow, (assignment.class_id, person)) if assignment.groups else None
    return assignment.policy_in(member.group_name if member else "")


def time_factor_of(session: Session, assignment: Assignment, person: int) -> float:
    """How many times as long as others *person* has in an exam."""
    member = session.get(MemberRow, (assignment.class_id, person)) if assignment.policy.sitting else None
    return member.time_factor if member else 1.0


def dates_for(session: Session, assignment: Assignment, person: int) -> Dates:
    """The dates of *person*: the one place that knows them."""
    extension = session.get(ExtensionRow, (assignment.id, person))
    sitting = session.get(SittingRow, (assignment.id, person))
    return dates_of(
        group_policy(session, assignment, person),
        extension.until if extension else None,
        sitting.began if sitting else None,
        time_factor_of(session, assignment, person),
    )


def dates_of_everyone(session: Session, assignment: Assignment) -> Mapping[int, Dates]:
    """The dates of those persons whose dates differ from everyone's."""
    extended = {
        row.person: row.until
        for row in session.exec(select(ExtensionRow).where(ExtensionRow.assignment == assignment.id))
    }
    began = {
        row.person: row.began for row in session.exec(select(SittingRow).where(SittingRow.assignment == assignment.id))
    }
    groups, factors = _grouped(session, assignment), _factors(session, assignment)
    return {
        person: dates_of(
            assignment.policy_in(groups.get(person, "")),
            extended.get(person),
            began.get(person),
            factors.get(person, 1.0),
        )
        for person in extended.keys() | began.keys() | groups.keys()
    }


def first_end(session: Session, assignment: Assignment, persons: Collection[int], now: datetime) -> datetime | None:
    """The first moment at which one of *persons* has to be ready without an extension, if any.

    Who has not begun an exam has as long as if they began *now*, and at most until it closes.
    """
    groups = _grouped(session, assignment)
    policies = {person: assignment.policy_in(groups.get(person, "")) for person in persons}
    if not assignment.policy.sitting:
        return min((end for one in policies.values() if (end := one.due or one.closes)), default=None)
    factors = _factors(session, assignment)
    found: list[datetime] = []
    for person, policy in policies.items():
        row, last = session.get(SittingRow, (assignment.id, person)), policy.closes or policy.due
        begins = row.began if row else max(now, policy.opens or now)
        end = dates_of(policy, None, begins, factors.get(person, 1.0)).closes or begins
        found.append(end if row or last is None else min(end, last))
    return min(found, default=None)


def give_extension(
    session: Session,
    assignment: Assignment,
    persons: Collection[int],
    until: datetime,
    by: str,
    why: str,
    now: datetime,
) -> None:
    """Give *persons* until *until*; *by* whom and *why* stand beside it. Not committed.

    Raises:
        EarlyExtensionError: it moves no date.
        InputError: no date can be moved, or the reason is not valid.
    """
    if len(why) > REASON_LIMIT or not why.isprintable():
        raise input_error("a reason has at most {reason_limit} printable characters", reason_limit=REASON_LIMIT)
    first = first_end(session, assignment, persons, now)
    if first is None:
        raise input_error("this assignment has no due date: nothing can be extended")
    if until <= first:
        form = _EARLY_IN_EXAM if assignment.policy.sitting else _EARLY
        raise EarlyExtensionError(first, translate(form, words=on_the_calendar(first, assignment.policy.zone, now)))
    extend(session, assignment.id, sorted(persons), until, by, why)


def extensions_of(session: Session, assignment: Assignment) -> Sequence[tuple[Member, ExtensionRow]]:
    """The extensions of an assignment, and those in its class who have them, by number."""
    members = {one.person: one for one in members_of(session, assignment.class_id)}
    rows = session.exec(select(ExtensionRow).where(ExtensionRow.assignment == assignment.id))
    those = sorted(rows, key=lambda row: row.person)
    return [(members[row.person], row) for row in those if row.person in members]


def drop_extension(session: Session, assignment: int, person: int) -> bool:
    """Take the extension of *person* back; whether there was one. Not committed."""
    row = session.get(ExtensionRow, (assignment, person))
    if row is not None:
        session.delete(row)
    return row is not None


def extend(
    session: Session, assignment: int, persons: Iterable[int], until: datetime, by: str = "", why: str = ""
) -> None:
    """Give *persons* until *until*; an earlier extension is replaced. Not committed."""
    for person in persons:
        row = ExtensionRow(assignment=assignment, person=person, until=until, by=by, why=why)
        session.merge(row)


def begin_sitting(session: Session, assignment: int, person: int) -> None:
    """Start the exam of *person*; the first start stays. Commits."""
    if session.get(SittingRow, (assignment, person)) is None:
        session.add(SittingRow(assignment=assignment, person=person))
        session.commit()


def _grouped(session: Session, assignment: Assignment) -> Mapping[int, str]:
    """The groups of those who are in one with dates of its own."""
    if not assignment.groups:
        return {}
    names = [one.group for one in assignment.groups]
    rows = select(MemberRow).where(MemberRow.class_id == assignment.class_id, col(MemberRow.group_name).in_(names))
    return {row.person: row.group_name for row in session.exec(rows)}


def _factors(session: Session, assignment: Assignment) -> Mapping[int, float]:
    """The factors of those who have more time in an exam than others."""
    if not assignment.policy.sitting:
        return {}
    rows = select(MemberRow).where(MemberRow.class_id == assignment.class_id, col(MemberRow.time_factor) != 1.0)
    return {row.person: row.time_factor for row in session.exec(rows)}


Former = Mapping[str, Collection[str]]
_BLOCK = 64  # bytes of a block of SHA-256


def variant_seed(secret: str, assignment: int, exercise: str, learner: str = "") -> int:
    """The seed of *exercise* in *assignment* for *learner*; without one, that of the whole class.

    The same on every server and in every browser: an HMAC under the site's *secret*.
    """
    named = f"variant:{assignment}:{exercise}:{learner}"
    return int.from_bytes(hmac.digest(secret.encode(), named.encode(), "sha256")[:8]) % SEEDS


_REMEMBERED, _LEARNERS = 64, 16_384  # exercises, and learners of each, whose seeds are remembered


class ExerciseSeeds:
    """The seeds of an exercise in an assignment, for many learners.

    An HMAC is one hash over another. What both begin with is the same for everyone, and is hashed
    once: for a class, this takes a third of the time.
    """

    def __init__(self, secret: str, assignment: int, exercise: str) -> None:
        key = secret.encode()
        block = (sha256(key).digest() if len(key) > _BLOCK else key).ljust(_BLOCK, b"\0")
        self._inner = sha256(bytes(byte ^ 0x36 for byte in block))  # as in RFC 2104
        self._inner.update(f"variant:{assignment}:{exercise}:".encode())
        self._outer = sha256(bytes(byte ^ 0x5C for byte in block))

    def of(self, learner: str) -> int:
        """The seed for *learner*: that of `variant_seed`."""
        inner, outer = self._inner.copy(), self._outer.copy()
        inner.update(learner.encode())
        outer.update(inner.digest())
        return int.from_bytes(outer.digest()[:8]) % SEEDS


def former_learners(session: Session) -> Former:
    """The learners whose answers became those of another in a merge, by that other learner."""
    kept, gone = aliased(PersonRow), aliased(PersonRow)
    rows = session.connection().execute(
        columns(col(kept.learner), col(gone.learner))
        .join_from(MergeRow, kept, col(kept.id) == col(MergeRow.kept))
        .join(gone, col(gone.id) == col(MergeRow.gone))
        .where(col(MergeRow.undone).is_(None), col(MergeRow.moved) != "")
        .order_by(col(MergeRow.id))
    )
    found: dict[str, set[str]] = {}
    for one, other in rows:  # oldest first: what became another's then goes on with it
        found.setdefault(one, set()).update({other}, found.get(other, ()))
    return found


def since_joined(assignment: Assignment) -> Sequence[ColumnElement[bool]]:
    """What leaves out the answers from before a student was in the class, where any drawing counts."""
    if assignment.policy.variants != "many":
        return ()
    joined = (
        columns(func.min(col(MemberRow.joined)))
        .join_from(PersonRow, MemberRow, col(MemberRow.person) == col(PersonRow.id))
        .where(col(PersonRow.learner) == col(AttemptRow.learner), col(MemberRow.class_id) == assignment.class_id)
        .correlate(AttemptRow)
        .scalar_subquery()
    )
    return (col(AttemptRow.at) >= joined,)


class Drawings:
    """The drawings whose answers count in an assignment; with a person's own, *former* ones."""

    def __init__(self, secret: str, assignment: Assignment, former: Former = MappingProxyType({})) -> None:
        self._secret = secret
        self._assignment = assignment
        self._variants = assignment.policy.variants
        self._former = former
        self._seeds: dict[str, Callable[[str], int]] = {}
        self._drawn: dict[str, Collection[str]] = {}

    def counts(self, learner: str, exercise: str, seed: int) -> bool:
        """Whether answers of *learner* to that drawing count."""
        if not self.has(learner, exercise):
            return False
        if self._variants == "many":
            return True
        seed_of, former = self._seeds_of(exercise), self._former.get(learner, ())
        return seed == seed_of(learner) or seed in map(seed_of, former)

    def only(self, learner: str, exercise: str) -> Collection[int] | None:
        """The seeds of the only drawings that count; None: any counts.

        None of an exercise that *learner* has not: it is of a pool, and others were drawn.
        """
        if not self.has(learner, exercise):
            return ()
        if self._variants == "many":
            return None
        return {self.of(one, exercise) for one in (learner, *self._former.get(learner, ()))}

    def has(self, learner: str, exercise: str) -> bool:
        """Whether *learner* has that exercise of the assignment."""
        if not self._assignment.draws:
            return True
        if learner not in self._drawn:
            self._drawn[learner] = self._assignment.drawn(learner)
        return exercise in self._drawn[learner]

    def of(self, learner: str, exercise: str) -> int:
        """The seed of *exercise* for *learner*; if many count, the one to begin with."""
        return self._seeds_of(exercise)(learner)

    def seeds(self, exercise: str) -> Callable[[str], int] | None:
        """The seed of *exercise* by learner, if they have it; None: any counts."""
        return None if self._variants == "many" else self._seeds_of(exercise)

    def _seeds_of(self, exercise: str) -> Callable[[str], int]:
        """The seed of *exercise* by learner; each is worked out once."""
        if exercise not in self._seeds:
            seed_of = _seeds_in(self._secret, self._assignment.id, exercise)
            same = self._variants == "same"
            self._seeds[exercise] = (lambda _: seed_of("")) if same else seed_of
        return self._seeds[exercise]


@lru_cache(_REMEMBERED)
def _seeds_in(secret: str, assignment: int, exercise: str) -> Callable[[str], int]:
    """The seed of *exercise* in *assignment* by learner; each is worked out once, not at each refresh of a screen."""
    return lru_cache(_LEARNERS)(ExerciseSeeds(secret, assignment, exercise).of)


_LATEST = 200  # answers of an exercise that are listed

_UNCOUNTED = {"before": noted("before it opened"), "closed": noted("after it closed")}
_NOT_BEGUN = noted("before the exam was begun")


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedAnswer:
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


def given_in(
    session: Session, secret: str, assignment: Assignment, member: Member
) -> Mapping[str, Sequence[CountedAnswer]]:
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
    attempts = [row.id or 0 for those in own.values() for row in those]
    regrades = select(RegradeRow).where(col(RegradeRow.attempt).in_(attempts)).order_by(col(RegradeRow.at))
    regraded = {row.attempt: row for row in session.exec(regrades)}  # the latest of each
    return {exercise: _judged(assignment.policy, dates, those, regraded)[-_LATEST:] for exercise, those in own.items()}


def _judged(
    policy: Policy, dates: Dates, rows: Sequence[AttemptRow], regraded: Mapping[int, RegradeRow]
) -> Sequence[CountedAnswer]:
    found, counted = [], 0
    for row in rows:
        new = regraded.get(row.id or 0)
        score = new.score if new else row.score
        answered = CountableAnswer(row.at, score, row.hints, row.revealed)
        counted += counts(dates, policy, row.at)
        part, why = _part(policy, dates, answered, counted)
        found.append(
            CountedAnswer(
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
    in_time, alone = worth(policy, dates, one.at), unaided_share(policy, one)
    why = []
    if in_time < 1:
        why.append(translate("late: {percent:.3g} % less", percent=100 * (1 - in_time)))
    if alone < 1:
        why.append(translate("hints: {percent:.3g} % less", percent=100 * (1 - alone)))
    return in_time * alone, "; ".join(why)
