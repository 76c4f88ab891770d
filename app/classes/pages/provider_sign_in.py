"""Sign in with a provider of identities; and /join."""

from dataclasses import dataclass, replace
from typing import Annotated
from urllib.parse import urlencode, urlsplit

from fastapi import Form, Request, Response
from fastapi.responses import RedirectResponse
from sqlmodel import Session

from app.classes.federation.identities import Pending, connect_identity, may_connect, person_of
from app.classes.federation.providers import PATIENCE, Provider, obstacles
from app.classes.members import sign_in, site_members
from app.classes.pages.class_router import class_url, sign_in_first
from app.classes.pages.sign_in import (
    ConnectPage,
    NamePage,
    RefusedPage,
    Ways,
    check_guesses,
    count_wrong_code,
    offered_work,
    own_path,
    ways_to_sign_in,
    welcome,
)
from app.classes.people import classes
from app.classes.people.persons import clean_name, is_own_browser, open_browser
from app.core.errors import InputError, NotFoundError, RefusedError, UnavailableError, nearest, refused_error, sentence
from app.core.translation import noted, translate
from app.server.aside import aside
from app.server.db.claims import UnclaimedWork
from app.server.db.people import ClassRow, PersonRow
from app.server.db.session import open_session, open_writing_session
from app.server.db.tables import NAME_LIMIT
from app.server.network.response_policy import redirect_beyond
from app.server.network.routes import Router
from app.site import Here, Site, site_in
from app.site.web.frame.renderer import frame, render
from app.site.web.frame.visitor import (
    PERSON,
    SESSION,
    FromHere,
    Visiting,
    Visitor,
    is_from_elsewhere,
    spend,
    spend_storage,
)

_PATH = "/sign-in"
_FLIGHT, _PENDING = "flight", "identity"  # cookies
_LED_HERE = noted("a page of another site has led you here; if you want to sign in, do it here")
router = Router(prefix=_PATH)


@router.get("/back")
async def back(
    request: Request, site: Here, visiting: Visiting, state: str = "", code: str = "", error: str = "", iss: str = ""
) -> Response:
    """The end of a sign-in with a provider."""
    _ready(site)
    spend(site.allowances.sign_ins, "sign-ins")
    from app.classes.federation.oidc import Flight, ProviderReturn

    to = ""
    try:
        flight = Flight.read(request.cookies.get(_FLIGHT, ""), site.secret)
        to = flight.next
        provider = _provider(site, flight.provider)
        returned = ProviderReturn(state=state, code=code, error=error, issuer=iss)
        found = await site_members(site).federation.sign_ins.end(provider, flight, returned, _back(site))
    except RefusedError as refused:
        return _refused_page(request, refused, f"{_PATH}?{urlencode({'next': to})}" if to else _PATH)
    pending = Pending(found.issuer, found.subject, flight.next)
    response = await aside(_arrived, request, site, visiting, pending)
    response.delete_cookie(_FLIGHT, path=_PATH)
    return response


@router.get("/proxy")
def lead_to_other_ways() -> Response:
    """The way that earlier versions had for those whom a proxy had signed in."""
    return RedirectResponse(_PATH, 308)


@router.get("/name")
async def name_page(visiting: Visiting, request: Request, next: str = "") -> Response:
    """Ask a person for a name."""
    return _name_page(request, visiting, own_path(next))


@router.post("/name", dependencies=[FromHere])
def name(
    request: Request,
    site: Here,
    visiting: Visiting,
    name: Annotated[str, Form()] = "",
    next: Annotated[str, Form()] = "",
) -> Response:
    """Store the name of a person."""
    try:
        chosen = clean_name(name)
    except InputError as error:
        return _name_page(request, visiting, own_path(next), name, sentence(str(error)))
    if visiting.person is None:
        raise sign_in_first(request)
    with open_writing_session(site.engine) as session:
        row = session.get(PersonRow, visiting.person.person)
        if row is not None:
            row.name = chosen
            session.add(row)
            session.commit()
    site_members(site).sessions.forget(request.cookies.get(SESSION, ""))
    return RedirectResponse(own_path(next) or "/me", 303)


@router.get("/connect")
async def connect_page(request: Request, site: Here, visiting: Visiting) -> Response:
    """Ask whether a new identity is that of the person who is signed in."""
    pending = _pending(request, site)
    if visiting.person is None or pending is None:
        raise sign_in_first(request)
    names = [p.name for p in site_members(site).federation.providers.values() if p.issuer == pending.issuer]
    called = f"your account at {names[0] if names else urlsplit(pending.issuer).netloc}"
    page = ConnectPage(called, visiting.person.name or translate("someone without a name"))
    return render("people/connect.html", frame(request, translate("Is this you?"), here="me"), page)


@router.post("/connect", dependencies=[FromHere])
def connect_or_create(request: Request, site: Here, visiting: Visiting, mine: Annotated[str, Form()] = "") -> Response:
    """Connect the new identity with the person who is signed in, or make another person."""
    pending = _pending(request, site)
    if pending is None or mine not in ("yes", "no"):
        return _refused_page(request, refused_error("that took longer than ten minutes; sign in again"), _PATH)
    same = visiting.person is not None and visiting.person.person == pending.person
    return _enter(request, site, visiting, pending, connects=mine == "yes" and same)


