"""How a learning platform is connected, and the courses of platforms that a class is."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

from fastapi import Form, Request, Response
from fastapi.responses import JSONResponse
from sqlmodel import Session

from app.classes.federation.lti.enrollment import (
    CourseDifference,
    Participant,
    RoleChange,
    apply_difference,
    compare_course,
)
from app.classes.federation.lti.platforms import (
    Platform,
    allow_deployment,
    platform_with,
    register_platform,
    registration_with,
    use_registration,
)
from app.classes.federation.outbox import (
    DeliveryCounts,
    Tie,
    UndeliveredScore,
    send_again,
    send_refused_again,
    sending_of,
    ties_of,
    unsent_of,
)
from app.classes.pages.class_router import (
    AssignmentVisit,
    ClassRouter,
    ClassVisit,
    Membership,
    ask_database,
    change_database,
    in_class,
)
from app.classes.pages.lti.launch_entry import refused_launch, tool_in
from app.classes.people.classes import Role
from app.classes.people.rosters import FOUND
from app.core.errors import AppError, InputError, NotFoundError, RefusedError, UnavailableError
from app.core.translation import noted, translate
from app.server.aside import aside
from app.server.db.session import open_writing_session
from app.server.network.door import note_trouble
from app.server.network.response_policy import keep_opener, let_frame, origin_of
from app.server.network.routes import Router
from app.site import Here, Site
from app.site.web.frame.renderer import frame, render
from app.site.web.frame.visitor import FromHere, Visiting

router = ClassRouter("")
_SHOWN = 100  # scores that did not arrive, and changes of a roster


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleChangeRow:
    """A person whose role in the class would change, in words; the *subject* of a new student."""

    name: str
    before: str
    after: str
    subject: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Roster:
    """How the roster of a course differs from the class; *applied*: how many were changed, where it was."""

    title: str
    number: int
    rows: tuple[RoleChangeRow, ...] = ()
    more: int = 0
    same: int = 0
    kept: tuple[str, ...] = ()
    digest: str = ""
    applied: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CoursePage:
    """The page of the platforms of a class; *again*: how many scores are sent again."""

    ties: tuple[Tie, ...]
    sending: DeliveryCounts
    unsent: tuple[UndeliveredScore, ...]
    roster: Roster | None
    again: int


@router.page("/classes/{class_id:int}/platform", "platform", noted("{name}: learning platform"))
def platform_page(visit: ClassVisit, again: int = 0, *, roster: Roster | None = None) -> CoursePage:
    """The courses that the class is, and how far its scores are."""
    return CoursePage(
        ties=tuple(ties_of(visit.session, visit.class_id)),
        sending=sending_of(visit.session, visit.class_id),
        unsent=tuple(unsent_of(visit.session, visit.class_id, _SHOWN)),
        roster=roster,
        again=again,
    )


@router.form("/classes/{class_id:int}/platform", platform_page, archived=True)
def resend(visit: ClassVisit) -> str:
    """Send the scores again that did not arrive."""
    return f"{visit.class_href}/platform?again={send_refused_again(visit.session, visit.class_id, visit.now)}"


@router.form("/assignments/{assignment:int}/send", None, least=Role.STUDENT)
def send_points_again(visit: AssignmentVisit) -> str:
    """Send one's own points in an assignment again."""
    send_again(visit.session, visit.assignment.id, visit.member.person.person, visit.now)
    return visit.href


@router.post("/classes/{class_id}/platform/roster", dependencies=[FromHere])
async def show_course_roster(
    request: Request,
    site: Here,
    visiting: Visiting,
    class_id: int,
    course: Annotated[int, Form()] = 0,
    digest: Annotated[str, Form()] = "",
    assistant: Annotated[Sequence[str], Form()] = (),
) -> Response:
    """Show how a course differs from the class; with the *digest* of that, change the class."""
    member = await in_class(request, site, visiting, class_id, Role.TEACHER)
    ties = await ask_database(site, ties_of, class_id)
    if not 0 <= course < len(ties):
        raise NotFoundError(translate("this course is not tied to this class anymore"))
    tie, found, problem = ties[course], None, None
    try:
        registered = await ask_database(site, platform_with, tie.platform_id)
        people = await tool_in(request).people(registered, _memberships(tie))
        found = await aside(_compared, site, member, (registered, tie, course), people, digest, assistant)
    except AppError as error:
        if isinstance(error, UnavailableError):
            note_trouble(request, error, error.cause)
        problem = InputError(str(error))
    return await aside(router.show, platform_page, request, site, (member, None), {"roster": found}, problem)


def _memberships(tie: Tie) -> str:
    if not tie.memberships:
        raise RefusedError(
            translate(
                "{platform} has not said where the people of this course are; let the tool read "
                "names and roles in its settings there, then open a link of the course once",
                platform=tie.platform,
            )
        )
    return tie.memberships


