"""The ways out: everything about a person as JSON, the answers of a class, a person deleted."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import Any

from sqlalchemy import ColumnElement, delete, exists, update
from sqlalchemy import select as columns
from sqlmodel import Session, col, select

from app.classes.people.assignments import Assignment, assignments_of, mark_changed
from app.classes.people.classes import Role, classes_of, members_of, number_of
from app.classes.people.counted_answers import Drawings, former_learners
from app.classes.people.members import delete_persons, in_parts, remove_members
from app.classes.people.merges import merged_into
from app.core.errors import input_error
from app.server.db.assessments import AssessedRow, KnownChapterRow
from app.server.db.measurements import MeasurementRow
from app.server.db.people import (
    AssignedRow,
    AssignmentRow,
    ExtensionRow,
    IdentityRow,
    LinkRow,
    MemberRow,
    OutboxRow,
    OverrideRow,
    PersonRow,
    SessionRow,
    SittingRow,
)
from app.server.db.personal import collect_everything
from app.server.db.tables import AttemptRow, BoardRow, DailyGuessRow, LabRunRow, PredictionRow, RevealRow, now


class ClassWork:
    """Which rows of learners a class caused."""

    def __init__(self, session: Session, secret: str, class_id: int) -> None:
        former = former_learners(session)
        self.assignments = assignments_of(session, class_id)
        self._drawings: dict[str, list[tuple[Assignment, Drawings]]] = {}
        for one in self.assignments:
            for entry in one.entries:
                self._drawings.setdefault(entry.exercise, []).append((one, Drawings(secret, one, former)))
        joined = columns(col(PersonRow.learner), col(MemberRow.joined)).where(
            col(MemberRow.class_id) == class_id, col(PersonRow.id) == col(MemberRow.person)
        )
        self._joined = {row.learner: row.joined for row in session.connection().execute(joined)}

    @property
    def exercises(self) -> Collection[str]:
        """What the class has assigned."""
        return self._drawings.keys()

    def caused(self, learner: str, exercise: str, seed: int, at: datetime) -> bool:
        """Whether *learner*, a member, did that for the class *at* that time."""
        if at < self._joined[learner]:
            return False
        return any(
            drawings.counts(learner, exercise, seed) and _since_open(one, at)
            for one, drawings in self._drawings.get(exercise, ())
        )


def _since_open(assignment: Assignment, at: datetime) -> bool:
    """Whether *at* is not before an assignment of which any drawing counts."""
    policy = assignment.policy
    return policy.variants != "many" or policy.opens is None or at >= policy.opens


def results_of_class(
    session: Session,
    secret: str,
    class_id: int,
    after: int = 0,
    limit: int | None = None,
    since: datetime | None = None,
) -> Iterator[Mapping[str, object]]:
    """The answers of the students of a class whose number is above *after*, given *since* then, at most *limit*."""
    students = [one for one in members_of(session, class_id) if one.role is Role.STUDENT]
    work = ClassWork(session, secret, class_id)
    found = _member_rows(session, [one.learner for one in students], after, limit, work, since)
    members = {one.learner: one for one in students}
    for row in found:
        member = members[row.learner]
        yield {**answer_result(row), "learner": member.outside_id or str(member.person)}  # as a check calls them


def results_of_learner(session: Session, learner: str) -> Iterator[Mapping[str, object]]:
    """The answers of one learner."""
    for row in _member_rows(session, [learner], 0, None):
        yield {**answer_result(row), "learner": learner}


def answer_result(row: AttemptRow) -> Mapping[str, object]:
    """An answer and its verdict; *digest* is that of the exercise's file."""
    return {
        "number": row.id,
        "exercise": row.exercise,
        "seed": row.seed,
        "answer": _sent_answer(row.answer),
        "verdict": "correct" if row.correct else "incorrect",
        "score": row.score,
        "hints": row.hints,
        "revealed": row.revealed,
        "seconds": row.seconds,
        "mistake": row.mistake,
        "digest": row.digest,
        "at": row.at.isoformat(),
    }


