"""The visitor of a page: a learner with a signed cookie, or a new visitor."""

import math
from dataclasses import dataclass
from typing import Annotated, Literal

from fastapi import Depends, Request, Response
from starlette.exceptions import HTTPException

from app.core.translation import noted, plural, translate
from app.server.aside import let_pay
from app.server.aside.fair_queue import Client, anonymous
from app.server.db.learner_cookie import new_learner, sign, unsign
from app.server.network.allowance import Allowance, network
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
    learner = unsign(request.cookies.get(COOKIE, ""), site.secret) or ""
    cookie = request.cookies.get(SESSION)
    if person := await site.members.sought(request.scope, cookie) if cookie else None:
        request.scope["state"][LEARNER] = person.learner
        let_pay(_payer(person))
        return Visitor(person.learner, Client(person.learner), person, learner)
    # Anyone can get a new cookie, so only a visitor who returns with one is a client of their own.
    request.scope["state"][LEARNER] = learner
    client = Client(learner) if learner else anonymous(network(forwarded_address(request)))
    return Visitor(learner, client)


Visiting = Annotated[Visitor, Depends(visitor)]


def payer_of(request: Request, site: Site) -> str | None:
    """Who pays for the processor time of *request* in place of its address, if anyone does."""
    person = signed_in(request, site)
    return _payer(person) if person else None


def _payer(person: SignedIn) -> str:
    return f"person {person.person}"


def signed_in(request: Request, site: Site) -> SignedIn | None:
    """The person whose session *request* has, unless the proxy has signed in another one."""
    cookie = request.cookies.get(SESSION)
    return site.members.find(request.scope, cookie) if cookie else None


FromHere = Depends(from_here)


def visitor_learner(visiting: Visitor) -> str:
    """The visitor's learner, or a new one."""
    return visiting.learner or new_learner()


def forwarded_address(request: Request) -> str:
    """The network address of *request*; behind a trusted proxy, the address that it forwards."""
    return request.client.host if request.client else ""


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


def spend(request: Request, allowance: Allowance, what: str, cost: float = 1.0) -> None:
    """Take *cost* from the allowance of the visitor's address for *what*, a plural noun.

    Raises:
        HTTPException: 429, if the allowance is used up.
    """
    if wait := math.ceil(allowance.wait(forwarded_address(request), cost)):
        says = translate(
            "too many {what} came from your network address in a short time; try again {when}",
            what=translate(what),
            when=plural("in a second", "in {number:,} seconds", wait),
        )
        raise HTTPException(429, says, {"Retry-After": str(wait)})


def spend_storage(request: Request, site: Site, visiting: Visitor, size: int) -> None:
    """Take what storing *size* characters takes from the day's bytes of the visitor's address.

    A person has bytes of their own: the others of a lecture hall cannot use them up.

    Raises:
        HTTPException: 429, if they are used up.
    """
    whose = visiting.person.learner if visiting.person else forwarded_address(request)
    if wait := math.ceil(site.allowances.storage.wait(whose, _ROW + size)):
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
