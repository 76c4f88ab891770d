"""A server that stops tells the load balancer first, and answers what is on its way."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
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


def test_a_thread_and_a_program_without_a_server_handle_no_signal(stopped: list[float]) -> None:
    async def in_block() -> object:
        with DrainState(60).watching():
            return signal.getsignal(signal.SIGTERM)

    mine = signal.getsignal(signal.SIGTERM)
    with ThreadPoolExecutor(1) as threads:
        assert threads.submit(asyncio.run, in_block()).result() is mine
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    assert asyncio.run(in_block()) is signal.SIG_DFL
    signal.signal(signal.SIGTERM, mine)


ORPHAN = """
import asyncio, multiprocessing, os, signal, time
from app.server.network.drain import DrainState

def stop(number, frame):
    os.write(1, b"stopped")
    os._exit(0)

async def serve():
    draining = DrainState(60)
    with draining.watching():
        await asyncio.sleep(0.4)
        os.write(1, f"{draining.has_begun} ".encode())
        ready.set()
        await asyncio.sleep(60)

def work():
    signal.signal(signal.SIGTERM, stop)
    asyncio.run(serve())

context = multiprocessing.get_context("fork")
ready = context.Event()
context.Process(target=work).start()
ready.wait()
os._exit(0)
"""


def test_a_worker_whose_parent_dies_does_not_wait_for_the_end_of_its_draining() -> None:
    done = subprocess.run([sys.executable, "-c", ORPHAN], capture_output=True, text=True, timeout=30, check=True)
    assert done.stdout == "False stopped"


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
