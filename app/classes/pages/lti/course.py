"""How a learning platform is connected, and the courses of platforms that a class is."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from fastapi import Form, Request, Response
from fastapi.responses import JSONResponse
from sqlmodel import Session

from app.classes.federation import outbox
from app.classes.federation.lti import platforms
from app.classes.federation.lti.enrollment import CourseDifference, Participant, apply_difference, compare_course
from app.classes.pages.class_router import (
    AssignmentVisit,
    ClassRouter,
    ClassVisit,
    ask_database,
    change_database,
    in_class,
)
from app.classes.pages.lti.launch_entry import refused_launch, tool_in
from app.classes.people.classes import Role
from app.core.errors import AppError, InputError, NotFoundError, RefusedError, UnavailableError, refused_error
from app.core.translation import noted, translate
from app.server.aside import aside
from app.server.network.door import note_trouble
from app.server.network.response_policy import keep_opener, let_frame, origin_of
from app.server.network.routes import Router
from app.site import Here
from app.site.web.frame.renderer import frame, render
from app.site.web.frame.visitor import FromHere, Visiting

router = ClassRouter("")
_SHOWN = 100  # scores that did not arrive, and changes of a roster


@dataclass(frozen=True, slots=True, kw_only=True)
class CoursePage:
    """The page of the platforms of a class; *again*: how many scores are sent again.

    *compared* is the course that the class was compared with, and how it differs; *applied*: the class has changed.
    """

    ties: tuple[outbox.Tie, ...]
    sending: outbox.DeliveryCounts
    unsent: tuple[outbox.UndeliveredScore, ...]
    again: int
    compared: tuple[int, CourseDifference] | None
    applied: bool
    shown: int = _SHOWN


@router.page("/classes/{class_id:int}/platform", "platform", noted("{name}: learning platform"))
def platform_page(
    visit: ClassVisit, again: int = 0, *, compared: tuple[int, CourseDifference] | None = None, applied: bool = False
) -> CoursePage:
    """The courses that the class is, and how far its scores are."""
    return CoursePage(
        ties=tuple(outbox.ties_of(visit.session, visit.class_id)),
        sending=outbox.sending_of(visit.session, visit.class_id),
        unsent=tuple(outbox.unsent_of(visit.session, visit.class_id, _SHOWN)),
        again=again,
        compared=compared,
        applied=applied,
    )


@router.form("/classes/{class_id:int}/platform", platform_page, archived=True)
def resend(visit: ClassVisit) -> str:
    """Send the scores again that did not arrive."""
    return f"{visit.class_href}/platform?again={outbox.send_refused_again(visit.session, visit.class_id, visit.now)}"


@router.form("/assignments/{assignment:int}/send", None, least=Role.STUDENT)
def send_points_again(visit: AssignmentVisit) -> str:
    """Send one's own points in an assignment again."""
    outbox.send_again(visit.session, visit.assignment.id, visit.member.person.person, visit.now)
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
    ties = await ask_database(site, outbox.ties_of, class_id)
    if not 0 <= course < len(ties):
        raise NotFoundError(translate("this course is not tied to this class anymore"))
    tie, given, problem = ties[course], {}, None
    try:
        registered = await ask_database(site, platforms.platform_with, tie.platform_id)
        people = await tool_in(request).people(registered, _memberships(tie))
        found, applied = await change_database(
            site, _compare_or_apply, registered, member.class_id, people, digest, assistant
        )
        given = {"compared": (course, found), "applied": applied}
    except AppError as error:
        if isinstance(error, UnavailableError):
            note_trouble(request, error, error.cause)
        problem = InputError(str(error))
    return await aside(router.show, platform_page, request, site, (member, None), given, problem)


def _memberships(tie: outbox.Tie) -> str:
    if not tie.memberships:
        raise refused_error(
            "{platform} has not said where the people of this course are; let the tool read "
            "names and roles in its settings there, then open a link of the course once",
            platform=tie.platform,
        )
    return tie.memberships


def _compare_or_apply(
    session: Session,
    platform: platforms.Platform,
    class_id: int,
    people: Sequence[Participant],
    digest: str,
    assistants: Sequence[str],
) -> tuple[CourseDifference, bool]:
    """How a course differs from the class, and whether the class was changed: only if that is what was shown."""
    found = compare_course(session, platform, class_id, people)
    applied = bool(found.changes) and digest == found.digest
    if applied:
        apply_difference(session, platform, class_id, people, assistants)
    return found, applied


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
    code: str = ""
    configuration: str = ""
    token: str = ""
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
        name = await ask_database(site, platforms.registration_with, code)
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
        name = await ask_database(site, platforms.registration_with, code)
        found, deployment = await tool.register(name, openid_configuration, registration_token)
        await change_database(site, _store_platform, code, found, deployment)
    except InputError as problem:
        return refused_launch(request, RefusedError(str(problem)))
    except AppError as problem:
        return refused_launch(request, problem)
    let_frame(request, [openid_configuration])
    page = RegisterPage(name=name, host=found.issuer, done=True)
    return render("lti/register.html", frame(request, translate("Registered")), page)


def _registration_page(name: str, code: str, configuration: str, token: str) -> RegisterPage:
    host = origin_of(configuration)
    if not host:
        raise refused_error(
            "this link is for a learning platform: enter it there as the registration address of a new tool"
        )
    return RegisterPage(name=name, host=host, code=code, configuration=configuration, token=token)


def _store_platform(session: Session, code: str, found: platforms.Platform, deployment: str) -> None:
    if not platforms.use_registration(session, code):
        raise refused_error("this registration link was used a moment ago")
    platform = platforms.register_platform(session, found)
    if deployment:
        platforms.allow_deployment(session, platform, deployment)


router.routes += _registration_router.routes
