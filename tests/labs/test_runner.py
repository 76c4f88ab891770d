"""The runner by itself: what it imports, how it is started, and which rank it names."""

import ast
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from app.core.folders import ROOT
from app.labs.launch.base import write_run
from app.labs.launch.local import LocalLauncher
from app.labs.results.analysis import report_of
from app.labs.run import LabRun
from app.labs.spec import lab_called, read_job
from tests.each import each
from tests.labs.conftest import PATIENCE, Faulty, pids_of
from tests.labs.test_running import ended
from tests.waiting import wait_until

RUNNER = ROOT / "app" / "labs" / "runner"
MODULES = sorted(path.stem for path in RUNNER.glob("*.py"))
# What the runner imports, beside Python's own library and itself. It is complete.
CLOSURE = {"pydantic", "torch"}
MOST_LINES = 3000


def imported_by(path: Path) -> set[str]:
    """The modules that *path* imports, by its text."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
        elif isinstance(node, ast.Import):
            found |= {one.name for one in node.names}
    return found


def test_the_runner_imports_nothing_of_the_app() -> None:
    found = {name for path in RUNNER.glob("*.py") for name in imported_by(path)}
    outside = {name for name in found if name.partition(".")[0] not in sys.stdlib_module_names}
    assert {name for name in outside if not name.startswith("app.labs.runner")} <= {
        *CLOSURE, "torch.distributed"
    }  # fmt: skip
    assert sum(len(path.read_text().splitlines()) for path in RUNNER.glob("*.py")) < MOST_LINES


@pytest.mark.needs("torch")
def test_a_process_that_has_imported_all_of_the_runner_has_nothing_else_of_the_app() -> None:
    code = (
        "import importlib, sys\n"
        "for name in sys.argv[1:]: importlib.import_module(f'app.labs.runner.{name}')\n"
        "print(*sorted(one for one in sys.modules if one.partition('.')[0] == 'app'))"
    )
    done = subprocess.run([sys.executable, "-c", code, *MODULES], capture_output=True, text=True, check=True)
    ours = {f"app.labs.runner.{name}" for name in MODULES}
    assert set(done.stdout.split()) == {"app", "app.labs", "app.labs.runner", *ours}


def started(run: LabRun, *environments: Mapping[str, str]) -> list[int]:
    """The exit codes of processes of the runner, one for each of *environments*."""
    command = [sys.executable, "-m", "app.labs.runner", str(run.folder / "job.json")]
    plain = {name: text for name, text in os.environ.items() if not name.startswith(("SLURM_", "MASTER_"))}
    with ExitStack() as stack:
        processes = [
            stack.enter_context(subprocess.Popen(command, env={**plain, **one}, stderr=subprocess.DEVNULL))
            for one in environments
        ]
        return [one.wait(PATIENCE) for one in processes]


@pytest.mark.needs("torch")
@pytest.mark.slow(8)
def test_without_a_rank_in_the_environment_it_leads_all_ranks_here(tmp_path: Path) -> None:
    run = write_run(tmp_path, read_job(lab_called("ring-bytes"), {"ranks": "3"}), "gloo", launcher="local")
    assert started(run, {}) == [0]
    report = report_of(run)
    assert (report.state, report.world) == ("done", 3)
    assert all(one.right for one in report.measures)


@pytest.mark.needs("torch")
@pytest.mark.slow(8)
def test_ranks_meet_where_the_environment_says(tmp_path: Path) -> None:
    """In the store at MASTER_ADDR: no file in the folder names another one."""
    run = write_run(tmp_path, read_job(lab_called("ring-bytes"), {"ranks": "2"}), "gloo", launcher="by hand")
    with socket.create_server(("127.0.0.1", 0)) as line:
        port = str(line.getsockname()[1])
    place = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": "2"}
    assert started(run, *({**place, "RANK": str(rank), "LOCAL_RANK": str(rank)} for rank in range(2))) == [0, 0]
    assert not (run.folder / "rendezvous").exists()
    report = report_of(run)
    assert (report.state, report.world) == ("done", 2)
    assert report.machine.cores  # rank 0 has described where it is


@pytest.mark.slow(8)
@each("number", [signal.SIGSTOP, signal.SIGTERM])
def test_a_rank_that_is_stopped_or_told_to_end_is_named(
    labs_runner: LocalLauncher, faulty: Faulty, number: signal.Signals
) -> None:
    run = labs_runner.start(faulty("hangs", seconds=6), patience=PATIENCE)
    wait_until(lambda: len(pids_of(run.folder)) == 3, PATIENCE)
    time.sleep(0.5)  # the others have come to the barrier
    os.kill(int((run.folder / "pid1").read_text()), number)
    found = ended(run).outcome
    assert found
    if number is signal.SIGTERM:
        assert (found.state, found.cause.partition(", and not")[0]) == (
            "failed", "rank 1 was told to end (SIGTERM)",
        )  # fmt: skip
    else:
        assert found.state == "timeout"
        assert "rank 1 wrote no stack and had to be killed: it was stopped" in found.cause
        assert found.cause.endswith("; the others waited in barrier")
    stored = json.loads((run.folder / "outcome.json").read_text())
    assert "cause" not in stored  # whoever asks finds it in the files
