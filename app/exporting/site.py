"""The site as an export sees it: its pages, asked for in this process, without a server."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from fastapi import FastAPI, Request, Response
from starlette.types import Message, Scope

from app.course.content.catalog import Catalog
from app.course.sandbox.pool import SandboxHealth
from app.course.sandbox.runner import Runner
from app.exporting.course_contents import SERVER, TROUBLE
from app.main import create_app, create_site
from app.server.config import Settings
from app.server.network.routes import Router
from app.site.labs.queue import Dispatcher
from app.site.web.frame.renderer import frame, render

_SAYS = "What an exported course leaves to a server, and how to run one."
router = Router()


@router.get(SERVER)
async def show_server_page(request: Request) -> Response:
    """What needs a server, and how to run one."""
    return render("exported/server.html", frame(request, "This needs a server", _SAYS), None)


class _Ready(Runner):
    """Programs can run: not here, but in the browser."""

    @property
    def health(self) -> SandboxHealth:
        """Always ready."""
        return SandboxHealth("ready", "")


class _ServerDispatcher(Dispatcher):
    """Labs run on a server."""

    @property
    def trouble(self) -> str:
        """Why they cannot run here."""
        return TROUBLE


@dataclass(frozen=True, slots=True)
class SiteResponse:
    """What the site answers to one request."""

    status: int
    type: str
    body: bytes


@dataclass(frozen=True, slots=True)
class ExportedSite:
    """The pages of a site, and its course."""

    catalog: Catalog
    page: Callable[[str], SiteResponse]


@contextmanager
def exported_site(settings: Settings) -> Iterator[ExportedSite]:
    """The site with the course of *settings*, and with a database that is empty.

    Raises:
        ContentError: an exercise file is not valid.
    """
    with TemporaryDirectory() as folder:
        inside = settings.model_copy(
            update={
                "database": f"sqlite:///{folder}/empty.db",
                "runs": Path(folder) / "runs",
                "lab_queue": 0,
                "processor_allowed": 0,
                "url": "",  # it may lie anywhere
                "root_path": "",
                "metrics": "",
                "access_log": False,
            }
        )
        site = create_site(inside)
        app = create_app(inside, replace(site, runner=_Ready(inside), labs=_ServerDispatcher(inside, site.engine)))
        app.router.routes.extend(router.routes)
        with asyncio.Runner() as runner:
            yield ExportedSite(site.catalog, lambda path: runner.run(_get_page(app, path)))
        site.engine.dispose()


async def _get_page(app: FastAPI, path: str) -> SiteResponse:
    """What *app* answers to a GET request for *path*, which may have a query."""
    path, _, query = path.partition("?")
    scope: Scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(b"host", b"export"), (b"sec-fetch-site", b"same-origin")],
        "client": None,
        "server": ("export", 80),
    }
    messages: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        messages.append(message)

    await app(scope, receive, send)
    headers = dict(messages[0]["headers"])
    body = b"".join(message.get("body", b"") for message in messages[1:])
    return SiteResponse(messages[0]["status"], headers.get(b"content-type", b"").decode(), body)
