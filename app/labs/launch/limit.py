"""What a rank does when it is stopped: it writes where it was, so that a hang can be explained."""

import faulthandler
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from app.labs.evidence.stacks import stack_of

_STOPPING = (signal.SIGTERM, signal.SIGALRM)


@contextmanager
def stack_written_when_stopped(folder: Path, rank: int) -> Iterator[None]:
    """While this lasts, SIGTERM and the limit of `stop_after` write the stack of *rank*.

    That works even inside of a collective, where Python handles no signals.
    """
    path = stack_of(folder, rank)
    with path.open("w") as file:
        for number in _STOPPING:
            faulthandler.register(number, file=file, chain=True)
        try:
            yield
        finally:
            for number in _STOPPING:
                faulthandler.unregister(number)
            path.unlink()


def stop_after(seconds: float) -> None:
    """Have SIGALRM end this process after *seconds*, whatever it is doing then."""
    signal.setitimer(signal.ITIMER_REAL, seconds)
