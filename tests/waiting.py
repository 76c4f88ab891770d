"""Waiting for a state, not for a time: a busy machine needs longer, and a fault needs a bound."""

import asyncio
import time
from collections.abc import Callable

HANGS = 60.0  # seconds after which what has not come will not come
_LOOK = 0.01  # seconds


def wait_until(holds: Callable[[], object], seconds: float = HANGS) -> None:
    """Wait until *holds* returns something true."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, f"it does not hold after {seconds:g} s"
        time.sleep(_LOOK)


async def until(holds: Callable[[], object], seconds: float = HANGS) -> None:
    """Let others work until *holds* returns something true."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, f"it does not hold after {seconds:g} s"
        await asyncio.sleep(_LOOK)
