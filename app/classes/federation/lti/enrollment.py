"""From a launch to a person, a class and an assignment here."""

from dataclasses import dataclass
from typing import Literal

from sqlalchemy.exc import IntegrityError
from sqlmodel import Session, select

from app.classes.federation.lti.launch_message import Launch
from app.classes.federation.lti.platforms import identities_of
from app.classes.people.assignment_copies import copy_in_class
from app.classes.people.classes import Role, class_with, create_class, enroll, number_of, role_in, time_zones
from app.classes.people.members import holder_of_id, put_into_group
from app.classes.people.merges import merge_persons
from app.classes.people.persons import WayIn, is_own_browser, known_person, new_person, speaks_for
from app.classes.people.recognition import claimable_member, recognize
from app.core.errors import RefusedError
from app.core.translation import noted, translate
from app.server.db.people import AssignmentRow, ClassRow, ContextRow, IdentityRow, LinkRow
from app.site.members import SignedIn

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
        raise RefusedError(
            translate(
                "your course is not set up here yet: a teacher of the course has to open this link "
                "once; then it works for everyone"
            )
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
    raise RefusedError(translate("this launch was opened twice at the same moment; open it again"))


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
        raise RefusedError(translate("this assignment is not one of this class, or was deleted"))
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
    _refresh(session, launch)
    return Arrival(person=person, class_id=class_id, assignment=_opened(session, launch, class_id))


def _refuse_entering(session: Session, launch: Launch, row: ClassRow, known: int | None) -> None:
    """Refuse those who are not in a class yet, and cannot enter it."""
    if role_in(session, number_of(row), known) or claimable_member(session, number_of(row), launch.outside_id):
        return
    if not launch.role:
        raise RefusedError(translate(NO_ROLE))
    if row.archived is not None:
        raise RefusedError(translate("{name} is archived: nobody can join it anymore", name=row.name))


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


def _refresh(session: Session, launch: Launch) -> None:
    row = session.get(ContextRow, (launch.platform, launch.deployment, launch.context))
    if row is not None:
        row.memberships_url = launch.memberships or row.memberships_url
        row.title = launch.title or row.title
        session.add(row)


def _link(session: Session, launch: Launch) -> LinkRow | None:
    same = (LinkRow.platform == launch.platform, LinkRow.resource_link == launch.link)
    row = session.exec(select(LinkRow).where(*same)).first()
    if row is not None and row.deployment != launch.deployment:
        raise RefusedError(translate("this link belongs to another deployment of the platform"))
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
