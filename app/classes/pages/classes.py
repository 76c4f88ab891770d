"""/classes: the visitor's classes, the form that makes one, and /classes/ID/copy, which copies assignments."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Annotated
from zoneinfo import ZoneInfo

from fastapi import Form, Request, Response
from fastapi.responses import RedirectResponse
from pydantic import Field
from sqlalchemy import func
from sqlalchemy import select as columns
from sqlmodel import Session, col

from app.classes.members import sign_in
from app.classes.pages.class_router import ClassForm, ClassRouter, ClassVisit, class_url
from app.classes.people import assignment_copies
from app.classes.people.assignments import Assignment, assignments_of
from app.classes.people.classes import Role, classes_of, create_class, enroll, number_of, refuse_archived, time_zones
from app.classes.people.persons import NO_WAY, WayIn, clean_name, new_person, open_browser
from app.core.errors import InputError, NotFoundError, input_error, sentence
from app.core.translation import noted, translate
from app.server.aside import aside
from app.server.db.people import ClassRow, MemberRow, PersonRow
from app.server.db.session import open_session, open_writing_session
from app.server.db.tables import NAME_LIMIT
from app.server.network.routes import Router
from app.site import Here, Site
from app.site.members import SignedIn
from app.site.web.frame.renderer import frame, render
from app.site.web.frame.visitor import PERSON, FromHere, Visiting, spend, spend_storage

_classes_router = Router(prefix="/classes")
CLASS_COST = 100.0  # answers; what a new class takes of the allowance of an address
_SAYS = noted(
    "Run a course on Wallclock: students join by a link, you choose exercises and "
    "dates, and the points are counted for you."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MakeForm:
    """The form for a new class, as it was sent; *asks*: the visitor has to give a name."""

    allowed: bool
    asks: bool
    name: str = ""
    teacher: str = ""
    zone: str = ""
    pseudonyms: bool = False
    problem: str = ""


@dataclass(frozen=True, slots=True)
class ClassesPage:
    """The classes of the visitor, the role in each and its students, and the form for a new one."""

    cards: tuple[tuple[ClassRow, Role, int], ...]
    form: MakeForm
    zones: tuple[str, ...]
    signed_in: bool


@_classes_router.get("")
async def classes(request: Request, site: Here, visiting: Visiting) -> Response:
    """The page that explains classes, lists the visitor's, and makes one."""
    form = MakeForm(allowed=may_make_classes(site), asks=_asks(visiting.person))
    return await aside(_shown_classes, request, site, visiting.person, form)


@_classes_router.post("", dependencies=[FromHere])
async def submit_new_class(
    request: Request,
    site: Here,
    visiting: Visiting,
    name: Annotated[str, Form()] = "",
    zone: Annotated[str, Form()] = "",
    teacher: Annotated[str, Form()] = "",
    pseudonyms: Annotated[str, Form()] = "",
) -> Response:
    """Make a class, whose teacher is the visitor."""
    refuse_new_class(site)
    spend(site.allowances.answers, "new classes", CLASS_COST)
    spend_storage(site, PERSON)
    form = MakeForm(
        allowed=True, asks=_asks(visiting.person), name=name, teacher=teacher, zone=zone, pseudonyms=bool(pseudonyms)
    )
    try:
        class_id, cookie = await aside(_made, site, visiting.person, form)
    except InputError as error:
        again = replace(form, problem=sentence(str(error)))
        return await aside(_shown_classes, request, site, visiting.person, again, 422)
    response = RedirectResponse(class_url(class_id), 303)
    if cookie:
        sign_in(request, response, cookie)
    return response


def may_make_classes(site: Site) -> bool:
    """Whether those who visit the site may make classes."""
    return site.settings.classes == "anyone"


def refuse_new_class(site: Site) -> None:
    """Refuse to make a class where only the operator may."""
    if not may_make_classes(site):
        raise input_error("classes are made by the operator of this server: wallclock class create")


def _asks(person: SignedIn | None) -> bool:
    return person is None or not person.name


def _shown_classes(
    request: Request, site: Site, person: SignedIn | None, form: MakeForm, status: int = 200
) -> Response:
    cards = _cards(site, person) if person else ()
    page = ClassesPage(cards, form, time_zones(), person is not None)
    return render(
        "people/classes.html", frame(request, translate("Classes"), translate(_SAYS), "classes"), page, status
    )


def _cards(site: Site, person: SignedIn) -> tuple[tuple[ClassRow, Role, int], ...]:
    with open_session(site.engine) as session:
        found = classes_of(session, person.person)
        students = _students(session, [row for row, _ in found])
    return tuple((row, role, students.get(number_of(row), 0)) for row, role in found)


