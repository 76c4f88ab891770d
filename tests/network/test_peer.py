"""The address of a connection, behind the one that its proxy forwards."""

import socket
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx2
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from app.server.network.guard import GUARD, PEER, Connection, Guard, Limits
from tests.sockets import HOST
from tests.waiting import HANGS


@asynccontextmanager
async def lifespan(app: Starlette) -> AsyncIterator[dict[str, object]]:
    yield {GUARD: Guard(Limits(patience=5, each=9, all=9))}


async def who(request: Request) -> PlainTextResponse:
    assert request.client
    return PlainTextResponse(f"{request.client.host} {request.scope['state'][PEER]}")


def test_the_connection_of_a_proxy_is_known_behind_the_address_that_it_forwards() -> None:
    app = Starlette(routes=[Route("/", who)], lifespan=lifespan)
    config = uvicorn.Config(
        app, port=0, http=Connection, proxy_headers=True, forwarded_allow_ips="127.0.0.1", log_level="error"
    )
    server = uvicorn.Server(config)
    with socket.create_server((HOST, 0)) as listening:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            url = f"http://{HOST}:{listening.getsockname()[1]}/"
            found = httpx2.get(url, headers={"X-Forwarded-For": "198.51.100.9"}, timeout=HANGS).text
        finally:
            server.should_exit = True
            thread.join()
    assert found == "198.51.100.9 127.0.0.1"
