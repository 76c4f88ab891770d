"""What a rank does as its time runs out: it writes where it is, so that a hang can be explained."""

import faulthandler
import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from app.labs.runner.job import stack_of

_EARLY = 1.0  # seconds before the limit; once a rank has ended, the others are elsewhere
_STOPPING = (signal.SIGTERM, signal.SIGALRM)
_FILES, _EACH = 256, 4  # open files of a rank, and for its connections to each of the others


@contextmanager
def stack_written_when_late(folder: Path, rank: int, seconds: float) -> Iterator[None]:
    """While this lasts, *rank* writes its stack shortly before *seconds* are over, or if stopped.

    That works even inside of a collective, where Python handles no signals.
    """
    path = stack_of(folder, rank)
    with path.open("w") as file:
        for number in _STOPPING:
            faulthandler.register(number, file=file, chain=True)
        faulthandler.dump_traceback_later(max(seconds - _EARLY, seconds / 2), file=file)
        try:
            yield
            path.unlink()
        finally:
            faulthandler.cancel_dump_traceback_later()
            for number in _STOPPING:
                faulthandler.unregister(number)


def allow_connections(ranks: int) -> None:
    """Let this process open as many files as it needs to be connected to all *ranks*.

    The limit is often 1,024, and gloo connects every rank to every other.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = _FILES + _EACH * ranks
    if resource.RLIM_INFINITY not in (soft, hard):
        needed = min(needed, hard)
    if soft != resource.RLIM_INFINITY and soft < needed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))


def stop_after(seconds: float) -> None:
    """Have SIGALRM end this process after *seconds*, whatever it is doing then."""
    signal.setitimer(signal.ITIMER_REAL, seconds)
