"""/me: who a person is here, what is stored about them, and the ways out."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Annotated

from fastapi import Form, Request, Response
from fastapi.responses import RedirectResponse
from sqlmodel import Session

from app.classes.members import site_members
from app.classes.pages.class_head import class_url
from app.classes.pages.guard import sign_in_first
from app.classes.pages.sign_in import offered_work
from app.classes.pages.sign_in_accounts import SignInAccount, accounts_of
from app.classes.people.classes import classes_of, number_of, renew_seat_code, role_in
from app.classes.people.erasure import all_about, delete_person, leave_class
from app.classes.people.persons import browsers_of, clean_name, close_every_browser
from app.core.errors import InputError
from app.core.translation import noted, translate
from app.server.aside import aside
from app.server.db.claims import Unclaimed
from app.server.db.history import Drawing
from app.server.db.people import MemberRow, PersonRow
from app.server.db.session import open_session, open_writing_session
from app.server.db.tables import NAME_LIMIT
from app.server.network.routes import Router
from app.site import Here, Site
from app.site.members import SignedIn
from app.site.web.frame.database_copies import copies_until
from app.site.web.frame.renderer import frame, render
from app.site.web.frame.visitor import SESSION, FromHere, Visiting, Visitor
from app.site.web.progress.file import progress_file
from app.site.web.standing.records import veil_of

router = Router(prefix="/me")


@dataclass(frozen=True, slots=True, kw_only=True)
class MyClass:
    """A class that the person is in."""

    id: int
    name: str
    href: str
    role: str
    has_code: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class MePage:
    """A person, as the site knows them; *said* is what was just done."""

    name: str
    classes: tuple[MyClass, ...]
    browsers: int
    work: Unclaimed | None
    said: str
    accounts: tuple[SignInAccount, ...]
    limit: int = NAME_LIMIT


@dataclass(frozen=True, slots=True, kw_only=True)
class CodePage:
    """A new seat code, shown this once."""

    class_name: str
    href: str
    name: str
    code: str


@dataclass(frozen=True, slots=True)
class GonePage:
    """After a person was deleted; *stays*: answers that a class graded stay under a number.

    *copies* is the day on which the last copy of the database from before is removed, if any.
    """

    stays: bool
    copies: str


_SAID = {"name": noted("Your name was changed."), "left": noted("You left the class. Your answers are still yours.")}


@router.get("")
async def me(request: Request, site: Here, visiting: Visiting, done: str = "") -> Response:
    """The page of the person who is signed in."""
    return await aside(_me, request, site, visiting, translate(_SAID[done]) if done in _SAID else "")


@router.post("/name", dependencies=[FromHere])
async def rename(request: Request, site: Here, visiting: Visiting, name: Annotated[str, Form()] = "") -> Response:
    """Change the person's name."""
    await aside(_rename, site, _person(request, visiting), name)
    site_members(site).sessions.forget(request.cookies.get(SESSION, ""))
    return RedirectResponse("/me?done=name", 303)


@router.post("/everywhere", dependencies=[FromHere])
async def sign_out_everywhere(request: Request, site: Here, visiting: Visiting) -> Response:
    """Sign the person out in every browser."""
    await aside(_sign_out_everywhere, site, _person(request, visiting))
    return _signed_out(request, site, RedirectResponse("/sign-in", 303))


@router.post("/code", dependencies=[FromHere])
async def renew_own_code(
    request: Request, site: Here, visiting: Visiting, class_id: Annotated[int, Form()]
) -> Response:
    """A new seat code for one class; the one before stops working."""
    page = await aside(_new_code, site, _person(request, visiting), class_id)
    return render("people/new_code.html", frame(request, translate("Your new seat code"), here="me"), page)


@router.get("/export")
async def export_account(request: Request, site: Here, visiting: Visiting) -> Response:
    """Everything that is stored about the person, as JSON."""
    content = await aside(_exported, site, _person(request, visiting))
    headers = {"Content-Disposition": 'attachment; filename="wallclock.json"'}
    return Response(content, media_type="application/json", headers=headers)


@router.post("/leave", dependencies=[FromHere])
async def leave_class_page(
    request: Request,
    site: Here,
    visiting: Visiting,
    class_id: Annotated[int, Form()],
    sure: Annotated[str, Form()] = "",
) -> Response:
    """Leave a class."""
    person = _person(request, visiting)
    if sure != "yes":
        raise InputError(translate("you are still in the class: tick the box to confirm, then leave again"))
    await aside(_leave, site, person, class_id)
    return RedirectResponse("/me?done=left", 303)


