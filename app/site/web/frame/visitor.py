"""The visitor of a page: a learner with a signed cookie, or a new visitor."""

import math
from dataclasses import dataclass, replace
from typing import Annotated, Literal

from fastapi import Depends, Request, Response
from starlette.exceptions import HTTPException

from app.core.translation import noted, plural, translate
from app.server.aside import current_payer
from app.server.aside.fair_queue import Client
from app.server.aside.payer import NEW, Payer
from app.server.db.learner_cookie import new_learner, sign, unsign
from app.server.db.tables import now
from app.server.network.allowance import Allowance
from app.server.network.watch import LEARNER
from app.site import Here, Site, site_in
from app.site.members import SignedIn
from app.site.web.frame.origin import from_here

COOKIE = "learner"
SESSION = "session"
THEME = "theme"
_ROW = 1_000  # bytes of a row beside its longest text, with its places in indices
PERSON = 20_000  # bytes that a new person takes: 5,000 a day may join from one address
_AGE = 400 * 24 * 3600  # seconds; browsers do not keep cookies for longer

Theme = Literal["", "light", "dark"]


@dataclass(frozen=True, slots=True)
class Visitor:
    """*learner* is empty until something is submitted; programs run on behalf of *client*.

    A *person* is one who is signed in; their answers are stored under a learner of their own, and
    *anonymous* is the learner whose work this browser did without a person.
    """

    learner: str
    client: Client
    person: SignedIn | None = None
    anonymous: str = ""


async def visitor(request: Request, site: Here) -> Visitor:
    """Who sent *request*."""
    learner, person = _cookie_learner(request, site), await _sought(request, site)
    request.scope["state"][LEARNER] = person.learner if person else learner
    client = current_payer().lane
    return Visitor(person.learner, client, person, learner) if person else Visitor(learner, client)


Visiting = Annotated[Visitor, Depends(visitor)]


async def payer_of(request: Request, site: Site, stranger: Payer) -> Payer:
    """Who pays for *request* in place of a *stranger* at its address, if anyone does.

    Raises:
        UnavailableError: the database cannot be read.
    """
    if person := await _sought(request, site):
        is_new = (now() - person.made).total_seconds() < NEW
        return replace(stranger, learner=person.learner, is_person=True, is_new=is_new)
    learner = _cookie_learner(request, site)
    earned = bool(learner) and site.earned_cookies.has(learner)
    return replace(stranger, learner=learner) if earned else stranger


def _cookie_learner(request: Request, site: Site) -> str:
    cookie = request.cookies.get(COOKIE)
    return (unsign(cookie, site.secret) or "") if cookie else ""


async def _sought(request: Request, site: Site) -> SignedIn | None:
    cookie = request.cookies.get(SESSION)
    return await site.members.sought(request.scope, cookie) if cookie else None


def signed_in(request: Request, site: Site) -> SignedIn | None:
    """The person whose session *request* has, unless the proxy has signed in another one."""
    cookie = request.cookies.get(SESSION)
    return site.members.find(request.scope, cookie) if cookie else None


FromHere = Depends(from_here)


def visitor_learner(visiting: Visitor) -> str:
    """The visitor's learner, or a new one."""
    return visiting.learner or new_learner()


# What may be too many, for `spend`.
_NOUNS = (
    noted("answers"),
    noted("calculations"),
    noted("files"),
    noted("forms"),
    noted("imports"),
    noted("lab runs"),
    noted("new classes"),
    noted("pictures"),
    noted("searches"),
    noted("sent runs"),
    noted("sign-ins"),
)


def spend(allowance: Allowance, what: str, cost: float = 1.0) -> None:
    """Take *cost* from the allowance of the visitor for *what*, a plural noun.

    Raises:
        HTTPException: 429, if the allowance is used up.
    """
    if wait := math.ceil(allowance.wait(current_payer(), cost)):
        says = translate(
            "too many {what} came from your network address in a short time; try again {when}",
            what=translate(what),
            when=plural("in a second", "in {number:,} seconds", wait),
        )
        raise HTTPException(429, says, {"Retry-After": str(wait)})


def spend_storage(site: Site, size: int) -> None:
    """Take what storing *size* characters takes from the day's bytes of the visitor.

    Raises:
        HTTPException: 429, if they are used up.
    """
    if wait := math.ceil(site.allowances.storage.wait(current_payer(), _ROW + size)):
        says = translate(
            "too much was stored from your network address in a day; try again {when}",
            when=plural("in a second", "in {number:,} seconds", wait),
        )
        raise HTTPException(429, says, {"Retry-After": str(wait)})


def remember(request: Request, response: Response, learner: str, secret: str) -> None:
    """Set the learner's cookie; a person is known by the session instead."""
    if signed_in(request, site_in(request)):
        return
    response.set_cookie(
        COOKIE, sign(learner, secret), max_age=_AGE, httponly=True, samesite="lax", secure=request.url.scheme == "https"
    )
