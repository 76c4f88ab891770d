"""Traces: a million events, and the breakdown of the published ones, beside another tool's."""

import json
import os
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator
from pathlib import Path

from app.core.measurements.published import SAMPLES, TraceSample
from app.core.measurements.trace.activity import Tolls
from app.core.measurements.trace.communication import NCCL_ALONE
from app.core.measurements.trace.reader import read_rank
from tests.bench.figures import Figure
from tests.bench.made_trace import write_trace

PACKAGE = "HolisticTraceAnalysis==0.5.0"
EVENTS = 1_080_000
OURS = """
import json, os, resource, sys
from pathlib import Path
from app.core.measurements.trace.reader import read_trace
tolls = read_trace([Path(sys.argv[1])])[0].tolls
took = sum(os.times()[:4])
memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
found = [tolls.compute, tolls.idle, tolls.wall - tolls.compute - tolls.idle]
print(json.dumps([took, memory, [100 * part / tolls.wall for part in found]]))
"""
THEIRS = """
import json, os, resource, sys
from hta.trace_analysis import TraceAnalysis
traces = TraceAnalysis(trace_files={0: sys.argv[1]}, trace_dir="/")
row = traces.get_temporal_breakdown(visualize=False).iloc[0]
took = sum(os.times()[:4])
memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
names = ("compute_time(us)", "idle_time(us)", "non_compute_time(us)")
print(json.dumps([took, memory, [100 * float(row[name] / row["kernel_time(us)"]) for name in names]]))
"""


def measure() -> Iterator[Figure]:
    """One process each for the made trace, in seconds of the processor: the machine may be busy.

    The published ones are under the other's classification.
    """
    off = max(_off(sample) for sample in SAMPLES)
    yield Figure("tolls of published traces, off", off, "points", 0.1)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "trace.json")
        write_trace(path, EVENTS)
        took, memory, shares = _run(sys.executable, OURS, path)
        yield Figure("a trace of a million events", took, "s")
        yield Figure("a trace of a million events, memory", memory / 1024, "MiB", 300)
        python = _installed(Path(folder, "environment"))
        if python is None:
            sys.stdout.write(f"{PACKAGE} cannot be installed here\n")
            return
        theirs = _run(str(python), THEIRS, path)
    yield Figure("HolisticTraceAnalysis over ours, time", theirs[0] / took, "x", 2, "higher")
    yield Figure("HolisticTraceAnalysis over ours, memory", theirs[1] / memory, "x", 5, "higher")
    apart = max(abs(one - other) for one, other in zip(shares, theirs[2], strict=True))
    yield Figure("the two breakdowns apart", apart, "points", 0.1)


def _off(sample: TraceSample) -> float:
    """The largest difference to what the other tool says, in points."""
    with sample.path.open("rb") as file:
        rank = read_rank(file, sample.name, lambda name: NCCL_ALONE.search(name) is not None)
    expected = sample.expected
    compute, idle, other = _shares(rank.tolls)
    return max(abs(compute - expected.compute), abs(idle - expected.idle), abs(other - expected.other))


def _shares(tolls: Tolls) -> tuple[float, float, float]:
    other = tolls.wall - tolls.compute - tolls.idle
    return (100 * tolls.compute / tolls.wall, 100 * tolls.idle / tolls.wall, 100 * other / tolls.wall)


def _run(python: str, code: str, path: Path) -> tuple[float, float, list[float]]:
    environment = {**os.environ, "HTA_DISABLE_NS_ROUNDING": "1"}
    command = [python, "-c", code, str(path)]
    done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    took, memory, shares = json.loads(done.stdout.splitlines()[-1])
    return took, memory, shares


def _installed(folder: Path) -> Path | None:
    """The Python of an environment that has the other tool, if it can be installed."""
    venv.create(folder, with_pip=True)
    python = next(folder.glob("[bS]*/python*"))
    install = [str(python), "-m", "pip", "install", "--quiet", PACKAGE]
    failed = subprocess.run(install, check=False, capture_output=True).returncode
    return None if failed else python
