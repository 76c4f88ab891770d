"""The site that requests work with: one per process of the server."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated

from fastapi import Depends, Request
from sqlalchemy import Engine

from app.aside.payer import EarnedCookies
from app.config import Settings
from app.content.catalog import Catalog
from app.db.batched_reads import Gathered
from app.db.history import ExerciseHistory, LearnerDrawing
from app.db.outage import Outage, outage_of
from app.db.tables import now
from app.db.tokens import Tokens
from app.db.writer import Writer
from app.federation.federation import Federation
from app.federation.identities import Identities
from app.federation.proxy import ProxyHeader
from app.labs.queue import Dispatcher
from app.network.allowance import Allowances
from app.network.drain import Draining
from app.people.persons import Sessions
from app.people.student_histories import StudentDrawing, StudentHistory
from app.sandbox.runner import Runner
from app.translation import language


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
    sessions: Sessions
    federation: Federation
    proxy: ProxyHeader
    identities: Identities
    histories: Gathered[LearnerDrawing, ExerciseHistory]
    student_histories: Gathered[StudentDrawing, StudentHistory]
    draining: Draining
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
