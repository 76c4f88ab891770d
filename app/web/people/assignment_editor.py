"""/classes/ID/assignments/new, /assignments/ID/edit: exercises, dates and rules."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated
from zoneinfo import ZoneInfo

from fastapi import Form, Request, Response
from fastapi.responses import PlainTextResponse, RedirectResponse

from app.aside import aside
from app.db.session import open_session, open_writing_session
from app.errors import InputError, NotFoundError, sentence
from app.network.routes import Router
from app.people.activity import turnouts
from app.people.assignments import (
    MOST_EXERCISES,
    Assignment,
    assignment_to_change,
    change_assignment,
    create_assignment,
    delete_assignment,
    entries_in_pools,
)
from app.people.classes import Role, members_of
from app.people.deletion import refuse_other_name
from app.site import Here, Site
from app.translation import translate
from app.web.frame.renderer import Hyperlink, frame, render
from app.web.frame.visitor import FromHere, Visiting
from app.web.people.assignment_form import (
    AssignmentForm,
    FormError,
    Read,
    assignment_form_of,
    date_words,
    form_dates_in_words,
    new_assignment_form,
    parse_form,
    sent_form,
)
from app.web.people.class_head import ClassHead, assignment_url, class_head, class_url
from app.web.people.edit_conflicts import Meanwhile, changes, merge_edits, same, seen_form, seen_text
from app.web.people.exercise_picker import PickerChapter, PlacedExercise, chapters_of, path_points, picked_in_order
from app.web.people.guard import Membership, in_assignment, in_class

router = Router()
_FIELDS = 4 * MOST_EXERCISES + 4_000  # at most in a form: two for each exercise of the site


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignmentEditorPage:
    """The form of an assignment; *begun*: students who have answered some of it already.

    *seen*: what the form was made from; *meanwhile*: what was stored since.
    """

    head: ClassHead
    heading: str
    action: str
    form: AssignmentForm
    words: Mapping[str, str]
    chapters: tuple[PickerChapter, ...]
    paths: tuple[Hyperlink, ...] = ()
    problems: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    in_order: tuple[PlacedExercise, ...] = ()
    stored: bool = False
    begun: int = 0
    seen: str = ""
    meanwhile: tuple[Meanwhile, ...] = ()


@dataclass(frozen=True, slots=True)
class _Draft:
    """What someone is typing, what it was made from, and what is to be said about it."""

    form: AssignmentForm
    seen: AssignmentForm | None = None
    problems: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    meanwhile: tuple[Meanwhile, ...] = ()


@router.get("/classes/{class_id:int}/assignments/new")
async def new(request: Request, site: Here, visiting: Visiting, class_id: int, chapter: str = "") -> Response:
    """The form of a new assignment; with the path of a *chapter*, if one is named."""
    member = await in_class(request, site, visiting, class_id, Role.TEACHER)
    form = new_assignment_form(ZoneInfo(member.row.zone), site.clock())
    if chapter:
        topic = site.catalog.topic(chapter)
        form = replace(form, title=topic.title, points=path_points(topic))
    return await aside(_shown_assignment_editor, request, site, member, None, _Draft(form))


@router.post("/classes/{class_id:int}/assignments/new", dependencies=[FromHere])
async def submit_new_assignment(request: Request, site: Here, visiting: Visiting, class_id: int) -> Response:
    """Make an assignment."""
    member = await in_class(request, site, visiting, class_id, Role.TEACHER)
    return await _take(request, site, member, None)


@router.get("/assignments/{assignment:int}/edit")
async def edit_assignment(request: Request, site: Here, visiting: Visiting, assignment: int) -> Response:
    """The form of an assignment."""
    member, stored = await in_assignment(request, site, visiting, assignment, Role.TEACHER)
    return await aside(_shown_assignment_editor, request, site, member, stored, _Draft(assignment_form_of(stored)))


@router.post("/assignments/{assignment:int}/edit", dependencies=[FromHere])
async def save_assignment(request: Request, site: Here, visiting: Visiting, assignment: int) -> Response:
    """Change an assignment."""
    member, stored = await in_assignment(request, site, visiting, assignment, Role.TEACHER)
    return await _take(request, site, member, stored)


@router.post("/assignments/{assignment:int}/delete", dependencies=[FromHere])
async def delete_assignment_for_good(
    request: Request, site: Here, visiting: Visiting, assignment: int, sure: Annotated[str, Form()] = ""
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


async def _take(request: Request, site: Site, member: Membership, stored: Assignment | None) -> Response:
    """Store what was sent; show it again, if it has a problem or something to be confirmed."""
    async with request.form(max_fields=_FIELDS) as sent:
        form = sent_form(sent)
        told, seen = str(sent.get("told", "")), str(sent.get("seen", ""))
    draft = _Draft(form)
    try:
        draft = replace(draft, seen=seen_form(seen) if seen and stored else None)
        if stored and draft.seen and not same(draft.seen, assignment_form_of(stored)):
            return await aside(_joined, request, site, member, stored, draft)
        found = parse_form(form, ZoneInfo(member.row.zone), stored.policy if stored else None)
        if "\n".join(found.notes) != "\n".join(told.split("\r\n")):
            draft = replace(draft, notes=found.notes)
        elif changed := await aside(_store, site, member.class_id, stored, found):
            draft = replace(draft, seen=assignment_form_of(stored) if stored else None)
            return await aside(_joined, request, site, member, changed, draft)
        else:
            return RedirectResponse(class_url(member.class_id), 303)
    except FormError as error:
        draft = replace(draft, problems=error.problems)
    except InputError as error:
        draft = replace(draft, problems={"exercises": sentence(str(error))})
    return await aside(_shown_assignment_editor, request, site, member, stored, draft)


def _store(site: Site, class_id: int, stored: Assignment | None, found: Read) -> Assignment | None:
    """Store the assignment; return it as it is now instead, if it is not as *stored* anymore."""
    gone = [one.exercise for one in found.entries if one.exercise not in site.catalog.by_id]
    if unknown := set(gone) - {one.exercise for one in (stored.entries if stored else ())}:
        raise NotFoundError(translate("no exercise is called {unknown!r}", unknown=min(unknown)[:200]))
    with open_writing_session(site.engine) as session:
        given = (found.title, found.policy, found.entries)
        if stored is None:
            create_assignment(session, class_id, *given)
        elif (now := assignment_to_change(session, stored.id)) != stored:
            return now
        else:
            entries, draws = entries_in_pools(found.entries, stored)
            change_assignment(session, stored.id, found.title, found.policy, entries, draws=draws)
        session.commit()
    return None


def _joined(request: Request, site: Site, member: Membership, now: Assignment, draft: _Draft) -> Response:
    """The form with what was stored in the meantime, and a list of that."""
    seen, theirs = draft.seen or draft.form, assignment_form_of(now)
    form = merge_edits(seen, draft.form, theirs)
    found = tuple(changes(site.catalog, seen, draft.form, theirs))
    return _shown_assignment_editor(request, site, member, now, _Draft(form, theirs, meanwhile=found))


def _delete(site: Site, assignment: int) -> None:
    with open_writing_session(site.engine) as session:
        delete_assignment(session, assignment)
        session.commit()


def _shown_assignment_editor(
    request: Request, site: Site, member: Membership, stored: Assignment | None, draft: _Draft
) -> Response:
    new_url = f"{class_url(member.class_id)}/assignments/new"
    heading, form = stored.title if stored else translate("New assignment"), draft.form
    paths = [Hyperlink(f"{new_url}?chapter={topic.id}", topic.title) for topic in site.catalog.topics]
    page = AssignmentEditorPage(
        head=class_head(member, "Assignments"),
        heading=heading,
        action=f"{assignment_url(stored.id)}/edit" if stored else new_url,
        form=form,
        words=form_dates_in_words(form, ZoneInfo(member.row.zone), site.clock()),
        chapters=chapters_of(site.catalog, form.points),
        paths=() if stored else tuple(paths),
        problems=draft.problems,
        notes=draft.notes,
        in_order=picked_in_order(site.catalog, form.points, form.unread),
        stored=stored is not None,
        begun=_begun(site, member, stored) if stored else 0,
        seen=seen_text(draft.seen or assignment_form_of(stored)) if stored else "",
        meanwhile=draft.meanwhile,
    )
    around = frame(request, heading, here="classes")
    return render("people/assignment.html", around, page, 422 if draft.problems else 200)


def _begun(site: Site, member: Membership, stored: Assignment) -> int:
    with open_session(site.engine) as session:
        members = members_of(session, member.class_id)
        return turnouts(session, site.secret, [stored], members)[stored.id].begun
