"""10,000 mixed answers from a file."""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from app.core.folders import ROOT
from app.course.content.catalog import Catalog
from tests.bench.figures import Figure

_COUNT = 10_000


def measure() -> Iterator[Figure]:
    """Every kind in the shares that the chapters have, right and wrong in turn."""
    catalog = Catalog.read([ROOT / "exercises"])
    exercises = catalog.exercises
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "in.jsonl", Path(folder) / "out.jsonl"
        with source.open("w") as file:
            for number in range(_COUNT):
                exercise, seed = exercises[number % len(exercises)], number % 97
                wrong = next(iter(exercise.mistakes(seed)))[0]
                answer = exercise.right_answer(seed) if number % 2 else wrong
                row = {"exercise": exercise.id, "seed": seed, "answer": answer, "ref": number}
                file.write(json.dumps(row) + "\n")
        started = time.perf_counter()
        command = [sys.executable, "-m", "app", "grade", str(source), "-o", str(target)]
        subprocess.run(command, check=True, capture_output=True)
        took = time.perf_counter() - started
        rows = [json.loads(line) for line in target.read_text().splitlines()]
    assert [row["ref"] for row in rows] == list(range(_COUNT))
    assert all((row["verdict"] == "correct") == bool(row["ref"] % 2) for row in rows)
    yield Figure("graded from a file, 10,000 mixed answers", _COUNT / took, "/s", 1500, "higher")