def _compared(
    site: Site,
    member: Membership,
    course: tuple[Platform, Tie, int],
    people: Sequence[Participant],
    digest: str,
    assistants: Sequence[str],
) -> Roster:
    platform, tie, number = course
    with open_writing_session(site.engine) as session:
        found = compare_course(session, platform, member.class_id, people)
        if found.changes and digest == found.digest:
            try:
                apply_difference(session, platform, member.class_id, people, assistants)
            except InputError:
                session.rollback()
                raise
            session.commit()
            return Roster(title=tie.title, number=number, applied=len(found.changes))
    return _roster(tie, number, found)


def _roster(tie: Tie, number: int, found: CourseDifference) -> Roster:
    """The difference in words; those without a name are counted."""
    named = [change for change in found.changes if change.name]
    unnamed = Counter((one.before, one.after) for one in found.changes if not one.name)
    counted = [
        _course_row(f"{count} {'person' if count == 1 else 'people'} without a name", *roles)
        for roles, count in unnamed.items()
    ]
    rows = [
        replace(
            _course_row(one.name, one.before, one.after, _news(one)),
            subject=one.subject if (one.before, one.after) == (None, Role.STUDENT) else "",
        )
        for one in named[:_SHOWN]
    ]
    return Roster(
        title=tie.title,
        number=number,
        rows=(*counted, *rows),
        more=max(0, len(named) - _SHOWN),
        same=found.same,
        kept=found.kept[:_SHOWN],
        digest=found.digest,
    )


def _course_row(name: str, before: Role | None, after: Role | None, news: Iterable[str] = ()) -> RoleChangeRow:
    role = after.word if after else translate("leaves the class")
    return RoleChangeRow(
        name=name, before=before.word if before else translate("not in the class"), after="; ".join([role, *news])
    )


def _news(change: RoleChange) -> Iterator[str]:
    """What else the class would learn about a member."""
    if change.by_id:
        yield translate(FOUND) if change.known else translate("found by id")
    if change.new_name:
        yield translate("called {name}", name=change.new_name)
    if change.new_id:
        yield translate("id {id}", id=change.new_id)


_registration_router = Router(prefix="/lti")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlatformsPage:
    """The addresses that a platform asks for; *missing*: why none can be connected yet."""

    address: str
    missing: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterPage:
    """A platform that would register; *done*: it has."""

    name: str
    host: str
    code: str
    configuration: str
    token: str
    done: bool = False


@_registration_router.get("/canvas.json")
async def canvas_json(request: Request) -> Response:
    """What an administrator of Canvas pastes when adding the tool."""
    try:
        return JSONResponse(tool_in(request).canvas_configuration())
    except UnavailableError as error:
        raise NotFoundError(str(error)) from error


@_registration_router.get("")
async def show_registration(request: Request, site: Here) -> Response:
    """How an operator connects a platform."""
    try:
        address, missing = tool_in(request).address, ""
    except UnavailableError as error:
        address, missing = (site.settings.url or "https://wallclock.example.org", str(error))
    page = PlatformsPage(address=address, missing=missing)
    return render("lti/connect.html", frame(request, translate("Connect a learning platform")), page)


@_registration_router.get("/register")
async def ask(
    request: Request, site: Here, code: str = "", openid_configuration: str = "", registration_token: str = ""
) -> Response:
    """The page on which an administrator of a platform registers it."""
    try:
        name = await ask_database(site, registration_with, code)
        page = _registration_page(name, code, openid_configuration, registration_token)
    except AppError as problem:
        return refused_launch(request, problem)
    let_frame(request, [openid_configuration])
    keep_opener(request)
    return render("lti/register.html", frame(request, translate("Register")), page)


@_registration_router.post("/register", dependencies=[FromHere])
async def register_platform_page(
    request: Request,
    site: Here,
    code: Annotated[str, Form()] = "",
    openid_configuration: Annotated[str, Form()] = "",
    registration_token: Annotated[str, Form()] = "",
) -> Response:
    """Register the platform; it stays inactive until an operator activates it."""
    keep_opener(request)  # it is told when this is done, perhaps at a second try
    try:
        tool = tool_in(request)
        name = await ask_database(site, registration_with, code)
        found, deployment = await tool.register(name, openid_configuration, registration_token)
        await change_database(site, _store_platform, code, found, deployment)
    except InputError as problem:
        return refused_launch(request, RefusedError(str(problem)))
    except AppError as problem:
        return refused_launch(request, problem)
    let_frame(request, [openid_configuration])
    page = RegisterPage(name=name, host=found.issuer, code="", configuration="", token="", done=True)
    return render("lti/register.html", frame(request, translate("Registered")), page)


def _registration_page(name: str, code: str, configuration: str, token: str) -> RegisterPage:
    host = origin_of(configuration)
    if not host:
        raise RefusedError(
            translate("this link is for a learning platform: enter it there as the registration address of a new tool")
        )
    return RegisterPage(name=name, host=host, code=code, configuration=configuration, token=token)


def _store_platform(session: Session, code: str, found: Platform, deployment: str) -> None:
    if not use_registration(session, code):
        raise RefusedError(translate("this registration link was used a moment ago"))
    platform = register_platform(session, found)
    if deployment:
        allow_deployment(session, platform, deployment)


router.routes += _registration_router.routes
