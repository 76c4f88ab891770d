"""What the runner of labs costs, against starting the ranks with torchrun and looping oneself."""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from app.labs.launch.local import LocalLauncher
from app.labs.results.analysis import report_of
from app.labs.run import LabRun
from app.labs.runner.events import ReadyEvent
from app.labs.spec import lab_called, read_job
from tests.bench.figures import Figure

_RUNS = 3
_PAIRS = 10  # of a lab and a bare loop; gloo differs from run to run by more than they do
_SIZE = "16MiB"
_BARE = """
import statistics, time, torch, torch.distributed as dist
torch.set_num_threads(1)
dist.init_process_group("gloo")
array = torch.ones(16 * 2**20 // 4)
def sample():
    dist.barrier()
    begun = time.perf_counter()
    dist.all_reduce(array)
    took = torch.tensor([time.perf_counter() - begun], dtype=torch.float64)
    dist.all_reduce(took, op=dist.ReduceOp.MAX)
    return took.item()
for _ in range(4):
    sample()
found = [sample() for _ in range(25)]
if dist.get_rank() == 0:
    print(*found)
dist.destroy_process_group()
"""


def measure() -> Iterator[Figure]:
    """Ranks ready, a whole run, and the same all-reduce in a bare loop."""
    with tempfile.TemporaryDirectory() as folder:
        runner = LocalLauncher(Path(folder))
        runner.warm()
        ready = min(_seconds_to_ready(runner) for _ in range(_RUNS))
        yield Figure("four ranks ready, from a warm runner", ready, "s", 0.3)
        ours, bare, again = [], [], []
        for _ in range(_PAIRS):  # in turn, for the machine is not always equally busy
            ours += _lab(runner)
            bare += _torchrun(Path(folder))
            again += _torchrun(Path(folder))
        runner.close()
        noise = statistics.median(again) / statistics.median(bare)
        yield Figure(f"all-reduce of {_SIZE}: bare torchrun over itself", noise, "×")
        ratio = statistics.median(ours) / statistics.median(bare + again)
        yield Figure(f"all-reduce of {_SIZE}: lab over bare torchrun", ratio, "×", 1.02)
        begun = time.perf_counter()
        command = [sys.executable, "-m", "app", "lab", "run", "all-reduce", "ranks=2", "--json"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert len(json.loads(done.stdout)["measures"]) == len("12345678")
        yield Figure("lab run all-reduce, eight sizes", time.perf_counter() - begun, "s", 15)


def _ended(runner: LocalLauncher, name: str, **given: str) -> LabRun:
    run = runner.start(read_job(lab_called(name), given), patience=10)
    for _ in runner.follow(run):
        continue
    return run


def _seconds_to_ready(runner: LocalLauncher) -> float:
    begun = time.time()
    run = _ended(runner, "ring-bytes", ranks="4")
    return next(e.at - begun for e in run.events() if isinstance(e, ReadyEvent))


def _lab(runner: LocalLauncher) -> list[float]:
    return list(report_of(_ended(runner, "all-reduce", sizes=_SIZE)).measures[0].samples)


def _torchrun(folder: Path) -> list[float]:
    script = folder / "bare.py"
    script.write_text(_BARE)
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    # The same interface as the lab's: without it gloo looks for one of its own.
    environment = {**os.environ, "GLOO_SOCKET_IFNAME": "lo"}
    done = subprocess.run([*command, str(script)], env=environment, capture_output=True, text=True, check=True)
    return [float(text) for text in done.stdout.split()]
