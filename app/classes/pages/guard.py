"""Who may see a page of a class: every such page asks here, for every request."""

from dataclasses import dataclass
from urllib.parse import urlencode

from fastapi import Request
from sqlmodel import Session
from starlette.exceptions import HTTPException

from app.classes.people.assignments import Assignment, assignment_with
from app.classes.people.classes import Role, number_of, refuse_archived, role_in
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
