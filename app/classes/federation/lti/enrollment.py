"""From a course of a platform to persons, a class and its members: by a launch, or by its roster."""

import hashlib
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import TYPE_CHECKING, Literal
from urllib.parse import urljoin, urlsplit

from sqlalchemy.exc import IntegrityError
from sqlmodel import Session, col, select

from app.classes.federation.lti.launch_message import ROSTER_SCOPE, ROSTER_TYPE, Launch, name_in, role_of
from app.classes.federation.lti.platforms import Platform, identities_of
from app.classes.people.assignment_copies import copy_in_class
from app.classes.people.classes import (
    Member,
    Role,
    class_with,
    create_class,
    enroll,
    members_of,
    number_of,
    role_in,
    time_zones,
)
from app.classes.people.members import (
    change_role,
    holder_of_id,
    member_row,
    put_into_group,
    remove_members,
    set_time_factor,
    take_listed_role,
)
from app.classes.people.merges import merge_persons
from app.classes.people.persons import WayIn, is_own_browser, known_person, new_person, speaks_for
from app.classes.people.rosters import claimable_member, joined_member, recognize
from app.core.errors import refused_error
from app.core.translation import noted, translate
from app.server.db.people import SUBJECT_LIMIT, AssignmentRow, ClassRow, ContextRow, IdentityRow, LinkRow, MemberRow
from app.server.network.response_policy import origin_of
from app.site.members import SignedIn

if TYPE_CHECKING:
    from app.classes.federation.lti.scores import Services

_UNNAMED = "A course"
NO_ROLE = noted(
    "your platform says that you are neither a student nor a teacher of this course (an observer, a"
    " test student or an administrator): nothing was stored; its teacher can add you to the class"
    " under People, and sees assignments as students do with “As students see it”"
)
_TRIES = 2  # two launches of one person may come at once: the second finds what the first stored


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """Who arrived in which class; *assignment* is what the link opens, or 0."""

    person: int
    class_id: int
    assignment: int = 0


def class_of(session: Session, launch: Launch) -> int | None:
    """The class that the course of a launch is here; None if it is not tied to one."""
    row = session.get(ContextRow, (launch.platform, launch.deployment, launch.context))
    return row.class_id if row else None


def check_tied(session: Session, launch: Launch) -> int:
    """The class that the course of a launch is here.

    Raises:
        RefusedError: no teacher of the course has opened it yet.
    """
    found = class_of(session, launch)
    if found is None:
        raise refused_error(
            "your course is not set up here yet: a teacher of the course has to open this link "
            "once; then it works for everyone"
        )
    return found


def new_class(session: Session, secret: str, launch: Launch, zone: str, like: ClassRow | None = None) -> int:
    """The number of a new class for the course of a launch; not committed.

    Its dates are in *zone*; if that is not a time zone, in UTC. With *like*, it has the zone of
    that class, and asks for invented names if that does.
    """
    known = zone if zone in time_zones() else "UTC"
    row = create_class(session, secret, launch.title or _UNNAMED, like.zone if like else known)
    row.pseudonyms = like is not None and like.pseudonyms
    return number_of(row)


def tie(session: Session, launch: Launch, class_id: int, person: SignedIn | None = None) -> None:
    """Tie the course of a launch to a class; not committed.

    With *person*, a teacher of that class who is signed in, the launch is theirs from now on.
    """
    if class_of(session, launch) is None:
        session.add(
            ContextRow(
                platform=launch.platform,
                deployment=launch.deployment,
                context=launch.context,
                class_id=class_id,
                title=launch.title,
            )
        )
    if person is not None:
        issuer = identities_of(launch.platform)
        if session.get(IdentityRow, (issuer, launch.subject)) is None:
            connect_launch(session, launch, person.person, own=is_own_browser(session, person.browser))
    session.flush()


def enroll_launch(session: Session, launch: Launch, browser: str = "") -> Arrival:
    """Enroll the person of a launch in the class of its course, and store its link. Commits.

    It was opened in *browser*, if that is signed in.

    Raises:
        RefusedError: the course is not tied to a class.
    """
    for left in reversed(range(_TRIES)):
        try:
            arrival = _arrived(session, launch, check_tied(session, launch), browser)
            session.commit()
        except IntegrityError:
            session.rollback()
            if not left:
                raise
        else:
            return arrival
    raise refused_error("this launch was opened twice at the same moment; open it again")


def connect_launch(session: Session, launch: Launch, person: int, *, own: bool) -> None:
    """Let the one who opened a launch be *person* from now on. Not committed."""
    issuer = identities_of(launch.platform)
    session.add(IdentityRow(issuer=issuer, subject=launch.subject, person=person, own=own))
    session.flush()


def free_id(session: Session, class_id: int, person: int, outside: str) -> str:
    """*outside*, unless another member of the class has that id."""
    holder = holder_of_id(session, class_id, outside)
    return "" if holder is not None and holder.person != person else outside


