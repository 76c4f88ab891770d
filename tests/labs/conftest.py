import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path

import pytest

from app.labs import spec
from app.labs.launch.base import Launcher
from app.labs.launch.local import LocalLauncher
from app.labs.run import LabRun
from app.labs.spec import LabJob, lab_called, read_job
from tests.labs.cluster import slurm
from tests.needs import need
from tests.waiting import HANGS, wait_until

FAULTY = """\
import os, signal, time
import torch.distributed as dist

def main(rank):
    new = rank.folder / f"new{rank.rank}"
    new.write_text(str(os.getpid()))
    new.rename(rank.folder / f"pid{rank.rank}")  # whoever looks sees all of it
    what, bad = rank.word("what"), rank.rank == 1
    if what == "raises" and bad:
        raise ValueError("3 micro-batches for 4 stages")
    if what == "killed" and bad:
        os.kill(os.getpid(), signal.SIGKILL)
    if what == "exits" and bad:
        os._exit(3)
    if what == "crashes" and bad:
        os.kill(os.getpid(), signal.SIGSEGV)
    if what == "memory" and bad:
        import torch
        torch.empty(2**60, dtype=torch.uint8)
    if what == "hungry" and bad:
        import torch
        eaten = []
        while True:
            eaten.append(torch.ones(2**22))
    if what == "talks":
        for _ in range(1000):
            rank.report.measure("time", [1.0] * 1000)
    if what == "wrong":
        rank.report.check("sums", not bad)
    if what == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if what == "disk" and rank.rank == 0:
        open("/dev/full", "w", buffering=1).write("x" * 100000)
    if what in ("hangs", "stubborn") and bad:
        time.sleep(600)
    dist.barrier()
    rank.report.measure("time", [1.0, 2.0, 3.0])
"""
SPECIFICATION = """\
title: Faults
links: counted
summary: Everything that can go wrong.
question: What goes wrong?
asks: time
ranks: [2, 4, 3]
seconds: {seconds}
parameters:
  what:
    says: the fault
    one_of: [nothing, raises, killed, exits, crashes, memory, wrong, hangs, stubborn, disk, hungry, talks]
    start: nothing
measures:
  time: {{says: a time, unit: s, predicted: "2 s"}}
explains: Nothing.
"""
Faulty = Callable[..., LabJob]
# Seconds until what should have happened is a fault: ranks with torch take a while to start.
PATIENCE = 5 * HANGS


@pytest.fixture(scope="session")
def _warm_runner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalLauncher]:
    """One process with torch for all the tests."""
    need("torch")
    with closing(LocalLauncher(tmp_path_factory.mktemp("runs"))) as made:
        made.warm()
        yield made


@pytest.fixture
def labs_runner(_warm_runner: LocalLauncher) -> Iterator[LocalLauncher]:
    """A runner whose devices are free; what a test starts ends with it, however it ends."""
    before = set(_warm_runner.folder.glob("*/job.json"))
    yield _warm_runner
    end_all(_warm_runner, set(_warm_runner.folder.glob("*/job.json")) - before)


def end_all(launcher: Launcher, jobs: Iterable[Path]) -> None:
    """End the runs of *jobs*, and wait until each has said so and its ranks are gone."""
    for job in jobs:
        _end(launcher, LabRun(job.parent))


def _end(launcher: Launcher, run: LabRun) -> None:
    def has_ended() -> bool:
        if launcher.outcome_of(run):
            return True
        launcher.cancel(run)
        return False

    wait_until(has_ended, PATIENCE)
    wait_until(lambda: not any(map(is_alive, pids_of(run.folder))), PATIENCE)


@pytest.fixture
def faulty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Faulty]:
    """A lab that goes wrong as one wants."""

    def make(what: str, ranks: int = 3, seconds: float = 60) -> LabJob:
        folder = tmp_path / "library" / "faulty"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "worker.py").write_text(FAULTY)
        (folder / "lab.yaml").write_text(SPECIFICATION.format(seconds=seconds))
        monkeypatch.setattr(spec, "LIBRARY", folder.parent)
        spec.known_labs.cache_clear()
        given: Mapping[str, str] = {"what": what, "ranks": str(ranks)}
        return read_job(lab_called("faulty"), given)

    yield make
    monkeypatch.undo()
    spec.known_labs.cache_clear()


def pids_of(folder: Path) -> list[int]:
    """The ranks that have said who they are."""
    return [int(path.read_text()) for path in folder.glob("pid*")]


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that waits to be buried does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):  # the second while it is read
        return False
    return state != "Z" and os.getpid() != pid


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    need("slurm")
    need("torch")
    with slurm(tmp_path_factory.mktemp("slurm")) as configuration:
        os.environ["SLURM_CONF"] = str(configuration)
        yield configuration
        del os.environ["SLURM_CONF"]
