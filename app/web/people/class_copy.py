"""/classes/ID/copy: its assignments in a new class, or another one, with their dates moved."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Annotated
from zoneinfo import ZoneInfo

from fastapi import Form, Query, Request, Response
from fastapi.responses import RedirectResponse
from pydantic import BaseModel, Field
from sqlmodel import Session

from app.aside import aside
from app.db.people import ClassRow
from app.db.session import open_session, open_writing_session
from app.db.tables import NAME_LIMIT
from app.errors import InputError, NotFoundError, sentence
from app.network.routes import Router
from app.people.assignment_copies import (
    AssignmentCopy,
    chosen_assignments,
    copies_digest,
    copies_of,
    store_copies,
    weeks_to,
)
from app.people.assignments import Assignment, assignments_of
from app.people.classes import Role, classes_of, create_class, enroll, number_of, refuse_archived
from app.people.local_time import on_the_calendar
from app.people.persons import WayIn
from app.people.policy import Policy
from app.site import Here, Site
from app.translation import noted, translate
from app.web.frame.renderer import frame, render
from app.web.frame.visitor import FromHere, Visiting, spend
from app.web.people.class_head import ClassHead, class_head, class_url
from app.web.people.classes import CLASS_COST, may_make_classes, refuse_new_class
from app.web.people.guard import Membership, in_class

router = Router(prefix="/classes/{class_id:int}")


class CopyForm(BaseModel):
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
    """The form for copies, and once it was sent, their dates."""

    head: ClassHead
    form: CopyForm
    assignments: tuple[Assignment, ...]
    targets: tuple[CopyTarget, ...]
    makes: bool
    rows: tuple[CopyRow, ...] = ()
    weeks: int = 0
    digest: str = ""
    problem: str = ""
    moved: bool = False


@router.get("/copy")
async def show_copy_form(
    request: Request, site: Here, visiting: Visiting, class_id: int, form: Annotated[CopyForm, Query()]
) -> Response:
    """The form for copies; with weeks or a start, the dates that they would have."""
    member = await in_class(request, site, visiting, class_id, Role.TEACHER)
    return await aside(_shown_copies, request, site, member, form)


@router.post("/copy", dependencies=[FromHere])
async def store_copied_assignments(
    request: Request, site: Here, visiting: Visiting, class_id: int, form: Annotated[CopyForm, Form()]
) -> Response:
    """Make the copies that were shown; if they are others by now, they are shown again."""
    member = await in_class(request, site, visiting, class_id, Role.TEACHER, archived=True)
    if not form.into:
        refuse_new_class(site)
        spend(request, site.allowances.answers, "new classes", CLASS_COST)
    try:
        target = await aside(_stored, site, member, form)
    except InputError as error:
        problem = sentence(str(error))
        return await aside(_shown_copies, request, site, member, form, problem=problem)
    if not target:
        return await aside(_shown_copies, request, site, member, form, moved=True)
    return RedirectResponse(class_url(target), 303)


def _stored(site: Site, member: Membership, form: CopyForm) -> int:
    """The class that has the copies now; 0 if they are not those of the form anymore."""
    with open_writing_session(site.engine) as session:
        copies, _ = _copies(session, site, member, form)
        if copies_digest(copies) != form.digest:
            return 0
        if form.into:
            target = number_of(_target(session, member, form.into))
        else:
            target = _new_class(session, site, member, form.name)
        store_copies(session, target, copies)
        session.commit()
    return target


def _new_class(session: Session, site: Site, member: Membership, name: str) -> int:
    """A class like that of *member*, who teaches it, without its people."""
    row, pseudonyms = member.row, member.row.pseudonyms
    made = create_class(session, site.secret, name, row.zone, pseudonyms=pseudonyms)
    made.lowest = row.lowest
    enroll(session, number_of(made), member.person.person, Role.TEACHER, way=WayIn(browser=member.person.browser))
    return number_of(made)


def _target(session: Session, member: Membership, class_id: int) -> ClassRow:
    """The class *class_id*, which *member* teaches.

    Raises:
        InputError: it is archived.
        NotFoundError: there is none, or *member* does not teach it.
    """
    for row, role in classes_of(session, member.person.person):
        if number_of(row) == class_id and role is Role.TEACHER:
            refuse_archived(row)
            return row
    raise NotFoundError(translate("you do not teach a class with this number"))


def _copies(session: Session, site: Site, member: Membership, form: CopyForm) -> tuple[Sequence[AssignmentCopy], int]:
    """The copies that *form* asks for, and by how many weeks their dates are moved."""
    row = _target(session, member, form.into) if form.into else member.row
    chosen = chosen_assignments(session, member.class_id, form.assignment)
    weeks = weeks_to(chosen, _day(form.start)) if form.start else _weeks(form.weeks)
    return copies_of(chosen, weeks, ZoneInfo(row.zone), site.catalog.by_id), weeks


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


def _shown_copies(
    request: Request, site: Site, member: Membership, form: CopyForm, *, problem: str = "", moved: bool = False
) -> Response:
    copies: Sequence[AssignmentCopy] = ()
    weeks = 0
    with open_session(site.engine) as session:
        if (form.weeks or form.start) and not problem:
            try:
                copies, weeks = _copies(session, site, member, form)
            except InputError as error:
                problem = sentence(str(error))
        own = classes_of(session, member.person.person)
        assignments = tuple(assignments_of(session, member.class_id))
    page = CopyPage(
        head=class_head(member, "Assignments"),
        form=form,
        assignments=assignments,
        targets=tuple(
            CopyTarget(number_of(row), row.name) for row, role in own if role is Role.TEACHER and row.archived is None
        ),
        makes=may_make_classes(site),
        rows=tuple(_row(one, site.clock()) for one in copies),
        weeks=weeks,
        digest=copies_digest(copies),
        problem=problem,
        moved=moved,
    )
    around = frame(request, translate("Copy {name}", name=member.row.name), here="classes")
    return render("people/copy.html", around, page, 422 if problem else 200)


def _dates(policy: Policy, now: datetime) -> tuple[str, ...]:
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


def _row(one: AssignmentCopy, now: datetime) -> CopyRow:
    return CopyRow(
        title=one.source.title,
        before=_dates(one.source.policy, now),
        after=_dates(one.policy, now),
        left_out=one.gone,
        notes=tuple(sentence(note) for note in one.notes),
    )
