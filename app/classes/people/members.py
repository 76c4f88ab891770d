"""The members of a class: their roles, names, seat codes and groups; and the end of a class."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from sqlalchemy import ColumnElement, Executable, and_, delete, exists, func, not_, update
from sqlalchemy import select as columns
from sqlalchemy.orm import aliased
from sqlmodel import Session, col, select

from app.classes.people.assignments import mark_changed
from app.classes.people.classes import Member, Role, members_of, number_of
from app.classes.people.persons import clean_id, clean_name, random_code, seat_digest
from app.classes.people.policy import check_factor
from app.core.errors import NotFoundError, input_error, nearest
from app.core.translation import noted, translate
from app.server.db.people import AssignmentRow, ClassRow, GroupDatesRow, IdentityRow, MemberRow, PersonRow, SessionRow
from app.server.db.personal import delete_learners
from app.server.db.tables import AttemptRow, TokenRow, now

T = TypeVar("T")
INVENTED = "demo"  # the issuer of persons whom earlier versions invented
_SIGN_NOBODY_IN = (INVENTED, "proxy")  # issuers; earlier versions trusted the header of a proxy
_LARGEST = 2**63 - 1  # number of a row
_AT_ONCE = 500  # values in one statement


@dataclass(frozen=True, slots=True)
class SeatCode:
    """A new seat code of a member, shown once."""

    member: Member
    code: str


def member_row(session: Session, class_id: int, person: int) -> MemberRow:
    """The membership of *person*, who has not left.

    Raises:
        NotFoundError: they are not in the class.
    """
    row = _present(session, class_id, person)
    if row is None:
        raise NotFoundError(translate("this person is not in the class; they may have left it a moment ago"))
    return row


def hold(session: Session, class_id: int) -> None:
    """Let other servers wait with changes of this class until the session is committed."""
    session.exec(select(ClassRow.id).where(ClassRow.id == class_id).with_for_update()).first()


def refuse_missing_students(persons: Collection[int], students: Iterable[Member]) -> None:
    """Refuse *persons* who are not among the *students* that something can be done for.

    Raises:
        InputError: there are none, or one is not.
    """
    if not persons:
        raise input_error("nobody is chosen: tick at least one student")
    if set(persons) - {one.person for one in students}:
        raise input_error("one of those who are chosen has left the class meanwhile")


def change_role(session: Session, class_id: int, person: int, role: Role) -> None:
    """Give *person* another role, which the list of a platform does not lower; not committed.

    Raises:
        InputError: the class would have no teacher.
        NotFoundError: they are not in the class.
    """
    take_listed_role(session, class_id, person, role)
    member_row(session, class_id, person).launched = role.word


def take_listed_role(session: Session, class_id: int, person: int, role: Role) -> None:
    """As `change_role`, where a platform says it, which may say another one next time."""
    row = member_row(session, class_id, person)
    if role is not Role.TEACHER:
        _leave_a_teacher(session, row)
    row.role = role.word
    session.add(row)


def rename_member(session: Session, class_id: int, person: int, name: str, outside: str) -> None:
    """Change how the class calls *person*, here and in other systems; not committed.

    Raises:
        InputError: the name is not valid, or another member has that id.
        NotFoundError: they are not in the class.
    """
    row = member_row(session, class_id, person)
    outside = clean_id(outside)
    if outside != row.outside_id and (other := holder_of_id(session, class_id, outside)):
        raise input_error(
            "the id {outside!r} is that of {value}", outside=outside[:40], value=other.label or "another member"
        )
    row.label, row.outside_id = clean_name(name), outside
    session.add(row)


def set_time_factor(session: Session, row: MemberRow, factor: float) -> None:
    """Give a member *factor* times the usual time in every exam of the class; not committed.

    Raises:
        InputError: it is less than 1, or too large.
    """
    if row.time_factor != check_factor(factor):
        row.time_factor = factor
        session.add(row)
        mark_changed(session, row.class_id)


def holder_of_id(session: Session, class_id: int, outside: str) -> MemberRow | None:
    """The member of a class whose id in other systems is *outside*; the first, if two have it."""
    same = select(MemberRow).where(
        MemberRow.class_id == class_id, MemberRow.outside_id == outside, col(MemberRow.left).is_(None)
    )
    return session.exec(same.order_by(col(MemberRow.person))).first() if outside else None


def remove_members(session: Session, class_id: int, persons: Iterable[int]) -> int:
    """Take *persons* out of the class, and return how many; their answers stay. Not committed.

    One who comes back by the join link is a student, whatever they were before.

    Raises:
        InputError: the class would have no teacher.
    """
    count = 0
    for person in persons:
        row = _present(session, class_id, person)
        if row is None:
            continue
        _leave_a_teacher(session, row)
        row.role, row.code_digest, row.left = Role.STUDENT.word, None, now()
        session.add(row)
        count += 1
    session.flush()
    return count


def new_seat_codes(session: Session, class_id: int, members: Collection[Member], teacher: int) -> Sequence[SeatCode]:
    """New seat codes for *members*; those that they had stop working. Not committed.

    A code signs in as the person, so a teacher gets none of a person who is more than a member of
    the teacher's own classes: see `with_own_way_in`.
    """
    barred = with_own_way_in(session, [member.person for member in members], teacher)
    statement = select(MemberRow).where(MemberRow.class_id == class_id, col(MemberRow.left).is_(None))
    rows = {row.person: row for row in session.exec(statement)}
    able = [one for one in members if one.person in rows and one.person not in barred]
    made = [SeatCode(one, random_code()) for one in able]
    for seat in made:
        row = rows[seat.member.person]
        row.code_digest = seat_digest(session, seat.code)
        session.add(row)
    session.flush()
    return made


def with_own_way_in(session: Session, persons: Collection[int], teacher: int) -> Collection[int]:
    """Those of *persons* who sign in by another provider, or are in a class not of *teacher*."""
    provided = with_identity(session, persons)
    taught = taught_by(session, teacher)
    return (provided | in_other_classes(session, persons, taught)) - {teacher}


def with_identity(session: Session, persons: Collection[int]) -> set[int]:
    """Those of *persons* whom a provider of identities or a learning platform signs in."""
    found: set[int] = set()
    for some in in_parts(persons):
        provided = select(IdentityRow.person).where(
            col(IdentityRow.person).in_(some), col(IdentityRow.issuer).not_in(_SIGN_NOBODY_IN)
        )
        found |= set(session.exec(provided))
    return found


def taught_by(session: Session, teacher: int) -> Collection[int]:
    """The classes that *teacher* teaches."""
    return {
        row.class_id
        for row in session.exec(select(MemberRow).where(MemberRow.person == teacher))
        if row.left is None and row.role == Role.TEACHER.word
    }


def in_other_classes(session: Session, persons: Collection[int], classes: Collection[int]) -> set[int]:
    """Those of *persons* who are in another class than *classes*."""
    found: set[int] = set()
    for some in in_parts(persons):
        elsewhere = select(MemberRow.person).where(
            col(MemberRow.person).in_(some), col(MemberRow.left).is_(None), col(MemberRow.class_id).not_in(classes)
        )
        found |= set(session.exec(elsewhere))
    return found


def last_seen(session: Session, members: Iterable[Member]) -> Mapping[int, datetime]:
    """When each of *members* answered last, or signed in, by person."""
    members = list(members)
    seen: dict[int, datetime] = {}
    for some in in_parts(members):
        newest = (
            columns(func.max(col(AttemptRow.id)))
            .where(col(AttemptRow.learner) == col(PersonRow.learner))
            .correlate(PersonRow)
            .scalar_subquery()
        )
        answered: Executable = (
            columns(col(PersonRow.id).label("person"), col(AttemptRow.at).label("at"))
            .join_from(PersonRow, AttemptRow, col(AttemptRow.id) == newest)
            .where(col(PersonRow.id).in_([member.person for member in some]))
        )
        signed: Executable = (
            columns(col(SessionRow.person).label("person"), func.max(col(SessionRow.made)).label("at"))
            .where(col(SessionRow.person).in_([member.person for member in some]))
            .group_by(col(SessionRow.person))
        )
        for statement in (answered, signed):
            for row in session.connection().execute(statement):
                seen[row.person] = max(row.at, seen.get(row.person, row.at))
    return seen


def in_parts(values: Iterable[T]) -> Iterator[Sequence[T]]:
    """*values* in parts that one statement takes."""
    every = list(values)
    return (every[start : start + _AT_ONCE] for start in range(0, len(every), _AT_ONCE))


def _present(session: Session, class_id: int, person: int) -> MemberRow | None:
    row = session.get(MemberRow, (class_id, person)) if person <= _LARGEST else None
    return row if row is not None and row.left is None else None


def _leave_a_teacher(session: Session, row: MemberRow) -> None:
    """Refuse that the last teacher of a class stops being one."""
    if row.role != Role.TEACHER.word:
        return
    teachers = [m for m in members_of(session, row.class_id) if m.role is Role.TEACHER]
    if len(teachers) < 2:  # noqa: PLR2004
        raise input_error("a class needs a teacher; make another member one first, or delete the class")


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
            raise input_error(_UNKNOWN, name=name[:60], near=nearest(name, known))


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
        raise input_error("another group is called {name}", name=name)
    run = session.connection().execute
    for table, mine in ((MemberRow, col(MemberRow.class_id) == class_id), (GroupDatesRow, _dates(class_id))):
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
    run(update(MemberRow).where(col(MemberRow.class_id) == class_id, named).values(group_name=""))
    run(delete(GroupDatesRow).where(_dates(class_id), col(GroupDatesRow.group_name) == name))
    session.expire_all()
    mark_changed(session, class_id)


def _refuse_absent(session: Session, class_id: int, name: str) -> None:
    known = [one.name for one in class_groups(session, class_id)]
    if name not in known:
        raise NotFoundError(translate(_UNKNOWN, name=name[:60], near=nearest(name, known)))


def _dates(class_id: int) -> ColumnElement[bool]:
    assignments = columns(col(AssignmentRow.id)).where(col(AssignmentRow.class_id) == class_id)
    return col(GroupDatesRow.assignment).in_(assignments)


def delete_class(session: Session, row: ClassRow) -> int:
    """Delete a class, and return how many persons were deleted with it; not committed.

    Its members, assignments, extensions, points given by hand, tokens and links to platforms go.
    So do its students who are nowhere else, with their answers; see `_only_here`.
    """
    class_id = number_of(row)
    gone = _only_here(session, class_id)
    delete_persons(session, gone)
    session.connection().execute(delete(TokenRow).where(col(TokenRow.class_id) == class_id))
    session.connection().execute(delete(ClassRow).where(col(ClassRow.id) == class_id))
    session.expire_all()
    return len(gone)


def delete_persons(session: Session, gone: Mapping[int, str]) -> None:
    """Delete persons, by number, with all that their learners have; not committed."""
    for learners in in_parts(gone.values()):
        delete_learners(session, learners)
    for persons in in_parts(gone):
        session.connection().execute(delete(PersonRow).where(col(PersonRow.id).in_(persons)))


def refuse_other_name(typed: str, name: str) -> None:
    """Refuse to delete what is called *name* unless that was typed.

    Raises:
        InputError: something else was typed.
    """
    if " ".join(typed.split()).casefold() != name.casefold():
        found = translate("not {text!r}", text=typed[:40]) if typed.strip() else translate("and the field was empty")
        raise input_error("nothing was deleted: to confirm, type the name {name!r}, {found}", name=name, found=found)


def _only_here(session: Session, class_id: int) -> Mapping[int, str]:
    """The students who are in no other class, are signed in nowhere, and sign in no other way.

    Their learners, by person.
    """
    other = aliased(MemberRow)
    person = col(MemberRow.person)
    elsewhere = (
        exists().where(col(other.person) == person, col(other.class_id) != class_id),
        exists().where(col(SessionRow.person) == person, col(SessionRow.until) > now()),
        exists().where(col(IdentityRow.person) == person, col(IdentityRow.issuer) != INVENTED),
    )
    only_student = and_(col(MemberRow.role) == Role.STUDENT.word, *(not_(found) for found in elsewhere))
    statement = (
        columns(col(PersonRow.id), col(PersonRow.learner))
        .join_from(MemberRow, PersonRow, col(PersonRow.id) == person)
        .where(col(MemberRow.class_id) == class_id, only_student)
    )
    rows = session.connection().execute(statement)
    return {row.id or 0: row.learner for row in rows}
