"""Answers what a page of an exported course asks for, with the code of the site's own pages."""

import asyncio
import json
import os
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from importlib import import_module
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from app.resolved import resolved

# Functions that read files on a server: here, they return what was read at export.
READ = {
    "labs": "app.labs.spec.known_labs",
    "faults": "app.labs.evidence.faults.known_faults",
    "errata": "app.course.content.errata.errata",
    "terms": "app.course.content.errata.terms",
    "sources": "app.core.published.sources.sources",
}
PARTS = (
    "home.page", "course.chapter", "exercise.routes", "exercise.pad",
    "explore.explorer_page", "labs.run", "reference.formulas", "search.page", "progress.page",
    "reference.errata",
)  # fmt: skip


def _fastest_step(asked: tuple[object, ...]) -> float:
    known: dict[tuple[object, ...], float] = resolved("fastest")
    if asked not in known:
        raise UnavailableError("a search for the fastest layout needs a server")
    return known[asked]


def _stepped(coroutine: Coroutine[Any, None, Any]) -> Any:
    """What *coroutine* returns, which waits for nothing: only programs do, in their worker.

    Raises:
        RuntimeError: it waits for something.
    """
    try:
        coroutine.send(None)
    except StopIteration as finished:
        return finished.value
    coroutine.close()
    raise RuntimeError("this would wait inside of the browser's loop")


# pydantic looks for time zones and plugins when it starts: a browser has neither.
os.environ |= {"PYTHONTZPATH": "", "PYDANTIC_DISABLE_PLUGINS": "__all__"}
for _name, _place in READ.items():  # before other modules import those functions
    _module, _, _function = _place.rpartition(".")
    setattr(import_module(_module), _function, partial(resolved, _name))
asyncio.run = _stepped  # the pages run inside of the browser's one loop, without threads

from app.server.db.shelf import Shelf  # noqa: E402
from fastapi import QueryParams, Request, Response  # noqa: E402
from starlette.datastructures import UploadFile  # noqa: E402
from starlette.exceptions import HTTPException  # noqa: E402

from app.core.errors import AppError, NotFoundError, UnavailableError  # noqa: E402
from app.core.formulas import FORMULAS  # noqa: E402
from app.core.translation import translate  # noqa: E402
from app.course.sandbox.runner import Runner  # noqa: E402
from app.server.config import Settings  # noqa: E402
from app.site import Histories, Site, Writer  # noqa: E402
from app.site.web.exercise.page_context import Assignments  # noqa: E402


class NoLayoutSearches:
    """A browser has no NumPy: a run is shown sharded over its GPUs, or in the layout of its address."""

    async def result(self, *asked: object) -> str:
        """Why nothing is searched."""
        return translate("Searching for the best layout needs a server: the state is sharded over all GPUs.")


class Desk:
    """The pages of a browser under the path *base*: *ask* runs programs, *keep* stores a row, *clear* removes all."""

    def __init__(
        self,
        base: str,
        ask: Callable[[str], Awaitable[str]],
        keep: Callable[[str, str], None],
        clear: Callable[[], None],
    ) -> None:
        self._base = base
        packs = resolved("packs").items()
        FORMULAS.add({name: getattr(import_module(module), own) for name, (module, own) in packs})
        # A browser has no NumPy to search for the fastest layout of a training run.
        design = import_module("app.course.kinds.design")
        design.fastest_step = _fastest_step  # type: ignore[attr-defined]
        self._known = resolved("pages")
        self._shelf = Shelf(keep, clear)
        site = Site(
            settings=Settings(),
            catalog=resolved("catalog"),
            engine=self._shelf,
            writer=Writer(self._shelf),
            histories=Histories(self._shelf),
            runner=Runner(ask),
            labs=SimpleNamespace(trouble=resolved("trouble")),
        )
        state = SimpleNamespace(site=site, assignments=Assignments(), layout_searches=NoLayoutSearches())
        self._app = SimpleNamespace(state=state)
        modules = (import_module(f"app.site.web.{name}") for name in PARTS)
        self._routes = [route for module in modules for route in module.router.routes]

    def load(self, stored: str) -> None:
        """Take the rows that the browser has *stored*, as JSON of pairs of kind and text."""
        self._shelf.load([(kind, text) for kind, text in json.loads(stored)])

    async def answer(self, asked: str) -> str:
        """The answer to what a page *asked*, both as JSON."""
        wish = json.loads(asked)
        response = await self._response(wish)
        self._shelf.choose(response.choices)
        text = response.body.decode()
        headers = dict(response.headers)
        if "html" in headers["content-type"]:
            text = self._known.rebased(text, self._base)
        if "location" in headers:
            headers["location"] = self._known.rebased(headers["location"], self._base)
        return json.dumps({"status": response.status_code, "headers": headers, "text": text})

    async def _response(self, wish: dict[str, Any]) -> Response:
        parts = urlsplit(wish["address"])
        path = unquote(parts.path).rstrip("/") or "/"
        fields = [
            (name, value.replace("\r\n", "\n") if isinstance(value, str) else UploadFile(value["file"].encode()))
            for name, value in wish["fields"]
        ]
        request = Request(
            method=wish["method"],
            path=path,
            query_params=QueryParams(parse_qsl(parts.query, keep_blank_values=True)),
            headers=wish["headers"],
            cookies=self._shelf.choices,
            fields=fields,
            app=self._app,
        )
        try:
            return await self._found(request)
        except NotFoundError as error:
            return Response(str(error), 404)
        except AppError as error:
            return Response(str(error), 422)
        except HTTPException as error:
            return Response(error.detail, error.status_code)

    async def _found(self, request: Request) -> Response:
        for route in self._routes:
            match = route.pattern.fullmatch(request.path)
            if match and route.method == request.method:
                request.path_params = match.groupdict()
                return await route.answer(request)
        raise HTTPException(404, "this page needs a server")
