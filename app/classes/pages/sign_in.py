"""Sign in with a seat code, sign out, and what happens to anonymous work in this browser."""

import math
from dataclasses import dataclass
from hashlib import sha256
from typing import Annotated
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from fastapi import Form, Request, Response
from fastapi.responses import RedirectResponse
from sqlmodel import Session
from starlette.exceptions import HTTPException

from app.classes.federation.identities import issuers_of
from app.classes.federation.providers import obstacles
from app.classes.members import sign_in, site_members
from app.classes.pages.class_router import change_database, class_url, sign_in_first
from app.classes.people.assignment_copies import how_far
from app.classes.people.classes import class_of_code, member_of_seat_code
from app.classes.people.merges import waiting_merges
from app.classes.people.persons import LENGTH, LIFETIME, close_browser, open_browser, read_code
from app.core.errors import sentence
from app.core.translation import noted, plural, translate
from app.server.aside import current_payer
from app.server.db.claims import UnclaimedWork, claim_rows, find_unclaimed
from app.server.db.people import ClassRow
from app.server.db.session import open_session, open_writing_session
from app.server.db.tables import now
from app.server.network.routes import Router
from app.site import Here, Site
from app.site.members import SignedIn
from app.site.web.frame.renderer import Hyperlink, frame, render
from app.site.web.frame.visitor import SESSION, FromHere, Visiting, Visitor
from app.site.web.urls import path_inside


@dataclass(frozen=True, slots=True)
class Ways:
    """The *links* with which to sign in, and sentences about what is *missing* for others."""

    links: tuple[Hyperlink, ...]
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SignInAccount:
    """An account with which a person can sign in; if not *connected*, *href* connects it."""

    name: str
    href: str
    connected: bool


@dataclass(frozen=True, slots=True)
class NamePage:
    """The form for a person's name."""

    name: str
    next: str
    problem: str


@dataclass(frozen=True, slots=True)
class ConnectPage:
    """Asks whether a new identity, *called* so in a sentence, is that of the person *name*."""

    called: str
    name: str


@dataclass(frozen=True, slots=True)
class RefusedPage:
    """Why a sign-in was refused, and the page to sign in again."""

    says: str
    again: str


def accounts_of(site: Site, session: Session, person: int) -> tuple[SignInAccount, ...]:
    """The accounts that a person has connected, and those that they could connect here."""
    issuers = issuers_of(session, person)
    return tuple(
        SignInAccount(provider.name, f"/sign-in/{provider.slug}?next=/me", provider.issuer in issuers)
        for provider in site_members(site).federation.usable()
    )


def ways_to_sign_in(site: Site, to: str = "") -> Ways:
    """The ways that are configured; each leads back to *to*, a path of this site."""
    query = f"?{urlencode({'next': to})}" if to else ""
    links = [
        Hyperlink(f"/sign-in/{provider.slug}{query}", translate("Sign in with {name}", name=provider.name))
        for provider in site_members(site).federation.usable()
    ]
    return Ways(tuple(links), tuple(obstacles(site.settings)))


EVERY_CLASS = "any class"  # the bucket of codes that were typed without a class
_TOO_MANY = noted("too many wrong codes were tried in a short time; try again {when}")
_WRONG = noted("this code is wrong, as many others were in a short time: look at it again, and try again {when}")


def check_guesses(site: Site, bucket: str = EVERY_CLASS) -> None:
    """Refuse to look at a code from where far too many wrong ones came."""
    allowances, payer = site.allowances, current_payer()
    if own := allowances.own_wrong_codes.blocked(payer):
        _refuse(min(own, allowances.wrong_codes_of_class.blocked(bucket)), _TOO_MANY)


def count_wrong_code(site: Site, bucket: str = EVERY_CLASS) -> None:
    """Remember that a code was wrong."""
    allowances, payer = site.allowances, current_payer()
    if allowances.own_wrong_codes.wait(payer):
        allowances.wrong_codes_of_class.wait(bucket)
    _refuse(allowances.wrong_codes.wait(payer), _WRONG)


