"""The sandbox's tests run on both event loops: asyncio's own, and the server's."""

import asyncio
import sys
from collections.abc import Iterator

import pytest

from app.course.sandbox.runner import Runner
from app.server.config import Settings

LOOPS = ["asyncio"] if sys.platform == "win32" else ["asyncio", "uvloop"]


def new_loop(name: str) -> asyncio.AbstractEventLoop:
    if name == "uvloop":
        import uvloop

        return uvloop.new_event_loop()
    return asyncio.new_event_loop()


@pytest.fixture(scope="module", params=LOOPS)
def loop(request: pytest.FixtureRequest) -> Iterator[asyncio.AbstractEventLoop]:
    made = new_loop(request.param)
    yield made
    made.close()


@pytest.fixture(scope="module")
def runner(loop: asyncio.AbstractEventLoop) -> Iterator[Runner]:
    """The real sandbox; its component stays in the user's cache, so only a first run builds it."""
    made = Runner(Settings(sandbox_workers=4))
    loop.run_until_complete(made.start())
    health = loop.run_until_complete(made.ready())
    assert health.state == "ready", health.cause
    yield made
    loop.run_until_complete(made.close())
