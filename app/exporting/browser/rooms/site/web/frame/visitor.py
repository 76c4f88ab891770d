"""In place of the visitors of a server, in a browser: one learner, who needs no cookie."""

from dataclasses import dataclass
from typing import Annotated, Literal

from fastapi import Depends, Request

from app.server.aside.fair_queue import Client

COOKIE, SESSION, THEME = "learner", "session", "theme"
Theme = Literal["", "light", "dark"]
LEARNER = "browser"


@dataclass(frozen=True, slots=True)
class Visitor:
    """The learner of this browser."""

    learner: str = LEARNER
    client: Client = Client(LEARNER)
    person: None = None
    anonymous: str = ""


async def visitor(request: Request, site: object = None) -> Visitor:
    """The learner of this browser."""
    return Visitor()


Visiting = Annotated[Visitor, Depends(visitor)]
FromHere = None


async def from_here(_: Request) -> None:
    """Nothing is sent from elsewhere to a browser's own pages."""


def signed_in(*_: object) -> None:
    """Nobody signs in to a browser."""


def visitor_learner(visiting: Visitor) -> str:
    """The learner of this browser."""
    return visiting.learner


def spend(*_: object) -> None:
    """Nothing: a browser works for its own visitor."""


def spend_storage(*_: object) -> None:
    """Nothing: a browser stores for its own visitor."""


def remember(*_: object) -> None:
    """Nothing: there is one learner."""
