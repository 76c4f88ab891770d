"""/assignments/ID/groups: the dates of an assignment for each group of the class."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from fastapi import Request, Response
from fastapi.responses import RedirectResponse
from starlette.datastructures import FormData

from app.classes.pages.assignment_form import date_words
from app.classes.pages.class_head import ClassHead, assignment_url, class_head, class_url
from app.classes.pages.extensions import general_dates
from app.classes.pages.guard import Membership, in_assignment
from app.classes.people.assignments import Assignment, assignment_to_change, change_groups
from app.classes.people.classes import Role
from app.classes.people.group_dates import MOST_GROUPS
from app.classes.people.groups import Group, class_groups, refuse_unknown_groups
from app.classes.people.local_time import field_text, read_moment
from app.classes.people.policy import DATES, GroupDates
from app.core.errors import InputError, sentence
from app.core.translation import translate
from app.server.aside import aside
from app.server.db.session import open_session, open_writing_session
from app.server.network.routes import Router
from app.site import Here, Site
from app.site.web.frame.renderer import frame, render
from app.site.web.frame.visitor import FromHere, Visiting

router = Router(prefix="/assignments/{assignment:int}/groups")
_FIELDS = 4 * MOST_GROUPS + 10
_ENDS = {"opens": False, "due": True, "closes": True}  # whether something ends then
_Typed = Mapping[str, str]  # the dates of a group as they were typed, by name


@dataclass(frozen=True, slots=True)
class GroupDatesForm:
    """The fields of a group, and its dates in words."""

    name: str
    students: int
    typed: _Typed
    words: _Typed


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupDatesPage:
    """The dates of an assignment for everyone, and the form with those of each group."""

    head: ClassHead
    title: str
    href: str
    general: tuple[str, ...]
    rows: tuple[GroupDatesForm, ...]
    problem: str


@router.get("")
async def show_group_dates(request: Request, site: Here, visiting: Visiting, assignment: int) -> Response:
    """The dates of each group."""
    member, one = await in_assignment(request, site, visiting, assignment, Role.TEACHER)
    zone = one.policy.zone
    typed = {dates.group: {name: field_text(getattr(dates, name), zone) for name in DATES} for dates in one.groups}
    return await aside(_shown_group_dates, request, site, member, one, typed)


@router.post("", dependencies=[FromHere])
async def change_group_dates(request: Request, site: Here, visiting: Visiting, assignment: int) -> Response:
    """Change the dates of the groups; where all of one are empty, everyone's hold."""
    member, one = await in_assignment(request, site, visiting, assignment, Role.TEACHER)
    async with request.form(max_fields=_FIELDS) as form:
        typed = _typed(form)
    try:
        await aside(_store_dates, site, one, typed)
    except InputError as error:
        problem = sentence(str(error))
        return await aside(_shown_group_dates, request, site, member, one, typed, problem)
    return RedirectResponse(class_url(member.class_id), 303)


def _typed(form: FormData) -> Mapping[str, _Typed]:
    """The dates that were typed, by group."""
    names = [str(name) for name in form.getlist("group")]
    return {
        group: {name: str(form.get(f"{name}-{place}", "")).strip() for name in DATES}
        for place, group in enumerate(names, 1)
    }


def _store_dates(site: Site, one: Assignment, typed: Mapping[str, _Typed]) -> None:
    with open_writing_session(site.engine) as session:
        stored = assignment_to_change(session, one.id)
        found = [_group_dates(stored, group, texts) for group, texts in typed.items()]
        refuse_unknown_groups(session, one.class_id, typed)
        unseen = [dates for dates in stored.groups if dates.group not in typed]
        change_groups(session, stored, [*unseen, *(dates for dates in found if dates)])
        session.commit()


def _group_dates(one: Assignment, group: str, texts: _Typed) -> GroupDates | None:
    """The dates of a group that were typed; those whose text did not change stay as they are."""
    stored = next((dates for dates in one.groups if dates.group == group), None)
    zone, moments = one.policy.zone, {}
    for name, text in texts.items():
        before = getattr(stored, name, None)
        same = text == field_text(before, zone)
        try:
            moments[name] = before if same else _moment(name, text, one)
        except InputError as error:
            raise InputError(translate("group {group}: {error}", group=group, error=error)) from None
    return GroupDates(group=group, **moments) if any(moments.values()) else None


def _moment(name: str, text: str, one: Assignment) -> datetime | None:
    return read_moment(text, one.policy.zone, ends=_ENDS[name]).at if text else None


def _dates_row(site: Site, one: Assignment, group: Group, typed: _Typed) -> GroupDatesForm:
    texts = {date: typed.get(date, "") for date in DATES}
    words = {date: date_words(text, one.policy.zone, site.clock(), ends=_ENDS[date]) for date, text in texts.items()}
    return GroupDatesForm(group.name, group.students, texts, words)


def _shown_group_dates(
    request: Request, site: Site, member: Membership, one: Assignment, typed: Mapping[str, _Typed], problem: str = ""
) -> Response:
    with open_session(site.engine) as session:
        groups = class_groups(session, member.class_id)
    page = GroupDatesPage(
        head=class_head(member, "Assignments"),
        title=one.title,
        href=f"{assignment_url(one.id)}/groups",
        general=general_dates(one.policy, site),
        rows=tuple(_dates_row(site, one, group, typed.get(group.name, {})) for group in groups),
        problem=problem,
    )
    around = frame(request, translate("Groups of {name}", name=one.title), here="classes")
    return render("people/group_dates.html", around, page, 422 if problem else 200)
