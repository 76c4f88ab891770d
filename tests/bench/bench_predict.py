"""Predictions of a file of 10,000 layouts, beside the formulas alone."""

import json
import time
from collections.abc import Iterator
from itertools import product

from app.core.predicting.estimate import PredictionReader, estimate
from app.core.predicting.lines import Predictor
from tests.bench.figures import Figure

_COUNT = 10_000
_LIMIT = 1 << 20


def measure() -> Iterator[Figure]:
    """Layouts as text and as objects in turn, no two alike, each with a measured time."""
    lines = list(_lines())
    asked = [PredictionReader().read(line).asked for line in lines]
    started = time.perf_counter()
    for one in asked:
        estimate(one)
    alone = time.perf_counter() - started
    predictor = Predictor(_LIMIT)
    started = time.perf_counter()
    rows = sum(1 for _ in predictor.results(lines))
    took = time.perf_counter() - started
    assert rows == predictor.tally.predicted == _COUNT
    yield Figure("predicted from lines, 10,000 layouts", _COUNT / took, "/s", 2000, "higher")
    yield Figure("a line over its prediction alone", took / alone, "x")


def _lines() -> Iterator[bytes]:
    degrees = product((1, 2, 4, 8), (1, 2, 4, 8), (2, 4, 8, 16), range(1, 158))
    for number, (tensor, pipeline, data, rounds) in enumerate(degrees):
        if number == _COUNT:
            return
        layout = {"tensor": tensor, "pipeline": pipeline, "data": data, "microbatches": 8 * rounds}
        text = " ".join(f"{name}={value}" for name, value in layout.items())
        line = {
            "ref": number,
            "model": "Llama-3.1-8B",
            "cluster": f"64 H100 gpus={tensor * pipeline * data} gpus_per_node=2",
            "layout": text if number % 2 else layout,
            "measured": 1.0,
            "group": str(tensor),
        }
        yield json.dumps(line).encode()
