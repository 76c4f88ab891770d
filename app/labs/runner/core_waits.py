"""How long threads of a rank were ready to run and had no core, while its samples were taken.

The kernel counts it for each thread, exactly: it needs no threshold on context switches, on the load or on
the pressure of the whole host, and holds for any number of ranks.
"""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from app.labs.runner.events import WaitEvent

_TASKS = Path("/proc/self/task")
_NANO = 1e-9


@dataclass(frozen=True, slots=True)
class CoreWait:
    """*seconds* of samples, and those of them in which the thread that waited most was *waiting* for a core.

    None where the kernel does not count them.
    """

    seconds: float = 0.0
    waiting: float | None = None

    def as_json(self) -> str:
        """To send it to rank 0."""
        return json.dumps(asdict(self))


class WaitMeter:
    """Counts while samples are taken, and only then."""

    def __init__(self, tasks: Path = _TASKS) -> None:
        self.total = CoreWait()
        self._tasks = tasks

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Count until the end of this context."""
        before, begun = thread_waits(self._tasks), time.perf_counter()
        try:
            yield
        finally:
            seconds, after = time.perf_counter() - begun, thread_waits(self._tasks)
            longest = max((waited - before.get(thread, 0.0) for thread, waited in after.items()), default=None)
            known = [one for one in (self.total.waiting, longest) if one is not None]
            self.total = CoreWait(self.total.seconds + seconds, sum(known) if known else None)


def thread_waits(tasks: Path) -> Mapping[str, float]:
    """Seconds that each thread has been ready without a core so far; none where nobody counts them."""
    found = {}
    for task in tasks.glob("[0-9]*"):
        with suppress(OSError, ValueError):  # the thread has ended, or this kernel has no such file
            ran, waited, _ = map(int, (task / "schedstat").read_text().split())
            if ran:
                found[task.name] = waited * _NANO
    return found


def wait_event(texts: Sequence[str]) -> WaitEvent:
    """The event with the waits of every rank, each a text of `CoreWait.as_json`."""
    ranks = [CoreWait(**json.loads(text)) for text in texts]
    return WaitEvent(
        at=time.time(), seconds=tuple(one.seconds for one in ranks), waiting=tuple(one.waiting for one in ranks)
    )
