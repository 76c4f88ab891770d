"""The groups of a class, such as its sections: a name on a member, and on dates of assignments."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, delete, update
from sqlalchemy import select as columns
from sqlmodel import Session, col, select

from app.classes.people.assignments import mark_changed
from app.classes.people.classes import Member, Role, members_of
from app.classes.people.members import in_parts, refuse_missing_students
from app.classes.people.persons import clean_name
from app.core.errors import InputError, NotFoundError, nearest
from app.core.translation import noted, translate
from app.server.db.people import AssignmentRow, GroupDatesRow, MemberRow

_UNKNOWN = noted("this class has no group {name!r}{near}")


@dataclass(frozen=True, slots=True)
class Group:
    """A group of a class: how many *students* it has, and *assignments* with dates of its own."""

    name: str
    students: int
    assignments: int


def clean_group(text: str) -> str:
    """*text* as the name of a group; empty: no group.

    Raises:
        InputError: it is too long or unprintable.
    """
    return clean_name(text) if text.strip() else ""


def class_groups(session: Session, class_id: int) -> Sequence[Group]:
    """The groups of a class, by name: those that a member is in, or that have dates."""
    members = members_of(session, class_id)
    students = Counter(one.group for one in members if one.role is Role.STUDENT)
    dates = Counter(session.exec(select(GroupDatesRow.group_name).where(_dates(class_id))))
    names = ({one.group for one in members} | set(dates)) - {""}
    ordered = sorted(names, key=lambda name: (name.casefold(), name))
    return [Group(name, students[name], dates[name]) for name in ordered]


def refuse_unknown_groups(session: Session, class_id: int, names: Iterable[str]) -> None:
    """Refuse the *names* of groups that a class does not have.

    Raises:
        InputError: one is unknown; the message offers the closest.
    """
    known = [one.name for one in class_groups(session, class_id)]
    for name in names:
        if name not in known:
            raise InputError(translate(_UNKNOWN, name=name[:60], near=nearest(name, known)))


def students_in(session: Session, class_id: int, group: str | None = None) -> list[Member]:
    """The students of a class, by name; with a *group*, of that alone, or if empty of none.

    Raises:
        InputError: the class has no such group.
    """
    if group:
        refuse_unknown_groups(session, class_id, [group])
    students = [one for one in members_of(session, class_id) if one.role is Role.STUDENT]
    return [one for one in students if group is None or one.group == group]


def fill_group(session: Session, class_id: int, persons: Collection[int], name: str) -> None:
    """Put students into the group called *name*; empty: into none. Not committed.

    Raises:
        InputError: there are no *persons*, one is not a student of the class, or the name is not valid.
    """
    refuse_missing_students(persons, students_in(session, class_id))
    put_into_group(session, class_id, persons, clean_group(name))


def put_into_group(session: Session, class_id: int, persons: Collection[int], group: str) -> None:
    """Put *persons* into a group, which they leave theirs for; empty: into none. Not committed."""
    session.flush()
    here = col(MemberRow.class_id) == class_id
    for some in in_parts(persons):
        those = update(MemberRow).where(here, col(MemberRow.person).in_(some))
        session.connection().execute(those.values(group_name=group))
    session.expire_all()
    mark_changed(session, class_id)


def rename_group(session: Session, class_id: int, before: str, after: str) -> None:
    """Give a group another name, on its members and its dates; not committed.

    Raises:
        InputError: the name is not valid, or another group has it.
        NotFoundError: the group does not exist.
    """
    _refuse_absent(session, class_id, before)
    name = clean_name(after)
    if name != before and any(one.name == name for one in class_groups(session, class_id)):
        raise InputError(translate("another group is called {name}", name=name))
    run = session.connection().execute
    for table, mine in ((MemberRow, _members(class_id)), (GroupDatesRow, _dates(class_id))):
        named = col(table.group_name) == before
        run(update(table).where(mine, named).values(group_name=name))
    session.expire_all()


def dissolve_group(session: Session, class_id: int, name: str) -> None:
    """Take everyone out of a group, and delete its dates: everyone's hold. Not committed.

    Raises:
        NotFoundError: the group does not exist.
    """
    _refuse_absent(session, class_id, name)
    run = session.connection().execute
    named = col(MemberRow.group_name) == name
    run(update(MemberRow).where(_members(class_id), named).values(group_name=""))
    run(delete(GroupDatesRow).where(_dates(class_id), col(GroupDatesRow.group_name) == name))
    session.expire_all()
    mark_changed(session, class_id)


def _refuse_absent(session: Session, class_id: int, name: str) -> None:
    known = [one.name for one in class_groups(session, class_id)]
    if name not in known:
        raise NotFoundError(translate(_UNKNOWN, name=name[:60], near=nearest(name, known)))


def _members(class_id: int) -> ColumnElement[bool]:
    return col(MemberRow.class_id) == class_id


def _dates(class_id: int) -> ColumnElement[bool]:
    assignments = columns(col(AssignmentRow.id)).where(col(AssignmentRow.class_id) == class_id)
    return col(GroupDatesRow.assignment).in_(assignments)
