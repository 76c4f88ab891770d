"""/me: who a person is here, what is stored about them, and the ways out."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Annotated
from urllib.parse import urlencode

from fastapi import Form, Request, Response
from fastapi.responses import RedirectResponse
from sqlmodel import Session

from app.classes.members import site_members
from app.classes.pages.class_router import ask_database, change_database, class_url, require_person
from app.classes.pages.sign_in import SignInAccount, accounts_of, asked_first, offered_work, own_path
from app.classes.people.classes import Role, classes_of, number_of, renew_seat_code, role_in
from app.classes.people.erasure import all_about, delete_person
from app.classes.people.members import member_row, remove_members
from app.classes.people.merges import answer_merge, waiting_merges
from app.classes.people.persons import browsers_of, clean_name, close_every_browser, confirm_identities, has_doubted
from app.core.errors import input_error
from app.core.translation import noted, translate
from app.server.db.claims import UnclaimedWork
from app.server.db.history import Drawing
from app.server.db.people import ClassRow, MemberRow, MergeRow, PersonRow
from app.server.db.session import open_session
from app.server.db.tables import NAME_LIMIT
from app.server.network.routes import Router
from app.site import Here, Site
from app.site.members import SignedIn
from app.site.web.frame.database_copies import copies_until
from app.site.web.frame.renderer import frame, render
from app.site.web.frame.visitor import SESSION, FromHere, Visiting
from app.site.web.progress.file import progress_file
from app.site.web.standing.records import veil_of

router = Router(prefix="/me")


@dataclass(frozen=True, slots=True, kw_only=True)
class MePage:
    """A person, as the site knows them; *said* is what was just done.

    Of each of the *classes*: the role, and whether there is a seat code.
    """

    name: str
    classes: tuple[tuple[ClassRow, Role, bool], ...]
    browsers: int
    work: UnclaimedWork | None
    said: str
    accounts: tuple[SignInAccount, ...]
    doubted: bool
    limit: int = NAME_LIMIT


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedMerge:
    """What a teacher says of the person: that *other* is the same, or with *undoes* that they are not."""

    number: int
    name: str
    other: str
    by: str
    class_name: str
    undoes: bool


@dataclass(frozen=True, slots=True)
class AskedMergesPage:
    """The questions that wait for the person's yes; *next* is where to go on."""

    asked: tuple[AskedMerge, ...]
    next: str


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


_SAID = {
    "name": noted("Your name was changed."),
    "left": noted("You left the class. Your answers are still yours."),
    "accounts": noted("Your accounts sign you in again."),
}


@router.get("")
def show_account(request: Request, site: Here, visiting: Visiting, done: str = "") -> Response:
    """The page of the person who is signed in; first what a teacher asks, if there is anything."""
    person = require_person(request, visiting)
    if asked := asked_first(site, person, "/me"):
        return RedirectResponse(asked, 303)
    with open_session(site.engine) as session:
        found = classes_of(session, person.person)
        codes = [member_row(session, number_of(row), person.person).code_digest is not None for row, _ in found]
        browsers = browsers_of(session, person.person)
        accounts = accounts_of(site, session, person.person)
        doubted = has_doubted(session, person.person)
    page = MePage(
        name=person.name,
        classes=tuple((row, role, code) for (row, role), code in zip(found, codes, strict=True)),
        browsers=browsers,
        accounts=accounts,
        doubted=doubted,
        work=offered_work(request, site, visiting),
        said=translate(_SAID[done]) if done in _SAID else "",
    )
    return render("people/me.html", frame(request, person.name or "You", here="me"), page)


@router.post("/name", dependencies=[FromHere])
async def rename(request: Request, site: Here, visiting: Visiting, name: Annotated[str, Form()] = "") -> Response:
    """Change the person's name."""
    await change_database(site, _rename, require_person(request, visiting), name)
    site_members(site).sessions.forget(request.cookies.get(SESSION, ""))
    return RedirectResponse("/me?done=name", 303)


@router.post("/everywhere", dependencies=[FromHere])
async def sign_out_everywhere(request: Request, site: Here, visiting: Visiting) -> Response:
    """Sign the person out in every browser."""
    await change_database(site, close_every_browser, require_person(request, visiting).person)
    return _signed_out(request, site, RedirectResponse("/sign-in", 303))


@router.post("/accounts", dependencies=[FromHere])
async def confirm_accounts(request: Request, site: Here, visiting: Visiting) -> Response:
    """Let accounts that were connected before the person entered another class sign in again."""
    await change_database(site, confirm_identities, require_person(request, visiting).person)
    return RedirectResponse("/me?done=accounts", 303)


@router.get("/merges")
async def show_asked_merges(request: Request, site: Here, visiting: Visiting, next: str = "") -> Response:
    """What teachers ask: whether two entries are this person, or are not."""
    page = await ask_database(site, _asked_merges, require_person(request, visiting), own_path(next))
    if not page.asked:
        return RedirectResponse(page.next or "/me", 303)
    return render("people/asked.html", frame(request, translate("Is this you?"), here="me"), page)


