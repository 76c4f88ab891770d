"""One student is one person, over the years and through every door: who is known already, by an id."""

from collections.abc import Collection, Iterable, Mapping

from sqlalchemy import ColumnElement
from sqlmodel import Session, col, select

from app.classes.people.classes import Role, role_in
from app.classes.people.members import holder_of_id, in_other_classes, in_parts, with_identity
from app.classes.people.merges import merge_persons
from app.classes.people.persons import WayIn
from app.core.errors import InputError, nearest
from app.core.translation import noted, translate
from app.server.db.people import MemberRow, PersonRow

_NEAREST = 2_000  # members among whom the closest is looked for


def bare_id(outside: str) -> str:
    """An id without the zeros that a spreadsheet takes off: 007 is 7."""
    return outside.lstrip("0") if outside.isdecimal() else outside


def learner_called(session: Session, text: str, class_id: int | None) -> str:
    """The learner of the member called *text*: by the id of other systems, or by number.

    Of one class, or of all if *class_id* is None.

    Raises:
        InputError: nobody is called so, or several persons are; the message offers the closest id.
    """
    number = int(text) if text.isascii() and text.isdecimal() and len(text) <= 18 else -1  # noqa: PLR2004
    present: list[ColumnElement[bool]] = [col(MemberRow.left).is_(None)]
    if class_id is not None:
        present.append(col(MemberRow.class_id) == class_id)
    for called in (col(MemberRow.outside_id) == text, col(MemberRow.person) == number):
        statement = (
            select(PersonRow.learner)
            .join(MemberRow, col(MemberRow.person) == col(PersonRow.id))
            .where(called, *present)
            .distinct()
            .limit(2)
        )
        found = session.exec(statement).all()
        if len(found) == 1:
            return found[0]
        if found:
            raise InputError(translate("learner: several people are called {text!r}; send the number", text=text[:60]))
    ids = select(MemberRow.outside_id).where(*present, MemberRow.outside_id != "").limit(_NEAREST)
    raise InputError(
        translate(
            "learner: nobody in this class is called {text!r}{near}",
            text=text[:60],
            near=nearest(text, session.exec(ids)),
        )
    )


FOUND = noted("known from before, found by id")


def classes_of_the_same(session: Session, class_id: int) -> set[int]:
    """The class, and those that only teachers of it teach."""
    taught = select(MemberRow).where(MemberRow.role == Role.TEACHER.word, col(MemberRow.left).is_(None))
    own = {row.person for row in session.exec(taught.where(MemberRow.class_id == class_id))}
    theirs = {row.class_id for row in session.exec(taught.where(col(MemberRow.person).in_(own)))}
    rows = session.exec(taught.where(col(MemberRow.class_id).in_(theirs), col(MemberRow.person).not_in(own)))
    return {class_id} | theirs - {row.class_id for row in rows}


def claimable_member(session: Session, class_id: int, outside: str) -> int | None:
    """The member of a class with that id in other systems, if a platform may say who that is.

    It may not if they have another way in, or are in a class of others: those who keep the roster of
    this one would get in there.
    """
    holder = holder_of_id(session, class_id, outside)
    if holder is None or holder.role != Role.STUDENT.word:
        return None
    person = [holder.person]
    barred = with_identity(session, person) or in_other_classes(session, person, classes_of_the_same(session, class_id))
    return None if barred else holder.person


def joined_member(session: Session, class_id: int, known: int | None, outside: str) -> int | None:
    """The claimable member who is one with a person *known* to a platform; None: there is none."""
    if known is not None and role_in(session, class_id, known) is not None:
        return None
    return claimable_member(session, class_id, outside)


def recognize(session: Session, class_id: int, known: int | None, outside: str, way: WayIn) -> int | None:
    """The person who comes from a platform by *way*, is *known* to it, or has an id of the roster.

    One who is both becomes one, and that can be undone. Not committed.
    """
    member = joined_member(session, class_id, known, outside)
    if known is None or member is None:
        return member if known is None else known
    merge_persons(session, known, member, translate(FOUND), way=way, class_id=class_id)
    return known


def known_students(session: Session, class_id: int, ids: Iterable[str]) -> Mapping[str, MemberRow]:
    """Who of a roster is known, by those of the *ids* that say it, with the place where they are.

    Those who have left the class; else those of other classes of the same teachers, who may be in this
    one without an id. Nobody who is in a class of others, and none whose id means two.
    """
    wanted = {bare_id(one): one for one in ids if bare_id(one)}
    same = classes_of_the_same(session, class_id) if wanted else {class_id}
    rows = select(MemberRow, PersonRow).where(
        col(MemberRow.class_id).in_(same),
        MemberRow.outside_id != "",
        MemberRow.role != Role.TEACHER.word,
        PersonRow.id == MemberRow.person,
        col(PersonRow.deleted).is_(None),
    )
    found: dict[str, list[MemberRow]] = {}
    for row, _ in session.exec(rows):
        if bare_id(row.outside_id) in wanted and (row.class_id == class_id) == (row.left is not None):
            found.setdefault(wanted[bare_id(row.outside_id)], []).append(row)
    persons = [row.person for those in found.values() for row in those]
    barred = in_other_classes(session, persons, same) | _with_id(session, class_id, persons)
    chosen = {
        outside: _place([one for one in those if one.person not in barred], class_id)
        for outside, those in found.items()
    }
    return {outside: row for outside, row in chosen.items() if row is not None}


def _place(rows: Collection[MemberRow], class_id: int) -> MemberRow | None:
    """Where the one person of *rows* is, this class before others; None: there are several."""
    here = [row for row in rows if row.class_id == class_id] or list(rows)
    newest = max(here, key=lambda row: row.class_id, default=None)
    return newest if len({row.person for row in here}) == 1 else None


def _with_id(session: Session, class_id: int, persons: Iterable[int]) -> set[int]:
    """Those of *persons* who are in a class with an id."""
    found: set[int] = set()
    for some in in_parts(persons):
        rows = select(MemberRow.person).where(
            MemberRow.class_id == class_id,
            MemberRow.outside_id != "",
            col(MemberRow.left).is_(None),
            col(MemberRow.person).in_(some),
        )
        found |= set(session.exec(rows))
    return found
