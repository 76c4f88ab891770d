"""Classes, their members, what each role may do, and the link by which one joins."""

import hmac
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import IntEnum
from functools import cache
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

from sqlalchemy import select as columns
from sqlmodel import Session, col, select

from app.classes.people import persons
from app.classes.people.assignments import mark_changed
from app.core.errors import NotFoundError, input_error, nearest
from app.core.translation import translate
from app.server.db.people import ClassRow, MemberRow, PersonRow
from app.server.db.tables import now
from app.site.members import SignedIn


class Role(IntEnum):
    """What a person may do in a class: each may do what those before it may.

    A student sees own dates and points; an assistant sees everyone's, and extends; a teacher also
    changes points, assignments and the roster.
    """

    STUDENT = 1
    ASSISTANT = 2
    TEACHER = 3

    @property
    def word(self) -> str:
        """The role as it is stored and shown."""
        return self.name.lower()

    @classmethod
    def read(cls, text: str) -> "Role":
        """The role called *text*.

        Raises:
            InputError: the role does not exist.
        """
        names = {role.word: role for role in cls}
        if text not in names:
            raise input_error(
                "a role is student, assistant or teacher, not {text!r}{near}", text=text[:40], near=nearest(text, names)
            )
        return names[text]


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A person in a class; *name* is what the class calls them, *group* is empty for none."""

    class_id: int
    person: int
    learner: str
    role: Role
    name: str
    outside_id: str = ""
    has_code: bool = False
    group: str = ""
    time_factor: float = 1.0

    def named(self) -> dict[str, Any]:
        """How JSON names the member."""
        return {"number": self.person, "id": self.outside_id, "name": self.name}

    def described(self) -> dict[str, Any]:
        """What JSON says of the member."""
        return {**self.named(), "role": self.role.word, "group": self.group, "time_factor": self.time_factor}


def create_class(session: Session, secret: str, name: str, zone: str = "UTC", *, pseudonyms: bool = False) -> ClassRow:
    """A new class, flushed but not committed.

    Raises:
        InputError: the name or the time zone is not valid.
    """
    made = ClassRow(
        name=persons.clean_name(name),
        zone=zone_named(zone).key,
        join_digest=persons.random_code(),  # replaced below: the link follows from the row's number
        pseudonyms=pseudonyms,
    )
    session.add(made)
    session.flush()
    renew_join_link(session, secret, made)
    return made


@cache
def time_zones() -> tuple[str, ...]:
    """The names of all time zones, in order; their files are looked for once."""
    return tuple(sorted(available_timezones()))


def zone_named(name: str) -> ZoneInfo:
    """The time zone called *name*.

    Raises:
        InputError: the zone does not exist; the message offers the closest name.
    """
    if name not in time_zones():
        raise input_error(
            "the time zone {name!r} does not exist; write it as in the IANA database, such as "
            "Europe/Berlin or America/New_York{near}",
            name=name[:40],
            near=nearest(name, time_zones()),
        )
    return ZoneInfo(name)


def class_with(session: Session, class_id: int) -> ClassRow:
    """The class with that number.

    Raises:
        NotFoundError: there is none.
    """
    found = session.get(ClassRow, class_id)
    if found is None:
        raise NotFoundError(translate("this class does not exist"))
    return found


def change_class(session: Session, row: ClassRow, name: str, zone: str, *, pseudonyms: bool) -> None:
    """Change the settings of a class; not committed.

    Raises:
        InputError: the name or the time zone is not valid.
    """
    row.name, row.zone, row.pseudonyms = persons.clean_name(name), zone_named(zone.strip()).key, pseudonyms
    session.add(row)


def set_archived(session: Session, row: ClassRow) -> None:
    """Archive a class: nobody joins it, and nothing in it changes anymore. Not committed."""
    row.archived, row.joining = row.archived or now(), "closed"
    session.add(row)
    mark_changed(session, number_of(row))


def refuse_archived(row: ClassRow) -> None:
    """Refuse to change what is archived.

    Raises:
        InputError: the class is.
    """
    if row.archived is not None:
        raise input_error(
            "{name} is archived, so nothing in it changes: take it out of the archive first", name=row.name
        )


def take_out_of_archive(session: Session, row: ClassRow) -> None:
    """Take a class out of the archive; it stays closed to those who want to join. Not committed."""
    row.archived = None
    session.add(row)
    mark_changed(session, number_of(row))


def number_of(row: ClassRow | PersonRow) -> int:
    """The number of a stored row."""
    if row.id is None:
        raise ValueError("this row is not stored yet")
    return row.id


def join_code_of(secret: str, row: ClassRow) -> str:
    """The code in the join link of a class."""
    return persons.join_code(secret, number_of(row), row.join_number)


def renew_join_link(session: Session, secret: str, row: ClassRow) -> None:
    """Give the class another join link; the old one stops working. Not committed."""
    row.join_number += 1
    row.join_digest = persons.code_digest(persons.read_code(join_code_of(secret, row)))
    session.add(row)
    session.flush()


def class_of_code(session: Session, code: str) -> ClassRow | None:
    """The class whose join link has *code*."""
    digest = persons.code_digest(persons.read_code(code))
    return session.exec(select(ClassRow).where(ClassRow.join_digest == digest)).first()


def enroll(
    session: Session,
    class_id: int,
    person: int,
    role: Role = Role.STUDENT,
    name: str = "",
    outside_id: str = "",
    way: persons.WayIn = persons.NO_WAY,
) -> MemberRow:
    """The membership of *person*, made or taken up again; not committed.

    A role that the person already has is never lowered. A person who enters a class, by *way* or
    by the hand of someone else, ends every other way in: see `end_other_ways`.
    """
    row = session.get(MemberRow, (class_id, person))
    if row is None or row.left is not None:
        newcomer = session.get_one(PersonRow, person)
        if newcomer.entered:
            persons.end_other_ways(session, person, way)
        newcomer.entered = True
        session.add(newcomer)
    if row is None:
        row = MemberRow(class_id=class_id, person=person, role=role.word)
    row.left = None
    row.role = max(role, Role.read(row.role)).word
    row.label = name or row.label
    row.outside_id = outside_id or row.outside_id
    session.add(row)
    session.flush()
    return row


def create_taught_class(
    session: Session, secret: str, name: str, zone: str, teacher: str, *, pseudonyms: bool
) -> tuple[ClassRow, str]:
    """A new class, and the seat code of its new teacher; not committed.

    Raises:
        InputError: a name or the zone is not valid.
    """
    called = persons.clean_name(teacher)
    row = create_class(session, secret, name, zone, pseudonyms=pseudonyms)
    person = number_of(persons.new_person(session, called))
    return row, renew_seat_code(session, enroll(session, number_of(row), person, Role.TEACHER, called))


def class_facts(session: Session, secret: str, row: ClassRow, root: str) -> dict[str, Any]:
    """What JSON says of a class, whose join link begins with *root*."""
    return {
        "id": row.id,
        "name": row.name,
        "zone": row.zone,
        "joining": row.joining,
        "join": f"{root}/join/{join_code_of(secret, row)}",
        "students": sum(one.role is Role.STUDENT for one in members_of(session, number_of(row))),
        "archived": row.archived is not None,
        "pseudonyms": row.pseudonyms,
    }


def renew_seat_code(session: Session, row: MemberRow) -> str:
    """A new seat code of a member; the old one stops working. Not committed."""
    code = persons.random_code()
    row.code_digest = persons.seat_digest(session, code)
    session.add(row)
    session.flush()
    return code


def member_of_seat_code(session: Session, code: str, class_id: int | None = None) -> MemberRow | None:
    """The member whose seat code it is, of a class that they have not left; of *class_id* only, if that is given."""
    row = persons.seat_of_code(session, code)
    return row if row and row.left is None and class_id in (None, row.class_id) else None


def role_in(session: Session, class_id: int, person: int | None) -> Role | None:
    """The role of *person* in a class; None if they are not in it."""
    row = session.get(MemberRow, (class_id, person)) if person is not None else None
    return Role.read(row.role) if row is not None and row.left is None else None


def members_of(session: Session, class_id: int) -> Sequence[Member]:
    """Everyone in a class, by name. A person without a name is called by a number."""
    session.flush()
    statement = (
        columns(  # not whole rows: making those of a class of 1,000 takes longer than all of a page of it
            col(MemberRow.person),
            col(PersonRow.learner),
            col(MemberRow.role),
            col(MemberRow.label),
            col(PersonRow.name),
            col(MemberRow.outside_id),
            col(MemberRow.code_digest).is_not(None).label("has_code"),
            col(MemberRow.group_name),
            col(MemberRow.time_factor),
        )
        .join_from(MemberRow, PersonRow, col(PersonRow.id) == col(MemberRow.person))
        .where(col(MemberRow.class_id) == class_id, col(MemberRow.left).is_(None))
        .order_by(col(MemberRow.joined), col(MemberRow.person))
    )
    roles = {role.word: role for role in Role}
    found = [
        Member(
            class_id=class_id,
            person=row.person,
            learner=row.learner,
            role=roles[row.role],
            name=row.label or row.name or f"{row.role.capitalize()} {place}",
            outside_id=row.outside_id,
            has_code=bool(row.has_code),
            group=row.group_name,
            time_factor=row.time_factor,
        )
        for place, row in enumerate(session.connection().execute(statement), 1)
    ]
    return sorted(found, key=lambda member: (member.name.casefold(), member.person))


def classes_of(session: Session, person: int) -> Sequence[tuple[ClassRow, Role]]:
    """The classes of *person*, the newest first, and the role in each."""
    statement = (
        select(ClassRow, MemberRow)
        .where(MemberRow.person == person, col(MemberRow.left).is_(None), ClassRow.id == MemberRow.class_id)
        .order_by(col(ClassRow.id).desc())
    )
    return [(row, Role.read(member.role)) for row, member in session.exec(statement)]


_REPEATED = timedelta(minutes=10)  # in which a form that is sent again joins the same person
_LEARNER_LENGTH = 32  # hexadecimal digits: 128 bits
_FORM_BYTES = 16
_QUALITIES = (
    "Amber", "Bold", "Brave", "Bright", "Calm", "Clever", "Copper", "Cosmic", "Eager", "Gentle",
    "Golden", "Happy", "Humble", "Keen", "Lucky", "Lunar", "Mellow", "Nimble", "Patient", "Polar",
    "Quick", "Quiet", "Rapid", "Silver", "Solar", "Steady", "Sunny", "Swift", "Tidy", "Violet",
)  # fmt: skip
_ANIMALS = (
    "Badger", "Beaver", "Bison", "Condor", "Crane", "Dolphin", "Falcon", "Ferret", "Finch", "Gecko",
    "Heron", "Ibex", "Jaguar", "Koala", "Lemur", "Lynx", "Marmot", "Newt", "Ocelot", "Osprey",
    "Otter", "Panda", "Puffin", "Quail", "Raven", "Robin", "Seal", "Stork", "Tapir", "Wombat",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class NewMember:
    """A person who has joined a class.

    *code* is their seat code, shown this once; empty if they have had one. *cookie* is that of a
    new session; empty if they were signed in.
    """

    class_id: int
    name: str
    code: str
    cookie: str = ""


def new_form_id() -> str:
    """What makes a form of its own: sent twice, it joins one person."""
    return secrets.token_urlsafe(_FORM_BYTES)


def invented_name() -> str:
    """A name for a student who invents one, such as Quiet Otter 41."""
    number = 10 + secrets.randbelow(90)
    return f"{secrets.choice(_QUALITIES)} {secrets.choice(_ANIMALS)} {number}"


def may_join(row: ClassRow) -> bool:
    """Whether the link of a class lets anyone join it."""
    return row.joining == "open" and row.archived is None


def join_as_new(session: Session, secret: str, row: ClassRow, name: str, form: str) -> NewMember:
    """Make a person called *name*, a student of the class. Commits.

    A form that is sent twice, as by a double click, makes one person.

    Raises:
        InputError: the name is not valid.
    """
    learner = hmac.digest(secret.encode(), f"join:{number_of(row)}:{form}".encode(), "sha256")
    person = _person_of_learner(session, learner.hex()[:_LEARNER_LENGTH], persons.clean_name(name))
    number = number_of(person)
    member = enroll(session, number_of(row), number)
    code = renew_seat_code(session, member)
    cookie = persons.open_browser(session, number)
    session.commit()
    return NewMember(member.class_id, person.name, code, cookie)


def join_as(session: Session, row: ClassRow, person: SignedIn, name: str = "") -> NewMember:
    """Make *person* a student of the class, where they may be called *name*. Commits.

    They stay signed in where they are, and nowhere else.

    Raises:
        InputError: the name is not valid.
    """
    called = persons.clean_name(name) if name else ""
    member = enroll(session, number_of(row), person.person, name=called, way=persons.WayIn(browser=person.browser))
    code = renew_seat_code(session, member) if member.code_digest is None else ""
    session.commit()
    return NewMember(member.class_id, called, code)


def _person_of_learner(session: Session, learner: str, name: str) -> PersonRow:
    """The person who was made with *learner* a moment ago, or a new one."""
    known = session.exec(select(PersonRow).where(PersonRow.learner == learner)).first()
    if known is not None and known.deleted is None and known.made > now() - _REPEATED:
        return known
    made = PersonRow(name=name, learner=secrets.token_hex(_LEARNER_LENGTH // 2) if known else learner)
    session.add(made)
    session.flush()
    return made
