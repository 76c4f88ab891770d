"""/classes/ID/assignments/new, /assignments/ID/edit: exercises, dates and rules."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated
from zoneinfo import ZoneInfo

from fastapi import APIRouter, Form, Request, Response
from fastapi.responses import PlainTextResponse, RedirectResponse

from app.db.session import open_session, open_writing_session
from app.errors import InputError, NotFoundError, sentence
from app.network.routes import LazyRoute
from app.people.assignments import (
    MOST_EXERCISES,
    Assignment,
    change_assignment,
    create_assignment,
    delete_assignment,
)
from app.people.classes import Role, members_of
from app.people.overview import turnouts
from app.site import Here, Site
from app.web.frame.aside import aside
from app.web.frame.rendering import Hyperlink, frame, render
from app.web.frame.visitor import FromHere, Visiting
from app.web.people.assignment_form import (
    AssignmentForm,
    FormError,
    Read,
    date_words,
    form_of,
    new_form,
    read,
    sent_form,
    words_of,
)
from app.web.people.choosing import Chapter, chapters_of, path_points
from app.web.people.guard import Membership, in_assignment, in_class
from app.web.people.head import ClassHead, assignment_url, class_url, head_of
from app.web.people.settings import refuse_other_name

router = APIRouter(route_class=LazyRoute)
_FIELDS = 4 * MOST_EXERCISES + 4_000  # at most in a form: two for each exercise of the site


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignmentPage:
    """The form of an assignment; *begun*: students who have answered some of it already."""

    head: ClassHead
    heading: str
    action: str
    form: AssignmentForm
    words: Mapping[str, str]
    chapters: tuple[Chapter, ...]
    paths: tuple[Hyperlink, ...] = ()
    problems: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    stored: bool = False
    begun: int = 0


@router.get("/classes/{class_id:int}/assignments/new")
async def new(
    request: Request, site: Here, visiting: Visiting, class_id: int, chapter: str = ""
) -> Response:
    """The form of a new assignment; with the path of a *chapter*, if one is named."""
    member = await in_class(request, site, visiting, class_id, Role.TEACHER)
    form = new_form(ZoneInfo(member.row.zone), site.clock())
    if chapter:
        topic = site.catalog.topic(chapter)
        form = replace(form, title=topic.title, points=path_points(topic))
    return await aside(_shown, request, site, member, None, form)


@router.post("/classes/{class_id:int}/assignments/new", dependencies=[FromHere])
async def make(request: Request, site: Here, visiting: Visiting, class_id: int) -> Response:
    """Make an assignment."""
    member = await in_class(request, site, visiting, class_id, Role.TEACHER)
    return await _take(request, site, member, None)


@router.get("/assignments/{assignment:int}/edit")
async def edit(request: Request, site: Here, visiting: Visiting, assignment: int) -> Response:
    """The form of an assignment."""
    member, stored = await in_assignment(request, site, visiting, assignment, Role.TEACHER)
    return await aside(_shown, request, site, member, stored, form_of(stored))


@router.post("/assignments/{assignment:int}/edit", dependencies=[FromHere])
async def change(request: Request, site: Here, visiting: Visiting, assignment: int) -> Response:
    """Change an assignment."""
    member, stored = await in_assignment(request, site, visiting, assignment, Role.TEACHER)
    return await _take(request, site, member, stored)


@router.post("/assignments/{assignment:int}/delete", dependencies=[FromHere])
async def delete(
    request: Request,
    site: Here,
    visiting: Visiting,
    assignment: int,
    sure: Annotated[str, Form()] = "",
) -> Response:
    """Delete an assignment, once its title is typed."""
    member, stored = await in_assignment(request, site, visiting, assignment, Role.TEACHER)
    refuse_other_name(sure, stored.title)
    await aside(_delete, site, assignment)
    return RedirectResponse(class_url(member.class_id), 303)


@router.get("/classes/{class_id:int}/date")
async def date(
    request: Request, site: Here, visiting: Visiting, class_id: int, at: str = "", ends: str = ""
) -> Response:
    """A date that is being typed, in words."""
    member = await in_class(request, site, visiting, class_id, Role.ASSISTANT)
    zone = ZoneInfo(member.row.zone)
    return PlainTextResponse(date_words(at, zone, site.clock(), ends=ends == "yes"))


async def _take(
    request: Request, site: Site, member: Membership, stored: Assignment | None
) -> Response:
    """Store what was sent; show it again, if it has a problem or a date needs to be confirmed."""
    async with request.form(max_fields=_FIELDS) as sent:
        form = sent_form(sent)
        told = str(sent.get("told", ""))
    try:
        found = read(form, ZoneInfo(member.row.zone), stored.policy if stored else None)
        if "\n".join(found.notes) != "\n".join(told.split("\r\n")):
            return await aside(_shown, request, site, member, stored, form, {}, found.notes)
        await aside(_store, site, member.class_id, stored, found)
    except FormError as error:
        return await aside(_shown, request, site, member, stored, form, error.problems)
    except InputError as error:
        problems = {"exercises": sentence(str(error))}
        return await aside(_shown, request, site, member, stored, form, problems)
    return RedirectResponse(class_url(member.class_id), 303)


def _store(site: Site, class_id: int, stored: Assignment | None, found: Read) -> None:
    gone = [one.exercise for one in found.entries if one.exercise not in site.catalog.by_id]
    if unknown := set(gone) - {one.exercise for one in (stored.entries if stored else ())}:
        raise NotFoundError(f"no exercise is called {min(unknown)[:200]!r}")
    with open_writing_session(site.engine) as session:
        given = (found.title, found.policy, found.entries)
        if stored:
            change_assignment(session, stored.id, *given)
        else:
            create_assignment(session, class_id, *given)
        session.commit()


def _delete(site: Site, assignment: int) -> None:
    with open_writing_session(site.engine) as session:
        delete_assignment(session, assignment)
        session.commit()


def _shown(
    request: Request,
    site: Site,
    member: Membership,
    stored: Assignment | None,
    form: AssignmentForm,
    problems: Mapping[str, str] | None = None,
    notes: tuple[str, ...] = (),
) -> Response:
    new_url = f"{class_url(member.class_id)}/assignments/new"
    heading = stored.title if stored else "New assignment"
    paths = [
        Hyperlink(f"{new_url}?chapter={topic.id}", topic.title) for topic in site.catalog.topics
    ]
    page = AssignmentPage(
        head=head_of(member, "Assignments"),
        heading=heading,
        action=f"{assignment_url(stored.id)}/edit" if stored else new_url,
        form=form,
        words=words_of(form, ZoneInfo(member.row.zone), site.clock()),
        chapters=chapters_of(site.catalog, form.points),
        paths=() if stored else tuple(paths),
        problems=problems or {},
        notes=notes,
        stored=stored is not None,
        begun=_begun(site, member, stored) if stored else 0,
    )
    around = frame(request, heading, here="classes")
    return render("people/assignment.html", around, page, 422 if problems else 200)


def _begun(site: Site, member: Membership, stored: Assignment) -> int:
    with open_session(site.engine) as session:
        members = members_of(session, member.class_id)
        return turnouts(session, site.secret, [stored], members)[stored.id].begun
