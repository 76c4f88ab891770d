"""/classes/ID/groups and /assignments/ID/groups: who is in which group, and the dates of each."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from starlette.datastructures import FormData

from app.classes.pages.assignment_form import date_words
from app.classes.pages.class_router import AssignmentVisit, ClassForm, ClassRouter, ClassVisit
from app.classes.pages.extensions import ChosenStudents, StudentChoice, general_dates
from app.classes.people.assignments import Assignment, change_groups
from app.classes.people.groups import (
    Group,
    class_groups,
    dissolve_group,
    fill_group,
    refuse_unknown_groups,
    rename_group,
    students_in,
)
from app.classes.people.local_time import field_text, read_moment
from app.classes.people.policy import DATES, GroupDates
from app.core.errors import InputError
from app.core.translation import noted, translate

router = ClassRouter("", "People")
_CLASS, _DATES = "/classes/{class_id:int}/groups", "/assignments/{assignment:int}/groups"
_ENDS = {"opens": False, "due": True, "closes": True}  # whether something ends then
_Typed = Mapping[str, str]  # the dates of a group as they were typed, by name


class GroupForm(ChosenStudents):
    """Who is to be put into which group."""

    name: str = ""


class GroupName(ClassForm):
    """A group, and another name for it."""

    group: str = ""
    name: str = ""


class GroupDatesForm(ClassForm):
    """The dates of the groups as they were typed, by group and name."""

    typed: Mapping[str, _Typed]

    @classmethod
    def read(cls, sent: FormData) -> Self:
        """The form that was *sent*."""
        names = [str(name) for name in sent.getlist("group")]
        return cls(
            typed={
                group: {name: str(sent.get(f"{name}-{place}", "")).strip() for name in DATES}
                for place, group in enumerate(names, 1)
            }
        )


@dataclass(frozen=True, slots=True)
class GroupsPage:
    """The groups of a class, and the form that puts students into one."""

    href: str
    groups: tuple[Group, ...]
    students: tuple[StudentChoice, ...]
    sent: GroupForm


@dataclass(frozen=True, slots=True)
class GroupDatesFields:
    """The fields of a group, and its dates in words."""

    name: str
    students: int
    typed: _Typed
    words: _Typed


@dataclass(frozen=True, slots=True)
class GroupDatesPage:
    """The dates of an assignment for everyone, and the form with those of each group."""

    title: str
    href: str
    general: tuple[str, ...]
    rows: tuple[GroupDatesFields, ...]


@router.page(_CLASS, "groups", noted("Groups of {name}"))
def groups_page(visit: ClassVisit, sent: GroupForm) -> GroupsPage:
    """The groups of a class."""
    students = students_in(visit.session, visit.class_id)
    return GroupsPage(
        href=f"{visit.class_href}/groups",
        groups=tuple(class_groups(visit.session, visit.class_id)),
        students=tuple(sent.choice(one, one.group) for one in students),
        sent=sent,
    )


@router.form(_CLASS, groups_page)
def put_into_named_group(visit: ClassVisit, sent: GroupForm) -> str:
    """Put the students who are chosen into a group; without a name, into none."""
    fill_group(visit.session, visit.class_id, sent.chosen, sent.name)
    return f"{visit.class_href}/groups"


@router.form(f"{_CLASS}/rename", groups_page)
def give_group_another_name(visit: ClassVisit, sent: GroupName) -> str:
    """Give a group another name."""
    rename_group(visit.session, visit.class_id, sent.group, sent.name)
    return f"{visit.class_href}/groups"


@router.form(f"{_CLASS}/dissolve", groups_page)
def end_group(visit: ClassVisit, sent: GroupName) -> str:
    """Take everyone out of a group, and delete its dates."""
    dissolve_group(visit.session, visit.class_id, sent.group)
    return f"{visit.class_href}/groups"


@router.page(_DATES, "group_dates", noted("Groups of {title}"), tab="Assignments")
def group_dates_page(visit: AssignmentVisit, sent: GroupDatesForm | None = None) -> GroupDatesPage:
    """The dates of an assignment for each group."""
    one = visit.assignment
    stored = {
        dates.group: {name: field_text(getattr(dates, name), visit.zone) for name in DATES} for dates in one.groups
    }
    typed = sent.typed if sent else stored

    def fields(group: Group) -> GroupDatesFields:
        texts = {date: typed.get(group.name, {}).get(date, "") for date in DATES}
        words = {date: date_words(text, visit.zone, visit.now, ends=_ENDS[date]) for date, text in texts.items()}
        return GroupDatesFields(group.name, group.students, texts, words)

    return GroupDatesPage(
        title=one.title,
        href=f"{visit.href}/groups",
        general=general_dates(one.policy, visit.site),
        rows=tuple(map(fields, class_groups(visit.session, visit.class_id))),
    )


@router.form(_DATES, group_dates_page)
def change_group_dates(visit: AssignmentVisit, sent: GroupDatesForm) -> str:
    """Change the dates of the groups; where all of one are empty, everyone's hold."""
    stored = visit.assignment
    found = [_group_dates(stored, group, texts) for group, texts in sent.typed.items()]
    refuse_unknown_groups(visit.session, visit.class_id, sent.typed)
    unseen = [dates for dates in stored.groups if dates.group not in sent.typed]
    change_groups(visit.session, stored, [*unseen, *(dates for dates in found if dates)])
    return visit.class_href


def _group_dates(one: Assignment, group: str, texts: _Typed) -> GroupDates | None:
    """The dates of a group that were typed; those whose text did not change stay as they are."""
    stored = next((dates for dates in one.groups if dates.group == group), None)
    zone, moments = one.policy.zone, {}
    for name, text in texts.items():
        before = getattr(stored, name, None)
        try:
            same = text == field_text(before, zone)
            moments[name] = before if same else read_moment(text, zone, ends=_ENDS[name]).at if text else None
        except InputError as error:
            raise InputError(translate("group {group}: {error}", group=group, error=error)) from None
    return GroupDates(group=group, **moments) if any(moments.values()) else None