def _member_rows(
    session: Session,
    learners: Sequence[str],
    after: int,
    limit: int | None,
    work: ClassWork | None = None,
    since: datetime | None = None,
) -> Iterator[AttemptRow]:
    """The rows in order, those that a class caused; of many learners, those of a part of them at a time."""
    found: list[int] = []
    for part in in_parts(learners):
        numbers = (
            columns(col(AttemptRow.id), *(getattr(AttemptRow, name) for name in ("learner", "exercise", "seed", "at")))
            .where(col(AttemptRow.learner).in_(part), col(AttemptRow.id) > after)
            .order_by(col(AttemptRow.id))
        )
        if since is not None:
            numbers = numbers.where(col(AttemptRow.at) >= since)
        if work is not None:
            numbers = numbers.where(col(AttemptRow.exercise).in_(work.exercises), ~col(AttemptRow.carried))
        given = session.connection().execute(numbers.limit(limit) if work is None else numbers)
        theirs = (row.id for row in given if work is None or work.caused(row.learner, row.exercise, row.seed, row.at))
        found += islice(theirs, limit)
    for some in in_parts(sorted(found)[:limit]):
        rows = select(AttemptRow).where(col(AttemptRow.id).in_(some)).order_by(col(AttemptRow.id))
        yield from session.exec(rows)
        session.expunge_all()


def _sent_answer(text: str) -> object:
    """The answer as it is sent: a list or an object is stored as JSON."""
    if text[:1] not in "[{":
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text


# Tables by the names that their rows have in a file.
_ABOUT: Mapping[str, Any] = {
    "identities": IdentityRow,
    "memberships": MemberRow,
    "extensions": ExtensionRow,
    "sittings": SittingRow,
    "overrides": OverrideRow,
    "scores_sent": OutboxRow,
    "browsers": SessionRow,
}
_DATES_AND_POINTS: Mapping[str, Any] = {"extensions": ExtensionRow, "sittings": SittingRow, "overrides": OverrideRow}
_WORK: Mapping[str, Any] = {"attempts": AttemptRow, "reveals": RevealRow, "predictions": PredictionRow}
# Rows of a learner that no class has graded.
_NEVER_GRADED = (
    RevealRow,
    PredictionRow,
    DailyGuessRow,
    LabRunRow,
    MeasurementRow,
    AssessedRow,
    KnownChapterRow,
    BoardRow,
)
# Digests of what signs a person in stay here.
_SECRET = {"digest", "code_digest"}


def all_about(session: Session, person: PersonRow) -> Mapping[str, object]:
    """Everything stored about *person*, ready for JSON; secrets are left out."""
    number = number_of(person)
    about: dict[str, object] = {"person": person.model_dump(mode="json")}
    for name, table in _ABOUT.items():
        rows = session.exec(select(table).where(col(table.person) == number))
        about[name] = [row.model_dump(mode="json", exclude=_SECRET) for row in rows]
    about["classes"] = [
        {"id": row.id, "name": row.name, "role": role.word} for row, role in classes_of(session, number)
    ]
    about["merged"] = sorted(merged_into(session, number))
    return {**about, **collect_everything(session, person.learner)}


def about_member(session: Session, secret: str, row: MemberRow) -> Mapping[str, object]:
    """What a class caused to be stored about a member: all that those who teach it may see.

    That is what they are called there, their dates and points, and what they did for its assignments
    since they joined; nothing about who they are, and nothing from elsewhere.
    """
    work = ClassWork(session, secret, row.class_id)
    learner = session.get_one(PersonRow, row.person).learner
    about: dict[str, object] = {"member": row.model_dump(mode="json", exclude=_SECRET)}
    for name, table, own in _of_assignments(work, row):
        about[name] = [found.model_dump(mode="json") for found in session.exec(select(table).where(*own))]
    for name, done, numbers in _done(session, work, learner):
        rows = [session.get_one(done, number) for number in numbers]
        about[name] = [found.model_dump(mode="json", exclude={"learner", "carried"}) for found in rows]
    return about


def forget_member(session: Session, secret: str, row: MemberRow) -> None:
    """Delete what a class caused to be stored about a student, who leaves it; not committed.

    The person stays, with all that is theirs; only a name that the class gave to someone whom nobody
    can be signed in as goes, too.
    """
    work = ClassWork(session, secret, row.class_id)
    person = session.get_one(PersonRow, row.person)
    for _, done, numbers in _done(session, work, person.learner):
        for some in in_parts(numbers):
            session.exec(delete(done).where(col(done.id).in_(some)))
    for _, table, own in _of_assignments(work, row):
        session.exec(delete(table).where(*own))
    remove_members(session, row.class_id, [row.person])
    row.label = row.outside_id = row.group_name = row.launched = ""
    session.add(row)
    session.flush()
    if not _has_way_in(session, row.person):
        person.name = ""
        session.add(person)
    mark_changed(session, row.class_id)


