"""The pages. They read and work without JavaScript; scripts only make them quicker."""

from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.middleware.gzip import GZipMiddleware
from starlette.types import Receive, Scope, Send

from app.network.routes import PlainRoute
from app.web.course import chapter_routes as chapter
from app.web.course import final, placement, schedule
from app.web.course import map as course_map
from app.web.exercise import pad
from app.web.exercise import routes as exercise_page
from app.web.explore import better, merged_pages
from app.web.explore import page as explorer_page
from app.web.explore.layout_searches import layout_searches
from app.web.frame import former_addresses, images, language, static, theme
from app.web.frame.errors import page_for
from app.web.frame.visitor import payer_of
from app.web.home import routes as home_page
from app.web.home import sitemap
from app.web.labs import board, lab_list, run
from app.web.labs import index as lab
from app.web.lti import course, deep_link, launch, registration
from app.web.lti.score_delivery import deliver_scores
from app.web.measured import page as measured_page
from app.web.measured import saved_measurement, traces
from app.web.measured.upload_reader import BODY_LIMIT as MEASURED_LIMIT
from app.web.measured.upload_reader import UploadReader
from app.web.measured.views import ADDRESS as MEASURED
from app.web.people import (
    account,
    assignment,
    assignment_editor,
    cell,
    class_copy,
    classes,
    extensions,
    grade_files,
    grade_rule,
    grades,
    group_dates,
    groups,
    join_page,
    live,
    member,
    member_data,
    overview,
    path,
    pools,
    provider_sign_in,
    regrades,
    roster,
    roster_import,
    settings,
    sign_in,
    slips,
)
from app.web.people import statistics as class_statistics
from app.web.progress import routes as progress_page
from app.web.reference import api, authoring_format, docs, errata, formulas, glossary, hardware, trust, units_page
from app.web.reference import overview as reference
from app.web.search import page as search_page
from app.web.search.page import indexing

# In this order: an address that more than one could answer goes to the first.
PARTS = (
    home_page,
    chapter,
    course_map,
    placement,
    final,
    exercise_page,
    schedule,
    pad,
    former_addresses,
    explorer_page,
    better,
    merged_pages,
    formulas,
    glossary,
    hardware,
    reference,
    trust,
    lab_list,
    lab,
    board,
    run,
    traces,
    saved_measurement,
    measured_page,
    errata,
    progress_page,
    classes,
    overview,
    settings,
    class_copy,
    assignment,
    join_page,
    sign_in,
    provider_sign_in,
    account,
    assignment_editor,
    roster,
    member,
    member_data,
    roster_import,
    slips,
    extensions,
    groups,
    group_dates,
    pools,
    live,
    grade_files,
    grade_rule,
    grades,
    class_statistics,
    cell,
    path,
    regrades,
    authoring_format,
    units_page,
    docs,
    api,
    search_page,
    sitemap,
    launch,
    deep_link,
    registration,
    course,
    theme,
    language,
    images,
    static,
)
# Paths that take a large file.
FILES = {
    progress_page.IMPORT: progress_page.BODY_LIMIT,
    **dict.fromkeys(roster_import.PATHS, roster_import.BODY_LIMIT),
    MEASURED: MEASURED_LIMIT,
    traces.TRACES: MEASURED_LIMIT,
}
# What is there is about persons: their grades, codes and files. The keys of LTI are for anyone.
_OF_PERSONS = "classes|assignments|join|sign-in|sign-out|me|lti|measured"
# A pattern of paths: what is there may be about other people than the next one at the computer.
PRIVATE = rf"(?!{launch.KEYS}\Z)/(?:{_OF_PERSONS})(?:/|\Z)"


class Squeezed(GZipMiddleware):
    """Answers are compressed, but for those to programs that send something: they are short."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""
        short = scope["type"] == "http" and scope["method"] == "POST"
        if short and scope["path"].startswith("/api/"):
            await self.app(scope, receive, send)
        else:
            await super().__call__(scope, receive, send)


def fixed_addresses() -> frozenset[str]:
    """The addresses of the pages that take nothing from their address, and of the documentation."""
    routes = (route for part in PARTS for route in part.router.routes)
    pages = {r.path for r in routes if isinstance(r, APIRoute) and "GET" in (r.methods or ())}
    written = {f"/docs/{name}" for name in docs.documentation()}
    return frozenset(path for path in pages if "{" not in path) | written


def install_pages(app: FastAPI) -> None:
    """Add the pages, and what they get; their routes are installed as they are.

    The one that takes answers comes before all others but the check of the API: a class sends its
    answers there at the same instant.
    """
    routes = app.router.routes
    first = [isinstance(route, APIRoute) for route in routes].index(True)
    routes.insert(first, PlainRoute(exercise_page.ANSWERS, exercise_page.answer_exercise, methods=["POST"]))
    for part in PARTS:
        for route in part.router.routes:
            if isinstance(route, APIRoute):
                route.include_in_schema = False
        routes.extend(part.router.routes)
    app.state.layout_searches = layout_searches()
    app.state.upload_reader = UploadReader()
    app.add_middleware(Squeezed, minimum_size=1000, compresslevel=3)


__all__ = [
    "FILES",
    "PARTS",
    "PRIVATE",
    "deliver_scores",
    "fixed_addresses",
    "indexing",
    "install_pages",
    "page_for",
    "payer_of",
]
