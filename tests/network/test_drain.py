"""A server that stops tells the load balancer first, and answers what is on its way."""

import asyncio
import os
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from types import FrameType

import pytest

from app.server.config import Settings
from app.server.network.drain import DrainState
from app.server.network.guard import Limits
from tests.network.serving import GET, running
from tests.sockets import connected, response, rest
from tests.waiting import wait_until


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
    draining = DrainState(seconds)
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


def test_a_request_on_its_way_while_the_server_stops_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.server.network.guard._LINGER", 2.0)  # a busy machine sends late
    with ExitStack() as stack:
        port, server = stack.enter_context(running(Limits.of(Settings())))
        waiting = [stack.enter_context(closing(connected(port))) for _ in range(2)]
        waiting[0].sendall(GET)
        assert response(waiting[0]).endswith(b"here")
        server.should_exit = True
        wait_until(lambda: not (server.servers and server.servers[0].is_serving()))
        for client in waiting:  # one is kept alive, the other has sent nothing yet
            client.sendall(GET)
        for client in waiting:
            assert response(client).endswith(b"here")
            assert rest(client) == b""