@router.post("/delete", dependencies=[FromHere])
async def delete_account(
    request: Request, site: Here, visiting: Visiting, sure: Annotated[str, Form()] = ""
) -> Response:
    """Delete the person."""
    person = _person(request, visiting)
    if sure != "yes":
        raise InputError(translate("nothing was deleted: tick the box to confirm, then delete again"))
    gone = await aside(_delete, site, person)
    around = frame(request, translate("Deleted"), here="me", signed_in=False)
    return _signed_out(request, site, render("people/gone.html", around, gone))


def _rename(site: Site, person: SignedIn, name: str) -> None:
    with open_writing_session(site.engine) as session:
        row = _account_row(session, person)
        row.name = clean_name(name)
        session.add(row)
        session.commit()


def _sign_out_everywhere(site: Site, person: SignedIn) -> None:
    with open_writing_session(site.engine) as session:
        close_every_browser(session, person.person)


def _new_code(site: Site, person: SignedIn, class_id: int) -> CodePage:
    with open_writing_session(site.engine) as session:
        names = {number_of(row): row.name for row, _ in classes_of(session, person.person)}
        member = session.get(MemberRow, (class_id, person.person)) if class_id in names else None
        if member is None:
            raise InputError(translate("you are not in that class"))
        code = renew_seat_code(session, member)
        session.commit()
    return CodePage(class_name=names[class_id], href=class_url(class_id), name=person.name, code=code)


def _leave(site: Site, person: SignedIn, class_id: int) -> None:
    with open_writing_session(site.engine) as session:
        if role_in(session, class_id, person.person) is None:
            raise InputError(translate("you are not in that class"))
        leave_class(session, class_id, person.person)


def _delete(site: Site, person: SignedIn) -> GonePage:
    with open_writing_session(site.engine) as session:
        stays = delete_person(session, _account_row(session, person))
    return GonePage(stays, copies_until(site.settings.database))


def _me(request: Request, site: Site, visiting: Visitor, said: str) -> Response:
    person = _person(request, visiting)
    with open_session(site.engine) as session:
        found = classes_of(session, person.person)
        codes = {
            number_of(row): member.code_digest is not None
            for row, _ in found
            if (member := session.get(MemberRow, (number_of(row), person.person)))
        }
        browsers = browsers_of(session, person.person)
        accounts = accounts_of(request, site, session, person.person)
    page = MePage(
        name=person.name,
        classes=tuple(
            MyClass(
                id=number_of(row),
                name=row.name,
                href=class_url(number_of(row)),
                role=role.word,
                has_code=codes[number_of(row)],
            )
            for row, role in found
        ),
        browsers=browsers,
        accounts=accounts,
        work=offered_work(request, site, visiting),
        said=said,
    )
    return render("people/me.html", frame(request, person.name or "You", here="me"), page)


def _exported(site: Site, person: SignedIn) -> str:
    with open_session(site.engine) as session:
        stored = dict(all_about(session, _account_row(session, person)))
    # An answer whose verdict is hidden is in the file once it is shown.
    answers, veil = stored["attempts"], veil_of(site, person.learner)
    if veil and isinstance(answers, list):
        shown = [one for one in answers if not _is_hidden(one, veil)]
        stored |= {"attempts": shown, "not_shown_yet": len(answers) - len(shown)}
    return progress_file(stored)


def _is_hidden(answer: Mapping[str, object], veil: Collection[Drawing]) -> bool:
    exercise, seed = str(answer["exercise"]), int(str(answer["seed"]))
    return (exercise, seed) in veil or (exercise, None) in veil


def _person(request: Request, visiting: Visitor) -> SignedIn:
    if visiting.person is None:
        raise sign_in_first(request)
    return visiting.person


def _account_row(session: Session, person: SignedIn) -> PersonRow:
    row = session.get(PersonRow, person.person)
    if row is None:
        raise InputError(translate("this person was deleted a moment ago"))
    return row


def _signed_out(request: Request, site: Site, response: Response) -> Response:
    site_members(site).sessions.forget(request.cookies.get(SESSION, ""))
    response.delete_cookie(SESSION)
    return response
