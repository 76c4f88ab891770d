"""Jobs in the queue of a Slurm that is three scripts: what each state of a job means for its run."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from app.core.errors import UnavailableError
from app.labs.launch.slurm import Pace, SlurmLauncher, last_line, read_queue
from app.labs.run import LabRun, RunOutcome
from app.labs.runner.job import note_start
from app.labs.spec import lab_called, read_job
from app.server.config import Settings
from app.server.db.run_state import RunState
from tests.each import each

SCRIPTS = {
    "sbatch": 'echo "$@" > {folder}/asked; [ -e {folder}/full ] && {{ echo no; echo "no room" >&2; exit 1; }}; echo "17;main"',
    "squeue": "[ -e {folder}/silent ] && {{ echo down >&2; exit 1; }}; cat {folder}/queue",
    "scancel": 'echo "$@" >> {folder}/stopped',
}
Queue = Callable[[str], None]


@pytest.fixture
def queue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Queue:
    """Makes Slurm's queue what it is given; job 17 is the run's."""
    for name, text in SCRIPTS.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{text.format(folder=tmp_path)}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")

    def put(text: str) -> None:
        (tmp_path / "queue").write_text(text)

    put("")
    return put


def launcher_in(folder: Path, **more: Any) -> SlurmLauncher:
    found = Settings(runs=folder / "runs", lab_launcher="slurm", **more)
    return SlurmLauncher(found, Pace(looks=0.0, files=0.0))


def begun(launcher: SlurmLauncher) -> LabRun:
    return launcher.start(read_job(lab_called("ring-bytes"), {"ranks": "2"}))


def test_a_queue_has_places_for_those_that_wait_alone(queue: Queue) -> None:
    queue("15|RUNNING|None\n16|PENDING|Priority\n17|PENDING|Resources, of|two\n18|SUSPENDED|x\nno row\n")
    found = read_queue()
    assert {number: (one.place, one.waiting) for number, one in found.items()} == {
        "15": (0, 2), "16": (1, 2), "17": (2, 2), "18": (0, 2),
    }  # fmt: skip
    assert found["17"].reason == "Resources, of|two"
    assert [found[number].is_waiting for number in ("15", "16", "18")] == [False, True, True]
    assert [found[number].state for number in ("15", "16")] == ["RUNNING", "PENDING"]


def test_a_job_that_waits_says_its_place_and_one_that_runs_its_number(queue: Queue, tmp_path: Path) -> None:
    launcher = launcher_in(tmp_path)
    run = begun(launcher)
    queue("16|PENDING|Priority\n17|PENDING|Resources\n")
    assert launcher.outcome_of(run) is None
    assert launcher.says_of(run) == "job 17 is number 2 of 2 in Slurm's queue (Resources)"
    queue("17|PENDING|None\n")
    assert launcher.outcome_of(run) is None
    assert launcher.says_of(run) == "job 17 is number 1 of 1 in Slurm's queue"
    queue("17|COMPLETING|None\n")
    assert launcher.outcome_of(run) is None
    assert launcher.says_of(run) == "Slurm job 17"


@each("reason", ["PartitionConfig", "PartitionTimeLimit", "InvalidAccount", "BadConstraints"])
def test_a_job_that_never_starts_is_canceled_at_once(reason: str, queue: Queue, tmp_path: Path) -> None:
    launcher = launcher_in(tmp_path)
    run = begun(launcher)
    queue(f"17|PENDING|{reason}\n")
    found = launcher.outcome_of(run)
    assert found
    assert (found.state, found.cause) == (RunState.FAILED, f"Slurm would never start it: {reason}")
    assert (tmp_path / "stopped").read_text().splitlines()[-1] == "17"
    assert run.outcome == found


def test_a_job_waits_as_long_as_the_settings_allow(queue: Queue, tmp_path: Path) -> None:
    launcher = launcher_in(tmp_path, slurm_patience=1e-6)
    run = begun(launcher)
    queue("17|PENDING|Resources\n")
    found = launcher.outcome_of(run)
    assert found
    assert (found.state, found.cause) == (RunState.FAILED, "it waited 0 s in Slurm's queue: Resources")


def outcome_after_its_files(launcher: SlurmLauncher, run: LabRun) -> RunOutcome | None:
    """The first look at a job that has ended only begins the wait for its files."""
    return launcher.outcome_of(run) or launcher.outcome_of(run)


ENDED = {
    "canceled": ("17|CANCELLED|None", "", False, RunState.CANCELED, "stopped on request"),
    "late before it began": ("17|TIMEOUT|None", "", False, RunState.TIMEOUT, "its ranks had not met after 300 s"),
    "late by timeout(1)": ("", "124", False, RunState.TIMEOUT, "its ranks had not met after 300 s"),
    "late": ("17|TIMEOUT|None", "", True, RunState.TIMEOUT, "it took more than its 30 s"),
    "late, as its script says": ("17|FAILED|x", "124", True, RunState.TIMEOUT, "it took more than its 30 s"),
    "too large": ("17|OUT_OF_MEMORY|x", "", True, RunState.FAILED, "Slurm killed it: it exceeded its memory limit"),
    "ended by its script": ("17|FAILED|x", "3", True, RunState.FAILED, "the job exited with code 3: no module"),
    "gone": ("", "0", True, RunState.LOST, "Slurm reports gone, and the run left no outcome"),
    "well, without a word": ("17|COMPLETED|x", "", True, RunState.LOST, "Slurm reports completed, and the run"),
}


@each("how", ENDED)
def test_a_job_that_has_ended_has_the_outcome_of_its_state_and_its_files(
    how: str, queue: Queue, tmp_path: Path
) -> None:
    row, code, has_started, state, cause = ENDED[how]
    launcher = launcher_in(tmp_path / how)
    run = begun(launcher)
    queue(f"{row}\n" if row else "")
    (run.folder / "slurm.log").write_text("loading\nno module\n\n")
    if code:
        (run.folder / "exit").write_text(f"{code}\n")
    if has_started:
        note_start(run.folder)
    found = outcome_after_its_files(launcher, run)
    assert found
    assert found.state is state
    assert found.cause.startswith(cause), found.cause
    assert run.outcome == found
    assert launcher.outcome_of(run) == found


def test_a_run_that_was_canceled_is_that_whatever_slurm_says(queue: Queue, tmp_path: Path) -> None:
    launcher = launcher_in(tmp_path)
    run = begun(launcher)
    launcher.cancel(run)
    queue("17|FAILED|x\n")
    found = outcome_after_its_files(launcher, run)
    assert found
    assert found.state is RunState.CANCELED


def test_a_slurm_that_is_silent_ends_nothing_and_one_that_rejects_says_why(queue: Queue, tmp_path: Path) -> None:
    launcher = launcher_in(tmp_path, slurm_partition="labs", slurm_memory="2G")
    run = begun(launcher)
    asked = (tmp_path / "asked").read_text()
    for option in ("--job-name=lab-ring-bytes", "--ntasks=2", "--partition=labs", "--mem=4G", "--nodes=1"):
        assert f"{option} " in asked
    (tmp_path / "silent").touch()
    assert launcher.outcome_of(run) is None
    assert launcher.says_of(run) == "Slurm does not answer: down"
    (tmp_path / "full").touch()
    with pytest.raises(UnavailableError, match="Slurm rejected it: no room"):
        begun(launcher)
    never = launcher.outcome_of(LabRun(tmp_path / "runs" / "other"))
    assert never
    assert (never.state, never.cause) == (RunState.LOST, "it was never submitted to Slurm")


def test_a_slurm_without_its_commands_starts_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    launcher = launcher_in(tmp_path)
    assert launcher.trouble() == "sbatch is not installed, and WALLCLOCK_LAB_LAUNCHER is slurm"
    with pytest.raises(UnavailableError, match="sbatch is not installed"):
        begun(launcher)
    with pytest.raises(UnavailableError, match="squeue cannot be run: No such file"):
        read_queue()


@each(("text", "line"), [("a\n b \n\n", "b"), ("", "no output"), (" \n", "no output"), ("x" * 600, "x" * 500)])
def test_the_last_line_is_the_last_that_says_something(text: str, line: str) -> None:
    assert last_line(text) == line
