"""Who looks at the page: a learner known by a signed cookie, or nobody yet."""

from dataclasses import dataclass
from typing import Annotated, Literal
from urllib.parse import urlsplit

from fastapi import Depends, Request, Response
from starlette.exceptions import HTTPException

from app.db.signing import new_learner, sign, unsign
from app.site import Here

COOKIE = "learner"
THEME = "theme"
_AGE = 400 * 24 * 3600  # seconds; browsers keep no cookie for longer

Theme = Literal["", "light", "dark"]


@dataclass(frozen=True, slots=True)
class Visitor:
    """*learner* is empty until something is handed in."""

    learner: str


async def visitor(request: Request, site: Here) -> Visitor:
    """Who sent *request*."""
    return Visitor(unsign(request.cookies.get(COOKIE, ""), site.secret) or "")


Visiting = Annotated[Visitor, Depends(visitor)]


async def from_here(request: Request) -> None:
    """Let no other site's page send our forms.

    Raises:
        HTTPException: 403, when the browser says that it did.
    """
    origin = request.headers.get("origin")
    foreign = origin is not None and urlsplit(origin).netloc != request.headers.get("host")
    if foreign or request.headers.get("sec-fetch-site") in ("cross-site", "same-site"):
        raise HTTPException(403, "this form was sent from another site; open the page here")


FromHere = Depends(from_here)


def learner_of(visiting: Visitor) -> str:
    """The learner, who is made when there is none."""
    return visiting.learner or new_learner()


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