Doubt = Literal["", "connect", "merge"]


def doubt_of(session: Session, launch: Launch, class_id: int, here: SignedIn) -> Doubt:
    """How the one who opened a launch and the one signed in *here* become one; "": they differ.

    A launch that is someone's first is connected with *here*. One who has been here before is
    merged, where both are students of the class, and the browser speaks for its person.
    """
    person = here.person
    issuer = identities_of(launch.platform)
    own = select(IdentityRow).where(IdentityRow.person == person, IdentityRow.issuer == issuer)
    if session.exec(own).first() is not None:  # the platform calls them otherwise
        return ""
    known = session.get(IdentityRow, (issuer, launch.subject))
    if known is None:
        roster = claimable_member(session, class_id, launch.outside_id)
        return "" if roster == person else "connect"
    roles = {role_in(session, class_id, one) for one in (person, known.person)}
    return "merge" if roles == {Role.STUDENT} and not known.doubted and speaks_for(session, here) else ""


def unite(session: Session, launch: Launch, class_id: int, here: SignedIn) -> None:
    """Make the one signed in *here*, who says so, and who opened a launch the same. Not committed."""
    doubt = doubt_of(session, launch, class_id, here)
    known = session.get(IdentityRow, (identities_of(launch.platform), launch.subject))
    if doubt == "connect":
        connect_launch(session, launch, here.person, own=is_own_browser(session, here.browser))
    elif doubt == "merge" and known is not None:
        way = WayIn(browser=here.browser, issuer=known.issuer, subject=known.subject)
        merge_persons(session, known.person, here.person, translate("the student"), way=way, class_id=class_id)


def name_link(session: Session, launch: Launch, class_id: int, assignment: int) -> None:
    """Let the link of a launch open *assignment* from now on; not committed.

    Raises:
        RefusedError: the assignment is not one of the class.
    """
    if not _in_class(session, assignment, class_id):
        raise refused_error("this assignment is not one of this class, or was deleted")
    row = _link(session, launch)
    if row is None:
        row = LinkRow(
            platform=launch.platform, deployment=launch.deployment, resource_link=launch.link, assignment=assignment
        )
    row.assignment = assignment
    _store_places(session, row, launch)


def _arrived(session: Session, launch: Launch, class_id: int, browser: str) -> Arrival:
    row = class_with(session, class_id)
    issuer = identities_of(launch.platform)
    found = known_person(session, issuer, launch.subject)
    known, label = found.id if found else None, "" if row.pseudonyms else launch.name
    way = WayIn(browser=browser, issuer=issuer, subject=launch.subject)
    _refuse_entering(session, launch, row, known)
    person = recognize(session, class_id, known, launch.outside_id, way)
    if known is None:
        own = person is None
        person = number_of(new_person(session, label)) if person is None else person
        connect_launch(session, launch, person, own=own)
    person = known or person or 0
    own_role = role_in(session, class_id, person)
    outside = free_id(session, class_id, person, launch.outside_id)
    role = Role.read(launch.role) if launch.role else own_role or Role.STUDENT
    member = enroll(session, class_id, person, role, label, outside, way)
    member.launched = launch.role
    if role is Role.STUDENT and launch.group and not member.group_name:
        put_into_group(session, class_id, [person], launch.group)
    if role is Role.STUDENT and launch.time_factor > member.time_factor:
        set_time_factor(session, member, launch.time_factor)
    context = session.get(ContextRow, (launch.platform, launch.deployment, launch.context))
    if context is not None:
        context.memberships_url = launch.memberships or context.memberships_url
        context.title = launch.title or context.title
        session.add(context)
    return Arrival(person=person, class_id=class_id, assignment=_opened(session, launch, class_id))


def _refuse_entering(session: Session, launch: Launch, row: ClassRow, known: int | None) -> None:
    """Refuse those who are not in a class yet, and cannot enter it."""
    if role_in(session, number_of(row), known) or claimable_member(session, number_of(row), launch.outside_id):
        return
    if not launch.role:
        raise refused_error(NO_ROLE)
    if row.archived is not None:
        raise refused_error("{name} is archived: nobody can join it anymore", name=row.name)


def _opened(session: Session, launch: Launch, class_id: int) -> int:
    """The assignment that the link of a launch opens, or 0; where its scores go is stored.

    A course that was copied has links to assignments of another class: they open the copies of
    those, or nothing here until a teacher says what.
    """
    row = _link(session, launch) if launch.link else None
    if row is not None and _in_class(session, row.assignment, class_id):
        _store_places(session, row, launch)
        return row.assignment
    named = launch.assignment if launch.link else 0
    assignment = copy_in_class(session, class_id, named) if named else 0
    if assignment:
        name_link(session, launch, class_id, assignment)
    return assignment


