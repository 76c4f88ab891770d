"""The ways out: everything about a person as JSON, a class left, a person deleted."""

from collections.abc import Collection, Mapping

from sqlalchemy import delete, exists, update
from sqlalchemy import select as columns
from sqlmodel import Session, col, select

from app.classes.people.classes import Role, classes_of, members_of, number_of
from app.classes.people.members import in_other_classes, remove_members
from app.classes.people.merges import merged_into
from app.core.errors import InputError
from app.core.translation import translate
from app.server.db.assessments import AssessedRow, KnownChapterRow
from app.server.db.measurements import MeasurementRow
from app.server.db.people import (
    AssignedRow,
    AssignmentRow,
    ExtensionRow,
    IdentityRow,
    MemberRow,
    OverrideRow,
    PersonRow,
    SessionRow,
    SittingRow,
)
from app.server.db.personal import delete_learners, everything
from app.server.db.platforms import OutboxRow
from app.server.db.tables import AttemptRow, BoardRow, DailyGuessRow, LabRunRow, PredictionRow, RevealRow, now

_OfPerson = (
    type[IdentityRow]
    | type[MemberRow]
    | type[ExtensionRow]
    | type[SittingRow]
    | type[OverrideRow]
    | type[OutboxRow]
    | type[SessionRow]
)
_ABOUT: Mapping[str, _OfPerson] = {
    "identities": IdentityRow,
    "memberships": MemberRow,
    "extensions": ExtensionRow,
    "sittings": SittingRow,
    "overrides": OverrideRow,
    "scores_sent": OutboxRow,
    "browsers": SessionRow,
}
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
    return {**about, **everything(session, person.learner)}


def refuse_elsewhere(session: Session, person: int, own: Collection[int]) -> None:
    """Refuse that those who may change the classes *own* learn or delete everything of *person*.

    Raises:
        InputError: the person is in another class, too.
    """
    if in_other_classes(session, [person], own):
        raise InputError(
            translate(
                "this person is in another class, too: they can do it themselves on their account "
                "page, or an operator can: wallclock person"
            )
        )


def leave_class(session: Session, class_id: int, person: int) -> None:
    """Take *person* out of a class; answers stay. Commits.

    Raises:
        InputError: the class would have no teacher.
    """
    remove_members(session, class_id, [person])
    session.commit()


def delete_person(session: Session, person: PersonRow) -> bool:
    """Delete *person*, and return whether answers stay, without a name. Commits.

    Names, identities and sessions go. Answers that a class has graded stay with the class, under
    a number; without such a class nothing stays.

    Raises:
        InputError: a class would have no teacher.
    """
    number = number_of(person)
    _refuse_last_teacher(session, number)
    _delete_merged(session, merged_into(session, number))
    graded = _graded(session, number, person.learner)
    if graded:
        _forget(session, person, graded)
    else:
        delete_learners(session, [person.learner])
        session.connection().execute(delete(PersonRow).where(col(PersonRow.id) == number))
    session.commit()
    return bool(graded)


def _delete_merged(session: Session, persons: Collection[int]) -> None:
    """Delete those who became part of another person: what they had is that person's."""
    rows = session.exec(select(PersonRow).where(col(PersonRow.id).in_(persons))).all()
    delete_learners(session, [row.learner for row in rows])
    session.connection().execute(delete(PersonRow).where(col(PersonRow.id).in_(persons)))


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
            raise InputError(
                translate(
                    "you are the only teacher of {name}: make another member a teacher, or delete the class first",
                    name=row.name,
                )
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
