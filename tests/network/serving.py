"""A server of one page, in a thread of this process."""

import socket
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from app.server.network.guard import GUARD, Connection, Guard, Limits
from tests.sockets import HOST

GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


@contextmanager
def running(limits: Limits) -> Iterator[tuple[int, uvicorn.Server]]:
    """The port of the server, and the server."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[dict[str, object]]:
        yield {GUARD: Guard(limits)}

    async def page(request: Request) -> PlainTextResponse:
        await request.body()
        return PlainTextResponse("here")

    app = Starlette(routes=[Route("/", page, methods=["GET", "POST"])], lifespan=lifespan)
    server = uvicorn.Server(uvicorn.Config(app, http=Connection, log_level="error"))
    with socket.create_server((HOST, 0), backlog=256) as listening:
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        try:
            yield listening.getsockname()[1], server
        finally:
            server.should_exit = True
            thread.join()
