"""The pages. They read and work without JavaScript; scripts only make them quicker."""

from collections.abc import Sequence
from types import ModuleType

from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.middleware.gzip import GZipMiddleware
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from app.server.network.routes import RouteTable
from app.site.web.course import chapter, final, placement, schedule
from app.site.web.exercise import pad
from app.site.web.exercise import routes as exercise_page
from app.site.web.explore import explorer_page
from app.site.web.explore.layouts import layout_searches
from app.site.web.frame import static
from app.site.web.frame.static import page_for
from app.site.web.frame.visitor import payer_of
from app.site.web.home import page as home_page
from app.site.web.home import sitemap
from app.site.web.labs import index as lab
from app.site.web.labs import lab_list, run
from app.site.web.measured import page as measured_page
from app.site.web.measured import saved_measurement
from app.site.web.measured.page import BODY_LIMIT as MEASURED_LIMIT
from app.site.web.measured.page import UploadReader
from app.site.web.measured.views import ADDRESS as MEASURED
from app.site.web.progress import page as progress_page
from app.site.web.reference import docs, errata, formulas
from app.site.web.search import page as search_page
from app.site.web.search.page import build_index

# In this order: an address that more than one could answer goes to the first.
PARTS = (
    home_page,
    chapter,
    placement,
    final,
    exercise_page,
    schedule,
    pad,
    static,
    explorer_page,
    formulas,
    errata,
    lab_list,
    lab,
    run,
    saved_measurement,
    measured_page,
    progress_page,
    docs,
    search_page,
    sitemap,
)
# Paths that take a large file.
FILES = {progress_page.IMPORT: progress_page.BODY_LIMIT, MEASURED: MEASURED_LIMIT, measured_page.TRACES: MEASURED_LIMIT}
# A pattern of paths: what is there may be about other people than the next one at the computer.
PRIVATE = r"/measured(?:/|\Z)"


# What any page needs, also where its address has used up what it has.
STATIC = r"/static/|/favicon\.ico\Z"


class CompressedAnswers(GZipMiddleware):
    """Answers are compressed, but for those to programs that send something: they are short."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""
        short = scope["type"] == "http" and scope["method"] == "POST"
        if short and scope["path"].startswith("/api/"):
            await self.app(scope, receive, send)
        else:
            await super().__call__(scope, receive, send)


def fixed_addresses(further: Sequence[ModuleType] = ()) -> frozenset[str]:
    """The addresses of pages, also in *further* modules, that take nothing from their address, and of the docs."""
    routes = (route for module in (*PARTS, *further) for route in module.router.routes)
    pages = {r.path for r in routes if isinstance(r, APIRoute) and "GET" in (r.methods or ())}
    written = {f"/docs/{name}" for name in docs.documentation()}
    return frozenset(path for path in pages if "{" not in path) | written


def install_pages(app: FastAPI, further: Sequence[ModuleType] = ()) -> None:
    """Add the pages, those of *further* modules, and what they get; their routes are installed as they are."""
    routes = app.router.routes
    routes.append(Route(exercise_page.ANSWERS, exercise_page.answer_exercise, methods=["POST"]))
    for part in (*PARTS, *further):
        for route in part.router.routes:
            if isinstance(route, APIRoute):
                route.include_in_schema = False
        routes.extend(part.router.routes)
    routes.insert(0, RouteTable(routes))
    app.state.layout_searches = layout_searches()
    app.state.upload_reader = UploadReader()
    app.add_middleware(CompressedAnswers, minimum_size=1000, compresslevel=3)


__all__ = [
    "FILES",
    "PARTS",
    "PRIVATE",
    "STATIC",
    "fixed_addresses",
    "build_index",
    "install_pages",
    "page_for",
    "payer_of",
]
