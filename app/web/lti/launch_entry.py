"""What a launch opens in its own window: first which class and assignment it is, if need be."""

from dataclasses import dataclass
from zoneinfo import available_timezones

from fastapi import Request, Response
from fastapi.responses import RedirectResponse
from sqlmodel import Session

from app.aside import aside
from app.db.session import open_writing_session
from app.errors import NotFoundError, RefusedError
from app.federation.lti.enrollment import (
    Arrival,
    check_tied,
    class_of,
    doubt_of,
    enroll_launch,
    name_link,
    new_class,
    tie,
    unite,
)
from app.federation.lti.launch_message import Launch
from app.federation.lti.tickets import seal_ticket
from app.people.assignments import assignments_of
from app.people.classes import Role, classes_of, number_of, role_in
from app.people.persons import open_browser
from app.site import Site
from app.translation import noted, plural, translate
from app.web.frame.renderer import frame, render
from app.web.frame.visitor import Visitor, sign_in

_CLASS, _ASSIGNMENT, _NEW, _NONE = "class:", "assignment:", "class:new", "assignment:none"
_SAME, _OTHER = "person:same", "person:other"
_SIGN_IN = noted(" To choose a class that you have here already, sign in here first.")


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
    """

    heading: str
    lead: str
    options: tuple[LaunchTarget, ...]
    ticket: str
    zones: tuple[str, ...] = ()
    suggests: bool = True


@dataclass(frozen=True, slots=True)
class Said:
    """What a teacher answered: the candidate, and the time zone of a new class."""

    chosen: str = ""
    zone: str = ""


async def entered(
    request: Request, site: Site, visiting: Visitor, launch: Launch, said: Said
) -> Response:
    """The response to a launch in its own window: a question, or the way to its assignment.

    Raises:
        RefusedError: the course is not set up, or the platform is not active anymore.
    """
    found, cookie = await aside(_entered, site, visiting, launch, said)
    response: Response
    if isinstance(found, AskPage):
        response = render("lti/ask.html", frame(request, found.heading), found)
    else:
        response = RedirectResponse(found, 303)
    if cookie:
        sign_in(request, response, cookie)
    return response


def _entered(
    site: Site, visiting: Visitor, launch: Launch, said: Said
) -> tuple[AskPage | str, str]:
    """A question, or the address to go to; and the cookie of a new session, if there is one."""
    before = visiting.person.person if visiting.person else None
    with open_writing_session(site.engine) as session:
        if class_of(session, launch) is None and launch.teaches:
            if not said.chosen.startswith(_CLASS):
                return _which_class(session, site, launch, before), ""
            _tie(session, site, launch, said, before)
        class_id = check_tied(session, launch)
        if before is not None and said.chosen == _SAME:
            unite(session, launch, class_id, before)
        elif said.chosen != _OTHER and before and doubt_of(session, launch, class_id, before):
            return _which_person(site, visiting, launch), ""
        arrival = enroll_launch(session, launch)
        found = _opened(session, launch, arrival, said.chosen)
        cookie = "" if before == arrival.person else open_browser(session, arrival.person)
        session.commit()
        return found or _which_assignment(session, site, launch, arrival), cookie


def _opened(session: Session, launch: Launch, arrival: Arrival, chosen: str) -> str | None:
    """The address of what a link opens; None if its teacher has to say what it is."""
    assignment = arrival.assignment
    asks = launch.teaches and launch.link and chosen != _NONE
    if asks and chosen.startswith(_ASSIGNMENT):
        assignment = _number(chosen)
        name_link(session, launch, arrival.class_id, assignment)
    elif asks and not assignment and assignments_of(session, arrival.class_id):
        return None
    return f"/assignments/{assignment}" if assignment else f"/classes/{arrival.class_id}"


def _which_class(session: Session, site: Site, launch: Launch, person: int | None) -> AskPage:
    """The question which class a course is: a new one, or one that the teacher has here."""
    own = classes_of(session, person) if person is not None else ()
    options = [
        LaunchTarget(
            _NEW, translate("A new class: {title}", title=launch.title or translate("A course"))
        )
    ]
    options += [
        LaunchTarget(f"{_CLASS}{number_of(row)}", row.name, translate("you teach it here"))
        for row, role in own
        if role is Role.TEACHER and row.archived is None and not row.demo
    ]
    return AskPage(
        heading=translate("Which class is this course?"),
        lead=translate(
            "You are asked once. From then on, everyone who opens a link of the course is in this "
            "class, and their points go back to the course."
        )
        + ("" if person else translate(_SIGN_IN)),
        options=tuple(options),
        ticket=seal_ticket(site.secret, launch),
        zones=tuple(sorted(available_timezones())),
    )


def _which_person(site: Site, visiting: Visitor, launch: Launch) -> AskPage:
    """The question whether the one who opened a launch is the one who is signed in here."""
    here = visiting.person.name if visiting.person else ""
    name = here or translate("someone without a name")
    other = launch.name or translate("someone else")
    return AskPage(
        heading=translate("Is this you?"),
        lead=translate(
            "This browser is signed in as {name}. Your learning platform calls you {other}.",
            name=name,
            other=other,
        ),
        options=(
            LaunchTarget(
                _SAME,
                translate("Yes, both are me"),
                translate("answers and points are kept together from now on"),
            ),
            LaunchTarget(
                _OTHER,
                translate("No, I am {other}", other=other),
                translate("{name} is signed out in this browser", name=name),
            ),
        ),
        ticket=seal_ticket(site.secret, launch),
        suggests=False,
    )


def _tie(session: Session, site: Site, launch: Launch, said: Said, person: int | None) -> None:
    if said.chosen == _NEW:
        tie(session, launch, new_class(session, site.secret, launch, said.zone))
        return
    class_id = _number(said.chosen)
    if role_in(session, class_id, person) is not Role.TEACHER:
        raise NotFoundError(translate("there is no such class, or you do not teach it"))
    tie(session, launch, class_id, person)


def _which_assignment(session: Session, site: Site, launch: Launch, arrival: Arrival) -> AskPage:
    """The question what a link opens that does not say it."""
    options = [
        LaunchTarget(
            f"{_ASSIGNMENT}{one.id}",
            one.title,
            plural("{number} exercise", "{number} exercises", len(one.entries)),
        )
        for one in assignments_of(session, arrival.class_id)
    ]
    return AskPage(
        heading=translate("Which assignment does this link open?"),
        lead=f"The link {launch.link_title!r} of your course does not say. You are asked once; "
        "students go where you say now.",
        options=(
            *options,
            LaunchTarget(_NONE, translate("None: the page of the class, this time")),
        ),
        ticket=seal_ticket(site.secret, launch),
    )


def _number(chosen: str) -> int:
    digits = chosen.rpartition(":")[2]
    if not (digits.isascii() and digits.isdecimal() and len(digits) < len(str(2**63))):
        raise RefusedError(translate("choose one of those that are listed"))
    return int(digits)