@router.get("/{provider}")
async def lead_to_provider(
    request: Request, site: Here, provider: str, next: str = "", other: bool = False
) -> Response:
    """Lead the browser to a provider; *other*: to sign in there as another person."""
    chosen = _provider(site, provider)
    if is_from_elsewhere(request):
        again = f"{request.url.path}?{request.url.query}".rstrip("?")  # a page of another site cannot press its button
        return _refused_page(request, refused_error(_LED_HERE), again)
    _ready(site)
    spend(site.allowances.sign_ins, "sign-ins")
    from app.classes.federation.oidc import Flight

    flight = Flight.begin(chosen.slug, own_path(next))
    address = await site_members(site).federation.sign_ins.begin(chosen, flight, _back(site), afresh=other)
    response = redirect_beyond(request, address)
    _keep(request, response, _FLIGHT, flight.signed(site.secret))
    return response


def _provider(site: Site, slug: str) -> Provider:
    known = site_members(site).federation.providers
    if slug not in known:
        raise NotFoundError(
            translate("no way to sign in is called {slug!r}{near}", slug=slug[:60], near=nearest(slug[:60], known))
        )
    return known[slug]


def _ready(site: Site) -> None:
    if missing := obstacles(site.settings):
        raise UnavailableError(" ".join(missing))


def _back(site: Site) -> str:
    return f"{site.settings.url}{_PATH}/back"


def _arrived(request: Request, site: Site, visiting: Visitor, pending: Pending) -> Response:
    """Sign in the person of an identity; ask first if it is new and a person is signed in."""
    if visiting.person:
        person = visiting.person.person
        with open_session(site.engine) as session:
            new = may_connect(session, pending.issuer, pending.subject, person)
        if new:
            response = RedirectResponse(f"{_PATH}/connect", 303)
            _keep(request, response, _PENDING, pending.signed(site.secret, person))
            return response
    return _enter(request, site, visiting, pending)


def _enter(request: Request, site: Site, visiting: Visitor, pending: Pending, connects: bool = False) -> Response:
    """Open a session of the person whose identity it is; a new one is asked for a name."""
    who = pending.issuer, pending.subject
    with open_writing_session(site.engine) as session:
        connected = None
        if connects and visiting.person:
            own = is_own_browser(session, visiting.person.browser)
            connected = connect_identity(session, *who, visiting.person.person, own=own)
        row = connected or person_of(session, *who)
    with open_writing_session(site.engine) as session:
        cookie = open_browser(session, classes.number_of(row), *who)
        session.commit()
    to = pending.next or "/me"
    if not row.name:
        to = f"{_PATH}/name?{urlencode({'next': pending.next})}" if pending.next else f"{_PATH}/name"
    response = welcome(request, site, visiting, cookie, to)
    response.delete_cookie(_PENDING, path=_PATH)
    return response


def _name_page(request: Request, visiting: Visitor, to: str, name: str = "", problem: str = "") -> Response:
    if visiting.person is None:
        raise sign_in_first(request)
    page = NamePage(name or visiting.person.name, to or "/me", problem)
    around = frame(request, translate("Your name"), here="me")
    return render("people/name.html", around, page, 422 if problem else 200)


def _refused_page(request: Request, error: RefusedError, again: str) -> Response:
    around = frame(request, translate("Not signed in"), here="me")
    return render("people/refused.html", around, RefusedPage(sentence(str(error)), again), 400)


def _pending(request: Request, site: Site) -> Pending | None:
    return Pending.read(request.cookies.get(_PENDING, ""), site.secret)


def _keep(request: Request, response: Response, name: str, value: str) -> None:
    response.set_cookie(
        name, value, max_age=PATIENCE, path=_PATH, httponly=True, samesite="lax", secure=request.url.scheme == "https"
    )


_join_page_router = Router(prefix="/join")
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
    work: UnclaimedWork | None


@_join_page_router.get("/{code}")
def show_join_page(request: Request, site: Here, visiting: Visiting, code: str) -> Response:
    """The page of a join link."""
    with open_session(site.engine) as session:
        row = _class(session, site, code)
        if visiting.person and classes.role_in(session, classes.number_of(row), visiting.person.person):
            return RedirectResponse(class_url(classes.number_of(row)), 303)
    return _form(request, visiting, row, code)


@_join_page_router.post("/{code}", dependencies=[FromHere])
def join(
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
    with open_writing_session(site.engine) as session:
        row = _class(session, site, code)
        if visiting.person and classes.role_in(session, classes.number_of(row), visiting.person.person):
            return RedirectResponse(class_url(classes.number_of(row)), 303)
        if not classes.may_join(row):
            return _form(request, visiting, row, code, status=422)
        try:
            if visiting.person is not None:
                joined = classes.join_as(session, row, visiting.person, name)
            else:
                form_id = form[:_LONGEST_FORM] or classes.new_form_id()
                joined = classes.join_as_new(session, site.secret, row, name, form_id)
        except InputError as error:
            return _form(request, visiting, row, code, name, sentence(str(error)), 422)
    return _seat(request, site, visiting, row, joined)


def _class(session: Session, site: Site, code: str) -> ClassRow:
    check_guesses(site)
    row = classes.class_of_code(session, code)
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
        typed=typed[:NAME_LIMIT] or (classes.invented_name() if row.pseudonyms else ""),
        form=classes.new_form_id(),
        problem=problem,
        ways=ways_to_sign_in(site_in(request), f"/join/{code}"),
    )
    return render("people/join.html", frame(request, translate("Join {name}", name=row.name), here="me"), page, status)


def _seat(request: Request, site: Site, visiting: Visitor, row: ClassRow, joined: classes.NewMember) -> Response:
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


router.routes += _join_page_router.routes
