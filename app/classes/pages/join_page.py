"""/join: the page that a class's link leads to."""

from dataclasses import dataclass, replace
from typing import Annotated

from fastapi import Form, Request, Response
from fastapi.responses import RedirectResponse
from sqlmodel import Session

from app.classes.members import sign_in
from app.classes.pages.class_head import class_url
from app.classes.pages.guesses import check_guesses, count_wrong_code
from app.classes.pages.sign_in import offered_work
from app.classes.pages.sign_in_accounts import Ways, ways_to_sign_in
from app.classes.people.classes import class_of_code, number_of, role_in
from app.classes.people.join_link import Joined, invented_name, join_as, join_as_new, may_join, new_form_id
from app.core.errors import InputError, NotFoundError, sentence
from app.core.translation import noted, translate
from app.server.aside import aside
from app.server.db.claims import Unclaimed
from app.server.db.people import ClassRow
from app.server.db.session import open_session, open_writing_session
from app.server.db.tables import NAME_LIMIT
from app.server.network.routes import Router
from app.site import Here, Site, site_in
from app.site.web.frame.renderer import frame, render
from app.site.web.frame.visitor import PERSON, FromHere, Visiting, Visitor, spend, spend_storage

router = Router(prefix="/join")
_COST = 5.0  # answers: hundreds may join from one address in a minute, not thousands
_LONGEST_FORM = 64  # characters of what makes a form of its own
_NO_CLASS = noted(
    "no class has this link: it was renewed, or a letter is missing; ask your teacher for the link of today"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinPage:
    """A class that may be joined, or why it may not; *known* is the person who is signed in."""

    name: str
    code: str
    joining: str
    archived: bool
    invents: bool
    known: str
    signed_in: bool
    typed: str
    form: str
    problem: str
    ways: Ways
    limit: int = NAME_LIMIT


@dataclass(frozen=True, slots=True, kw_only=True)
class SeatPage:
    """The seat code of a person who has just joined, shown this once."""

    name: str
    class_name: str
    href: str
    code: str
    new: bool
    work: Unclaimed | None


@router.get("/{code}")
async def show_join_page(request: Request, site: Here, visiting: Visiting, code: str) -> Response:
    """The page of a join link."""
    return await aside(_link, request, site, visiting, code)


@router.post("/{code}", dependencies=[FromHere])
async def join(
    request: Request,
    site: Here,
    visiting: Visiting,
    code: str,
    name: Annotated[str, Form()] = "",
    form: Annotated[str, Form()] = "",
) -> Response:
    """Join the class, and show the seat code."""
    spend(site.allowances.answers, "forms", _COST)
    spend_storage(site, PERSON)
    return await aside(_join, request, site, visiting, code, name, form)


def _link(request: Request, site: Site, visiting: Visitor, code: str) -> Response:
    with open_session(site.engine) as session:
        row = _class(session, site, code)
        if visiting.person and role_in(session, number_of(row), visiting.person.person):
            return RedirectResponse(class_url(number_of(row)), 303)
    return _form(request, visiting, row, code)


def _join(request: Request, site: Site, visiting: Visitor, code: str, name: str, form: str) -> Response:
    with open_writing_session(site.engine) as session:
        row = _class(session, site, code)
        if visiting.person and role_in(session, number_of(row), visiting.person.person):
            return RedirectResponse(class_url(number_of(row)), 303)
        if not may_join(row):
            return _form(request, visiting, row, code, status=422)
        try:
            joined = _joined(session, site, visiting, row, name, form[:_LONGEST_FORM])
        except InputError as error:
            return _form(request, visiting, row, code, name, sentence(str(error)), 422)
    return _seat(request, site, visiting, row, joined)


def _joined(session: Session, site: Site, visiting: Visitor, row: ClassRow, name: str, form: str) -> Joined:
    if visiting.person is not None:
        return join_as(session, row, visiting.person, name)
    return join_as_new(session, site.secret, row, name, form or new_form_id())


def _class(session: Session, site: Site, code: str) -> ClassRow:
    check_guesses(site)
    row = class_of_code(session, code)
    if row is None:
        count_wrong_code(site)
        raise NotFoundError(translate(_NO_CLASS))
    return row


def _form(
    request: Request, visiting: Visitor, row: ClassRow, code: str, typed: str = "", problem: str = "", status: int = 200
) -> Response:
    page = JoinPage(
        name=row.name,
        code=code,
        joining=row.joining,
        archived=row.archived is not None,
        invents=row.pseudonyms,
        known=visiting.person.name if visiting.person else "",
        signed_in=visiting.person is not None,
        typed=typed[:NAME_LIMIT] or (invented_name() if row.pseudonyms else ""),
        form=new_form_id(),
        problem=problem,
        ways=ways_to_sign_in(request, site_in(request), f"/join/{code}"),
    )
    return render("people/join.html", frame(request, translate("Join {name}", name=row.name), here="me"), page, status)


def _seat(request: Request, site: Site, visiting: Visitor, row: ClassRow, joined: Joined) -> Response:
    page = SeatPage(
        name=joined.name or (visiting.person.name if visiting.person else ""),
        class_name=row.name,
        href=class_url(joined.class_id),
        code=joined.code,
        new=bool(joined.cookie),
        work=offered_work(request, site, visiting),
    )
    around = replace(
        frame(request, translate("You are in {name}", name=row.name), here="me"), person=page.name or translate("You")
    )
    response = render("people/seat.html", around, page)
    if joined.cookie:
        sign_in(request, response, joined.cookie)
    return response
