"""What a rank does as its time runs out: it writes where it is, so that a hang can be explained."""

import faulthandler
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from app.labs.evidence.stacks import stack_of

_EARLY = 1.0  # seconds before the limit; once a rank has ended, the others are elsewhere
_STOPPING = (signal.SIGTERM, signal.SIGALRM)


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


def stop_after(seconds: float) -> None:
    """Have SIGALRM end this process after *seconds*, whatever it is doing then."""
    signal.setitimer(signal.ITIMER_REAL, seconds)
