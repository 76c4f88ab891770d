"""/classes: what a class is, the visitor's classes, and the form that makes one."""

from dataclasses import dataclass, replace
from typing import Annotated

from fastapi import Form, Request, Response
from fastapi.responses import RedirectResponse
from sqlalchemy import func
from sqlalchemy import select as columns
from sqlmodel import Session, col

from app.classes.members import sign_in
from app.classes.pages.class_head import class_url
from app.classes.people.classes import Role, classes_of, create_class, enroll, number_of, time_zones
from app.classes.people.persons import NO_WAY, WayIn, clean_name, new_person, open_browser
from app.core.errors import InputError, sentence
from app.core.translation import noted, translate
from app.server.aside import aside
from app.server.db.people import ClassRow, MemberRow, PersonRow
from app.server.db.session import open_session, open_writing_session
from app.server.network.routes import Router
from app.site import Here, Site
from app.site.members import SignedIn
from app.site.web.frame.renderer import frame, render
from app.site.web.frame.visitor import PERSON, FromHere, Visiting, spend, spend_storage

router = Router(prefix="/classes")
CLASS_COST = 100.0  # answers; what a new class takes of the allowance of an address
_SAYS = noted(
    "Run a course on Wallclock: students join by a link, you choose exercises and "
    "dates, and the points are counted for you."
)


@dataclass(frozen=True, slots=True)
class ClassCard:
    """A class in the list of the visitor's classes."""

    href: str
    name: str
    role: str
    students: int
    archived: bool


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
    """The classes of the visitor, and the form for a new one."""

    cards: tuple[ClassCard, ...]
    form: MakeForm
    zones: tuple[str, ...]
    signed_in: bool


@router.get("")
async def classes(request: Request, site: Here, visiting: Visiting) -> Response:
    """The page that explains classes, lists the visitor's, and makes one."""
    form = MakeForm(allowed=may_make_classes(site), asks=_asks(visiting.person))
    return await aside(_shown_classes, request, site, visiting.person, form)


@router.post("", dependencies=[FromHere])
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
    """Refuse to make a class where only the operator may.

    Raises:
        InputError: so it is here.
    """
    if not may_make_classes(site):
        raise InputError(translate("classes are made by the operator of this server: wallclock class create"))


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


def _cards(site: Site, person: SignedIn) -> tuple[ClassCard, ...]:
    with open_session(site.engine) as session:
        found = classes_of(session, person.person)
        students = _students(session, [row for row, _ in found])
    return tuple(
        ClassCard(
            href=class_url(number_of(row)),
            name=row.name,
            role=role.word,
            students=students.get(number_of(row), 0),
            archived=row.archived is not None,
        )
        for row, role in found
    )


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
        if person is not None:
            _name(session, number, teacher)
        way = WayIn(browser=person.browser) if person else NO_WAY
        enroll(session, number_of(row), number, Role.TEACHER, teacher, way=way)
        cookie = "" if person else open_browser(session, number)
        session.commit()
        return number_of(row), cookie


def _name(session: Session, person: int, name: str) -> None:
    """Give a person who signed in without a name the one that they typed."""
    row = session.get_one(PersonRow, person)
    row.name = row.name or name
    session.add(row)
