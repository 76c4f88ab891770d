"""What a launch leads to: links that a teacher chooses, or the class and assignment of one; asked first, if need be."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlencode

from fastapi import Form, Request, Response
from fastapi.responses import RedirectResponse
from sqlmodel import Session

from app.classes.federation.lti import enrollment, launch_message
from app.classes.federation.lti.launch_message import Launch
from app.classes.federation.lti.platforms import identities_of
from app.classes.members import sign_in, site_members
from app.classes.pages.class_router import ask_database
from app.classes.people.assignment_copies import weeks_to
from app.classes.people.assignments import (
    Assignment,
    AssignmentEntry,
    assignment_with,
    assignments_of,
    create_assignment,
)
from app.classes.people.classes import Role, class_with, classes_of, number_of, role_in, time_zones, zone_named
from app.classes.people.merges import waiting_merges
from app.classes.people.persons import known_person, open_browser, show_identity
from app.classes.people.policy import Policy
from app.core.errors import AppError, InputError, NotFoundError, UnavailableError, input_error, refused_error, sentence
from app.core.translation import noted, plural, translate
from app.course.content.catalog import Topic
from app.server.aside import aside
from app.server.db.people import ClassRow
from app.server.db.session import open_writing_session
from app.server.db.tables import NAME_LIMIT
from app.server.network.door import note_trouble
from app.server.network.response_policy import let_anyone_frame, let_frame, let_post
from app.server.network.routes import Router
from app.site import Here, Site, site_in
from app.site.members import SignedIn
from app.site.web.frame.renderer import frame, render
from app.site.web.frame.visitor import FromHere, Visitor

if TYPE_CHECKING:
    from app.classes.federation.lti.tool import Tool


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
    return site_members(site_in(request)).federation.tool


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


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoosePage:
    """What a teacher may add to the course; *problem*: why the last choice was not one."""

    course: str
    several: bool
    assignments: tuple[Assignment, ...]
    chapters: tuple[Topic, ...]
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
        launch = launch_message.unseal_launch(site.secret, ticket, launch_message.CHOICE_LIFE)
        if again:
            return await show_exercise_choice(request, site, launch)
        try:
            topics = tuple(site.catalog.topic(name) for name in chapter)
            chosen = await aside(_chosen, site, launch, ticket, assignment, topics, zone)
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
        assignments=tuple(own),
        chapters=tuple(site.catalog.topics),
        ticket=launch_message.seal_ticket(site.secret, launch),
        window=launch_message.seal_ticket(site.secret, launch),
        problem=problem,
    )
    let_frame(request, launch.origins)
    status = 422 if problem else 200
    return render("lti/choose.html", frame(request, translate("Choose assignments")), page, status)


def _assignments(session: Session, launch: Launch) -> Sequence[Assignment]:
    class_id = enrollment.class_of(session, launch)
    return assignments_of(session, class_id) if class_id else ()


def _chosen(
    site: Site, launch: Launch, ticket: str, assignments: Sequence[int], chapters: Sequence[Topic], zone: str
) -> Sequence[Assignment]:
    """The assignments that were chosen; those of chapters are made."""
    count = len(assignments) + len(chapters)
    most = _MOST if launch.several else 1
    if not 0 < count <= most:
        if most == 1:
            asked = translate("an assignment")
        else:
            asked = translate("at least one assignment, and at most {most}", most=most)
        raise input_error("choose {asked}: {count} were chosen", asked=asked, count=count)
    with open_writing_session(site.engine) as session:
        own = {one.id for one in _assignments(session, launch)}
        if not set(assignments) <= own:
            raise input_error("an assignment was deleted in the meantime; choose again")
        launch_message.use_once(session, ticket, launch_message.CHOICE_LIFE)
        if enrollment.class_of(session, launch) is None:
            enrollment.tie(session, launch, enrollment.new_class(session, site.secret, launch, zone))
        arrival = enrollment.enroll_launch(session, launch)
        made = [_made(session, arrival.class_id, topic) for topic in chapters]
        session.commit()
        return [assignment_with(session, number) for number in (*assignments, *made)]


def _made(session: Session, class_id: int, topic: Topic) -> int:
    """The number of a new assignment of all exercises of a chapter, a point each."""
    policy = Policy(zone=zone_named(class_with(session, class_id).zone))
    entries = [AssignmentEntry(exercise.id, 1.0) for exercise in topic.exercises]
    return create_assignment(session, class_id, topic.title[:NAME_LIMIT], policy, entries)


_CLASS, _ASSIGNMENT, _NEW, _NONE = "class:", "assignment:", "class:new", "assignment:none"
_COPY = "copy:"  # the assignments of a class, for a course that its platform copied
_SAME, _OTHER = "person:same", "person:other"


@dataclass(frozen=True, slots=True)
class LaunchTarget:
    """A class or an assignment to choose."""

    value: str
    text: str
    says: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskPage:
    """A question that is answered once; the *ticket* leads on.

    *zones* are those that a new class may have. With *suggests*, the first answer is chosen.
    *weeks* are suggested, by which the dates of copies are moved; None: nothing can be copied.
    """

    heading: str
    lead: str
    options: tuple[LaunchTarget, ...]
    ticket: str
    zones: tuple[str, ...] = ()
    suggests: bool = True
    weeks: int | None = None


@dataclass(frozen=True, slots=True)
class TeacherChoice:
    """What a teacher answered: the candidate, the time zone of a new class, the weeks of copies."""

    chosen: str = ""
    zone: str = ""
    weeks: int = 0


async def answer_launch(
    request: Request, site: Site, visiting: Visitor, launch: Launch, said: TeacherChoice
) -> Response:
    """The response to a launch in its own window: a question, or the way to its assignment."""
    found, cookie = await aside(_entered, site, visiting, launch, said)
    response: Response
    if isinstance(found, AskPage):
        response = render("lti/ask.html", frame(request, found.heading), found)
    else:
        response = RedirectResponse(found, 303)
    if cookie:
        sign_in(request, response, cookie)
    return response


def _entered(site: Site, visiting: Visitor, launch: Launch, said: TeacherChoice) -> tuple[AskPage | str, str]:
    """A question, or the address to go to; and the cookie of a new session, if there is one."""
    here = visiting.person
    before = here.person if here else None
    with open_writing_session(site.engine) as session:
        if enrollment.class_of(session, launch) is None and not launch.role:
            raise refused_error(enrollment.NO_ROLE)
        if enrollment.class_of(session, launch) is None and launch.teaches:
            if not said.chosen.startswith((_CLASS, _COPY)):
                return _which_class(session, site, launch, before), ""
            _tie(session, site, launch, said, here)
            session.commit()  # also if something else is asked now
        class_id = enrollment.check_tied(session, launch)
        if here is not None and said.chosen == _SAME:
            enrollment.unite(session, launch, class_id, here)
        elif said.chosen != _OTHER and here and enrollment.doubt_of(session, launch, class_id, here):
            return _which_person(site, visiting, launch), ""
        arrival = enrollment.enroll_launch(session, launch, here.browser if here else "")
        found = _opened(session, site, launch, arrival, said)
        whose = arrival.person, identities_of(launch.platform), launch.subject
        shown = here is not None and show_identity(session, here.browser, *whose)
        cookie = "" if shown else open_browser(session, *whose)
        session.commit()
        if found and waiting_merges(session, arrival.person):
            found = f"/me/merges?{urlencode({'next': found})}"
        return found or _which_assignment(session, site, launch, arrival), cookie


def _opened(
    session: Session, site: Site, launch: Launch, arrival: enrollment.Arrival, said: TeacherChoice
) -> str | None:
    """The address of what a link opens; None if its teacher has to say what it is."""
    assignment, class_id = arrival.assignment, arrival.class_id
    asks = launch.teaches and launch.link and said.chosen != _NONE
    if asks and said.chosen.startswith(_ASSIGNMENT):
        assignment = _chosen_weeks(said.chosen)
        enrollment.name_link(session, launch, class_id, assignment)
    elif asks and not assignment:
        before = launch_message.classes_before(session, launch, [arrival.person], class_id)
        if said.chosen.startswith(_COPY):
            _copy(session, site, said, before, class_id)
            assignment = enrollment.enroll_launch(session, launch).assignment
        elif before or assignments_of(session, class_id):
            return None
    return f"/assignments/{assignment}" if assignment else f"/classes/{arrival.class_id}"


def _which_class(session: Session, site: Site, launch: Launch, person: int | None) -> AskPage:
    """The question which class a course is: a new one, or one that the teacher has here."""
    own = classes_of(session, person) if person is not None else ()
    copies, weeks = _copies(
        session, site, launch_message.classes_before(session, launch, _who(session, launch, person))
    )
    options = [
        *copies,
        LaunchTarget(_NEW, translate("A new class: {title}", title=launch.title or translate("A course"))),
    ]
    options += [
        LaunchTarget(f"{_CLASS}{number_of(row)}", row.name, translate("you teach it here"))
        for row, role in own
        if role is Role.TEACHER and row.archived is None
    ]
    return AskPage(
        heading=translate("Which class is this course?"),
        lead=translate(
            "You are asked once. From then on, everyone who opens a link of the course is in this "
            "class, and their points go back to the course."
        )
        + ("" if person else translate(" To choose a class that you have here already, sign in here first.")),
        options=tuple(options),
        ticket=launch_message.seal_ticket(site.secret, launch),
        zones=time_zones(),
        weeks=weeks,
    )


def _copies(session: Session, site: Site, before: Sequence[ClassRow]) -> tuple[list[LaunchTarget], int | None]:
    """The offers to copy what was assigned *before*, and by how many weeks to move the dates."""
    today = site.clock().date()
    offers, weeks = [], None
    for row in before:
        found = launch_message.copyable_assignments(session, number_of(row), site.catalog.by_id)
        weeks = max(0, weeks_to(found, today)) if weeks is None else weeks
        says = plural(
            "Copy the {number} assignment of {name}",
            "Copy the {number} assignments of {name}",
            len(found),
            name=row.name,
        )
        old = translate("the links of this course open the copies")
        offers.append(LaunchTarget(f"{_COPY}{number_of(row)}", says, old))
    return offers, weeks


def _who(session: Session, launch: Launch, person: int | None) -> Collection[int]:
    """The persons who the one who opened a launch is here."""
    known = known_person(session, identities_of(launch.platform), launch.subject)
    return {one for one in (person, known.id if known else None) if one is not None}


def _copy(session: Session, site: Site, said: TeacherChoice, before: Sequence[ClassRow], class_id: int) -> None:
    """Copy the chosen one of the classes *before* into another class."""
    source = _chosen_weeks(said.chosen)
    if source not in {number_of(row) for row in before}:
        raise NotFoundError(translate("you do not teach a class with this number"))
    launch_message.copy_course(session, source, class_id, said.weeks, site.catalog.by_id)


def _which_person(site: Site, visiting: Visitor, launch: Launch) -> AskPage:
    """The question whether the one who opened a launch is the one who is signed in here."""
    here = visiting.person.name if visiting.person else ""
    name = here or translate("someone without a name")
    other = launch.name or translate("someone else")
    return AskPage(
        heading=translate("Is this you?"),
        lead=translate(
            "This browser is signed in as {name}. Your learning platform calls you {other}.", name=name, other=other
        ),
        options=(
            LaunchTarget(
                _SAME, translate("Yes, both are me"), translate("answers and points are kept together from now on")
            ),
            LaunchTarget(
                _OTHER,
                translate("No, I am {other}", other=other),
                translate("{name} is signed out in this browser", name=name),
            ),
        ),
        ticket=launch_message.seal_ticket(site.secret, launch),
        suggests=False,
    )


def _tie(session: Session, site: Site, launch: Launch, said: TeacherChoice, here: SignedIn | None) -> None:
    person = here.person if here else None
    if said.chosen == _NEW:
        enrollment.tie(session, launch, enrollment.new_class(session, site.secret, launch, said.zone))
        return
    class_id = _chosen_weeks(said.chosen)
    if said.chosen.startswith(_COPY):
        before = launch_message.classes_before(session, launch, _who(session, launch, person))
        like = next((row for row in before if number_of(row) == class_id), None)
        made = enrollment.new_class(session, site.secret, launch, said.zone, like)
        _copy(session, site, said, before, made)
        teaches = role_in(session, class_id, person) is Role.TEACHER
        enrollment.tie(session, launch, made, here if teaches else None)
        return
    if role_in(session, class_id, person) is not Role.TEACHER:
        raise NotFoundError(translate("you do not teach a class with this number"))
    enrollment.tie(session, launch, class_id, here)


def _which_assignment(session: Session, site: Site, launch: Launch, arrival: enrollment.Arrival) -> AskPage:
    """The question what a link opens that does not say it."""
    before = launch_message.classes_before(session, launch, [arrival.person], arrival.class_id)
    copies, weeks = _copies(session, site, before)
    options = [
        LaunchTarget(f"{_ASSIGNMENT}{one.id}", one.title, plural("{number} exercise", "{number} exercises", one.length))
        for one in assignments_of(session, arrival.class_id)
    ]
    return AskPage(
        heading=translate("Which assignment does this link open?"),
        lead=f"The link {launch.link_title!r} of your course does not say. You are asked once; "
        "students go where you say now.",
        options=(*copies, *options, LaunchTarget(_NONE, translate("None: the page of the class, this time"))),
        ticket=launch_message.seal_ticket(site.secret, launch),
        weeks=weeks,
    )


def _chosen_weeks(chosen: str) -> int:
    digits = chosen.rpartition(":")[2]
    if not (digits.isascii() and digits.isdecimal() and len(digits) < len(str(2**63))):
        raise refused_error("choose one of those that are listed")
    return int(digits)
