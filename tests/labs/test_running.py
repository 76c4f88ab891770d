import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from app.core.errors import NotFoundError, UnavailableError
from app.labs.launch.local import LocalLauncher, launcher_of
from app.labs.machines import devices
from app.labs.results.analysis import report_of
from app.labs.run import LabRun
from app.labs.runner.events import ReadyEvent
from app.labs.spec import lab_called, read_job
from app.server.config import Settings
from tests.labs.conftest import PATIENCE, Faulty, is_alive, pids_of
from tests.labs.gpus import known
from tests.waiting import wait_until

pytestmark = pytest.mark.slow(40)


def ended(run: LabRun) -> LabRun:
    wait_until(lambda: run.outcome, PATIENCE)
    return run


def gone(pids: list[int]) -> bool:
    wait_until(lambda: not any(map(is_alive, pids)), PATIENCE)
    return True


def wait_for_ranks(run: LabRun) -> None:
    """Until all three are at work."""
    wait_until(lambda: len(pids_of(run.folder)) == 3 or run.outcome, PATIENCE)
    assert not run.outcome, run.outcome


@pytest.mark.parametrize(
    ("what", "state", "cause"),
    [
        ("raises", "failed", "rank 1: ValueError: 3 micro-batches for 4 stages"),
        ("killed", "failed", "rank 1 was killed by SIGKILL; did it run out of memory?"),
        ("crashes", "failed", "rank 1 was killed by SIGSEGV"),
        ("exits", "failed", "rank 1 exited with code 3"),
        ("memory", "failed", "rank 1: the machine is out of memory (DefaultCPUAllocator: "),
        ("wrong", "failed", "sums: the data is wrong, so its times do not count"),
        ("disk", "failed", "rank 0: the disk is full (OSError: [Errno 28] No space left on device"),
    ],
)
def test_a_fault_of_a_rank_ends_the_run_with_its_cause(
    labs_runner: LocalLauncher, faulty: Faulty, what: str, state: str, cause: str
) -> None:
    run = ended(labs_runner.start(faulty(what)))
    report = report_of(run)
    assert report.state == state
    assert cause in report.cause
    assert gone(pids_of(run.folder))
    # And the next one works.
    assert report_of(ended(labs_runner.start(faulty("nothing")))).state == "done"


_LATE = r": rank 1 was at worker\.py line \d+, while ranks 0, 2 were in barrier \(worker\.py line"


@pytest.mark.parametrize("what", ["hangs", "stubborn"])
def test_a_run_that_hangs_is_ended_in_time(labs_runner: LocalLauncher, faulty: Faulty, what: str) -> None:
    for seconds in (2, 10, 50):  # on a busy machine, ranks may not have come so far in 2 s
        run = ended(labs_runner.start(faulty(what, seconds=seconds)))
        report = report_of(run)
        assert report.state == "timeout"
        assert report.cause.startswith(f"it took more than its {seconds} s")
        assert gone(pids_of(run.folder))
        if re.search(f" {seconds} s{_LATE}", report.cause):
            return
    pytest.fail(report.cause)


@pytest.mark.parametrize("what", ["hangs", "stubborn"])
def test_a_run_can_be_cancelled(labs_runner: LocalLauncher, faulty: Faulty, what: str) -> None:
    run = labs_runner.start(faulty(what))
    wait_for_ranks(run)
    labs_runner.cancel(run)
    ended(run)
    assert report_of(run).state == "cancelled"
    assert report_of(run).cause == "stopped on request"
    assert gone(pids_of(run.folder))


def test_one_run_at_a_time_has_the_devices(labs_runner: LocalLauncher, faulty: Faulty) -> None:
    first = labs_runner.start(faulty("hangs"))
    wait_for_ranks(first)
    hasty = ended(labs_runner.start(faulty("nothing"), patience=0))
    assert report_of(hasty).state == "failed"
    assert "another run has been using these devices" in report_of(hasty).cause
    patient = labs_runner.start(faulty("nothing"), patience=PATIENCE)
    assert report_of(patient).state == "running"
    labs_runner.cancel(first)
    assert report_of(ended(patient)).state == "done"


def test_a_leader_that_is_killed_takes_its_ranks_along(labs_runner: LocalLauncher, faulty: Faulty) -> None:
    run = labs_runner.start(faulty("hangs"))
    wait_for_ranks(run)
    os.kill(labs_runner._pids[run.id], signal.SIGKILL)
    assert gone(pids_of(run.folder))
    ended(run)
    assert report_of(run).state == "lost"
    assert "its leader process died" in report_of(run).cause


