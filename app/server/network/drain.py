"""Leave without losing a request: tell the load balancer first, then finish what has begun."""

import asyncio
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import parent_process
from types import FrameType

_LOOK = 0.2  # seconds


class DrainState:
    """Whether this process is about to stop; it still serves for *seconds* after a SIGTERM.

    Meanwhile `/readyz` returns 503, so that a load balancer sends requests elsewhere, and each
    response closes its connection. A second signal stops the process at once.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self.has_begun = False

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Handle SIGTERM in this block, before the server does; and stop if the parent dies."""
        stop = signal.getsignal(signal.SIGTERM)
        is_main = threading.current_thread() is threading.main_thread()
        if not callable(stop) or not is_main:  # an app without a server, as in a test
            yield
            return
        loop = asyncio.get_running_loop()

        def begin(number: int, frame: FrameType | None) -> None:
            first, self.has_begun = not self.has_begun, True
            if first and self._seconds:
                loop.call_soon_threadsafe(loop.call_later, self._seconds, stop, number, frame)
            else:
                stop(number, frame)

        signal.signal(signal.SIGTERM, begin)
        _follow_parent()
        try:
            yield
        finally:
            signal.signal(signal.SIGTERM, stop)


def _follow_parent() -> None:
    """Stop this worker process once its parent is gone, which would have restarted it."""
    if (parent := parent_process()) is None:
        return

    def follow(number: int | None) -> None:
        # Not the sentinel: of a fork, its other end is open in every later fork, too.
        while os.getppid() == number:
            time.sleep(_LOOK)
        for _ in range(2):  # the second one ends the draining: nothing accepts for the next server
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(_LOOK)  # two signals at one moment are one to Python

    threading.Thread(target=follow, args=(parent.pid,), daemon=True).start()
