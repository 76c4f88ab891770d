"""The pages. They read and work without JavaScript; scripts only make them quicker."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.middleware.gzip import GZipMiddleware
from starlette.types import Receive, Scope, Send

from app.core.measurements.packed_files import PACKED_LIMIT
from app.server.network.routes import LateModule
from app.site import Site
from app.site.web.cache_files import compile_templates, index_file
from app.site.web.frame.static import FORMER_HEADS
from app.site.web.frame.static import page_for as page_for
from app.site.web.frame.visitor import payer_of as payer_of
from app.site.web.progress import FILE_LIMIT

# In this order: an address that more than one could answer goes to the first.
PARTS = (
    LateModule("app.site.web.home.page", ("", "route")),
    LateModule("app.site.web.course.chapter", ("chapters",)),
    LateModule("app.site.web.course.placement", ("placement",)),
    LateModule("app.site.web.course.final", ("final",)),
    LateModule("app.site.web.exercise.routes", ("exercises",)),
    LateModule("app.site.web.course.schedule", ("exercises",)),
    LateModule("app.site.web.exercise.pad", ("scratch",)),
    LateModule("app.site.web.frame.static", ("favicon.ico", "images", "language", "static", "theme", *FORMER_HEADS)),
    LateModule("app.site.web.explore.explorer_page", ("explore",)),
    LateModule("app.site.web.reference.formulas", ("formulas", "hardware")),
    LateModule("app.site.web.reference.errata", ("errata", "glossary", "trust")),
    LateModule("app.site.web.labs.lab_list", ("labs",)),
    LateModule("app.site.web.labs.index", ("labs",)),
    LateModule("app.site.web.labs.run", ("labs",)),
    LateModule("app.site.web.measured.saved_measurement", ("measured",)),
    LateModule("app.site.web.measured.page", ("measured",)),
    LateModule("app.site.web.progress.page", ("progress",)),
    LateModule("app.site.web.reference.docs", ("api", "authoring", "docs", "reference")),
    LateModule("app.site.web.search.page", ("search",)),
    LateModule("app.site.web.home.sitemap", ("robots.txt", "sitemap.xml")),
)
_FORM = 64 * 1024  # bytes of a form around its files
# Paths that take a large file.
FILES = {
    "/progress/import": FILE_LIMIT + _FORM,
    "/measured": PACKED_LIMIT + _FORM,
    "/measured/traces": PACKED_LIMIT + _FORM,
}
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


def fixed_addresses(further: Sequence[LateModule] = ()) -> frozenset[str]:
    """The addresses of pages, also in *further* modules, that take nothing from their address, and of the docs."""
    from app.site.web.reference.docs import documentation  # here: with it comes half of the site

    routes = (route for module in (*PARTS, *further) for route in module.router.routes)
    pages = {r.path for r in routes if isinstance(r, APIRoute) and "GET" in (r.methods or ())}
    written = {f"/docs/{name}" for name in documentation()}
    return frozenset(path for path in pages if "{" not in path) | written


@asynccontextmanager
async def build_index(app: FastAPI) -> AsyncIterator[None]:
    """While the app runs, each index of the search is built or read at the first search in its language.

    That of English is built before the first request, not beside it, unless an earlier start left it in the cache.
    """
    site: Site = app.state.site
    app.state.indexes = {}
    file, key = index_file(site.course, site.settings)
    if site.course.digest and not file.has(key):
        from app.site.web.search.page import build_current_index  # here: a start that finds the index needs none of it

        await build_current_index(app)
    yield
    await asyncio.gather(*app.state.indexes.values())


def install_pages(app: FastAPI) -> None:
    """Give the *app* what pages work with."""
    settings = app.state.site.settings
    compile_templates(settings.cache / "course", settings.language)
    app.add_middleware(CompressedAnswers, minimum_size=1000, compresslevel=3)
