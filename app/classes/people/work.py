"""What an assignment says about an exercise, for one person at one moment."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Self

from sqlalchemy import BindParameter, bindparam
from sqlalchemy import select as columns
from sqlmodel import Session, col

from app.classes.people.assignments import (
    Assignment,
    AssignmentEntry,
    assignments_of,
    first_origin,
    longest_time,
    policy_of,
    read_draws,
)
from app.classes.people.classes import Role
from app.classes.people.counted_answers import dates_of_everyone, variant_seed
from app.classes.people.policy import DATES, Dates, GroupDates, Phase, counts, dates_of, last_exam_end
from app.server.db.exercise_histories import read_histories
from app.server.db.history import Drawing, ExerciseHistory, LearnerDrawing
from app.server.db.people import (
    AssignedRow,
    AssignmentRow,
    ClassRow,
    ExtensionRow,
    GroupDatesRow,
    MemberRow,
    SittingRow,
)
from app.server.db.session import open_session
from app.server.db.tables import Attempt, AttemptRow
from app.site.members import SignedIn

if TYPE_CHECKING:
    from sqlalchemy import Engine

# Made once: a class of 300 asks at the same instant.
_PERSONS: BindParameter[int] = bindparam("persons", expanding=True)
_EXERCISES: BindParameter[str] = bindparam("exercises", expanding=True)
_NUMBERS: BindParameter[int] = bindparam("assignments", expanding=True)
_ASSIGNED = (
    columns(
        col(MemberRow.person),
        col(AssignedRow.exercise),
        col(AssignedRow.assignment),
        col(MemberRow.group_name),
        col(MemberRow.joined),
        col(MemberRow.time_factor),
        col(ExtensionRow.until),
        col(SittingRow.began),
    )
    .join_from(AssignedRow, AssignmentRow, col(AssignmentRow.id) == col(AssignedRow.assignment))
    .join(MemberRow, col(MemberRow.class_id) == col(AssignmentRow.class_id))
    .outerjoin(
        ExtensionRow,
        (col(ExtensionRow.assignment) == col(AssignedRow.assignment))
        & (col(ExtensionRow.person) == col(MemberRow.person)),
    )
    .outerjoin(
        SittingRow,
        (col(SittingRow.assignment) == col(AssignedRow.assignment)) & (col(SittingRow.person) == col(MemberRow.person)),
    )
    .where(
        col(AssignedRow.exercise).in_(_EXERCISES),
        col(MemberRow.person).in_(_PERSONS),
        col(MemberRow.role) == Role.STUDENT.word,
        col(MemberRow.left).is_(None),
    )
    .order_by(col(AssignedRow.assignment))
)
_RULES = (
    columns(
        *AssignmentRow.__table__.columns,  # type: ignore[attr-defined]
        col(ClassRow.zone),
        col(ClassRow.archived),
        longest_time(col(AssignmentRow.class_id)).label("longest"),
        col(GroupDatesRow.group_name),
        *(col(getattr(GroupDatesRow, name)).label(f"group_{name}") for name in DATES),
    )
    .join_from(AssignmentRow, ClassRow, col(ClassRow.id) == col(AssignmentRow.class_id))
    .outerjoin(GroupDatesRow, col(GroupDatesRow.assignment) == col(AssignmentRow.id))
    .where(col(AssignmentRow.id).in_(_NUMBERS))
)
_ENTRIES = (
    columns(col(AssignedRow.assignment), col(AssignedRow.exercise), col(AssignedRow.points), col(AssignedRow.pool))
    .where(col(AssignedRow.assignment).in_(_NUMBERS))
    .order_by(col(AssignedRow.place))
)
_HIDING = (
    columns(col(MemberRow.person), col(AssignmentRow.class_id))
    .join_from(AssignmentRow, MemberRow, col(MemberRow.class_id) == col(AssignmentRow.class_id))
    .where(
        ~col(AssignmentRow.show_points),
        col(MemberRow.person).in_(_PERSONS),
        col(MemberRow.role) == Role.STUDENT.word,
        col(MemberRow.left).is_(None),
    )
    .distinct()
)
_GIVEN = columns(col(AttemptRow.learner), col(AttemptRow.exercise), col(AttemptRow.seed), col(AttemptRow.at)).where(
    col(AttemptRow.learner).in_(bindparam("learners", expanding=True)),
    col(AttemptRow.exercise).in_(_EXERCISES),
    ~col(AttemptRow.carried),
)
_Given = Mapping[tuple[str, str], Sequence[tuple[int, datetime]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class StudentWork:
    """An exercise of an assignment, as it is for a student now.

    Answers to the drawing of *seed* count; None: to any. *tries* of them were given while they counted, if the policy
    limits them. *released* is when solutions, and points that are hidden, may be shown.
    """

    assignment: Assignment
    entry: AssignmentEntry
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

    def answered(self, seed: int) -> "StudentWork":
        """The work after one more answer to the drawing of *seed*."""
        counted = self.phase in ("open", "late") and self.seed in (None, seed)
        return replace(self, tries=self.tries + 1) if counted else self


def own_seed(secret: str, assignment: Assignment, exercise: str, learner: str) -> int | None:
    """The seed of *exercise* whose answers count for *learner*; None: any."""
    if assignment.policy.variants == "many":
        return None
    whose = learner if assignment.policy.variants == "own" else ""
    return variant_seed(secret, assignment.id, exercise, whose)


def release_of(assignment: Assignment, dates: Dates) -> datetime | None:
    """When solutions and hidden points may be shown to a person; None: they need not wait.

    Those of an exam wait until the last one may have finished it, not only this person.
    """
    ends = [dates.due or dates.closes]
    if assignment.policy.sitting:
        ends += [last_exam_end(policy, assignment.longest) for policy in assignment.policies]
    known = [end for end in ends if end is not None]
    return max(known) if known else None


def works_at(
    session: Session, secret: str, persons: Collection[SignedIn], exercises: Collection[str], now: datetime
) -> Mapping[tuple[int, str], Sequence[StudentWork]]:
    """The work of *persons* as students, by person and exercise."""
    whose = {one.person: one for one in persons}
    wanted = {"persons": list(whose), "exercises": list(exercises)}
    rows = session.connection().execute(_ASSIGNED, wanted).all() if persons else ()
    assignments = _assignments(session, {row.assignment for row in rows})
    limited = [row for row in rows if assignments[row.assignment].policy.attempts]
    given = _given(session, {whose[row.person].learner for row in limited}, exercises)
    found: dict[tuple[int, str], list[StudentWork]] = {}
    for row in rows:
        person = whose[row.person]
        assignment = assignments[row.assignment].personal(person.learner)
        dates = dates_of(assignment.policy_in(row.group_name), row.until, row.began, row.time_factor)
        entry = next((one for one in assignment.entries if one.exercise == row.exercise), None)
        if entry is None:
            continue  # of a pool, and not drawn
        seed = own_seed(secret, assignment, row.exercise, person.learner)
        answers = given.get((person.learner, row.exercise), ())
        if seed is None:  # any drawing counts, since they are in the class
            answers = [one for one in answers if one[1] >= row.joined]
        work = StudentWork(
            assignment=assignment,
            entry=entry,
            seed=seed,
            dates=dates,
            phase=dates.phase(now, assignment.policy.grace),
            tries=sum(seed in (None, own) and counts(dates, assignment.policy, at) for own, at in answers)
            if assignment.policy.attempts
            else 0,
            extended=row.until is not None,
            released=release_of(assignment, dates),
            now=now,
        )
        found.setdefault((row.person, row.exercise), []).append(work)
    return found


def veils(
    session: Session, secret: str, persons: Collection[SignedIn], now: datetime
) -> Mapping[int, frozenset[Drawing]]:
    """The drawings whose verdicts are still hidden from each of *persons*."""
    found: dict[int, set[Drawing]] = {one.person: set() for one in persons}
    whose = {one.person: one for one in persons}
    run = session.connection().execute
    hiding = run(_HIDING, {"persons": list(whose)}).all() if persons else ()
    members: dict[int, list[SignedIn]] = {}
    for number, class_id in hiding:
        members.setdefault(class_id, []).append(whose[number])
    for class_id, those in members.items():
        for one in assignments_of(session, class_id):
            if one.policy.show_points:
                continue
            own, general = dates_of_everyone(session, one), dates_of(one.policy)
            for person in those:
                released = release_of(one, own.get(person.person, general))
                if released and now <= released:
                    found[person.person] |= {
                        (entry.exercise, own_seed(secret, one, entry.exercise, person.learner))
                        for entry in one.personal(person.learner).entries
                    }
    return {number: frozenset(drawings) for number, drawings in found.items()}


def _assignments(session: Session, numbers: Collection[int]) -> Mapping[int, Assignment]:
    """The assignments with those *numbers*."""
    if not numbers:
        return {}
    run, wanted = session.connection().execute, {"assignments": list(numbers)}
    entries: dict[int, list[AssignmentEntry]] = {number: [] for number in numbers}
    for number, name, points, pool in run(_ENTRIES, wanted):
        entries[number].append(AssignmentEntry(name, points, pool))
    rows = run(_RULES, wanted).all()
    groups = [
        (row.id, GroupDates(group=row.group_name, opens=row.group_opens, due=row.group_due, closes=row.group_closes))
        for row in rows
        if row.group_name is not None
    ]
    return {
        row.id: Assignment(
            id=row.id,
            class_id=row.class_id,
            title=row.title,
            policy=policy_of(row, row.zone, row.archived),
            entries=tuple(entries[row.id]),
            draws=read_draws(row.draws),
            origin=first_origin(row.id, row.origins),
            groups=tuple(dates for number, dates in groups if number == row.id),
            longest=row.longest,
        )
        for row in rows
    }


def _given(session: Session, learners: Collection[str], exercises: Collection[str]) -> _Given:
    """The drawings that *learners* answered, and when, by learner and exercise."""
    if not learners:
        return {}
    found: dict[tuple[str, str], list[tuple[int, datetime]]] = {}
    wanted = {"learners": list(learners), "exercises": list(exercises)}
    for learner, exercise, seed, at in session.connection().execute(_GIVEN, wanted):
        found.setdefault((learner, exercise), []).append((seed, at))
    return found


@dataclass(frozen=True, slots=True)
class StudentDrawing:
    """A person at a *drawing* of an exercise, now."""

    drawing: LearnerDrawing
    person: SignedIn
    now: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class StudentHistory(ExerciseHistory):
    """What a person has done before, and what assignments say about the exercise."""

    works: Sequence[StudentWork] = ()

    def after_answer(self, attempt: Attempt) -> Self:
        """The history after one more answer."""
        after = ExerciseHistory.after_answer(self, attempt)
        return replace(after, works=[work.answered(attempt.seed) for work in self.works])


def student_histories(engine: "Engine", secret: str, those: Sequence[StudentDrawing]) -> Sequence[StudentHistory]:
    """The history of each of *those*, in their order.

    Raises:
        UnavailableError: the database cannot be read.
    """
    persons = {one.person.person: one.person for one in those}.values()
    exercises = {one.drawing.exercise for one in those}
    now = those[0].now
    with open_session(engine) as session:
        works = works_at(session, secret, persons, exercises, now)
        hidden = veils(session, secret, persons, now)
        veil = {one.drawing.learner: hidden[one.person.person] for one in those}
        drawings = [one.drawing for one in those]
        found = read_histories(session.connection(), drawings, veil)
    return [
        StudentHistory(
            seen=history.seen,
            last=history.last,
            known=history.known,
            veil=history.veil,
            works=works.get((one.person.person, one.drawing.exercise), ()),
        )
        for one, history in zip(those, found, strict=True)
    ]
