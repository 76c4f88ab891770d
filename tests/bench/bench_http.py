"""Checks over HTTP, each kept before it is answered."""

import json
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from statistics import median

from app.core.folders import ROOT
from app.core.yaml_file import read_document
from tests.bench.figures import Figure
from tests.bench.load import Load, load, server

_SECONDS = 3.0
_TURNS = 5
RING = [
    json.dumps({"exercise": "collectives/ring-all-reduce-time", "seed": seed, "answer": "1 s"}).encode()
    for seed in range(50)
]


def _function() -> bytes:
    file = ROOT / "exercises" / "collectives" / "write-ring-time.yaml"
    right = read_document(file).values["right"]
    return json.dumps({"exercise": "collectives/write-ring-time", "answer": right}).encode()


def measure() -> Iterator[Figure]:
    """All servers in turn, so that whatever else the machine does meets all of them."""
    loads: dict[str, list[Load]] = {name: [] for name in ("keeps", "forgets", "bare", "livez")}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        servers = {name: stack.enter_context(server(folder, name)) for name in list(loads)[:3]}
        keeps = servers["keeps"]
        yield Figure("idle worker, peak memory", keeps.peak_memory(), "MB", 120, "lower")
        for running in servers.values():
            load(running, RING, b'"incorrect"', 32, 1.0)
        for _ in range(_TURNS):
            for name, running in servers.items():
                loads[name].append(load(running, RING, b'"incorrect"', 32, _SECONDS))
            loads["livez"].append(load(keeps, [], b'"ok"', 32, _SECONDS, "/livez"))
        function = load(keeps, [_function()], b'"correct"', 1, _SECONDS)
    rates = {name: median(one.rate for one in some) for name, some in loads.items()}
    yield from _shares(rates)
    p99 = median(one.quantile(0.99) for one in loads["keeps"])
    busy = max(one.busy for some in loads.values() for one in some)
    yield Figure("numeric checks kept, p99", 1e3 * p99, "ms", 100, "lower")
    yield Figure("the client, busy at most", 100 * busy, "%", 90, "lower")
    yield Figure("function check over HTTP, median", 1e3 * function.quantile(0.5), "ms", 10, "lower")
    yield Figure("function check over HTTP, p95", 1e3 * function.quantile(0.95), "ms", 25, "lower")


def _shares(rates: Mapping[str, float]) -> Iterator[Figure]:
    """Against an endpoint of FastAPI that reads the same body and does nothing."""
    kept, bare = rates["keeps"], rates["bare"]
    yield Figure("a bare endpoint of FastAPI, 32 connections", bare, "/s")
    yield Figure("numeric checks kept, 32 connections", kept, "/s")
    yield Figure("numeric checks kept, share of the bare", 100 * kept / bare, "%", 50, "higher")
    yield Figure("/livez, share of the bare", 100 * rates["livez"] / bare, "%", 60, "higher")
    share = 100 * kept / rates["forgets"]
    yield Figure("numeric checks kept, share of those not kept", share, "%", 50, "higher")
