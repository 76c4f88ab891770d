"""Who may see a page of a class, and the head that every such page has."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlencode, urlsplit

import segno
from fastapi import Request
from markupsafe import Markup
from sqlmodel import Session
from starlette.exceptions import HTTPException

from app.classes.people.assignments import Assignment, assignment_with
from app.classes.people.classes import Role, join_code_of, number_of, refuse_archived, role_in
from app.core.errors import NotFoundError
from app.core.translation import noted, translate
from app.server.db.people import AssignmentRow, ClassRow
from app.server.db.session import open_session
from app.site import Site
from app.site.members import SignedIn
from app.site.web.frame.visitor import Visitor

_LARGEST = 2**63 - 1  # number of a row
# The same words for a class that does not exist and for one of others: nobody learns which.
_NOT_HERE = noted(
    "this class does not exist, or you are not in it, or this page is for its teachers; a "
    "link of your teacher lets you join"
)


@dataclass(frozen=True, slots=True)
class Membership:
    """A class, and the member of it who sent the request."""

    row: ClassRow
    role: Role
    person: SignedIn

    @property
    def class_id(self) -> int:
        """The number of the class."""
        return number_of(self.row)

    @property
    def teaches(self) -> bool:
        """Whether this member may change points, assignments and the roster."""
        return self.role >= Role.TEACHER


async def in_class(
    request: Request, site: Site, visiting: Visitor, class_id: int, least: Role, *, archived: bool = False
) -> Membership:
    """The membership of the visitor, who must have at least the role *least*.

    With *archived*, a form may also change what is archived.

    Raises:
        HTTPException: 303 to the page for signing in, if the visitor is not signed in.
        NotFoundError: the class does not exist, or not for this person in this role.
        InputError: a form would change a class that is archived.
    """
    person = _person(request, visiting)
    with open_session(site.engine) as session:
        member = _membership(session, person, class_id, least)
    if request.method == "POST" and not archived:
        refuse_archived(member.row)
    return member


async def in_assignment(
    request: Request, site: Site, visiting: Visitor, assignment: int, least: Role
) -> tuple[Membership, Assignment]:
    """The membership of the visitor in the class of *assignment*, and the assignment.

    Raises:
        HTTPException: 303 to the page for signing in, if the visitor is not signed in.
        NotFoundError: the assignment does not exist, or not for this person in this role.
        InputError: a form would change an assignment of a class that is archived.
    """
    person = _person(request, visiting)
    with open_session(site.engine) as session:
        row = session.get(AssignmentRow, assignment) if assignment <= _LARGEST else None
        if row is None:
            raise NotFoundError(translate(_NOT_HERE))
        member = _membership(session, person, row.class_id, least)
        if request.method == "POST":
            refuse_archived(member.row)
        return member, assignment_with(session, assignment)


def refuse_student_and_assistant(member: Membership) -> None:
    """Refuse what only a teacher may do.

    Raises:
        NotFoundError: *member* is none: nobody learns whether there is more.
    """
    if not member.teaches:
        raise NotFoundError(translate(_NOT_HERE))


def sign_in_first(request: Request) -> HTTPException:
    """What sends the visitor to the page for signing in, and back from there."""
    back = request.url.path
    if request.method != "GET":
        back = back if back.startswith("/assignments") else "/".join(back.split("/")[:3])
    elif request.url.query:
        back = f"{back}?{request.url.query}"
    location = f"/sign-in?{urlencode({'next': back})}"
    return HTTPException(303, translate("sign in first"), {"Location": location})


def _person(request: Request, visiting: Visitor) -> SignedIn:
    if visiting.person is None:
        raise sign_in_first(request)
    return visiting.person


def _membership(session: Session, person: SignedIn, class_id: int, least: Role) -> Membership:
    row = session.get(ClassRow, class_id) if class_id <= _LARGEST else None
    role = role_in(session, class_id, person.person) if row is not None else None
    if row is None or role is None or role < least:
        raise NotFoundError(translate(_NOT_HERE))
    return Membership(row, role, person)


_PARTS = (
    ("", noted("Assignments")),
    ("/people", noted("People")),
    ("/live", noted("Live")),
    ("/grades", noted("Grades")),
)


@dataclass(frozen=True, slots=True)
class Tab:
    """A link to a part of the class; *here*: it is the part that is open."""

    href: str
    text: str
    here: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassHead:
    """The head of a page of a class; students see no *tabs*, *teaches*: a teacher sees it.

    *problem* says why a form changed nothing; *problems*: what is wrong with its fields, by name.
    """

    name: str
    href: str
    role: str
    zone: str
    teaches: bool
    demo: bool
    archived: bool
    tabs: tuple[Tab, ...]
    problem: str = ""
    problems: Mapping[str, str] = field(default_factory=dict)


def class_url(class_id: int) -> str:
    """The page of a class."""
    return f"/classes/{class_id}"


def assignment_url(assignment: int) -> str:
    """The page of an assignment."""
    return f"/assignments/{assignment}"


def class_head(member: Membership, here: str = "") -> ClassHead:
    """The head of the page *here*, such as People, for *member*."""
    href = class_url(member.class_id)
    shown = _PARTS if member.role >= Role.ASSISTANT else ()
    return ClassHead(
        name=member.row.name,
        href=href,
        role=member.role.word,
        zone=member.row.zone,
        teaches=member.teaches,
        demo=member.row.demo,
        archived=member.row.archived is not None,
        tabs=tuple(Tab(href + end, translate(text), text == here) for end, text in shown),
    )


@dataclass(frozen=True, slots=True)
class JoinLink:
    """The address, and as it is read from a slide; *joining*: open, roster or closed."""

    href: str
    shown: str
    joining: str


def join_link(request: Request, site: Site, member: Membership) -> JoinLink:
    """The link of a class, for its teachers and assistants."""
    href = f"{root_of(request, site)}/join/{join_code_of(site.secret, member.row)}"
    parts = urlsplit(href)
    return JoinLink(href, parts.netloc + parts.path, member.row.joining)


def root_of(request: Request, site: Site) -> str:
    """The address of the site: as configured, else as the browser of a teacher reached it."""
    reached = str(request.base_url).rstrip("/") + site.settings.prefix
    return site.settings.url or reached


def qr_code(address: str) -> Markup:
    """The QR code of *address* as an SVG, black on white; empty if none is large enough for it."""
    try:
        code = segno.make_qr(address, error="m")
    except segno.DataOverflowError:  # more than 2,331 bytes
        return Markup()
    return Markup(code.svg_inline(border=4, omitsize=True, light="#fff"))
