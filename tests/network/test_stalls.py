"""A stall of the event loop is named in the log, with what caused it."""

import asyncio
import logging
import re
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from app.main import create_app
from app.server.aside import aside
from app.server.network.watch import STALL, StallWatch
from tests.client import Client

SLOW = re.compile("(x+x+)+y")  # of an example; the patterns of the app are linear
LOG = "app.server.network.watch"


def sleep_here(seconds: float) -> None:
    time.sleep(seconds)


def hold_the_lock() -> None:
    SLOW.match("x" * 25)


async def stalled(work: Callable[[], Any], scope: dict[str, Any]) -> None:
    watch = StallWatch()
    with watch.watching():
        await asyncio.sleep(0.3)
        with watch.handling(scope):
            found = work()
            if isinstance(found, Awaitable):
                await found
            await asyncio.sleep(0.3)


def fields(caplog: pytest.LogCaptureFixture, request: str = "GET /join/...") -> list[dict[str, Any]]:
    """What was logged of our request: servers of other tests may be held up, too."""
    every = (record.__dict__["fields"] for record in caplog.records if record.name == LOG)
    return [found for found in every if found["requests"] == [request]]


SCOPE = {"type": "http", "method": "GET", "path": "/join/secret-code"}


def test_a_stall_names_the_request_and_the_call(caplog: pytest.LogCaptureFixture) -> None:
    asyncio.run(stalled(lambda: sleep_here(1.0), SCOPE))
    (found,) = fields(caplog)
    assert 0.8 < found["seconds"] < 30
    assert found["requests"] == ["GET /join/..."]
    assert "sleep_here" in found["calls"][0]
    assert found["calls"][0].startswith("event loop: ")
    assert "secret-code" not in caplog.text


def test_what_holds_the_lock_in_a_thread_is_a_stall_too(caplog: pytest.LogCaptureFixture) -> None:
    asyncio.run(stalled(lambda: asyncio.to_thread(hold_the_lock), SCOPE))
    (found,) = fields(caplog)
    assert found["processor"] > STALL
    assert found["requests"] == ["GET /join/..."]


def test_work_beside_the_loop_and_short_work_are_no_stalls(caplog: pytest.LogCaptureFixture) -> None:
    asyncio.run(stalled(lambda: asyncio.to_thread(time.sleep, 1.5 * STALL), SCOPE))
    asyncio.run(stalled(lambda: sleep_here(STALL / 5), SCOPE))
    assert all(found["processor"] < STALL / 2 for found in fields(caplog))  # of a machine that is very busy
    assert not any("sleep_here" in str(found["calls"]) for found in fields(caplog))


def test_the_watch_ends_with_the_server() -> None:
    before = set(threading.enumerate())  # of the servers of other tests, too
    asyncio.run(stalled(lambda: None, SCOPE))
    assert not [thread.name for thread in set(threading.enumerate()) - before if thread.name == "stall watch"]


def test_a_server_watches_itself(caplog: pytest.LogCaptureFixture) -> None:
    app = create_app()

    @app.get("/stalls/{code}")
    async def stall(code: str) -> str:
        sleep_here(1.0)
        return await aside(str, code)

    app.router.routes.insert(0, app.router.routes.pop())
    with Client(app) as client:
        assert client.get("/stalls/secret-code").status_code == 200
        time.sleep(0.3)
    assert fields(caplog, "GET /stalls/{code}")
    assert logging.getLevelName(logging.WARNING) in {record.levelname for record in caplog.records}
