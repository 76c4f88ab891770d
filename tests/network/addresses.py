"""The routes of the app, what is at the places of their addresses, and what they read of a query."""

import re
from collections.abc import Iterator
from itertools import chain
from typing import Any

from fastapi.routing import APIRoute
from starlette.routing import Route

from app.site.web.frame.assets import asset_url
from tests.pages import RUN
from tests.parts import CALLS, PAGES

PLACE = re.compile(r"{(\w+)(?::\w+)?}")
ROUTES = {
    (method, route.path): route
    for part in (*PAGES, *CALLS)
    for route in part.router.routes
    if isinstance(route, Route)
    for method in sorted(route.methods or ())
}
# What is at a place of an address, by how the address begins.
NAMED = {
    "/labs": "algorithms", "/explore": "ring",
    "/formulas": "collectives.ring_all_reduce_time",
    "/api/v1/formulas": "collectives.ring_all_reduce_time", "/errata": "E-01",
    "/docs": "grading", "/measured/traces": "a100-2-ddp-with-bytes", "/measured": "h100-16-p5",
    "/static": asset_url("favicon.svg").removeprefix("/static/"),
}  # fmt: skip
PLACES = {
    "path": "errata/E-01",
    "topic": "collectives", "slug": "ring-all-reduce-time", "id": "collectives/ring-all-reduce-time", "number": "0",
    "form": "svg", "run": RUN.rpartition("/")[2], "draw": "7", "provider": "x",
    "chapter": "collectives",
}  # fmt: skip
# What only exercises on schedules have.
OF_PUZZLES = ("/board", "/schedule", "/schedule.svg")
PUZZLE = {"topic": "puzzles", "slug": "one-forward-one-backward"}
# Read from queries without being declared.
ASKED = {
    "/explore": ("ranks", "size", "step", "guess", "was", "predict", "show"),
    "/formulas": ("size", "ranks", "bandwidth"),
    "/layouts": ("model", "gpus", "batch", "cluster"), "/explore/fit": ("model", "gpus", "batch", "tensor", "configuration"), "/measured/traces": ("model", "cluster", "layout"),
    "/labs": ("sizes", "ranks"), "/final": ("seed",),
    "/lti": ("iss", "login_hint", "target_link_uri", "client_id"), "/classes": ("format",),
    "/api/v1/chapters": ("size", "ranks", "bandwidth"),
}  # fmt: skip


def names_of(path: str) -> dict[str, str]:
    """What may stand at the places of a route's address, but for those of a class."""
    starts = [start for start in NAMED if path.startswith(start)]
    return {
        **PLACES,
        **(PUZZLE if "/{slug}/" in path and path.endswith(OF_PUZZLES) else {}),
        "name": NAMED[max(starts, key=len)] if starts else "collectives",
        "number": "1" if path.startswith(("/final", "/placement")) else "0",
    }


def names_in_queries(method: str, path: str) -> list[str]:
    """What a route reads of its query, as it declares it or not."""
    route = ROUTES[method, path]
    declared = _declared(route.dependant) if isinstance(route, APIRoute) else ()
    undeclared = (names for start, names in ASKED.items() if path.startswith(start))
    return list(dict.fromkeys((*declared, *chain.from_iterable(undeclared))))


def _declared(dependant: Any) -> Iterator[str]:
    """The names of a route or a dependency, and of those that it depends on."""
    yield from (parameter.alias for parameter in dependant.query_params)
    for other in dependant.dependencies:
        yield from _declared(other)