@router.post("/merges", dependencies=[FromHere])
async def answer_asked_merge(
    request: Request,
    site: Here,
    visiting: Visiting,
    merge: Annotated[int, Form(ge=0, lt=2**63)] = 0,
    mine: Annotated[str, Form()] = "",
    next: Annotated[str, Form()] = "",
) -> Response:
    """Do what a teacher asks for, or drop it."""
    person = require_person(request, visiting)
    if mine not in ("yes", "no"):
        raise input_error("answer with yes or no")
    await change_database(site, partial(answer_merge, agrees=mine == "yes"), merge, person)
    return RedirectResponse(f"/me/merges?{urlencode({'next': own_path(next)})}", 303)


@router.post("/code", dependencies=[FromHere])
async def renew_own_code(
    request: Request, site: Here, visiting: Visiting, class_id: Annotated[int, Form()]
) -> Response:
    """A new seat code for one class; the one before stops working."""
    page = await change_database(site, _new_code, require_person(request, visiting), class_id)
    return render("people/new_code.html", frame(request, translate("Your new seat code"), here="me"), page)


@router.get("/export")
def export_account(request: Request, site: Here, visiting: Visiting) -> Response:
    """Everything that is stored about the person, as JSON."""
    person = require_person(request, visiting)
    with open_session(site.engine) as session:
        stored = dict(all_about(session, _account_row(session, person)))
    # An answer whose verdict is hidden is in the file once it is shown.
    answers, veil = stored["attempts"], veil_of(site, person.learner)
    if veil and isinstance(answers, list):
        shown = [one for one in answers if not _is_hidden(one, veil)]
        stored |= {"attempts": shown, "not_shown_yet": len(answers) - len(shown)}
    headers = {"Content-Disposition": 'attachment; filename="wallclock.json"'}
    return Response(progress_file(stored), media_type="application/json", headers=headers)


@router.post("/leave", dependencies=[FromHere])
async def leave_class_page(
    request: Request,
    site: Here,
    visiting: Visiting,
    class_id: Annotated[int, Form()],
    sure: Annotated[str, Form()] = "",
) -> Response:
    """Leave a class."""
    person = require_person(request, visiting)
    if sure != "yes":
        raise input_error("you are still in the class: tick the box to confirm, then leave again")
    await change_database(site, _leave, person, class_id)
    return RedirectResponse("/me?done=left", 303)


@router.post("/delete", dependencies=[FromHere])
async def delete_account(
    request: Request, site: Here, visiting: Visiting, sure: Annotated[str, Form()] = ""
) -> Response:
    """Delete the person."""
    person = require_person(request, visiting)
    if sure != "yes":
        raise input_error("nothing was deleted: tick the box to confirm, then delete again")
    stays = await change_database(site, lambda session: delete_person(session, _account_row(session, person)))
    around = frame(request, translate("Deleted"), here="me", signed_in=False)
    gone = GonePage(stays, copies_until(site.settings.database))
    return _signed_out(request, site, render("people/gone.html", around, gone))


def _asked_merges(session: Session, person: SignedIn, to: str) -> AskedMergesPage:
    rows = waiting_merges(session, person.person)
    return AskedMergesPage(tuple(_asked_merge(session, person, row) for row in rows), to)


def _asked_merge(session: Session, person: SignedIn, row: MergeRow) -> AskedMerge:
    known = session.get(ClassRow, row.class_id) if row.class_id is not None else None
    other = row.gone if person.person == row.kept else row.kept
    member = session.get(MemberRow, (row.class_id, other)) if row.class_id is not None else None
    named = session.get(PersonRow, other)
    label = (member.label if member else "") or (named.name if named else "") or translate("someone without a name")
    return AskedMerge(
        number=row.id or 0,
        name=person.name or translate("someone without a name"),
        other=f"{label} ({member.outside_id})" if member and member.outside_id else label,
        by=row.by,
        class_name=known.name if known else "",
        undoes=bool(row.moved),
    )


def _rename(session: Session, person: SignedIn, name: str) -> None:
    row = _account_row(session, person)
    row.name = clean_name(name)
    session.add(row)


def _new_code(session: Session, person: SignedIn, class_id: int) -> CodePage:
    names = {number_of(row): row.name for row, _ in classes_of(session, person.person)}
    member = session.get(MemberRow, (class_id, person.person)) if class_id in names else None
    if member is None:
        raise input_error("you are not in that class")
    code = renew_seat_code(session, member)
    return CodePage(class_name=names[class_id], href=class_url(class_id), name=person.name, code=code)


def _leave(session: Session, person: SignedIn, class_id: int) -> None:
    if role_in(session, class_id, person.person) is None:
        raise input_error("you are not in that class")
    remove_members(session, class_id, [person.person])


def _is_hidden(answer: Mapping[str, object], veil: Collection[Drawing]) -> bool:
    exercise, seed = str(answer["exercise"]), int(str(answer["seed"]))
    return (exercise, seed) in veil or (exercise, None) in veil


def _account_row(session: Session, person: SignedIn) -> PersonRow:
    row = session.get(PersonRow, person.person)
    if row is None:
        raise input_error("this person was deleted a moment ago")
    return row


def _signed_out(request: Request, site: Site, response: Response) -> Response:
    site_members(site).sessions.forget(request.cookies.get(SESSION, ""))
    response.delete_cookie(SESSION)
    return response
