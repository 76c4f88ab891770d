"""The roster of a course as its platform has it, beside that of its class: the difference, then the change."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

from sqlmodel import Session, col, select

from app.classes.federation.lti.enrollment import free_id
from app.classes.federation.lti.launch_message import ROSTER_SCOPE, ROSTER_TYPE, name_in
from app.classes.federation.lti.platforms import Platform
from app.classes.federation.lti.roles import role_of
from app.classes.people.classes import Member, Role, class_with, enroll, members_of, number_of
from app.classes.people.members import change_role, member_row, remove_members
from app.classes.people.persons import WayIn, new_person
from app.classes.people.recognition import joined_member, recognize
from app.core.errors import RefusedError
from app.core.translation import translate
from app.server.db.people import SUBJECT_LIMIT, IdentityRow, MemberRow
from app.server.network.response_policy import origin_of

if TYPE_CHECKING:
    from app.classes.federation.lti.scores import Services

MOST_PEOPLE = 10_000
_MOST_PAGES = 200
_MOST_BYTES = 8 << 20  # of a page: some platforms send everyone at once
_PER_PAGE = 100
_NEXT = re.compile(r'<([^<>]+)>\s*;[^,<>]*\brel="?next"?')


@dataclass(frozen=True, slots=True, kw_only=True)
class Participant:
    """A person of a course, as its platform names them; *active*: still in the course.

    Without a *role*, they are neither student nor teacher.
    """

    subject: str
    role: Role | None
    name: str
    outside_id: str
    active: bool


async def participants(services: "Services", platform: Platform, url: str) -> Sequence[Participant]:
    """Everyone in the course whose memberships are at *url*, page by page.

    Raises:
        RefusedError: the platform does not tell, or tells too much.
        UnavailableError: it cannot be reached.
    """
    joined = "&" if urlsplit(url).query else "?"
    place, found = f"{url}{joined}limit={_PER_PAGE}", dict[str, Participant]()
    for _ in range(_MOST_PAGES):
        answer = await services.call(platform, ROSTER_SCOPE, "GET", place, {"Accept": ROSTER_TYPE}, most=_MOST_BYTES)
        if answer.status != HTTPStatus.OK:
            raise RefusedError(
                translate(
                    "{name} answered {status} ({said})", name=platform.name, status=answer.status, said=answer.said()
                )
            )
        members = answer.fields().get("members")
        for one in members if isinstance(members, list) else ():
            if isinstance(one, dict) and (person := _participant(one)):
                found[person.subject] = person
        follow = _NEXT.search(answer.headers.get("link", ""))
        if not follow or len(found) > MOST_PEOPLE:
            break
        place = urljoin(place, follow[1])
        if origin_of(place) != origin_of(url):  # it would get our token
            raise RefusedError(
                translate(
                    "{name} says that the list of people goes on at {other}, which is another"
                    " server than {host}: correct the address of the site in its settings",
                    name=platform.name,
                    other=origin_of(place),
                    host=origin_of(url),
                )
            )
    if len(found) > MOST_PEOPLE:
        raise RefusedError(translate("the course has more than {most_people:,} people", most_people=MOST_PEOPLE))
    return list(found.values())


def _participant(given: Mapping[str, object]) -> Participant | None:
    subject = _plain(given.get("user_id"))
    if not subject:
        return None
    return Participant(
        subject=subject,
        role=role_of(given.get("roles")),
        name=name_in(given),
        outside_id=_plain(given.get("lis_person_sourcedid")),
        active=given.get("status", "Active") == "Active",
    )


def _plain(value: object) -> str:
    """*value*, if a platform may call someone so; otherwise empty."""
    text = value if isinstance(value, str) and len(value) <= SUBJECT_LIMIT else ""
    return text if text.isprintable() else ""


@dataclass(frozen=True, slots=True)
class RoleChange:
    """A person of the course, and the role that they will have; none: they leave.

    The *name* is empty if neither the class nor the platform knows it. With *by_id*, a member was
    found by the id in other systems, and the platform signs them in from now on; they may be *known*
    to it from before, and are one with that person then. *new_name* and
    *new_id* are what the platform calls a member whom the class calls otherwise.
    """

    subject: str
    name: str
    before: Role | None
    after: Role | None
    by_id: bool = False
    new_name: str = ""
    new_id: str = ""
    known: bool = False

    @property
    def differs(self) -> bool:
        """Whether anything changes."""
        return self.before != self.after or self.by_id or bool(self.new_name or self.new_id)


@dataclass(frozen=True, slots=True)
class CourseDifference:
    """What differs between a course and its class; *same* counts those who do not.

    *kept* are those whose role stays, because their latest launch named a higher one.
    """

    changes: tuple[RoleChange, ...]
    same: int
    kept: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """A name for this difference: what was shown is what is applied."""
        return hashlib.sha256(repr(self.changes).encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class _Step:
    participant: Participant | None
    member: Member | None
    change: RoleChange
    keeps: bool = False


def compare_course(
    session: Session, platform: Platform, class_id: int, people: Sequence[Participant]
) -> CourseDifference:
    """What would change if the class had the people of the course.

    Members who did not come from the platform stay as they are.
    """
    steps = _steps(session, platform, class_id, people)
    differing = tuple(step.change for step in steps if step.change.differs)
    kept = tuple(step.change.name for step in steps if step.keeps)
    return CourseDifference(differing, len(steps) - len(differing), kept)


def apply_difference(session: Session, platform: Platform, class_id: int, people: Sequence[Participant]) -> None:
    """Give the class the people of the course; not committed.

    Raises:
        InputError: the class would have no teacher.
    """
    steps = _steps(session, platform, class_id, people)
    for step in steps:
        if step.participant is not None and step.change.after is not None:
            _enter(session, platform, class_id, step, step.participant)
    gone = [s.member.person for s in steps if s.member is not None and s.change.after is None]
    remove_members(session, class_id, gone)


def _enter(session: Session, platform: Platform, class_id: int, step: _Step, one: Participant) -> None:
    """Enroll a person, or change what the class knows of them."""
    if step.member is not None:
        _change(session, platform, step.member, step.change, one)
        return
    named = "" if class_with(session, class_id).pseudonyms else one.name
    identity = session.get(IdentityRow, (platform.identities, one.subject))
    person = identity.person if identity else number_of(new_person(session, named))
    if identity is None:
        session.add(IdentityRow(issuer=platform.identities, subject=one.subject, person=person))
    outside = free_id(session, class_id, person, one.outside_id)
    way = WayIn(issuer=platform.identities, subject=one.subject)
    enroll(session, class_id, person, step.change.after or Role.STUDENT, named, outside, way)


def _change(session: Session, platform: Platform, member: Member, change: RoleChange, one: Participant) -> None:
    person = member.person
    if change.by_id:
        issuer = platform.identities
        identity = session.get(IdentityRow, (issuer, one.subject))
        known = identity.person if identity else None
        way = WayIn(issuer=issuer, subject=one.subject)
        person = recognize(session, member.class_id, known, one.outside_id, way) or person
        if identity is None:
            session.add(IdentityRow(issuer=issuer, subject=one.subject, person=person, own=False))
    if change.after is not None and member.role is not change.after:
        change_role(session, member.class_id, person, change.after)
    row = member_row(session, member.class_id, person)
    row.label = change.new_name or row.label
    row.outside_id = free_id(session, member.class_id, person, change.new_id) or row.outside_id
    session.add(row)


def _steps(session: Session, platform: Platform, class_id: int, people: Sequence[Participant]) -> Sequence[_Step]:
    """Everyone who is in the course, or was, in the order of the course."""
    members = {member.person: member for member in members_of(session, class_id)}
    known, pseudonyms = _known(session, platform), class_with(session, class_id).pseudonyms
    launched = _launched(session, class_id)
    steps, seen = [], set[int]()
    for one in people:
        member = members.get(known.get(one.subject, 0))
        by_id = member is None and one.active
        if by_id and (held := joined_member(session, class_id, known.get(one.subject), one.outside_id)):
            member = members.get(held) if held not in seen else None
        if member is not None:
            seen.add(member.person)
        after = _role_after(one, member, launched)
        if after is None and member is None:
            continue
        found = by_id and member is not None
        keeps = one.active and member is not None and after is not one.role
        change = replace(_difference(one, member, after, found, pseudonyms), known=found and one.subject in known)
        steps.append(_Step(one, member, change, keeps and after is not None))
    for subject, person in known.items():
        if person in members and person not in seen:
            member = members[person]
            steps.append(_Step(None, member, RoleChange(subject, member.name, member.role, None)))
    return steps


def _role_after(one: Participant, member: Member | None, launched: Mapping[int, Role]) -> Role | None:
    """The role that a person of a course would have in the class; None: they are not in it.

    Platforms name lower roles in a list than in a launch, as Moodle does of its non-editing
    teachers: whom the latest launch and the class call the same keeps the role.
    """
    if not one.active or member is None:
        return one.role if one.active else None
    if one.role is None:
        return member.role if member.role > Role.STUDENT else None
    lowered = one.role < member.role <= launched.get(member.person, Role.STUDENT)
    return member.role if lowered else one.role


def _launched(session: Session, class_id: int) -> Mapping[int, Role]:
    """The roles in the latest launches of the members of a class."""
    rows = select(MemberRow).where(MemberRow.class_id == class_id, MemberRow.launched != "")
    return {row.person: Role.read(row.launched) for row in session.exec(rows)}


def _difference(
    one: Participant, member: Member | None, after: Role | None, by_id: bool, pseudonyms: bool
) -> RoleChange:
    """What the class would learn from the course about a person."""
    if member is None or after is None:
        name, before = (member.name, member.role) if member else (one.name, None)
        return RoleChange(one.subject, name, before, after)
    named = one.name if one.name != member.name and not pseudonyms else ""
    called = one.outside_id if one.outside_id != member.outside_id else ""
    return RoleChange(one.subject, member.name, member.role, after, by_id, named, called)


def _known(session: Session, platform: Platform) -> Mapping[str, int]:
    """The persons of a platform, by how it calls them."""
    rows = select(IdentityRow).where(IdentityRow.issuer == platform.identities).order_by(col(IdentityRow.subject))
    return {row.subject: row.person for row in session.exec(rows)}
