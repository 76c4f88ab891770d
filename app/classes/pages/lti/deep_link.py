"""/lti/choose: a teacher chooses the assignments that become links of a course (deep linking)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from fastapi import Form, Request, Response
from sqlmodel import Session

from app.classes.federation.lti.enrollment import class_of, enroll_launch, new_class, tie
from app.classes.federation.lti.launch_message import CHOICE_LIFE, Launch, seal_ticket, unseal_launch, use_once
from app.classes.pages.class_router import ask_database
from app.classes.people.assignments import (
    Assignment,
    AssignmentEntry,
    assignment_with,
    assignments_of,
    create_assignment,
)
from app.classes.people.classes import class_with, zone_named
from app.classes.people.policy import Policy
from app.core.errors import AppError, InputError, UnavailableError, sentence
from app.core.translation import noted, translate
from app.course.content.catalog import Topic
from app.server.aside import aside
from app.server.db.session import open_writing_session
from app.server.db.tables import NAME_LIMIT
from app.server.network.door import note_trouble
from app.server.network.response_policy import let_anyone_frame, let_frame, let_post
from app.server.network.routes import Router
from app.site import Here, Site, site_in
from app.site.web.frame.renderer import frame, render
from app.site.web.frame.visitor import FromHere

if TYPE_CHECKING:
    from app.classes.federation.lti.tool import Tool

MISSING = (
    "learning platforms need packages that are not installed here: install wallclock[people], then restart the server"
)
_FAILS = noted("This does not work right now")
_REFUSED = noted("This launch was refused")


@dataclass(frozen=True, slots=True, kw_only=True)
class TroubleInFrame:
    """Why a launch was refused. With *again*, it can be begun again in a window of its own."""

    heading: str
    says: str
    again: tuple[tuple[str, str], ...] = ()


def tool_in(request: Request) -> "Tool":
    """The tool of the server."""
    return tool_for(request.app.state, site_in(request))


def tool_for(state: object, site: Site) -> "Tool":
    """The tool of the server with that state, made the first time.

    Its packages take 20 MB and half a second, which a server without platforms does not pay.
    """
    try:
        from app.classes.federation.lti.tool import Tool
    except ModuleNotFoundError as error:
        raise UnavailableError(MISSING, str(error)) from error
    found = getattr(state, "tool", None)
    if not isinstance(found, Tool):
        found = Tool(site.settings, site.engine)
        state.tool = found  # type: ignore[attr-defined]  # the state of an application
    return found


def refused_launch(request: Request, error: AppError, again: tuple[tuple[str, str], ...] = ()) -> Response:
    """The page that says why a launch was refused: in a frame of any platform."""
    if isinstance(error, UnavailableError):
        note_trouble(request, error, error.cause)
    let_anyone_frame(request)
    status = 503 if isinstance(error, UnavailableError) else 400
    heading = translate(_FAILS if status == 503 else _REFUSED)  # noqa: PLR2004
    page = TroubleInFrame(heading=heading, says=sentence(str(error)), again=again)
    return render("lti/refused.html", frame(request, heading), page, status)


router = Router(prefix="/lti")
_MOST = 50  # assignments that are added at once


@dataclass(frozen=True, slots=True)
class LinkOffer:
    """An assignment, or a chapter that would become one."""

    value: str
    title: str
    count: int


@dataclass(frozen=True, slots=True)
class Wishes:
    """What a teacher chose: assignments, chapters to make new ones of, the zone of a new class."""

    assignments: tuple[int, ...]
    chapters: tuple[Topic, ...]
    zone: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoosePage:
    """What a teacher may add to the course; *problem*: why the last choice was not one."""

    course: str
    several: bool
    assignments: tuple[LinkOffer, ...]
    chapters: tuple[LinkOffer, ...]
    ticket: str
    window: str
    problem: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReturnPage:
    """The form that brings the choice to the platform; a script sends it at once."""

    address: str
    token: str
    titles: tuple[str, ...]


@router.post("/choose", dependencies=[FromHere])
async def choose_links(
    request: Request,
    site: Here,
    ticket: Annotated[str, Form()] = "",
    assignment: Annotated[tuple[int, ...], Form()] = (),
    chapter: Annotated[tuple[str, ...], Form()] = (),
    again: Annotated[str, Form()] = "",
    zone: Annotated[str, Form()] = "",
) -> Response:
    """Add the chosen assignments to the course; *again*: only show the list as it is now."""
    try:
        launch = unseal_launch(site.secret, ticket, CHOICE_LIFE)
        if again:
            return await show_exercise_choice(request, site, launch)
        try:
            topics = tuple(site.catalog.topic(name) for name in chapter)
            wishes = Wishes(assignment, topics, zone)
            chosen = await aside(_chosen, site, launch, ticket, wishes)
        except InputError as problem:
            return await show_exercise_choice(request, site, launch, str(problem))
        token = await aside(tool_in(request).choice, launch, chosen)
    except AppError as problem:
        return refused_launch(request, problem)
    let_frame(request, launch.origins)
    let_post(request, [launch.answer_to])
    titles = tuple(one.title for one in chosen)
    page = ReturnPage(address=launch.answer_to, token=token, titles=titles)
    return render("lti/return.html", frame(request, translate("Adding to your course")), page)


async def show_exercise_choice(request: Request, site: Site, launch: Launch, problem: str = "") -> Response:
    """The page on which a teacher chooses."""
    own = await ask_database(site, _assignments, launch)
    page = ChoosePage(
        course=launch.title or translate("your course"),
        several=launch.several,
        assignments=tuple(LinkOffer(str(one.id), one.title, one.length) for one in own),
        chapters=tuple(LinkOffer(topic.id, topic.title, len(topic.exercises)) for topic in site.catalog.topics),
        ticket=seal_ticket(site.secret, launch),
        window=seal_ticket(site.secret, launch),
        problem=problem,
    )
    let_frame(request, launch.origins)
    status = 422 if problem else 200
    return render("lti/choose.html", frame(request, translate("Choose assignments")), page, status)


def _assignments(session: Session, launch: Launch) -> Sequence[Assignment]:
    class_id = class_of(session, launch)
    return assignments_of(session, class_id) if class_id else ()


def _chosen(site: Site, launch: Launch, ticket: str, wishes: Wishes) -> Sequence[Assignment]:
    """The assignments that were chosen; those of chapters are made."""
    count = len(wishes.assignments) + len(wishes.chapters)
    most = _MOST if launch.several else 1
    if not 0 < count <= most:
        if most == 1:
            asked = translate("an assignment")
        else:
            asked = translate("at least one assignment, and at most {most}", most=most)
        raise InputError(translate("choose {asked}: {count} were chosen", asked=asked, count=count))
    with open_writing_session(site.engine) as session:
        own = {one.id for one in _assignments(session, launch)}
        if not set(wishes.assignments) <= own:
            raise InputError(translate("an assignment was deleted in the meantime; choose again"))
        use_once(session, ticket, CHOICE_LIFE)
        if class_of(session, launch) is None:
            tie(session, launch, new_class(session, site.secret, launch, wishes.zone))
        arrival = enroll_launch(session, launch)
        made = [_made(session, arrival.class_id, topic) for topic in wishes.chapters]
        session.commit()
        return [assignment_with(session, number) for number in (*wishes.assignments, *made)]


def _made(session: Session, class_id: int, topic: Topic) -> int:
    """The number of a new assignment of all exercises of a chapter, a point each."""
    policy = Policy(zone=zone_named(class_with(session, class_id).zone))
    entries = [AssignmentEntry(exercise.id, 1.0) for exercise in topic.exercises]
    return create_assignment(session, class_id, topic.title[:NAME_LIMIT], policy, entries)
