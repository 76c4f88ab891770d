"""What an assignment says about an exercise, for one person at one moment."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from zoneinfo import ZoneInfo

from sqlalchemy import bindparam
from sqlalchemy import select as columns
from sqlmodel import Session, col

from app.db.people import (
    AssignedRow,
    AssignmentRow,
    ClassRow,
    ExtensionRow,
    MemberRow,
    SittingRow,
)
from app.db.tables import AttemptRow
from app.people.assignments import (
    Assignment,
    Entry,
    assignments_of,
    dates_for,
    policy_of,
)
from app.people.classes import Role
from app.people.persons import SignedIn
from app.people.policy import Dates, Phase, Policy, counts, dates_of
from app.people.variants import variant_seed

Drawing = tuple[str, int | None]  # an exercise, and its seed; None: any
# Made once: a class of 300 asks at the same instant.
_ASSIGNED = (
    columns(
        *AssignmentRow.__table__.columns,  # type: ignore[attr-defined]
        col(ClassRow.zone),
        col(ExtensionRow.until),
        col(SittingRow.began),
    )
    .join_from(AssignedRow, AssignmentRow, col(AssignmentRow.id) == col(AssignedRow.assignment))
    .join(ClassRow, col(ClassRow.id) == col(AssignmentRow.class_id))
    .join(MemberRow, col(MemberRow.class_id) == col(AssignmentRow.class_id))
    .outerjoin(
        ExtensionRow,
        (col(ExtensionRow.assignment) == col(AssignmentRow.id))
        & (col(ExtensionRow.person) == col(MemberRow.person)),
    )
    .outerjoin(
        SittingRow,
        (col(SittingRow.assignment) == col(AssignmentRow.id))
        & (col(SittingRow.person) == col(MemberRow.person)),
    )
    .where(
        col(AssignedRow.exercise) == bindparam("exercise"),
        col(MemberRow.person) == bindparam("person"),
        col(MemberRow.role) == Role.STUDENT.word,
        col(MemberRow.left).is_(None),
    )
    .order_by(col(AssignmentRow.id))
)
_ENTRIES = (
    columns(col(AssignedRow.assignment), col(AssignedRow.exercise), col(AssignedRow.points))
    .where(col(AssignedRow.assignment).in_(bindparam("assignments", expanding=True)))
    .order_by(col(AssignedRow.place))
)
_HIDING = (
    columns(col(AssignmentRow.class_id))
    .join_from(AssignmentRow, MemberRow, col(MemberRow.class_id) == col(AssignmentRow.class_id))
    .where(
        ~col(AssignmentRow.show_points),
        col(MemberRow.person) == bindparam("person"),
        col(MemberRow.role) == Role.STUDENT.word,
        col(MemberRow.left).is_(None),
    )
    .distinct()
)
_GIVEN = columns(col(AttemptRow.seed), col(AttemptRow.at)).where(
    col(AttemptRow.learner) == bindparam("learner"),
    col(AttemptRow.exercise) == bindparam("exercise"),
    ~col(AttemptRow.carried),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """An exercise of an assignment, as it is for a student now.

    Answers to the drawing of *seed* count; None: to any. *tries* of them were given while they
    counted, if the policy limits them. *released* is when solutions, and points that are hidden,
    may be shown.
    """

    assignment: Assignment
    entry: Entry
    seed: int | None
    dates: Dates
    phase: Phase
    tries: int
    extended: bool
    released: datetime | None
    now: datetime

    @property
    def is_exam(self) -> bool:
        """Whether the exam runs for this person."""
        return bool(self.assignment.policy.sitting) and self.phase in ("open", "late")

    @property
    def is_released(self) -> bool:
        """Whether nothing has to be hidden any longer."""
        return self.released is None or self.now > self.released

    @property
    def tries_left(self) -> int | None:
        """The answers that still count; None: as many as there may be."""
        most = self.assignment.policy.attempts
        return max(0, most - self.tries) if most else None

    def answered(self, seed: int) -> "Work":
        """The work after one more answer to the drawing of *seed*."""
        counted = self.phase in ("open", "late") and self.seed in (None, seed)
        return replace(self, tries=self.tries + 1) if counted else self


def own_seed(secret: str, assignment: Assignment, exercise: str, learner: str) -> int | None:
    """The seed of *exercise* whose answers count for *learner*; None: any."""
    if assignment.policy.variants == "many":
        return None
    whose = learner if assignment.policy.variants == "own" else ""
    return variant_seed(secret, assignment.id, exercise, whose)


def release_of(policy: Policy, dates: Dates) -> datetime | None:
    """When solutions and hidden points may be shown to a person; None: they need not wait.

    Those of an exam wait until the last one may have finished it, not only this person.
    """
    ends = [dates.due or dates.closes]
    if policy.sitting:
        ends.append(policy.closes or policy.due)
    known = [end for end in ends if end is not None]
    return max(known) if known else None


def works_at(
    session: Session, secret: str, person: SignedIn, exercise: str, now: datetime
) -> Sequence[Work]:
    """The work of *person*, as a student of some classes, at *exercise*."""
    run = session.connection().execute
    rows = run(_ASSIGNED, {"person": person.person, "exercise": exercise}).all()
    entries: dict[int, list[Entry]] = {row.id: [] for row in rows}
    if rows:
        for number, name, points in run(_ENTRIES, {"assignments": list(entries)}):
            entries[number].append(Entry(name, points))
    found = []
    for row in rows:
        assignment = Assignment(
            id=row.id,
            class_id=row.class_id,
            title=row.title,
            policy=policy_of(row, ZoneInfo(row.zone)),
            entries=tuple(entries[row.id]),
        )
        dates = dates_of(assignment.policy, row.until, row.began)
        entry = next(one for one in assignment.entries if one.exercise == exercise)
        found.append(_work(session, secret, assignment, entry, dates, row.until, person, now))
    return found


def veiled(session: Session, secret: str, person: SignedIn, now: datetime) -> Iterator[Drawing]:
    """The drawings whose verdicts are still hidden from *person*."""
    hiding = session.connection().execute(_HIDING, {"person": person.person}).all()
    for (class_id,) in hiding:
        for one in assignments_of(session, class_id):
            released = release_of(one.policy, dates_for(session, one, person.person))
            if not one.policy.show_points and released and now <= released:
                for entry in one.entries:
                    yield entry.exercise, own_seed(secret, one, entry.exercise, person.learner)


def _work(
    session: Session,
    secret: str,
    assignment: Assignment,
    entry: Entry,
    dates: Dates,
    extended: datetime | None,
    person: SignedIn,
    now: datetime,
) -> Work:
    policy = assignment.policy
    seed = own_seed(secret, assignment, entry.exercise, person.learner)
    return Work(
        assignment=assignment,
        entry=entry,
        seed=seed,
        dates=dates,
        phase=dates.phase(now, policy.grace),
        tries=_tries(session, policy, dates, person.learner, entry.exercise, seed),
        extended=extended is not None,
        released=release_of(policy, dates),
        now=now,
    )


def _tries(
    session: Session, policy: Policy, dates: Dates, learner: str, exercise: str, seed: int | None
) -> int:
    """The answers that count; 0 where no policy limits them, without a query."""
    if not policy.attempts:
        return 0
    given = session.connection().execute(_GIVEN, {"learner": learner, "exercise": exercise})
    return sum(seed in (None, own) and counts(dates, policy, at) for own, at in given)
