"""Groups and extensions: who is in which group, the dates of each, and later dates for single students."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Self

from starlette.datastructures import FormData

from app.classes.pages.assignment_form import date_words
from app.classes.pages.class_router import AssignmentVisit, ClassForm, ClassRouter, ClassVisit
from app.classes.people import members
from app.classes.people.assignment_copies import dates_in_words, field_text, in_words, on_the_calendar, read_moment
from app.classes.people.assignments import Assignment, change_groups
from app.classes.people.classes import Member, Role, members_of
from app.classes.people.counted_answers import drop_extension, extensions_of, give_extension
from app.classes.people.policy import DATES, ENDS, GroupDates, Policy
from app.core.errors import InputError, input_error
from app.core.translation import noted
from app.server.db.people import ExtensionRow

_extensions_router = ClassRouter("/assignments/{assignment:int}/extensions", "Assignments", least=Role.ASSISTANT)
_DIGITS = 18  # of the number of a person


@dataclass(frozen=True, slots=True)
class StudentChoice:
    """A student to choose, and a *note* beside the name."""

    person: int
    name: str
    note: str
    chosen: bool


class ChosenStudents(ClassForm):
    """A form in which students are chosen."""

    person: list[str] = []

    @property
    def chosen(self) -> frozenset[int]:
        """The numbers of those who are."""
        return frozenset(chosen_numbers(self.person))

    def choice(self, student: Member, note: str) -> StudentChoice:
        """*student*, to be chosen again."""
        return StudentChoice(student.person, student.name, note, student.person in self.chosen)


class ExtensionForm(ChosenStudents):
    """Who gets how long, and why."""

    until: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtensionsPage:
    """The extensions of an assignment, each until when and since when in words, and the form for more."""

    title: str
    href: str
    general: tuple[str, ...]
    groups: tuple[str, ...]
    exam: bool
    movable: bool
    lines: tuple[tuple[Member, ExtensionRow, str, str], ...]
    students: tuple[StudentChoice, ...]
    sent: ExtensionForm
    until: str
    words: str


@_extensions_router.page("", "extensions", noted("Extensions of {title}"))
def extensions_page(visit: AssignmentVisit, sent: ExtensionForm) -> ExtensionsPage:
    """The extensions of an assignment; with a *person*, that one is chosen in the form."""
    one, now, zone = visit.assignment, visit.now, visit.zone
    given = {member.person: row for member, row in extensions_of(visit.session, one)}
    students = members.students_in(visit.session, visit.class_id)
    until = sent.until if "until" in sent.model_fields_set else _suggested(one.policy, now)
    notes = {person: on_the_calendar(row.until, zone, now) for person, row in given.items()}
    return ExtensionsPage(
        title=one.title,
        href=f"{visit.href}/extensions",
        general=dates_in_words(one.policy, visit.now),
        groups=tuple(
            f"{dates.group}: {'; '.join(dates_in_words(dates.policy(one.policy), now))}" for dates in one.groups
        ),
        exam=one.policy.sitting > 0,
        movable=any(policy.due or policy.closes or policy.sitting for policy in one.policies),
        lines=tuple(
            (other, row, in_words(row.until, zone, now), on_the_calendar(row.at, zone, now))
            for other in students
            if (row := given.get(other.person))
        ),
        students=tuple(sent.choice(student, notes.get(student.person, "")) for student in students),
        sent=sent,
        until=until,
        words=date_words(until, zone, now, ends=True),
    )


@_extensions_router.form("", extensions_page)
def extend_for_students(visit: AssignmentVisit, sent: ExtensionForm) -> str:
    """Extend the assignment for the students who are chosen."""
    everyone = members_of(visit.session, visit.class_id)
    members.refuse_missing_students(sent.chosen, (one for one in everyone if one.role is Role.STUDENT))
    by = next(one.name for one in everyone if one.person == visit.member.person.person)
    until = read_moment(sent.until.strip(), visit.zone, ends=True).at
    why = " ".join(sent.why.split())
    give_extension(visit.session, visit.assignment, sent.chosen, until, by, why, visit.now)
    return f"{visit.href}/extensions"


@_extensions_router.form("/end", extensions_page)
def take_extension_back(visit: AssignmentVisit, sent: ChosenStudents) -> str:
    """Take an extension back."""
    for person in sent.chosen:
        drop_extension(visit.session, visit.assignment.id, person)
    return f"{visit.href}/extensions"


def chosen_numbers(texts: Sequence[str]) -> Sequence[int]:
    """The numbers of persons among *texts*."""
    return [int(text) for text in texts if text.isascii() and text.isdecimal() and len(text) <= _DIGITS]


def _suggested(policy: Policy, now: datetime) -> str:
    """Two days after the due date; if that is over, at the end of the day after tomorrow."""
    due = (policy.due or now).astimezone(policy.zone)
    later = max(due, now.astimezone(policy.zone)).replace(tzinfo=None) + timedelta(days=2)
    if due < now or policy.due is None:
        later = later.replace(hour=23, minute=59)
    return f"{later:%Y-%m-%dT%H:%M}"


router = ClassRouter("", "People")
_CLASS, _DATES = "/classes/{class_id:int}/groups", "/assignments/{assignment:int}/groups"
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
    groups: tuple[members.Group, ...]
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
    students = members.students_in(visit.session, visit.class_id)
    return GroupsPage(
        href=f"{visit.class_href}/groups",
        groups=tuple(members.class_groups(visit.session, visit.class_id)),
        students=tuple(sent.choice(one, one.group) for one in students),
        sent=sent,
    )


@router.form(_CLASS, groups_page)
def put_into_named_group(visit: ClassVisit, sent: GroupForm) -> str:
    """Put the students who are chosen into a group; without a name, into none."""
    members.fill_group(visit.session, visit.class_id, sent.chosen, sent.name)
    return f"{visit.class_href}/groups"


@router.form(f"{_CLASS}/rename", groups_page)
def give_group_another_name(visit: ClassVisit, sent: GroupName) -> str:
    """Give a group another name."""
    members.rename_group(visit.session, visit.class_id, sent.group, sent.name)
    return f"{visit.class_href}/groups"


@router.form(f"{_CLASS}/dissolve", groups_page)
def end_group(visit: ClassVisit, sent: GroupName) -> str:
    """Take everyone out of a group, and delete its dates."""
    members.dissolve_group(visit.session, visit.class_id, sent.group)
    return f"{visit.class_href}/groups"


@router.page(_DATES, "group_dates", noted("Groups of {title}"), tab="Assignments")
def group_dates_page(visit: AssignmentVisit, sent: GroupDatesForm | None = None) -> GroupDatesPage:
    """The dates of an assignment for each group."""
    one = visit.assignment
    stored = {
        dates.group: {name: field_text(getattr(dates, name), visit.zone) for name in DATES} for dates in one.groups
    }
    typed = sent.typed if sent else stored

    def fields(group: members.Group) -> GroupDatesFields:
        texts = {date: typed.get(group.name, {}).get(date, "") for date in DATES}
        words = {date: date_words(text, visit.zone, visit.now, ends=ENDS[date]) for date, text in texts.items()}
        return GroupDatesFields(group.name, group.students, texts, words)

    return GroupDatesPage(
        title=one.title,
        href=f"{visit.href}/groups",
        general=dates_in_words(one.policy, visit.now),
        rows=tuple(map(fields, members.class_groups(visit.session, visit.class_id))),
    )


@router.form(_DATES, group_dates_page)
def change_group_dates(visit: AssignmentVisit, sent: GroupDatesForm) -> str:
    """Change the dates of the groups; where all of one are empty, everyone's hold."""
    stored = visit.assignment
    found = [_group_dates(stored, group, texts) for group, texts in sent.typed.items()]
    members.refuse_unknown_groups(visit.session, visit.class_id, sent.typed)
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
            moments[name] = before if same else read_moment(text, zone, ends=ENDS[name]).at if text else None
        except InputError as error:
            raise input_error("group {group}: {error}", group=group, error=error) from None
    return GroupDates(group=group, **moments) if any(moments.values()) else None


router.routes += _extensions_router.routes
