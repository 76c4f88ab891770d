"""What metrics cost a check, in processor time of the server: with them, and with every one left out."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from statistics import median

from tests.bench.bench_http import RING
from tests.bench.figures import Figure
from tests.bench.load import Running, load, server

_SECONDS = 2.0
_TURNS = 9


def measure() -> Iterator[Figure]:
    """Both servers in turn, so that whatever else the machine does meets both."""
    costs: dict[str, list[float]] = {"watched": [], "unwatched": []}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        servers = {name: stack.enter_context(server(folder, name)) for name in costs}
        for running in servers.values():
            _cost(running)
        for _ in range(_TURNS):
            for name, running in servers.items():
                costs[name].append(_cost(running))
    each = {name: median(some) for name, some in costs.items()}
    shares = [one / other - 1 for one, other in zip(*costs.values(), strict=True)]
    yield Figure("a check with metrics, processor time", 1e3 * each["watched"], "ms")
    yield Figure("metrics, share of a check's processor time", 100 * median(shares), "%", 2, "lower")


def _cost(running: Running) -> float:
    """Seconds of processor time that a check costs the server."""
    begin = _used(running.process.pid)
    loaded = load(running, RING, b'"incorrect"', 16, _SECONDS)
    return (_used(running.process.pid) - begin) / len(loaded.seconds)


def _used(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
