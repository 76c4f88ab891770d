"""The application: how it is put together, starts and stops."""

import asyncio
import gc
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from http import HTTPStatus
from importlib.metadata import version
from pathlib import Path

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.types import Scope

from app import api, metrics, web
from app.aside.payer import Payer
from app.config import Settings
from app.content.course import read_course
from app.db.batched_reads import Gathered
from app.db.copies import expiring
from app.db.exercise_histories import histories
from app.db.idle import tidying
from app.db.learner_cookie import signing_secret
from app.db.migrations import migrate
from app.db.outage import outage_of
from app.db.session import connect
from app.db.tokens import Tokens
from app.db.writer import Writer
from app.errors import AppError, ContentError, UnavailableError
from app.federation.federation import Federation
from app.federation.identities import Identities
from app.federation.proxy import ProxyHeader
from app.labs.queue import Dispatcher
from app.network.allowance import Allowances
from app.network.budget import Budget, BudgetItem, address_of
from app.network.door import Door, Rules, note_fault, note_trouble
from app.network.drain import Draining
from app.network.guard import GUARD, Guard, Limits
from app.network.hosts import Hosts
from app.network.languages import Languages
from app.network.page_limit import PageLimit
from app.network.prefix import Prefix
from app.network.routes import methods_at
from app.network.watch import Watch
from app.people.persons import Sessions
from app.people.seats import key_seat_codes
from app.people.student_histories import student_histories
from app.sandbox.runner import Runner
from app.site import Site

_EXPECTED = (AppError, HTTPException, RequestValidationError)
_OWNED = re.compile(api.OWNED).match  # whether a path is for programs, not people
_SWITCH = 0.001  # seconds until a thread hands over to the event loop; Python's own are 0.005
_OBJECTS = 20_000  # net allocations of containers that trigger a collection; Python's is 700


def create_site(settings: Settings) -> Site:
    """The site that requests work with; upgrades the tables of the database.

    Raises:
        ContentError: an exercise file is not valid.
        UnavailableError: the database cannot be used.
    """
    catalog = read_course(settings)
    federation = Federation(settings)
    migrate(settings.database)
    engine = connect(settings.database)
    secret = signing_secret(engine, settings.secret)
    key_seat_codes(engine)
    labs, outage = Dispatcher(settings, engine), outage_of(engine)
    return Site(
        settings=settings,
        course=catalog,
        engine=engine,
        writer=Writer(engine),
        runner=Runner(settings),
        labs=labs,
        secret=secret,
        allowances=Allowances.of(settings, _shared_allowances()),
        tokens=Tokens(engine),
        sessions=Sessions(engine),
        federation=federation,
        proxy=ProxyHeader(settings),
        identities=Identities(engine),
        histories=Gathered(partial(histories, engine), outage),
        student_histories=Gathered(partial(student_histories, engine, secret), outage),
        draining=Draining(settings.drain),
    )


def create_app(settings: Settings | None = None, site: Site | None = None, *, framed: bool = False) -> FastAPI:
    """The application for *settings*, by default those of the environment.

    If *framed*, its pages may be shown in frames of its own pages.

    Raises:
        ContentError: an exercise file is not valid.
        UnavailableError: the database cannot be used.
    """
    site = site or create_site(settings or Settings())
    app = FastAPI(
        title="Wallclock",
        lifespan=_lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        description="Check answers, evaluate formulas and predict training steps from a program.",
        version=version("wallclock"),
        servers=[{"url": site.settings.prefix}] if site.settings.prefix else None,
    )
    app.state.site = site
    app.add_middleware(PageLimit)
    api.install_api(app)
    web.install_pages(app)
    rules = Rules(
        owns=_OWNED,
        respond=_respond,
        body_limit=site.settings.body_limit,
        streamed=api.STREAMED,
        files=web.FILES,
        framed=framed,
        admits=Hosts(site.settings, api.HEALTH).admit,
        private=re.compile(f"{web.PRIVATE}|{api.PRIVATE}").match,
        draining=site.draining,
        ready=site.outage.ready,
        budget=_budget(site),
        free=api.HEALTH,
    )
    seen = site.settings.metrics or site.settings.access_log
    watch = Watch(logs=site.settings.access_log, secret=site.secret) if seen else None
    app.add_middleware(Door, rules=rules, watch=watch)
    app.add_middleware(Languages, default=site.settings.language)
    if prefix := site.settings.prefix:
        app.add_middleware(Prefix, prefix=prefix)
    for error in _EXPECTED:
        app.add_exception_handler(error, _respond)
    return app


def calm_collector() -> None:
    """Keep the garbage collector from pausing requests, in a process that only serves the app.

    The exercises live as long as the process. A full collection visits their 150,000 containers,
    which takes 120 ms; once they are frozen, none is visited. A page allocates thousands of small
    objects, few of them in cycles: 360 pages cause 2 collections with this threshold, and 59 with
    Python's own.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_OBJECTS, *gc.get_threshold()[1:])


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[dict[str, object]]:
    site: Site = app.state.site
    sys.setswitchinterval(_SWITCH)
    site.writer.start()
    await site.runner.start()
    if not site.settings.labs_apart:
        site.labs.start()
    idle = tidying(site.engine, site.settings.anonymous_days)
    copies = expiring(site.settings.database)
    async with web.indexing(app), web.deliver_scores(app), api.sampling(site), idle, copies:
        with site.draining.watching():
            yield {GUARD: Guard(Limits.of(site.settings))}
    await asyncio.to_thread(site.labs.close)
    await site.runner.close()
    await site.writer.close()
    site.engine.dispose()


def _shared_allowances() -> Path | None:
    """The file of the allowances that several processes of one server have in common."""
    return metrics.folder() / "allowances" if metrics.is_shared() else None


def _budget(site: Site) -> Budget:
    allowances = site.allowances
    items = (
        BudgetItem("ways in", allowances.ways_in, re.compile(web.WAYS_IN).match),
        BudgetItem("files", allowances.files, re.compile(web.STATIC).match),
    )
    return Budget(allowances.processor, partial(_payer, site), items)


async def _payer(site: Site, scope: Scope) -> Payer:
    """Who pays for a request, as `Budget` asks; without the database, its address."""
    request, stranger = Request(scope), address_of(scope)
    try:
        if token := api.token_name(request, site):
            return replace(stranger, token=token)
        return await web.payer_of(request, site, stranger)
    except UnavailableError:
        return stranger


async def _respond(request: Request, error: Exception) -> Response:
    if isinstance(error, UnavailableError):
        note_trouble(request, error, error.cause)
    elif isinstance(error, ContentError) or not isinstance(error, _EXPECTED):
        note_fault(request, error)
    if isinstance(error, HTTPException) and error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        # Starlette names the methods of the first route of the path alone.
        allowed = ", ".join(methods_at(request.app.routes, request.scope))
        error = HTTPException(error.status_code, error.detail, {"Allow": allowed})
    if _OWNED(request.url.path):
        return api.problem_for(request, error)
    return web.page_for(request, error)
