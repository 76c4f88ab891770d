"""What teachers set: an assignment, the rule of the overall grade, a class; and the figures of its exercises."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from fastapi import Response
from fastapi.responses import PlainTextResponse
from starlette.datastructures import FormData

from app.classes.pages import assignment_form
from app.classes.pages.class_router import BOM, AssignmentVisit, ClassForm, ClassRouter, ClassVisit, csv_response
from app.classes.pages.live import link_to
from app.classes.people.activity import turnouts
from app.classes.people.assignments import (
    Assignment,
    assignments_of,
    change_assignment,
    create_assignment,
    delete_assignment,
    entries_in_pools,
)
from app.classes.people.classes import Role, change_class, members_of, set_archived, take_out_of_archive, time_zones
from app.classes.people.exercise_statistics import ExerciseStatistics, statistics_csv, statistics_of_class
from app.classes.people.gradebook import GradeRule, change_grade_rule, grade_rule_of
from app.classes.people.members import delete_class, refuse_other_name
from app.core.errors import NotFoundError, input_error
from app.core.translation import noted, translate
from app.site.web.frame.database_copies import copies_until
from app.site.web.frame.renderer import Hyperlink

_settings_router = ClassRouter("/classes/{class_id:int}", "Settings")


class SettingsForm(ClassForm):
    """The settings of a class."""

    name: str = ""
    zone: str = ""
    pseudonyms: str = ""


class ArchiveForm(ClassForm):
    """Whether a class is to be archived."""

    archived: str = ""


class SureForm(ClassForm):
    """The name of what is to be deleted, typed to confirm."""

    sure: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsPage:
    """The settings of a class, as they are or as they were sent."""

    form: SettingsForm
    zones: tuple[str, ...]
    copies: str  # the day on which the last copy of the database is removed


@_settings_router.page("/settings", "settings", noted("Settings of {name}"))
def settings_page(visit: ClassVisit, sent: SettingsForm | None = None) -> SettingsPage:
    """The settings of a class."""
    row = visit.row
    form = sent or SettingsForm(name=row.name, zone=row.zone, pseudonyms="yes" if row.pseudonyms else "")
    return SettingsPage(form=form, zones=time_zones(), copies=copies_until(visit.site.settings.database))


@_settings_router.form("/settings", settings_page)
def change_settings(visit: ClassVisit, sent: SettingsForm) -> str:
    """Change the settings of a class."""
    change_class(visit.session, visit.row, sent.name, sent.zone, pseudonyms=bool(sent.pseudonyms))
    return visit.class_href


@_settings_router.form("/archive", settings_page, archived=True)
def post_archive(visit: ClassVisit, sent: ArchiveForm) -> str:
    """Archive a class, or take it out of the archive."""
    change = set_archived if sent.archived == "yes" else take_out_of_archive
    change(visit.session, visit.row)
    return visit.class_href


@_settings_router.form("/delete", settings_page, archived=True)
def delete_class_for_good(visit: ClassVisit, sent: SureForm) -> str:
    """Delete a class with everything in it, once its name is typed."""
    refuse_other_name(sent.sure, visit.row.name)
    delete_class(visit.session, visit.row)
    return "/classes"


router = ClassRouter("", "Assignments")
_NEW, _EDIT = "/classes/{class_id:int}/assignments/new", "/assignments/{assignment:int}/edit"


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignmentEditorPage:
    """The form of an assignment; *begun*: students who have answered some of it already.

    *notes* are to be confirmed. *changed*: someone else has changed it while this was typed.
    """

    heading: str
    action: str
    form: assignment_form.AssignmentForm
    words: Mapping[str, str]
    fields: Mapping[str, assignment_form.RuleField]
    chapters: tuple[tuple[str, Sequence[assignment_form.PickerExercise]], ...]
    in_order: tuple[tuple[str, str, str], ...]
    paths: tuple[Hyperlink, ...] = ()
    notes: tuple[str, ...] = ()
    stored: bool = False
    begun: int = 0
    changed: bool = False


@router.page(_NEW, "assignment")
def new_assignment_page(
    visit: ClassVisit, chapter: str = "", sent: assignment_form.AssignmentForm | None = None
) -> AssignmentEditorPage:
    """The form of a new assignment; with the path of a *chapter*, if one is named."""
    form = sent or assignment_form.new_assignment_form(visit.zone, visit.now)
    if chapter:
        topic = visit.site.catalog.topic(chapter)
        form = form.model_copy(update={"title": topic.title, "points": {one.id: "1" for one in topic.path}})
    return _editor_page(visit, form)


@router.form(_NEW, new_assignment_page)
def submit_new_assignment(visit: ClassVisit, sent: assignment_form.AssignmentForm) -> str | AssignmentEditorPage:
    """Make an assignment."""
    found = assignment_form.parse_form(sent, visit.zone)
    if notes := _unconfirmed(sent, found):
        return _editor_page(visit, sent, notes=notes)
    _refuse_unknown(visit, found)
    create_assignment(visit.session, visit.class_id, found.title, found.policy, found.entries)
    return visit.class_href


@router.page(_EDIT, "assignment")
def edit_assignment_page(
    visit: AssignmentVisit, sent: assignment_form.AssignmentForm | None = None
) -> AssignmentEditorPage:
    """The form of an assignment."""
    return _editor_page(visit, sent or assignment_form.assignment_form_of(visit.assignment), visit.assignment)


@router.form(_EDIT, edit_assignment_page)
def save_assignment(visit: AssignmentVisit, sent: assignment_form.AssignmentForm) -> str | AssignmentEditorPage:
    """Change an assignment; where someone else has done so meanwhile, that is said first."""
    stored = visit.assignment
    if sent.seen not in ("", stored.version) and not sent.says_the_same(assignment_form.assignment_form_of(stored)):
        return _editor_page(visit, sent.model_copy(update={"seen": stored.version}), stored, changed=True)
    found = assignment_form.parse_form(sent, visit.zone, stored.policy)
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
    return PlainTextResponse(assignment_form.date_words(at, visit.zone, visit.now, ends=ends == "yes"))


def _unconfirmed(sent: assignment_form.AssignmentForm, found: assignment_form.AssignmentDraft) -> tuple[str, ...]:
    """The notes of *found*, unless they were confirmed."""
    return found.notes if "\n".join(found.notes) != "\n".join(sent.told.split("\r\n")) else ()


def _refuse_unknown(
    visit: ClassVisit, found: assignment_form.AssignmentDraft, stored: Assignment | None = None
) -> None:
    """Refuse exercises that the course does not have, and the assignment did not."""
    gone = {one.exercise for one in found.entries if one.exercise not in visit.site.catalog.by_id}
    if unknown := gone - {one.exercise for one in (stored.entries if stored else ())}:
        raise NotFoundError(translate("no exercise is called {unknown!r}", unknown=min(unknown)[:200]))


def _editor_page(
    visit: ClassVisit,
    form: assignment_form.AssignmentForm,
    stored: Assignment | None = None,
    *,
    notes: tuple[str, ...] = (),
    changed: bool = False,
) -> AssignmentEditorPage:
    catalog, new = visit.site.catalog, f"{visit.class_href}/assignments/new"
    begun = 0
    if stored:
        members = members_of(visit.session, visit.class_id)
        begun = turnouts(visit.session, visit.site.secret, [stored], members)[stored.id].begun
    return AssignmentEditorPage(
        heading=stored.title if stored else translate("New assignment"),
        action=f"/assignments/{stored.id}/edit" if stored else new,
        form=form,
        words=form.words(visit.zone, visit.now),
        fields=assignment_form.rule_fields(form),
        chapters=assignment_form.chapters_of(catalog, form.points),
        in_order=assignment_form.picked_in_order(catalog, form),
        paths=() if stored else tuple(Hyperlink(f"{new}?chapter={one.id}", one.title) for one in catalog.topics),
        notes=notes,
        stored=stored is not None,
        begun=begun,
        changed=changed,
    )


_grade_rule_router = ClassRouter("/classes/{class_id:int}/grades/rule", "Grades")
_LONGEST = 20  # of a number, as it is said again


class GradeRuleForm(ClassForm):
    """The rule of the overall grade as it was typed, by the names of the fields."""

    texts: Mapping[str, str]

    @classmethod
    def read(cls, sent: FormData) -> Self:
        """The form that was *sent*."""
        return cls(texts={name: str(text).strip() for name, text in sent.items()})


@dataclass(frozen=True, slots=True)
class WeightField:
    """The weight of an assignment, as it is or as it was sent; empty: its *points*."""

    name: str
    title: str
    weight: str
    points: float


@dataclass(frozen=True, slots=True)
class GradeRulePage:
    """The rule of the overall grade."""

    lowest: str
    weights: tuple[WeightField, ...]


@_grade_rule_router.page("", "grade_rule", noted("Overall grade in {name}"))
def grade_rule_page(visit: ClassVisit, sent: GradeRuleForm | None = None) -> GradeRulePage:
    """The form of the rule."""
    assignments = assignments_of(visit.session, visit.class_id)
    rule = grade_rule_of(visit.row, assignments)
    now = {_weight_field(number): f"{weight:.12g}" for number, weight in rule.weights.items()}
    texts = sent.texts if sent else {"lowest": str(rule.lowest), **now}
    names = [(_weight_field(one.id), one) for one in assignments]
    return GradeRulePage(
        lowest=texts.get("lowest", ""),
        weights=tuple(WeightField(name, one.title, texts.get(name, ""), one.points) for name, one in names),
    )


@_grade_rule_router.form("", grade_rule_page)
def post_grade_rule(visit: ClassVisit, sent: GradeRuleForm) -> str:
    """Change the rule; an empty weight is that of the points."""
    weights: Mapping[int, float | None] = {
        one.id: _weight_typed(text, one.title)
        for one in assignments_of(visit.session, visit.class_id)
        if (text := sent.texts.get(_weight_field(one.id), ""))
    }
    what = translate("the number of assignments that are left out")
    lowest = _weight_typed(sent.texts.get("lowest", "") or "0", what)
    if lowest != int(lowest):
        raise input_error("{what} must be a whole number", what=what)
    change_grade_rule(visit.session, visit.row, GradeRule(int(lowest), weights))
    return f"{visit.class_href}/grades"


def _weight_typed(text: str, what: str) -> float:
    plain = text.removesuffix("%").strip().replace(",", ".")
    if not plain.replace(".", "", 1).isdecimal() or len(plain) > _LONGEST:
        raise input_error("{what}: cannot read {text!r} as a number such as 12.5", what=what, text=text[:_LONGEST])
    return float(plain)


def _weight_field(number: int) -> str:
    return f"weight-{number}"


_statistics_router = ClassRouter("/classes/{class_id:int}", "Grades", least=Role.ASSISTANT)


@dataclass(frozen=True, slots=True)
class StatisticsPage:
    """The figures of each exercise of a class."""

    href: str
    rows: tuple[tuple[Hyperlink, ExerciseStatistics], ...]


@_statistics_router.page("/statistics", "statistics", noted("Statistics of {name}"))
def statistics_page(visit: ClassVisit) -> StatisticsPage:
    """The figures of the exercises of a class."""
    found = statistics_of_class(visit.session, visit.site.secret, visit.class_id)
    rows = tuple((link_to(visit.site, one.exercise), one) for one in found)
    return StatisticsPage(f"{visit.class_href}/statistics", rows)


@_statistics_router.page("/statistics.csv", "statistics")
def statistics_file(visit: ClassVisit) -> Response:
    """The same as a file."""
    found = statistics_of_class(visit.session, visit.site.secret, visit.class_id)
    return csv_response(visit, BOM + statistics_csv(found), "statistics")


router.routes += _grade_rule_router.routes
router.routes += _settings_router.routes
router.routes += _statistics_router.routes
