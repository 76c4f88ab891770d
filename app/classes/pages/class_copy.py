"""/classes/ID/copy: its assignments in a new class, or another one, with their dates moved."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from zoneinfo import ZoneInfo

from pydantic import Field

from app.classes.pages.class_head import class_url
from app.classes.pages.class_router import ClassForm, ClassRouter, ClassVisit
from app.classes.pages.classes import CLASS_COST, may_make_classes, refuse_new_class
from app.classes.people.assignment_copies import (
    AssignmentCopy,
    chosen_assignments,
    copies_digest,
    copies_of,
    store_copies,
    weeks_to,
)
from app.classes.people.assignments import Assignment, assignments_of
from app.classes.people.classes import Role, classes_of, create_class, enroll, number_of, refuse_archived
from app.classes.people.local_time import on_the_calendar
from app.classes.people.persons import WayIn
from app.classes.people.policy import Policy
from app.core.errors import InputError, NotFoundError, sentence
from app.core.translation import noted, translate
from app.server.db.people import ClassRow
from app.server.db.tables import NAME_LIMIT
from app.site.web.frame.visitor import spend

router = ClassRouter("/classes/{class_id:int}", "Assignments")


class CopyForm(ClassForm):
    """What is to be copied: some assignments, none for all; *into* a class, or 0 for a new one.

    The *digest* is that of the copies that were shown.
    """

    assignment: list[int] = Field(default=[], max_length=1_000)
    weeks: str = Field(default="", max_length=20)
    start: str = Field(default="", max_length=20)
    into: int = Field(default=0, ge=0, lt=2**63)
    name: str = Field(default="", max_length=4 * NAME_LIMIT)
    digest: str = Field(default="", max_length=100)


@dataclass(frozen=True, slots=True)
class CopyRow:
    """An assignment and its dates, as they are and as they will be."""

    title: str
    before: tuple[str, ...]
    after: tuple[str, ...]
    left_out: tuple[str, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CopyTarget:
    """A class that the assignments can be copied into."""

    number: int
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyPage:
    """The form for copies, and once it was sent, their dates; *moved*: these are others than were shown."""

    form: CopyForm
    assignments: tuple[Assignment, ...]
    targets: tuple[CopyTarget, ...]
    makes: bool
    rows: tuple[CopyRow, ...]
    weeks: int
    digest: str
    moved: bool


@router.page("/copy", "copy", noted("Copy {name}"))
def copy_page(visit: ClassVisit, sent: CopyForm, *, moved: bool = False) -> CopyPage:
    """The form for copies; with weeks or a start, the dates that they would have."""
    asks = (sent.weeks or sent.start) and not visit.error
    copies, weeks = _copies(visit, sent) if asks else ((), 0)
    own = classes_of(visit.session, visit.member.person.person)
    return CopyPage(
        form=sent,
        assignments=tuple(assignments_of(visit.session, visit.class_id)),
        targets=tuple(
            CopyTarget(number_of(row), row.name) for row, role in own if role is Role.TEACHER and row.archived is None
        ),
        makes=may_make_classes(visit.site),
        rows=tuple(_copy_row(one, visit.now) for one in copies),
        weeks=weeks,
        digest=copies_digest(copies),
        moved=moved,
    )


@router.form("/copy", copy_page, archived=True)
def store_copied_assignments(visit: ClassVisit, sent: CopyForm) -> str | CopyPage:
    """Make the copies that were shown; if they are others by now, they are shown again."""
    if not sent.into:
        refuse_new_class(visit.site)
        spend(visit.site.allowances.answers, "new classes", CLASS_COST)
    copies, _ = _copies(visit, sent)
    if copies_digest(copies) != sent.digest:
        return copy_page(visit, sent, moved=True)
    target = number_of(_target(visit, sent.into) if sent.into else _class_like(visit, sent.name))
    store_copies(visit.session, target, copies)
    return class_url(target)


def _class_like(visit: ClassVisit, name: str) -> ClassRow:
    """A class like that of the visitor, who teaches it, without its people."""
    row = visit.row
    made = create_class(visit.session, visit.site.secret, name, row.zone, pseudonyms=row.pseudonyms)
    made.lowest = row.lowest
    enroll(
        visit.session,
        number_of(made),
        visit.member.person.person,
        Role.TEACHER,
        way=WayIn(browser=visit.member.person.browser),
    )
    return made


def _target(visit: ClassVisit, class_id: int) -> ClassRow:
    """The class *class_id*, which the visitor teaches.

    Raises:
        InputError: it is archived.
        NotFoundError: there is none, or the visitor does not teach it.
    """
    for row, role in classes_of(visit.session, visit.member.person.person):
        if number_of(row) == class_id and role is Role.TEACHER:
            refuse_archived(row)
            return row
    raise NotFoundError(translate("you do not teach a class with this number"))


def _copies(visit: ClassVisit, form: CopyForm) -> tuple[Sequence[AssignmentCopy], int]:
    """The copies that *form* asks for, and by how many weeks their dates are moved."""
    row = _target(visit, form.into) if form.into else visit.row
    chosen = chosen_assignments(visit.session, visit.class_id, form.assignment)
    weeks = weeks_to(chosen, _day(form.start)) if form.start else _weeks(form.weeks)
    return copies_of(chosen, weeks, ZoneInfo(row.zone), visit.site.catalog.by_id), weeks


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text.strip())
    except ValueError:
        raise InputError(translate("cannot read {text!r} as a day; write it as 2027-04-12", text=text)) from None


def _weeks(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise InputError(translate("the number of weeks must be a whole number, not {text!r}", text=text)) from None


def _copied_dates(policy: Policy, now: datetime) -> tuple[str, ...]:
    """The dates of an assignment in words, on the clocks of its class."""
    return tuple(
        translate(says, moment=on_the_calendar(at, policy.zone, now))
        for says, at in (
            (noted("opens {moment}"), policy.opens),
            (noted("due {moment}"), policy.due),
            (noted("closes {moment}"), policy.closes),
        )
        if at is not None
    )


def _copy_row(one: AssignmentCopy, now: datetime) -> CopyRow:
    return CopyRow(
        title=one.source.title,
        before=_copied_dates(one.source.policy, now),
        after=_copied_dates(one.policy, now),
        left_out=one.gone,
        notes=tuple(sentence(note) for note in one.notes),
    )