def _refuse(wait: float, why: str) -> None:
    if seconds := math.ceil(wait):
        when = plural("in a second", "in {number:,} seconds", seconds)
        raise HTTPException(429, translate(why, when=when), {"Retry-After": str(seconds)})


router = Router()
_UTC = ZoneInfo("UTC")
_DECLINED = "declined"  # the cookie that says whose work is not this person's
_DIGITS = 16  # of the hash in it
_LONGEST = 2_000  # characters of an address

_NO_SEAT = noted("no seat has the code {code}: look at it again, or ask your teacher for a new one")
_NO_SEAT_IN = noted("no seat in {name} has the code {code}: look at it again, or ask your teacher for a new one")


@dataclass(frozen=True, slots=True, kw_only=True)
class SignInPage:
    """The form for a seat code; *to* is the class that a join link names."""

    to: str
    join: str
    next: str
    code: str
    problem: str
    signed_in: str
    ways: Ways


@dataclass(frozen=True, slots=True)
class ClaimPage:
    """Anonymous work, offered to a person who has signed in; *last*: when the last of it was."""

    work: UnclaimedWork
    last: str
    name: str
    next: str


@router.get("/sign-in")
def sign_in_page(request: Request, site: Here, visiting: Visiting, next: str = "", join: str = "") -> Response:
    """The form for a seat code."""
    with open_session(site.engine) as session:
        named = _class_of_link(session, site, join)
    return _form(request, site, visiting, next, join, named)


@router.post("/sign-in", dependencies=[FromHere])
def sign_in_with_code(
    request: Request,
    site: Here,
    visiting: Visiting,
    code: Annotated[str, Form()] = "",
    next: Annotated[str, Form()] = "",
    join: Annotated[str, Form()] = "",
) -> Response:
    """Sign in the person whose seat code it is."""
    to = own_path(next)
    with open_writing_session(site.engine) as session:
        named = _class_of_link(session, site, join)
        bucket = f"class {named.id}" if named else EVERY_CLASS
        check_guesses(site, bucket)
        seat = member_of_seat_code(session, code, named.id if named else None)
        if seat is None:
            count_wrong_code(site, bucket)  # before the next one is read
        else:
            cookie = open_browser(session, seat.person)
            session.commit()
    if seat is None:
        return _form(request, site, visiting, to, join, named, code, _problem(code, named))
    return welcome(request, site, visiting, cookie, to or class_url(seat.class_id))


@router.post("/sign-out", dependencies=[FromHere])
async def sign_out(request: Request, site: Here) -> Response:
    """Sign out in this browser."""
    if cookie := request.cookies.get(SESSION):
        await change_database(site, close_browser, cookie)
        site_members(site).sessions.forget(cookie)
    response = RedirectResponse("/", 303)
    response.delete_cookie(SESSION)
    return response


@router.get("/me/claim")
def offer_claim(request: Request, site: Here, visiting: Visiting, next: str = "") -> Response:
    """The anonymous work of this browser, if there is any that this person has not declined."""
    if visiting.person is None:
        raise sign_in_first(request)
    work = offered_work(request, site, visiting)
    if work is None:
        return RedirectResponse(own_path(next) or "/me", 303)
    last = how_far(work.last, _UTC, now())
    page = ClaimPage(work, last, visiting.person.name, own_path(next))
    return render("people/claim.html", frame(request, translate("Is this yours?"), here="me"), page)


@router.post("/me/claim", dependencies=[FromHere])
async def decide(
    request: Request,
    site: Here,
    visiting: Visiting,
    mine: Annotated[str, Form()] = "",
    next: Annotated[str, Form()] = "",
) -> Response:
    """Take the anonymous work of this browser, or leave it."""
    if visiting.person is None:
        raise sign_in_first(request)
    response = RedirectResponse(own_path(next) or "/me", 303)
    if mine == "yes" and visiting.anonymous:
        await change_database(site, claim_rows, visiting.anonymous, visiting.person.learner)
    elif mine == "no":
        response.set_cookie(
            _DECLINED,
            _short(visiting.anonymous),
            max_age=round(LIFETIME.total_seconds()),
            httponly=True,
            samesite="lax",
            secure=request.url.scheme == "https",
        )
    return response