def _link(session: Session, launch: Launch) -> LinkRow | None:
    same = (LinkRow.platform == launch.platform, LinkRow.resource_link == launch.link)
    row = session.exec(select(LinkRow).where(*same)).first()
    if row is not None and row.deployment != launch.deployment:
        raise refused_error("this link belongs to another deployment of the platform")
    return row


def _store_places(session: Session, row: LinkRow, launch: Launch) -> None:
    """Where the scores of a link go, as its latest launch says."""
    if launch.lineitem not in ("", row.lineitem_url):
        row.item_digest = ""  # another line item: it was told nothing yet
    row.lineitem_url = launch.lineitem or row.lineitem_url
    row.lineitems_url = launch.lineitems or row.lineitems_url
    session.add(row)
    session.flush()


def _in_class(session: Session, assignment: int, class_id: int) -> bool:
    row = session.get(AssignmentRow, assignment) if assignment else None
    return row is not None and row.class_id == class_id


MOST_PEOPLE = 10_000
_MOST_PAGES = 200
_MOST_BYTES = 8 << 20  # of a page: some platforms send everyone at once
_PER_PAGE = 100
_NEXT = re.compile(r'<([^<>]+)>\s*;[^,<>]*\brel="?next(?![\w-])')


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
            raise refused_error(
                "{name} answered {status} ({said})", name=platform.name, status=answer.status, said=answer.said()
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
            raise refused_error(
                "{name} says that the list of people goes on at {other}, which is another"
                " server than {host}: correct the address of the site in its settings",
                name=platform.name,
                other=origin_of(place),
                host=origin_of(url),
            )
    if len(found) > MOST_PEOPLE:
        raise refused_error("the course has more than {most_people:,} people", most_people=MOST_PEOPLE)
    return list(found.values())


def _participant(given: Mapping[str, object]) -> Participant | None:
    subject = _fit_name(given.get("user_id"))
    if not subject:
        return None
    return Participant(
        subject=subject,
        role=role_of(given.get("roles")),
        name=name_in(given),
        outside_id=_fit_name(given.get("lis_person_sourcedid")),
        active=given.get("status", "Active") == "Active",
    )


def _fit_name(value: object) -> str:
    """*value*, if a platform may call someone so; otherwise empty."""
    text = value if isinstance(value, str) and len(value) <= SUBJECT_LIMIT else ""
    return text if text.isprintable() else ""


@dataclass(frozen=True, slots=True)
class RoleChange:
    """A person of the course, and the role that they will have; none: they leave.

    The *name* is empty if neither the class nor the platform knows it. With *by_id*, a member was found by the id in
    other systems, and the platform signs them in from now on; they may be *known* to it from before, and are one with
    that person then. *new_name* and *new_id* are what the platform calls a member whom the class calls otherwise.
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
    def named(self) -> Sequence[RoleChange]:
        """The changes of those whose name is known."""
        return [change for change in self.changes if change.name]

    @property
    def unnamed(self) -> Mapping[tuple[Role | None, Role | None], int]:
        """How many of the others change from a role to another."""
        return Counter((change.before, change.after) for change in self.changes if not change.name)

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


def apply_difference(
    session: Session, platform: Platform, class_id: int, people: Sequence[Participant], assistants: Collection[str] = ()
) -> None:
    """Give the class the people of the course; not committed.

    New students with the subjects of *assistants* teach, as their teacher says: Moodle lists those who
    may not edit the course as learners, and names their role in a launch only.

    Raises:
        InputError: the class would have no teacher.
    """
    steps = _steps(session, platform, class_id, people)
    for step in steps:
        if step.participant is not None and step.change.after is not None:
            _enter(session, platform, class_id, step, step.participant)
            if step.participant.subject in assistants and step.change.before is None:
                identity = session.get_one(IdentityRow, (platform.identities, step.participant.subject))
                change_role(session, class_id, identity.person, Role.ASSISTANT)
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
        take_listed_role(session, member.class_id, person, change.after)
    row = member_row(session, member.class_id, person)
    row.label = change.new_name or row.label
    row.outside_id = free_id(session, member.class_id, person, change.new_id) or row.outside_id
    session.add(row)


def _steps(session: Session, platform: Platform, class_id: int, people: Sequence[Participant]) -> Sequence[_Step]:
    """Everyone who is in the course, or was, in the order of the course."""
    members = {member.person: member for member in members_of(session, class_id)}
    ours = select(IdentityRow).where(IdentityRow.issuer == platform.identities).order_by(col(IdentityRow.subject))
    known = {row.subject: row.person for row in session.exec(ours)}
    pseudonyms = class_with(session, class_id).pseudonyms
    rows = select(MemberRow).where(MemberRow.class_id == class_id, MemberRow.launched != "")
    launched = {row.person: Role.read(row.launched) for row in session.exec(rows)}
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
