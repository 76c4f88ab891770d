"""Joining a class by its link, and the names that students invent."""

import hmac
import secrets
from dataclasses import dataclass
from datetime import timedelta

from sqlmodel import Session, select

from app.classes.people.classes import enroll, member_of_seat_code, number_of, renew_seat_code
from app.classes.people.persons import WayIn, clean_name, open_browser
from app.server.db.people import ClassRow, MemberRow, PersonRow
from app.server.db.tables import now
from app.site.members import SignedIn

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
class Joined:
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


def join_as_new(session: Session, secret: str, row: ClassRow, name: str, form: str) -> Joined:
    """Make a person called *name*, a student of the class. Commits.

    A form that is sent twice, as by a double click, makes one person.

    Raises:
        InputError: the name is not valid.
    """
    learner = hmac.digest(secret.encode(), f"join:{number_of(row)}:{form}".encode(), "sha256")
    person = _person(session, learner.hex()[:_LEARNER_LENGTH], clean_name(name))
    number = number_of(person)
    member = enroll(session, number_of(row), number)
    code = renew_seat_code(session, member)
    cookie = open_browser(session, number)
    session.commit()
    return Joined(member.class_id, person.name, code, cookie)


def join_as(session: Session, row: ClassRow, person: SignedIn, name: str = "") -> Joined:
    """Make *person* a student of the class, where they may be called *name*. Commits.

    They stay signed in where they are, and nowhere else.

    Raises:
        InputError: the name is not valid.
    """
    called = clean_name(name) if name else ""
    member = enroll(session, number_of(row), person.person, name=called, way=WayIn(browser=person.browser))
    code = renew_seat_code(session, member) if member.code_digest is None else ""
    session.commit()
    return Joined(member.class_id, called, code)


def seat_with(session: Session, code: str, class_id: int | None = None) -> MemberRow | None:
    """The member whose seat code it is; of the class *class_id* only, if that is given."""
    found = member_of_seat_code(session, code)
    return found if found and class_id in (None, found.class_id) else None


def _person(session: Session, learner: str, name: str) -> PersonRow:
    """The person who was made with *learner* a moment ago, or a new one."""
    known = session.exec(select(PersonRow).where(PersonRow.learner == learner)).first()
    if known is not None and known.deleted is None and known.made > now() - _REPEATED:
        return known
    made = PersonRow(name=name, learner=secrets.token_hex(_LEARNER_LENGTH // 2) if known else learner)
    session.add(made)
    session.flush()
    return made