def _students(session: Session, rows: list[ClassRow]) -> dict[int, int]:
    """The number of students of each class."""
    statement = (
        columns(col(MemberRow.class_id), func.count())
        .where(
            col(MemberRow.class_id).in_([number_of(row) for row in rows]),
            col(MemberRow.role) == Role.STUDENT.word,
            col(MemberRow.left).is_(None),
        )
        .group_by(col(MemberRow.class_id))
    )
    return {row[0]: row[1] for row in session.connection().execute(statement)}


def _made(site: Site, person: SignedIn | None, form: MakeForm) -> tuple[int, str]:
    """The number of the new class, and the cookie of the session, if it is a new one."""
    with open_writing_session(site.engine) as session:
        row = create_class(session, site.secret, form.name, form.zone or "UTC", pseudonyms=form.pseudonyms)
        teacher = clean_name(form.teacher) if form.asks else ""
        number = person.person if person else number_of(new_person(session, teacher))
        if person is not None:  # one who signed in without a name gets the one that they typed
            signed_in = session.get_one(PersonRow, number)
            signed_in.name = signed_in.name or teacher
            session.add(signed_in)
        way = WayIn(browser=person.browser) if person else NO_WAY
        enroll(session, number_of(row), number, Role.TEACHER, teacher, way=way)
        cookie = "" if person else open_browser(session, number)
        session.commit()
        return number_of(row), cookie


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


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyPage:
    """The form for copies, and once it was sent, their dates; *moved*: these are others than were shown."""

    form: CopyForm
    assignments: tuple[Assignment, ...]
    targets: tuple[ClassRow, ...]
    makes: bool
    rows: tuple[CopyRow, ...]
    weeks: int
    digest: str
    moved: bool


@router.page("/copy", "copy", noted("Copy {name}"))
def copy_page(visit: ClassVisit, sent: CopyForm, *, moved: bool = False) -> CopyPage:
    """The form for copies; with weeks or a start, the dates that they would have."""
    asks = (sent.weeks or sent.start) and not visit.error
    copies, weeks = _asked_copies(visit, sent) if asks else ((), 0)
    own = classes_of(visit.session, visit.member.person.person)
    return CopyPage(
        form=sent,
        assignments=tuple(assignments_of(visit.session, visit.class_id)),
        targets=tuple(row for row, role in own if role is Role.TEACHER and row.archived is None),
        makes=may_make_classes(visit.site),
        rows=tuple(_copy_row(one, visit.now) for one in copies),
        weeks=weeks,
        digest=assignment_copies.copies_digest(copies),
        moved=moved,
    )


@router.form("/copy", copy_page, archived=True)
def store_copied_assignments(visit: ClassVisit, sent: CopyForm) -> str | CopyPage:
    """Make the copies that were shown; if they are others by now, they are shown again."""
    if not sent.into:
        refuse_new_class(visit.site)
        spend(visit.site.allowances.answers, "new classes", CLASS_COST)
    copies, _ = _asked_copies(visit, sent)
    if assignment_copies.copies_digest(copies) != sent.digest:
        return copy_page(visit, sent, moved=True)
    target = number_of(_target(visit, sent.into) if sent.into else _class_like(visit, sent.name))
    assignment_copies.store_copies(visit.session, target, copies)
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
    """The class *class_id*, which the visitor teaches."""
    for row, role in classes_of(visit.session, visit.member.person.person):
        if number_of(row) == class_id and role is Role.TEACHER:
            refuse_archived(row)
            return row
    raise NotFoundError(translate("you do not teach a class with this number"))


def _asked_copies(visit: ClassVisit, form: CopyForm) -> tuple[Sequence[assignment_copies.AssignmentCopy], int]:
    """The copies that *form* asks for, and by how many weeks their dates are moved."""
    row = _target(visit, form.into) if form.into else visit.row
    when = _day(form.start) if form.start else _weeks(form.weeks)
    known = visit.site.catalog.by_id
    return assignment_copies.plan_copies(
        visit.session, visit.class_id, form.assignment, when, ZoneInfo(row.zone), known
    )


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text.strip())
    except ValueError:
        raise input_error("cannot read {text!r} as a day; write it as 2027-04-12", text=text) from None


def _weeks(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise input_error("the number of weeks must be a whole number, not {text!r}", text=text) from None


def _copy_row(one: assignment_copies.AssignmentCopy, now: datetime) -> CopyRow:
    return CopyRow(
        title=one.source.title,
        before=assignment_copies.dates_in_words(one.source.policy, now, assignment_copies.on_the_calendar),
        after=assignment_copies.dates_in_words(one.policy, now, assignment_copies.on_the_calendar),
        left_out=one.gone,
        notes=tuple(sentence(note) for note in one.notes),
    )


router.routes += _classes_router.routes
