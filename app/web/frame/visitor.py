"""Who looks at the page: a learner known by a signed cookie, or nobody yet."""

import math
from dataclasses import dataclass
from typing import Annotated, Literal
from urllib.parse import urlsplit

from fastapi import Depends, Request, Response
from starlette.exceptions import HTTPException

from app.db.signing import new_learner, sign, unsign
from app.network.allowance import Allowance, network
from app.sandbox.fair_queue import Client, anonymous
from app.site import Here

COOKIE = "learner"
THEME = "theme"
_FOREIGN = (
    "this form was sent from another site; open the page here, and send it again (behind a proxy, "
    "this also happens where the proxy does not pass on the header Host)"
)
_AGE = 400 * 24 * 3600  # seconds; browsers keep no cookie for longer

Theme = Literal["", "light", "dark"]


@dataclass(frozen=True, slots=True)
class Visitor:
    """*learner* is empty until something is handed in; programs run on behalf of *client*."""

    learner: str
    client: Client


async def visitor(request: Request, site: Here) -> Visitor:
    """Who sent *request*."""
    learner = unsign(request.cookies.get(COOKIE, ""), site.secret) or ""
    # Anyone can get a cookie: only a visitor who comes back with it is a client of their own.
    client = Client(learner) if learner else anonymous(network(address_of(request)))
    return Visitor(learner, client)


Visiting = Annotated[Visitor, Depends(visitor)]


async def from_here(request: Request) -> None:
    """Let no other site's page send our forms.

    Raises:
        HTTPException: 403, when the browser says that it did.
    """
    origin = request.headers.get("origin")
    foreign = origin is not None and _host_in(origin) != request.headers.get("host")
    if foreign or request.headers.get("sec-fetch-site") in ("cross-site", "same-site"):
        raise HTTPException(403, _FOREIGN)


FromHere = Depends(from_here)


def _host_in(origin: str) -> str | None:
    try:
        return urlsplit(origin).netloc
    except ValueError:  # such as http://[
        return None


def learner_of(visiting: Visitor) -> str:
    """The learner, who is made when there is none."""
    return visiting.learner or new_learner()


def address_of(request: Request) -> str:
    """Where *request* comes from; behind a trusted proxy, where the proxy says."""
    return request.client.host if request.client else ""


def spend(request: Request, allowance: Allowance, what: str, cost: float = 1.0) -> None:
    """Take *cost* from the allowance of the visitor's address; *what* is asked for, in the plural.

    Raises:
        HTTPException: 429, when it is spent.
    """
    if wait := math.ceil(allowance.wait(address_of(request), cost)):
        when = "in a second" if wait == 1 else f"in {wait:,} seconds"
        says = f"too many {what} came from your network address in a short time; try again {when}"
        raise HTTPException(429, says, {"Retry-After": str(wait)})


def remember(request: Request, response: Response, learner: str, secret: str) -> None:
    """Give the learner's cookie to the browser."""
    response.set_cookie(
        COOKIE,
        sign(learner, secret),
        max_age=_AGE,
        httponly=True,
        samesite="lax",
        secure=request.url.scheme == "https",
    )