def _of_assignments(work: ClassWork, row: MemberRow) -> Iterator[tuple[str, Any, Sequence[ColumnElement[bool]]]]:
    """The tables with dates and points of a member, and which of their rows these are."""
    numbers = [one.id for one in work.assignments]
    for name, table in _DATES_AND_POINTS.items():
        yield name, table, (col(table.person) == row.person, col(table.assignment).in_(numbers))
    links = columns(col(LinkRow.id)).where(col(LinkRow.assignment).in_(numbers))
    yield "scores_sent", OutboxRow, (col(OutboxRow.person) == row.person, col(OutboxRow.link).in_(links))


def _done(session: Session, work: ClassWork, learner: str) -> Iterator[tuple[str, Any, Sequence[int]]]:
    """The tables of what *learner* did, and the numbers of the rows that the class caused."""
    for name, table in _WORK.items():
        rows = columns(col(table.id), col(table.exercise), col(table.seed), col(table.at)).where(
            col(table.learner) == learner, col(table.exercise).in_(work.exercises)
        )
        if table is AttemptRow:
            rows = rows.where(~col(AttemptRow.carried))
        found = session.connection().execute(rows.order_by(col(table.id)))
        yield name, table, [row.id for row in found if work.caused(learner, row.exercise, row.seed, row.at)]


def _has_way_in(session: Session, person: int) -> bool:
    """Whether anybody is, or can be, signed in as *person*."""
    open_ways = (
        select(IdentityRow.person).where(IdentityRow.person == person),
        select(SessionRow.person).where(SessionRow.person == person, col(SessionRow.until) > now()),
        select(MemberRow.person).where(MemberRow.person == person, col(MemberRow.left).is_(None)),
    )
    return any(session.exec(rows.limit(1)).first() is not None for rows in open_ways)


def delete_person(session: Session, person: PersonRow) -> bool:
    """Delete *person*, and return whether answers stay, without a name. Commits.

    Names, identities and sessions go. Answers that a class has graded stay with the class, under
    a number; without such a class nothing stays.

    Raises:
        InputError: a class would have no teacher.
    """
    number = number_of(person)
    _refuse_last_teacher(session, number)
    merged = select(PersonRow).where(col(PersonRow.id).in_(merged_into(session, number)))
    delete_persons(session, {number_of(row): row.learner for row in session.exec(merged)})  # what they had is theirs
    graded = _graded(session, number, person.learner)
    if graded:
        _forget(session, person, graded)
    else:
        delete_persons(session, {number: person.learner})
    session.commit()
    return bool(graded)


def _forget(session: Session, person: PersonRow, graded: Mapping[int, Collection[str]]) -> None:
    """Delete all about *person* but the answers that classes *graded*, and take the name off."""
    number, run = number_of(person), session.connection().execute
    exercises = {exercise for those in graded.values() for exercise in those}
    mine = col(AttemptRow.learner) == person.learner
    run(delete(AttemptRow).where(mine, col(AttemptRow.exercise).not_in(exercises)))
    for table in _NEVER_GRADED:
        run(delete(table).where(col(table.learner) == person.learner))
    for owned in (IdentityRow, SessionRow, OutboxRow):
        run(delete(owned).where(col(owned.person) == number))
    member = col(MemberRow.person) == number
    run(delete(MemberRow).where(member, col(MemberRow.class_id).not_in(list(graded))))
    run(update(MemberRow).where(member).values(label="", outside_id="", code_digest=None))
    run(update(ExtensionRow).where(col(ExtensionRow.person) == number).values(why=""))
    person.name, person.deleted = "", now()
    session.add(person)


def _refuse_last_teacher(session: Session, person: int) -> None:
    for row, role in classes_of(session, person):
        members = members_of(session, number_of(row))
        if role is Role.TEACHER and sum(one.role is Role.TEACHER for one in members) == 1:
            raise input_error(
                "you are the only teacher of {name}: make another member a teacher, or delete the class first",
                name=row.name,
            )


def _graded(session: Session, person: int, learner: str) -> Mapping[int, Collection[str]]:
    """The exercises that *learner* answered in assignments, by the class that assigned them."""
    statement = (
        columns(col(MemberRow.class_id), col(AssignedRow.exercise))
        .join_from(MemberRow, AssignmentRow, col(AssignmentRow.class_id) == MemberRow.class_id)
        .join(AssignedRow, col(AssignedRow.assignment) == AssignmentRow.id)
        .where(
            col(MemberRow.person) == person,
            col(MemberRow.role) == Role.STUDENT.word,
            col(MemberRow.left).is_(None),
            exists().where(col(AttemptRow.learner) == learner, col(AttemptRow.exercise) == col(AssignedRow.exercise)),
        )
    )
    found: dict[int, set[str]] = {}
    for class_id, exercise in session.connection().execute(statement):
        found.setdefault(class_id, set()).add(exercise)
    return found
