"""Routes that are analyzed when they are first needed."""

import inspect
from collections.abc import Callable, Collection
from functools import wraps
from typing import Any

from fastapi.routing import APIRoute
from starlette.convertors import IntegerConvertor, register_url_convertor  # codespell:ignore
from starlette.routing import Match, Route, compile_path, get_name
from starlette.types import Scope

from app.aside import aside

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


class LazyRoute(APIRoute):
    """A route whose endpoint FastAPI analyzes for its first request, not when the server starts.

    There are 170 of them, which take a quarter of a second; a visitor needs a few. An endpoint that
    is a plain function is called aside, not on the event loop.
    """

    def __init__(
        self,
        path: str,
        endpoint: Callable[..., Any],
        *,
        methods: Collection[str] | None = None,
        include_in_schema: bool = True,
        **options: Any,
    ) -> None:
        if not inspect.iscoroutinefunction(endpoint):
            endpoint = _called_aside(endpoint)
        self.path, self.endpoint = path, endpoint
        self.name = options["name"] = options.get("name") or get_name(endpoint)
        self.path_regex, self.path_format, self.param_convertors = compile_path(path)
        self.methods = {method.upper() for method in methods or ["GET"]}
        self.include_in_schema = include_in_schema
        self._options = options

    def __getattr__(self, name: str) -> Any:
        """What the analysis finds; Python asks here for what is not there yet."""
        if "_options" not in self.__dict__:
            raise AttributeError(name)
        super().__init__(
            self.path,
            self.endpoint,
            methods=self.methods,
            include_in_schema=self.include_in_schema,
            **self._options,
        )
        del self._options
        return getattr(self, name)


def _called_aside(endpoint: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(endpoint)
    async def called(*given: Any, **named: Any) -> Any:
        return await aside(endpoint, *given, **named)

    return called


class PlainRoute(Route):
    """A route without FastAPI's analysis, which the log and the metrics know by its path, too."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Whether it is the one for *scope*, and what to add to it."""
        match, child = super().matches(scope)
        return match, {**child, "route": self}