def offered_work(request: Request, site: Site, visiting: Visitor) -> UnclaimedWork | None:
    """The anonymous work of this browser that the person may claim, unless they declined it."""
    learner = visiting.anonymous
    if not learner or request.cookies.get(_DECLINED) == _short(learner):
        return None
    with open_session(site.engine) as session:
        return find_unclaimed(session, learner)


def own_path(text: str) -> str:
    """*text*, if it is an address on this site; otherwise empty.

    >>> own_path("/classes/7"), own_path("//elsewhere.example"), own_path("https://elsewhere.example")
    ('/classes/7', '', '')
    """
    plain = text.isascii() and text.isprintable() and len(text) <= _LONGEST
    return path_inside(text) if plain else ""


def asked_first(site: Site, person: SignedIn, to: str) -> str:
    """The address of the questions that wait for a person, who was on the way to *to*; or empty."""
    with open_session(site.engine) as session:
        waits = bool(waiting_merges(session, person.person))
    return f"/me/merges?{urlencode({'next': to})}" if waits else ""


def welcome(request: Request, site: Site, visiting: Visitor, cookie: str, to: str) -> Response:
    """What takes a person who has just signed in to *to*, by way of work that may be theirs."""
    entered = site_members(site).sessions.find(cookie)
    to = (asked_first(site, entered, to) if entered else "") or to
    anonymous = visiting.anonymous or ("" if visiting.person else visiting.learner)
    with open_session(site.engine) as session:
        work = find_unclaimed(session, anonymous)
    asked = work and request.cookies.get(_DECLINED) != _short(anonymous)
    response = RedirectResponse(f"/me/claim?{urlencode({'next': to})}" if asked else to, 303)
    if (old := request.cookies.get(SESSION)) and old != cookie:
        with open_writing_session(site.engine) as session:
            close_browser(session, old)
        site_members(site).sessions.forget(old)
    sign_in(request, response, cookie)
    return response


def _class_of_link(session: Session, site: Site, join: str) -> ClassRow | None:
    """The class of a join link; one that leads nowhere is a wrong code, as it is at /join."""
    if not join:
        return None
    check_guesses(site)
    named = class_of_code(session, join)
    if named is None:
        count_wrong_code(site)
    return named


def _form(
    request: Request,
    site: Site,
    visiting: Visitor,
    to: str,
    join: str,
    named: ClassRow | None,
    code: str = "",
    problem: str = "",
) -> Response:
    page = SignInPage(
        to=named.name if named else "",
        join=join if named else "",
        next=own_path(to),
        code=code[:_DIGITS],
        problem=problem,
        signed_in=visiting.person.name or translate("a person without a name") if visiting.person else "",
        ways=ways_to_sign_in(site, own_path(to) or (f"/join/{join}" if named else "")),
    )
    status = 422 if problem else 200
    return render("people/sign_in.html", frame(request, translate("Sign in"), here="me"), page, status)


def _problem(code: str, named: ClassRow | None) -> str:
    letters = len(read_code(code))
    if letters != LENGTH:
        return sentence(
            translate(
                "a seat code has {length} letters and digits, as K7M2-9QXT, and this one has {letters}",
                length=LENGTH,
                letters=letters,
            )
        )
    typed = code.strip()[:_DIGITS]
    if named:
        return sentence(translate(_NO_SEAT_IN, name=named.name, code=typed))
    return sentence(translate(_NO_SEAT, code=typed))


def _short(learner: str) -> str:
    return sha256(learner.encode()).hexdigest()[:_DIGITS]
