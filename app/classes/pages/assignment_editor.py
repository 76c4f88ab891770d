"""/classes/ID/assignments/new, /assignments/ID/edit: exercises, dates and rules."""

from collections.abc import Mapping
from dataclasses import dataclass

from fastapi import Response
from fastapi.responses import PlainTextResponse

from app.classes.pages.assignment_form import (
    AssignmentDraft,
    AssignmentForm,
    RuleField,
    TheirEdit,
    assignment_form_of,
    date_words,
    new_assignment_form,
    parse_form,
    rule_fields,
    their_edits,
)
from app.classes.pages.class_router import AssignmentVisit, ClassRouter, ClassVisit
from app.classes.pages.exercise_picker import PickerChapter, PlacedExercise, chapters_of, path_points, picked_in_order
from app.classes.pages.settings import SureForm
from app.classes.people.activity import turnouts
from app.classes.people.assignments import (
    Assignment,
    change_assignment,
    create_assignment,
    delete_assignment,
    entries_in_pools,
)
from app.classes.people.classes import Role, members_of
from app.classes.people.deletion import refuse_other_name
from app.core.errors import NotFoundError
from app.core.translation import translate
from app.site.web.frame.renderer import Hyperlink

router = ClassRouter("", "Assignments")
_NEW, _EDIT = "/classes/{class_id:int}/assignments/new", "/assignments/{assignment:int}/edit"


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignmentEditorPage:
    """The form of an assignment; *begun*: students who have answered some of it already.

    *notes* are to be confirmed. *theirs*: what someone else stored while this was typed.
    """

    heading: str
    action: str
    form: AssignmentForm
    words: Mapping[str, str]
    fields: Mapping[str, RuleField]
    chapters: tuple[PickerChapter, ...]
    in_order: tuple[PlacedExercise, ...]
    paths: tuple[Hyperlink, ...] = ()
    notes: tuple[str, ...] = ()
    stored: bool = False
    begun: int = 0
    theirs: tuple[TheirEdit, ...] = ()


@router.page(_NEW, "assignment")
def new_assignment_page(
    visit: ClassVisit, chapter: str = "", sent: AssignmentForm | None = None
) -> AssignmentEditorPage:
    """The form of a new assignment; with the path of a *chapter*, if one is named."""
    form = sent or new_assignment_form(visit.zone, visit.now)
    if chapter:
        topic = visit.site.catalog.topic(chapter)
        form = form.model_copy(update={"title": topic.title, "points": path_points(topic)})
    return _editor_page(visit, form)


@router.form(_NEW, new_assignment_page)
def submit_new_assignment(visit: ClassVisit, sent: AssignmentForm) -> str | AssignmentEditorPage:
    """Make an assignment."""
    found = parse_form(sent, visit.zone)
    if notes := _unconfirmed(sent, found):
        return _editor_page(visit, sent, notes=notes)
    _refuse_unknown(visit, found)
    create_assignment(visit.session, visit.class_id, found.title, found.policy, found.entries)
    return visit.class_href


@router.page(_EDIT, "assignment")
def edit_assignment_page(visit: AssignmentVisit, sent: AssignmentForm | None = None) -> AssignmentEditorPage:
    """The form of an assignment."""
    return _editor_page(visit, sent or assignment_form_of(visit.assignment), visit.assignment)


@router.form(_EDIT, edit_assignment_page)
def save_assignment(visit: AssignmentVisit, sent: AssignmentForm) -> str | AssignmentEditorPage:
    """Change an assignment; where someone else has done so meanwhile, that is shown first."""
    stored = visit.assignment
    if sent.seen not in ("", stored.version):
        form = sent.model_copy(update={"seen": stored.version})
        if theirs := tuple(their_edits(visit.site.catalog, sent, stored)):
            return _editor_page(visit, form, stored, theirs=theirs)
    found = parse_form(sent, visit.zone, stored.policy)
    if notes := _unconfirmed(sent, found):
        return _editor_page(visit, sent, stored, notes=notes)
    _refuse_unknown(visit, found, stored)
    entries, draws = entries_in_pools(found.entries, stored)
    change_assignment(visit.session, stored.id, found.title, found.policy, entries, draws=draws)
    return visit.class_href


@router.form("/assignments/{assignment:int}/delete", None)
def delete_assignment_for_good(visit: AssignmentVisit, sent: SureForm) -> str:
    """Delete an assignment, once its title is typed."""
    refuse_other_name(sent.sure, visit.assignment.title)
    delete_assignment(visit.session, visit.assignment.id)
    return visit.class_href


@router.page("/classes/{class_id:int}/date", "assignment", least=Role.ASSISTANT)
def typed_date(visit: ClassVisit, at: str = "", ends: str = "") -> Response:
    """A date that is being typed, in words."""
    return PlainTextResponse(date_words(at, visit.zone, visit.now, ends=ends == "yes"))


def _unconfirmed(sent: AssignmentForm, found: AssignmentDraft) -> tuple[str, ...]:
    """The notes of *found*, unless they were confirmed."""
    return found.notes if "\n".join(found.notes) != "\n".join(sent.told.split("\r\n")) else ()


def _refuse_unknown(visit: ClassVisit, found: AssignmentDraft, stored: Assignment | None = None) -> None:
    """Refuse exercises that the course does not have, and the assignment did not."""
    gone = {one.exercise for one in found.entries if one.exercise not in visit.site.catalog.by_id}
    if unknown := gone - {one.exercise for one in (stored.entries if stored else ())}:
        raise NotFoundError(translate("no exercise is called {unknown!r}", unknown=min(unknown)[:200]))


def _editor_page(
    visit: ClassVisit,
    form: AssignmentForm,
    stored: Assignment | None = None,
    *,
    notes: tuple[str, ...] = (),
    theirs: tuple[TheirEdit, ...] = (),
) -> AssignmentEditorPage:
    catalog, new = visit.site.catalog, f"{visit.class_href}/assignments/new"
    return AssignmentEditorPage(
        heading=stored.title if stored else translate("New assignment"),
        action=f"/assignments/{stored.id}/edit" if stored else new,
        form=form,
        words=form.words(visit.zone, visit.now),
        fields=rule_fields(form),
        chapters=chapters_of(catalog, form.points),
        in_order=picked_in_order(catalog, form.points, form.unread),
        paths=() if stored else tuple(Hyperlink(f"{new}?chapter={one.id}", one.title) for one in catalog.topics),
        notes=notes,
        stored=stored is not None,
        begun=_begun(visit, stored) if stored else 0,
        theirs=theirs,
    )


def _begun(visit: ClassVisit, stored: Assignment) -> int:
    members = members_of(visit.session, visit.class_id)
    return turnouts(visit.session, visit.site.secret, [stored], members)[stored.id].begun