@pytest.mark.needs("torch")
def test_when_the_server_dies_no_rank_is_left_and_the_run_is_found_again(faulty: Faulty, tmp_path: Path) -> None:
    job = faulty("hangs")
    code = f"""
import sys, time
from pathlib import Path
from app.labs import spec
spec.LIBRARY = Path({str(job.lab.worker.parent.parent)!r})
from app.labs.spec import lab_called, read_job
from app.labs.launch.local import LocalLauncher
runner = LocalLauncher(Path({str(tmp_path)!r}) / "runs")
print(runner.start(read_job(lab_called("faulty"), {{"what": "hangs"}})).id, flush=True)
time.sleep(600)
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout
            again = LocalLauncher(tmp_path / "runs")
            run = again.run_called(server.stdout.readline().strip())
            wait_for_ranks(run)
            assert report_of(run).state == "running"
        finally:
            server.kill()
    assert gone(pids_of(run.folder))
    ended(run)
    assert report_of(run).state == "lost"
    assert "the process that started it exited" in report_of(run).cause


def test_ranks_are_there_at_once_when_torch_is(labs_runner: LocalLauncher, faulty: Faulty) -> None:
    """Within less time than torch takes to import, on the machine as it is now."""
    times, imports = list[float](), list[float]()
    while len(times) < 9 and not (times and min(times) < min(imports)):  # a busy machine's luck
        run = labs_runner.start(faulty("nothing", ranks=4))
        begun = (run.folder / "job.json").stat().st_mtime
        ended(run)
        ready = next(event for event in run.events() if isinstance(event, ReadyEvent))
        times.append(ready.at - begun)
        assert report_of(run).world == 4
        before = time.monotonic()
        subprocess.run([sys.executable, "-c", "import torch.distributed"], check=True)
        imports.append(time.monotonic() - before)
    assert min(times) < min(imports)  # 0.1 s on a quiet machine, and 2 s


def test_a_report_has_what_is_needed_to_believe_it(labs_runner: LocalLauncher, faulty: Faulty) -> None:
    run = ended(labs_runner.start(faulty("nothing")))
    report = json.loads(report_of(run).as_json())
    (measure,) = report["measures"]
    assert measure["samples"] == [1.0, 2.0, 3.0]
    assert (measure["count"], measure["least"], measure["median"], measure["p90"]) == (3, 1, 2, 3)
    assert (measure["predicted"], measure["ratio"]) == (2.0, 1.0)
    assert report["machine"]["cores"] >= 1
    assert report["versions"]["torch"]
    assert report["command"] == "wallclock lab run faulty ranks=3 what=nothing"
    assert labs_runner.run_called(run.id).folder == run.folder
    with pytest.raises(NotFoundError, match="no run is called"):
        labs_runner.run_called("../etc")


def test_without_torch_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise ImportError('none here', name='torch')")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{Path.cwd()}")
    runner = LocalLauncher(tmp_path / "runs")
    with pytest.raises(UnavailableError, match=r"labs need torch: .* pip install"):
        runner.warm()


ODD = "runs/my #1? 50%j & 'all'"


@pytest.mark.needs("torch")
def test_a_folder_of_runs_may_be_relative_and_have_any_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WALLCLOCK_RUNS", ODD)
    with closing(launcher_of(Settings())) as launcher:
        assert launcher.folder == tmp_path / ODD
        run = launcher.start(read_job(lab_called("ring-bytes"), {"ranks": "2"}))
        monkeypatch.chdir("/")
        report = report_of(ended(run))
    assert (report.state, report.cause, report.world) == ("done", "", 2)


def test_a_full_or_forbidden_folder_is_told(labs_runner: LocalLauncher, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    runner = LocalLauncher(tmp_path / "file")
    runner._zygote, runner._received = labs_runner._zygote, b""
    with pytest.raises(UnavailableError, match="cannot be stored"):
        runner.start(read_job(lab_called("ring-bytes"), {}))


def test_the_process_with_torch_says_which_gpus_it_can_use(
    labs_runner: LocalLauncher, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    known(monkeypatch, tmp_path, None)
    monkeypatch.setattr(devices, "_ASKED", {})
    found = labs_runner.devices()
    assert (found.kind, found.usable) == ("none", 0)
    torch, _, why = found.note.partition(" cannot use this machine's 1 × NVIDIA H100 80GB HBM3: ")
    assert why.startswith("it was built without") == ("built for" not in torch)
    assert why
    assert found.torch
    assert labs_runner.devices() is found
