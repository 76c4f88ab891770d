"""What an explorer's update takes: over HTTP, from a server in another process."""

import statistics
import tempfile
import time
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path

from app.course.explorers import EXPLORERS
from tests.bench.figures import Figure
from tests.bench.load import server

_RUNS = 15
_HEADERS = {"X-Fragment": "1", "X-Paper": "wide", "Accept-Encoding": "gzip"}
_LARGE = "/explore/pipeline?stages=16&microbatches=64"


def measure() -> Iterator[Figure]:
    """The fragment that a slider asks for, by itself and for every explorer."""
    with tempfile.TemporaryDirectory() as folder, server(Path(folder)) as running:
        connection = HTTPConnection("127.0.0.1", running.port)
        nothing, _ = _update(connection, "/healthz")
        yield Figure("a request for nothing", nothing, "ms")
        fresh, size = _update(connection, _LARGE + "&forward={}")
        yield Figure("explorer update, p=16 m=64, new numbers", fresh, "ms", 20)
        again, _ = _update(connection, _LARGE)
        yield Figure("the same, numbers seen before", again, "ms", 20)
        yield Figure("what is sent for it", size / 1e3, "kB")
        two, _ = _update(connection, _LARGE + "&schedule=zb_h1&against=dualpipe&forward={}")
        yield Figure("two of the largest schedules, new numbers", two, "ms")
        slowest = {name: _update(connection, f"/explore/{name}?show=1")[0] for name in EXPLORERS}
        name = max(slowest, key=lambda one: slowest[one])
        yield Figure(f"slowest explorer as it starts ({name})", slowest[name], "ms", 20)
        connection.close()


def _update(connection: HTTPConnection, address: str) -> tuple[float, int]:
    """The median of some updates in ms, and bytes; {} in the address is another number each time."""
    times, size = [], 0
    for run in range(_RUNS):
        started = time.perf_counter()
        connection.request("GET", address.format(10 + run / 10), headers=_HEADERS)
        answer = connection.getresponse()
        size = len(answer.read())
        times.append(1000 * (time.perf_counter() - started))
        assert answer.status == 200
    return statistics.median(times), size
