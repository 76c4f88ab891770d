"""What the routes of pages and of the API have in common."""

import inspect
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

from fastapi import APIRouter
from fastapi.routing import APIRoute
from starlette.convertors import IntegerConvertor, register_url_convertor  # codespell:ignore
from starlette.routing import BaseRoute, Match, Route
from starlette.types import Receive, Scope, Send

from app.server.aside import aside

LARGEST = 2**63 - 1  # number of a row
_DIGITS = 40  # with zeros before it


class NumberConvertor(IntegerConvertor):
    """A number in a path, at most the largest that a row may have: there is none of that number.

    Starlette's own takes any number of digits, and fails where Python reads no more of them.
    """

    def convert(self, value: str) -> int:
        """The number."""
        return min(int(value), LARGEST) if len(value) <= _DIGITS else LARGEST


register_url_convertor("int", NumberConvertor())


class LateRoute(APIRoute):
    """FastAPI's route, whose parameters it analyzes at the first request: a start has hundreds, and needs none."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        self._late = (path, endpoint, options)
        plain = Route(path, endpoint)
        self.path, self.endpoint, self.name = path, endpoint, options.get("name") or plain.name
        self.path_regex, self.path_format, self.param_convertors = (
            plain.path_regex, plain.path_format, plain.param_convertors,
        )  # fmt: skip
        self.methods = {method.upper() for method in options.get("methods") or ["GET"]}
        self.include_in_schema = options.get("include_in_schema", True)

    def __getattr__(self, name: str) -> Any:
        """What only the analysis knows."""
        if "_late" not in vars(self):
            raise AttributeError(name)
        path, endpoint, options = vars(self).pop("_late")
        super().__init__(path, endpoint, **{**options, "include_in_schema": self.include_in_schema})
        return getattr(self, name)


class Router(APIRouter):
    """FastAPI's, but a plain function is called aside, by turns and on an account.

    A route is called in the OpenAPI document as it is called here.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(generate_unique_id_function=lambda route: route.name, route_class=LateRoute, **options)

    def add_api_route(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        """Add a route, as the decorators of a router do."""
        if not inspect.iscoroutinefunction(endpoint):
            endpoint = _called_aside(endpoint)
        super().add_api_route(path, endpoint, **options)


def _called_aside(endpoint: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(endpoint)
    async def called(*given: Any, **named: Any) -> Any:
        return await aside(endpoint, *given, **named)

    return called


def methods_at(routes: Iterable[BaseRoute], scope: Scope) -> list[str]:
    """The methods of all *routes* at the path of *scope*; HEAD is answered wherever GET is."""
    here = (one for one in routes if isinstance(one, Route))
    found = {method for route in here if route.matches(scope)[0] is not Match.NONE for method in route.methods or ()}
    return sorted(found | ({"HEAD"} if "GET" in found else set()))


class RouteTable(BaseRoute):
    """Routes by the first part of their paths: in a list, a request would try one after the other."""

    def __init__(self, routes: Iterable[BaseRoute]) -> None:
        known = [route for route in routes if isinstance(route, Route)]
        self._anywhere = [route for route in known if "{" in _head(route.path)]
        self._by_head = {
            head: [route for route in known if "{" in _head(route.path) or _head(route.path) == head]
            for head in {_head(route.path) for route in known}
        }

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """The first one for *scope*; where it is none of these, the list says why."""
        if scope["type"] == "http":
            for route in self._by_head.get(_head(scope["path"]), self._anywhere):
                match, child = route.matches(scope)
                if match is Match.FULL:
                    return match, {**child, "route": route}
        return Match.NONE, {}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""
        await scope["route"].handle(scope, receive, send)


def _head(path: str) -> str:
    return path[1:].partition("/")[0]
