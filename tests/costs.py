"""What a request costs the server: asked as the server asks the app, with nothing in between."""

import asyncio
import resource
import sys
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from fastapi import FastAPI
from starlette.types import Message

_UNIT = 1 if sys.platform == "darwin" else 1024  # bytes of ru_maxrss


@dataclass(frozen=True, slots=True)
class Cost:
    """A response: seconds of processor time in the thread of the event loop, bytes."""

    label: str
    status: int
    seconds: float
    size: int
    memory: int
    headers: Mapping[str, str]
    text: str


class Asker:
    """Asks an app that is running on this event loop."""

    def __init__(self, app: FastAPI, state: Mapping[str, Any]) -> None:
        self._app = app
        self._state = state

    async def ask(
        self,
        path: str,
        query: str = "",
        *,
        method: str = "GET",
        body: bytes = b"",
        headers: Mapping[str, str] | None = None,
        address: str = "192.0.2.7",
        ends: bool = True,
    ) -> Cost:
        """What it costs to ask for *path*; a body that does not end is awaited forever."""
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": path,
            "raw_path": quote(path).encode(),
            "root_path": "",
            "query_string": query.encode("ascii"),
            "headers": [(b"host", b"testserver")]
            + [(k.lower().encode(), v.encode()) for k, v in (headers or {}).items()],
            "client": (address, 1),
            "server": ("testserver", 80),
            "state": dict(self._state),
        }
        status, sent = 0, False
        pieces: list[bytes] = []
        found: dict[str, str] = {}

        async def receive() -> Message:
            nonlocal sent
            if sent:
                await asyncio.sleep(3600)
            sent = True
            return {"type": "http.request", "body": body, "more_body": not ends}

        async def send(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            found.update((k.decode(), v.decode("latin-1")) for k, v in message.get("headers", ()))
            pieces.append(message.get("body", b""))

        memory, begin = _peak(), time.thread_time()
        await self._app(scope, receive, send)
        seconds = time.thread_time() - begin
        label = f"{method} {path}{'?' if query else ''}{query}"
        whole = b"".join(pieces)
        text = whole.decode("utf-8", "replace")
        return Cost(label[:200], status, seconds, len(whole), _peak() - memory, found, text)

    async def post(self, path: str, form: Any, **given: Any) -> Cost:
        """What it costs to send a *form*."""
        kind = {"Content-Type": "application/x-www-form-urlencoded"}
        body = urlencode(form, doseq=True).encode()
        return await self.ask(path, method="POST", body=body, headers=kind, **given)


@asynccontextmanager
async def running(app: FastAPI) -> AsyncIterator[Asker]:
    """The *app*, started."""
    async with app.router.lifespan_context(app) as state:
        yield Asker(app, state or {})


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _UNIT
