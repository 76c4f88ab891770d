"""In place of FastAPI, in a browser: requests, responses, and the routes of pages."""

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Annotated, Any, get_args, get_origin
from urllib.parse import urlencode

Handler = Callable[..., Any]
_SLOT = re.compile(r"\{(\w+)\}")


class Depends:
    """What a handler takes from a function."""

    def __init__(self, function: Handler) -> None:
        self.function = function


class Form:
    """What a handler takes from a posted form."""


class FastAPI:
    """The name of an app's class, for annotations."""


class QueryParams(dict[str, str]):
    """The fields of an address; of those with one name, the last."""

    def __init__(self, pairs: Sequence[tuple[str, str]] = ()) -> None:
        super().__init__(pairs)
        self._pairs = tuple(pairs)

    def getlist(self, name: str) -> list[str]:
        """Every field called *name*."""
        return [value for key, value in self._pairs if key == name]


class FormData:
    """A posted form; a field may occur several times."""

    def __init__(self, pairs: Sequence[tuple[str, Any]]) -> None:
        self._pairs = pairs

    def multi_items(self) -> Iterator[tuple[str, Any]]:
        """Every field."""
        return iter(self._pairs)

    def get(self, name: str, default: Any = None) -> Any:
        """The last field called *name*."""
        return dict(self._pairs).get(name, default)

    async def __aenter__(self) -> "FormData":
        return self

    async def __aexit__(self, *_: object) -> None:
        return None

    def __await__(self) -> Iterator[Any]:
        yield from ()
        return self


@dataclass(eq=False, kw_only=True)
class Request:
    """What a page of this browser asks for."""

    method: str
    path: str
    query_params: QueryParams
    headers: Mapping[str, str]
    fields: Sequence[tuple[str, Any]]
    app: SimpleNamespace
    cookies: Mapping[str, str] = field(default_factory=dict)
    path_params: Mapping[str, str] = field(default_factory=dict)
    client: None = None

    @property
    def url(self) -> SimpleNamespace:
        """Its path and query."""
        return SimpleNamespace(path=self.path, query=urlencode(self.query_params), scheme="https")

    @property
    def scope(self) -> dict[str, Any]:
        """Its path, as servers know it."""
        return {"path": self.path, "state": {}}

    def form(self, **_: object) -> FormData:
        """Its fields; the limits of a server are not needed here."""
        return FormData(self.fields)


class Response:
    """What is shown or saved."""

    media_type = "text/plain"

    def __init__(
        self,
        content: str | bytes = "",
        status_code: int = 200,
        headers: Mapping[str, str] | None = None,
        media_type: str = "",
    ) -> None:
        self.body = content if isinstance(content, bytes) else content.encode()
        self.status_code = status_code
        self.headers = {name.lower(): value for name, value in (headers or {}).items()}
        self.headers.setdefault("content-type", media_type or self.media_type)
        self.choices: dict[str, str] = {}

    def set_cookie(self, name: str, value: str = "", *_: object, **__: object) -> None:
        """Note a choice of the learner, which the desk stores."""
        self.choices[name] = value

    def delete_cookie(self, name: str, *_: object, **__: object) -> None:
        """Note that the learner takes a choice back."""
        self.choices[name] = ""


@dataclass(frozen=True)
class Route:
    """A handler, and the addresses that it answers."""

    method: str
    pattern: re.Pattern[str]
    handler: Handler

    async def answer(self, request: Request) -> Response:
        """What the handler answers."""
        given = {
            name: await _argument(name, parameter, request)
            for name, parameter in inspect.signature(self.handler).parameters.items()
        }
        found = self.handler(**given)
        answer: Response = await found if inspect.isawaitable(found) else found
        return answer


class APIRouter:
    """The routes of a module."""

    def __init__(self, prefix: str = "", **_: object) -> None:
        self._prefix = prefix
        self.routes: list[Route] = []

    def get(self, path: str, **_: object) -> Callable[[Handler], Handler]:
        """Let a handler answer GET requests."""
        return self._adding("GET", path)

    def post(self, path: str, **_: object) -> Callable[[Handler], Handler]:
        """Let a handler answer POST requests."""
        return self._adding("POST", path)

    def _adding(self, method: str, path: str) -> Callable[[Handler], Handler]:
        pattern = re.compile(_SLOT.sub(r"(?P<\1>[^/]+)", (self._prefix + path).replace(".", "[.]")))

        def add(handler: Handler) -> Handler:
            self.routes.append(Route(method, pattern, handler))
            return handler

        return add


async def _argument(name: str, parameter: inspect.Parameter, request: Request) -> object:
    """The value of a handler's argument."""
    parts = request.path_params
    if parameter.annotation is Request:
        return request
    if name in parts:
        return int(parts[name]) if parameter.annotation is int else parts[name]
    is_annotated = get_origin(parameter.annotation) is Annotated
    for mark in get_args(parameter.annotation)[1:] if is_annotated else ():
        if isinstance(mark, Depends):
            found = inspect.signature(mark.function).parameters
            return await mark.function(**{n: await _argument(n, one, request) for n, one in found.items()})
        if isinstance(mark, Form):
            return str(request.form().get(name, parameter.default))
    return request.query_params.get(name, parameter.default)
