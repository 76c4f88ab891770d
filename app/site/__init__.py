"""The site that requests work with: one per process of the server."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated

from fastapi import Depends, Request
from fastapi.exceptions import RequestValidationError
from sqlalchemy import Engine
from starlette.exceptions import HTTPException

from app.core.errors import AnswerError, InputError, NotFoundError, RefusedError, UnavailableError
from app.core.translation import language
from app.course.content.catalog import Catalog
from app.course.sandbox.runner import Runner
from app.server.aside.payer import EarnedCookies
from app.server.config import Settings
from app.server.db.history import ExerciseHistory, LearnerDrawing
from app.server.db.learner_cookie import Tokens
from app.server.db.session import BatchedLookup, Outage, outage_of
from app.server.db.tables import now
from app.server.db.writer import Writer
from app.server.network.allowance import Allowances
from app.server.network.drain import DrainState
from app.site.labs.queue import Dispatcher
from app.site.members import Members


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """The exercises, the database, the sandbox and the labs of this server."""

    settings: Settings
    course: Catalog
    engine: Engine
    writer: Writer
    runner: Runner
    labs: Dispatcher
    secret: str
    allowances: Allowances
    tokens: Tokens
    histories: BatchedLookup[LearnerDrawing, ExerciseHistory]
    members: Members
    draining: DrainState
    earned_cookies: EarnedCookies = field(default_factory=EarnedCookies)
    clock: Callable[[], datetime] = now

    @property
    def outage(self) -> Outage:
        """Whether the database can be reached."""
        return outage_of(self.engine)

    @property
    def catalog(self) -> Catalog:
        """The course in the language of the request, as far as it is translated."""
        return self.course.spoken(language())


async def site_of(request: Request) -> Site:
    """The site that serves *request*.

    (Not a plain function: FastAPI would call it in another thread, for every request.)
    """
    return site_in(request)


def site_in(request: Request) -> Site:
    """The site that serves *request*."""
    site = request.app.state.site
    if not isinstance(site, Site):
        raise TypeError("the app has no site: create the app with create_app")
    return site


Here = Annotated[Site, Depends(site_of)]
_STATUS: Mapping[type[Exception], int] = {
    NotFoundError: 404,
    AnswerError: 422,
    InputError: 422,
    RequestValidationError: 422,
    RefusedError: 400,
    UnavailableError: 503,
}


def status_of(error: Exception) -> int:
    """The HTTP status for *error*, of a page as of a call."""
    if isinstance(error, HTTPException):
        return error.status_code
    return next((status for kind, status in _STATUS.items() if isinstance(error, kind)), 500)
