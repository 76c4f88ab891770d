"""From the command to the first page, and how long imports take."""

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from urllib.request import urlopen

from tests.bench.figures import Figure


def _first_page(folder: str) -> float:
    environment = {**os.environ, "WALLCLOCK_DATABASE": f"sqlite:///{folder}/w.db"}
    started = time.perf_counter()
    command = [sys.executable, "-m", "app", "serve", "--port", "0"]
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        found = re.search(r"http://\S+", process.stderr.readline())
        assert found
        assert b"Wallclock" in urlopen(found[0]).read()
        took = time.perf_counter() - started
        process.terminate()
    return took


def _run(code: str) -> float:
    """The usual time of one run after the first, which leaves compiled files behind."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    times = []
    for _ in range(6):
        started = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True, env=environment)
        times.append(time.perf_counter() - started)
    return sorted(times[1:])[2]


def measure() -> Iterator[Figure]:
    """A new database, then the same one again."""
    with tempfile.TemporaryDirectory() as folder:
        _first_page(folder)
        times = sorted(_first_page(folder) for _ in range(3))
    yield Figure("serve to first page", times[1], "s", 2, "lower")
    bare = _run("pass")
    formulas = _run("import app.core.formulas")
    yield Figure("import of the formulas", 1e3 * (formulas - bare), "ms", 60, "lower")
