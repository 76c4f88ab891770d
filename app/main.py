"""The application: how it is put together, starts and stops."""

import asyncio
import gc
import re
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from http import HTTPStatus
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from itertools import chain

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.types import Scope

from app.core.errors import AppError, ContentError, UnavailableError
from app.course.content.course import read_course
from app.course.sandbox.runner import Runner
from app.server import metrics
from app.server.aside import run_beside
from app.server.aside.payer import Payer
from app.server.config import Settings
from app.server.db.exercise_histories import histories
from app.server.db.idle import tidy_daily
from app.server.db.learner_cookie import Tokens, signing_secret
from app.server.db.migrations import migrate, remove_expired
from app.server.db.session import BatchedLookup, connect, outage_of
from app.server.db.writer import Writer
from app.server.network.allowance import Allowances, Budget, BudgetItem, address_of
from app.server.network.door import Door, Rules, note_fault, note_trouble
from app.server.network.drain import DrainState
from app.server.network.guard import GUARD, Guard, Limits
from app.server.network.head import Hosts, Languages
from app.server.network.prefix import Prefix
from app.server.network.response_policy import PageLimit
from app.server.network.routes import RouteTable, methods_at
from app.server.network.watch import StallWatch, Watch
from app.site import Site, api, web
from app.site.labs.queue import Dispatcher
from app.site.members import Members
from app.site.part import SitePart
from app.site.web.exercise.page_context import Assignments

_OPTIONAL = ("app.classes",)  # parts that a site can do without
_EXPECTED = (AppError, HTTPException, RequestValidationError)
_OWNED = re.compile(api.OWNED).match  # whether a path is for programs, not people
_SWITCH = 0.001  # seconds until a thread hands over to the event loop; Python's own are 0.005
_OBJECTS = 20_000  # net allocations of containers that trigger a collection; Python's is 700


def installed_parts() -> tuple[SitePart, ...]:
    """The parts of this installation that a site can do without."""
    names = (name for name in _OPTIONAL if find_spec(name))
    return tuple(import_module(f"{name}.part").PART for name in names)


def create_site(settings: Settings, parts: Sequence[SitePart] | None = None) -> Site:
    """The site that requests work with, with *parts*, by default all; upgrades the tables of the database.

    Raises:
        ContentError: an exercise file is not valid.
        UnavailableError: the database cannot be used.
    """
    catalog = read_course(settings)
    migrate(settings.database)
    engine = connect(settings.database)
    secret = signing_secret(engine, settings.secret)
    labs, outage = Dispatcher(settings, engine), outage_of(engine)
    makers = [part.members for part in _all(parts) if part.members]
    return Site(
        settings=settings,
        course=catalog,
        engine=engine,
        writer=Writer(engine),
        runner=Runner(settings),
        labs=labs,
        secret=secret,
        allowances=Allowances.of(settings, metrics.folder() / "allowances" if metrics.is_shared() else None),
        tokens=Tokens(engine),
        histories=BatchedLookup(partial(histories, engine), outage),
        members=makers[0](settings, engine, secret) if makers else Members(),
        draining=DrainState(settings.drain),
    )


def create_app(
    settings: Settings | None = None,
    site: Site | None = None,
    *,
    framed: bool = False,
    parts: Sequence[SitePart] | None = None,
) -> FastAPI:
    """The application for *settings*, by default those of the environment.

    If *framed*, its pages may be shown in frames of its own pages. *parts* are by default all that are installed.

    Raises:
        ContentError: an exercise file is not valid.
        UnavailableError: the database cannot be used.
    """
    parts = _all(parts)
    site = site or create_site(settings or Settings(), parts)
    app = FastAPI(
        title="Wallclock",
        lifespan=_lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        description="Check answers, evaluate formulas and predict training steps from a program.",
        version=version("wallclock"),
        servers=[{"url": site.settings.prefix}] if site.settings.prefix else None,
        telemetry={"tracing": False, "metrics": False, "logs": False},
    )
    app.state.site = site
    app.state.parts = parts
    app.state.assignments = site.members if isinstance(site.members, Assignments) else Assignments()
    app.state.stalls = StallWatch()
    app.add_middleware(PageLimit)
    further = (module for part in parts for module in (*part.calls, *part.pages))
    app.state.routes = RouteTable(app, (*api.PARTS, *web.PARTS, *further))
    app.openapi = api.describe_api(app, app.state.routes)  # type: ignore[method-assign]
    web.install_pages(app)
    rules = Rules(
        owns=_OWNED,
        respond=_respond,
        body_limit=site.settings.body_limit,
        streamed=api.STREAMED,
        files={**web.FILES, **{path: most for part in parts for path, most in part.files.items()}},
        framed=framed,
        admits=Hosts(site.settings, api.HEALTH).admit,
        private=re.compile("|".join([web.PRIVATE, *chain.from_iterable(part.private for part in parts)])).match,
        draining=site.draining,
        ready=site.outage.ready,
        budget=_budget(site, parts),
        free=api.HEALTH,
        direct=api.DIRECT,
        stalls=app.state.stalls,
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
    which takes 120 ms; once they are frozen, none is visited. (Of what a start leaves, ten objects
    are garbage: to look for them first takes 30 ms.) A page allocates thousands of small objects,
    few of them in cycles: 360 pages cause 2 collections with this threshold, and 59 with Python's own.
    """
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
    idle = tidy_daily(site.engine, site.settings.anonymous_days)
    copies = remove_expired(site.settings.database)
    works = map(run_beside, (app.state.routes.import_late(), api.sample_queues(site), idle, copies))
    async with AsyncExitStack() as beside:
        tasks = [part.tasks(app) for part in app.state.parts if part.tasks]
        for task in (web.build_index(app), *tasks, *works):
            await beside.enter_async_context(task)
        with site.draining.watching(), app.state.stalls.watching():
            yield {GUARD: Guard(Limits.of(site.settings))}
    await asyncio.to_thread(site.labs.close)
    await site.runner.close()
    await site.writer.close()
    site.engine.dispose()


def _all(parts: Sequence[SitePart] | None) -> Sequence[SitePart]:
    return installed_parts() if parts is None else parts


def _budget(site: Site, parts: Sequence[SitePart]) -> Budget:
    allowances = site.allowances
    ways_in = "|".join(chain.from_iterable(part.ways_in for part in parts)) or r"(?!)"
    items = (
        BudgetItem("ways in", allowances.ways_in, re.compile(ways_in).match),
        BudgetItem("files", allowances.files, re.compile(web.STATIC).match),
    )
    return Budget(allowances.processor, partial(_payer, site), items)


async def _payer(site: Site, scope: Scope) -> Payer:
    """Who pays for a request, as `Budget` asks; without the database, its address."""
    request, stranger = Request(scope), address_of(scope)
    try:
        if "authorization" in request.headers and (token := api.token_name(request, site)):
            return Payer(stranger.address, token=token)
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
