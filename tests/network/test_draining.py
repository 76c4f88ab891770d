"""A server that stops tells the load balancer first, and answers what is on its way."""

import asyncio
import os
import signal
import socket
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from types import FrameType

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from app.config import Settings
from app.network.connection import Connection
from app.network.draining import Draining
from app.network.guard import GUARD, Guard, Limits

GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


def terminate() -> None:
    os.kill(os.getpid(), signal.SIGTERM)


@pytest.fixture
def stopped() -> Iterator[list[float]]:
    """When the server was told to stop, by its own handler of SIGTERM."""
    times: list[float] = []

    def stop(number: int, frame: FrameType | None) -> None:
        times.append(time.monotonic())

    before = signal.signal(signal.SIGTERM, stop)
    yield times
    assert signal.getsignal(signal.SIGTERM) is stop
    signal.signal(signal.SIGTERM, before)


async def drain(seconds: float, signals: int, stopped: list[float]) -> float:
    """The seconds from the first signal until the server was told to stop."""
    draining = Draining(seconds)
    with draining.watching():
        began = time.monotonic()
        for _ in range(signals):
            terminate()
        assert draining.has_begun
        while not stopped:
            await asyncio.sleep(0.01)
    return stopped[0] - began


def test_it_serves_on_after_the_first_signal_and_stops_at_the_second(stopped: list[float]) -> None:
    assert asyncio.run(drain(0.2, 1, stopped)) >= 0.2
    stopped.clear()
    assert asyncio.run(drain(60, 2, stopped)) < 30
    stopped.clear()
    assert asyncio.run(drain(0, 1, stopped)) < 30


@contextmanager
def running() -> Iterator[tuple[int, uvicorn.Server]]:
    """The port of a server of one page, and the server."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[dict[str, object]]:
        yield {GUARD: Guard(Limits.of(Settings()))}

    async def page(request: Request) -> PlainTextResponse:
        return PlainTextResponse("here")

    app = Starlette(routes=[Route("/", page)], lifespan=lifespan)
    server = uvicorn.Server(uvicorn.Config(app, http=Connection, log_level="error"))
    listening = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=server.run, args=([listening],))
    thread.start()
    try:
        yield listening.getsockname()[1], server
    finally:
        server.should_exit = True
        thread.join()


def test_a_request_on_its_way_while_the_server_stops_is_answered() -> None:
    with running() as (port, server):
        waiting = [socket.create_connection(("127.0.0.1", port), 30) for _ in range(2)]
        waiting[0].sendall(GET)
        assert waiting[0].recv(1000).endswith(b"here")
        server.should_exit = True
        while server.servers and server.servers[0].is_serving():
            time.sleep(0.005)
        for client in waiting:  # one is kept alive, the other has sent nothing yet
            client.sendall(GET)
        for client in waiting:
            assert client.recv(1000).endswith(b"here")
            assert client.recv(1) == b""
            client.close()
