"""Checks over HTTP, each kept before it is answered."""

import json
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from app.config import ROOT
from app.yaml_file import read_document
from tests.bench.figures import Figure
from tests.bench.load import Load, load, server

_SECONDS = 4.0
_TURNS = 3
_RING = [
    json.dumps(
        {"exercise": "collectives/ring-all-reduce-time", "seed": seed, "answer": "1 s"}
    ).encode()
    for seed in range(50)
]


def _function() -> bytes:
    file = ROOT / "exercises" / "collectives" / "write-ring-time.yaml"
    right = read_document(file).values["right"]
    return json.dumps({"exercise": "collectives/write-ring-time", "answer": right}).encode()


def measure() -> Iterator[Figure]:
    """Both servers in turn, so that whatever else the machine does meets both."""
    kept: list[Load] = []
    forgotten: list[Load] = []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        keeps = stack.enter_context(server(folder))
        forgets = stack.enter_context(server(folder, "forgets"))
        yield Figure("idle worker, peak memory", keeps.peak_memory(), "MB", 120, "lower")
        for running in (keeps, forgets):
            load(running, _RING, b'"incorrect"', 32, 1.0)
        for _ in range(_TURNS):
            kept.append(load(keeps, _RING, b'"incorrect"', 32, _SECONDS))
            forgotten.append(load(forgets, _RING, b'"incorrect"', 32, _SECONDS))
        function = load(keeps, [_function()], b'"correct"', 1, _SECONDS)
    rate = sorted(one.rate for one in kept)[_TURNS // 2]
    share = rate / sorted(one.rate for one in forgotten)[_TURNS // 2]
    p99 = sorted(one.quantile(0.99) for one in kept)[_TURNS // 2]
    yield Figure("numeric checks kept, share of those not kept", 100 * share, "%", 50, "higher")
    yield Figure("numeric checks kept, 32 connections", rate, "/s", None, "higher")
    yield Figure("numeric checks kept, p99", 1e3 * p99, "ms", 100, "lower")
    yield Figure(
        "function check over HTTP, median", 1e3 * function.quantile(0.5), "ms", 10, "lower"
    )
    yield Figure("function check over HTTP, p95", 1e3 * function.quantile(0.95), "ms", 25, "lower")
