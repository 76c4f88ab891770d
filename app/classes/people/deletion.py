"""The end of a class: everything that is stored only because of it is deleted."""

from collections.abc import Mapping

from sqlalchemy import and_, delete, exists, not_, or_
from sqlalchemy import select as columns
from sqlalchemy.orm import aliased
from sqlmodel import Session, col

from app.classes.people.classes import Role, number_of
from app.classes.people.members import INVENTED, in_parts
from app.core.errors import InputError
from app.core.translation import translate
from app.server.db.people import ClassRow, IdentityRow, MemberRow, PersonRow, SessionRow
from app.server.db.personal import delete_learners
from app.server.db.tables import TokenRow, now


def delete_class(session: Session, row: ClassRow) -> int:
    """Delete a class, and return how many persons were deleted with it; not committed.

    Its members, assignments, extensions, points given by hand, tokens and links to platforms go.
    So do its students who are nowhere else, with their answers; see `_only_here`.
    """
    class_id = number_of(row)
    gone = _only_here(session, class_id)
    for learners in in_parts(gone.values()):
        delete_learners(session, learners)
    for persons in in_parts(gone):
        session.connection().execute(delete(PersonRow).where(col(PersonRow.id).in_(persons)))
    session.connection().execute(delete(TokenRow).where(col(TokenRow.class_id) == class_id))
    session.connection().execute(delete(ClassRow).where(col(ClassRow.id) == class_id))
    session.expire_all()
    return len(gone)


def refuse_other_name(typed: str, name: str) -> None:
    """Refuse to delete what is called *name* unless that was typed.

    Raises:
        InputError: something else was typed.
    """
    if " ".join(typed.split()).casefold() != name.casefold():
        found = translate("not {text!r}", text=typed[:40]) if typed.strip() else translate("and the field was empty")
        raise InputError(
            translate("nothing was deleted: to confirm, type the name {name!r}, {found}", name=name, found=found)
        )


def _only_here(session: Session, class_id: int) -> Mapping[int, str]:
    """The students who are in no other class, are signed in nowhere, and sign in no other way.

    Their learners, by person. Those who were invented for a demo go in any case.
    """
    other = aliased(MemberRow)
    person = col(MemberRow.person)
    elsewhere = (
        exists().where(col(other.person) == person, col(other.class_id) != class_id),
        exists().where(col(SessionRow.person) == person, col(SessionRow.until) > now()),
        exists().where(col(IdentityRow.person) == person),
    )
    invented = exists().where(col(IdentityRow.person) == person, col(IdentityRow.issuer) == INVENTED)
    only_student = and_(col(MemberRow.role) == Role.STUDENT.word, *(not_(found) for found in elsewhere))
    statement = (
        columns(col(PersonRow.id), col(PersonRow.learner))
        .join_from(MemberRow, PersonRow, col(PersonRow.id) == person)
        .where(col(MemberRow.class_id) == class_id, or_(invented, only_student))
    )
    rows = session.connection().execute(statement)
    return {row.id or 0: row.learner for row in rows}
