"""What the routes of pages and of the API have in common."""

import asyncio
import gc
import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import wraps
from importlib import import_module
from threading import Lock
from typing import Any

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.routing import APIRoute
from starlette.convertors import IntegerConvertor, register_url_convertor  # codespell:ignore
from starlette.routing import BaseRoute, Match, Route
from starlette.types import Receive, Scope, Send

from app.server.aside import aside

LARGEST = 2**63 - 1  # number of a row
_DIGITS = 40  # with zeros before it
_PLAIN = {"request": Request, "return": Response}
_AFTER_START = 0.5  # seconds in which a first page is answered


class NumberConvertor(IntegerConvertor):
    """A number in a path, at most the largest that a row may have: there is none of that number.

    Starlette's own takes any number of digits, and fails where Python reads no more of them.
    """

    def convert(self, value: str) -> int:
        """The number."""
        return min(int(value), LARGEST) if len(value) <= _DIGITS else LARGEST


register_url_convertor("int", NumberConvertor())


class LateRoute(APIRoute):
    """FastAPI's route, whose parameters it analyzes at the first request: a start has hundreds, and needs none.

    An endpoint that asks for nothing but the request needs no analysis, and is called as Starlette does.
    """

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        self._late = (path, endpoint, options)
        plain = Route(path, endpoint, methods=options.get("methods"))
        needs_none = endpoint.__annotations__ == _PLAIN and not options.get("dependencies")
        self._plain = plain if needs_none else None
        self.path, self.endpoint, self.name = path, endpoint, options.get("name") or plain.name
        self.path_regex, self.path_format, self.param_convertors = (
            plain.path_regex, plain.path_format, plain.param_convertors,
        )  # fmt: skip
        self.methods = {method.upper() for method in options.get("methods") or ["GET"]}
        # The description is of calls, each of which has a tag; pages have none.
        self.include_in_schema = options.get("include_in_schema", True) and bool(options.get("tags"))

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""
        if self._plain:
            await self._plain.handle(scope, receive, send)
        else:
            await super().handle(scope, receive, send)

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

        @wraps(endpoint)
        async def called_aside(*given: Any, **named: Any) -> Any:
            return await aside(endpoint, *given, **named)

        is_plain = not inspect.iscoroutinefunction(endpoint)
        super().add_api_route(path, called_aside if is_plain else endpoint, **options)


def methods_at(routes: Iterable[BaseRoute], scope: Scope) -> list[str]:
    """The methods of all *routes* at the path of *scope*; HEAD is answered wherever GET is."""
    here = (one for one in routes if isinstance(one, Route))
    found = {method for route in here if route.matches(scope)[0] is not Match.NONE for method in route.methods or ()}
    return sorted(found | ({"HEAD"} if "GET" in found else set()))


@dataclass(frozen=True, slots=True)
class LateModule:
    """A module with a `router`, whose paths begin with *heads*: imported when one of them is first asked for."""

    name: str
    heads: tuple[str, ...]

    @property
    def router(self) -> Router:
        """Its routes."""
        router: Router = import_module(self.name).router
        return router


class RouteTable(BaseRoute):
    """The routes of *modules* by the first part of their paths: in a list, a request would try one after the other.

    A start has fifty modules, and its first page needs one. The others are imported in a thread, when a path is
    asked for that they may answer, or soon after the start. Where two could answer, the first one does.
    """

    def __init__(self, app: FastAPI, modules: Sequence[LateModule]) -> None:
        self._app = app
        self._modules = modules
        self._late = {head for module in modules for head in module.heads}
        self._by_head: dict[str, list[Route]] = {}
        self._installing = Lock()
        app.router.routes.insert(0, self)

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """The first one for *scope*, or itself where modules are not imported; the list of the app says why none is."""
        if scope["type"] == "http":
            head = _head(scope["path"])
            if head in self._late:
                return Match.FULL, {"route": self}
            for route in self._by_head.get(head, ()):
                match, child = route.matches(scope)
                if match is Match.FULL:
                    return match, {**child, "route": route}
        return Match.NONE, {}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, once the modules that may answer it are there."""
        if scope["route"] is not self:
            await scope["route"].handle(scope, receive, send)
            return
        head = _head(scope["path"])
        await asyncio.to_thread(self._import, head)
        self._install(head)
        await self._app.router(scope, receive, send)

    def install_all(self) -> None:
        """Import every module, and install its routes."""
        for head in sorted(self._late):
            self._import(head)
            self._install(head)

    async def import_late(self) -> None:
        """Import what is left soon after the start of the server, so that no visitor waits for it."""
        await asyncio.sleep(_AFTER_START)
        for head in sorted(self._late):
            await asyncio.to_thread(self._import, head)
            self._install(head)
        if gc.get_freeze_count():  # as in a process that only serves: nothing of it is garbage
            gc.freeze()

    def _import(self, head: str) -> None:
        for module in self._of(head):
            import_module(module.name)

    def _of(self, head: str) -> Iterator[LateModule]:
        return (module for module in self._modules if head in module.heads)

    def _install(self, head: str) -> None:
        with self._installing:  # the document of all calls asks for every module, in a thread of its own
            if head not in self._late:
                return  # another request was faster
            routes = [route for module in self._of(head) for route in module.router.routes if isinstance(route, Route)]
            self._by_head[head] = [route for route in routes if _head(route.path) == head]
            self._app.router.routes.extend(self._by_head[head])
            self._late.remove(head)


def _head(path: str) -> str:
    return path[1:].partition("/")[0]
