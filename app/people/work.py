"""What an assignment says about an exercise, for one person at one moment."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlmodel import Session, col, select

from app.db.people import AssignmentRow, ExtensionRow, MemberRow
from app.db.tables import AttemptRow
from app.people.assignments import (
    Assignment,
    Entry,
    assigned_to,
    assignments_of,
    dates_for,
)
from app.people.classes import Role, role_in
from app.people.persons import SignedIn
from app.people.policy import Dates, Phase, Policy, counts
from app.people.variants import variant_seed

Drawing = tuple[str, int | None]  # an exercise, and its seed; None: any


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """An exercise of an assignment, as it is for a student now.

    Answers to the drawing of *seed* count; None: to any. *tries* of them were given while they
    counted. *released* is when solutions, and points that are hidden, may be shown.
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
    return [
        _work(session, secret, one, entry, person, now)
        for one in assigned_to(session, person.person, exercise)
        if role_in(session, one.class_id, person.person) is Role.STUDENT
        for entry in one.entries
        if entry.exercise == exercise
    ]


def veiled(session: Session, secret: str, person: SignedIn, now: datetime) -> Iterator[Drawing]:
    """The drawings whose verdicts are still hidden from *person*."""
    hiding = (
        select(AssignmentRow.class_id)
        .where(
            ~col(AssignmentRow.show_points),
            MemberRow.class_id == AssignmentRow.class_id,
            MemberRow.person == person.person,
            MemberRow.role == Role.STUDENT.word,
            col(MemberRow.left).is_(None),
        )
        .distinct()
    )
    for class_id in session.exec(hiding).all():
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
    person: SignedIn,
    now: datetime,
) -> Work:
    policy, dates = assignment.policy, dates_for(session, assignment, person.person)
    seed = own_seed(secret, assignment, entry.exercise, person.learner)
    given = select(AttemptRow.at).where(
        AttemptRow.learner == person.learner,
        AttemptRow.exercise == entry.exercise,
        ~col(AttemptRow.carried),
    )
    if seed is not None:
        given = given.where(AttemptRow.seed == seed)
    return Work(
        assignment=assignment,
        entry=entry,
        seed=seed,
        dates=dates,
        phase=dates.phase(now, policy.grace),
        tries=sum(counts(dates, policy, at) for at in session.exec(given)),
        extended=session.get(ExtensionRow, (assignment.id, person.person)) is not None,
        released=release_of(policy, dates),
        now=now,
    )
