"""Runs that another program starts: torchrun, also in a Job of Kubernetes, or a person."""

import json
import os
import re
import resource
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import kubernetes_validate  # type: ignore[import-untyped]
import pytest
import yaml

from app import labs
from app.__main__ import main
from app.commands.lab_launch import instructions, prepare_run
from app.labs.results.analysis import report_of
from app.labs.run import LabRun
from app.labs.runner.job import note_start, stack_of
from app.labs.runner.process import allow_connections
from app.labs.spec import lab_called, read_job
from app.server.db.run_state import RunState
from tests.labs.conftest import PATIENCE

slow = pytest.mark.slow(15)
RANK_MAIN = [sys.executable, "-m", "app.labs.runner"]
DOCUMENTATION = Path(labs.__file__).parents[1] / "docs" / "labs.md"


def run_of(folder: Path, name: str, backend: str = "gloo", **given: str) -> LabRun:
    return prepare_run(read_job(lab_called(name), given), folder, backend)


def started(commands: Sequence[Sequence[str]], *environments: Mapping[str, str]) -> Sequence[int]:
    """The exit codes of *commands*, started at once, each with its environment."""
    plain = {name: text for name, text in os.environ.items() if not name.startswith("SLURM_")}
    processes = [
        subprocess.Popen(command, env={**plain, **own}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for command, own in zip(commands, environments, strict=True)
    ]
    try:
        return [one.wait(timeout=PATIENCE) for one in processes]
    finally:
        for one in processes:
            one.kill()


@pytest.mark.needs("torch")
@slow
def test_ranks_started_by_hand_meet_in_the_folder(tmp_path: Path) -> None:
    """A place in the environment, a folder, no more; not even the right to open enough files."""
    run = run_of(tmp_path, "ring-bytes", ranks="2")
    assert run.outcome is None
    own = [{"RANK": str(rank), "WORLD_SIZE": "2"} for rank in range(2)]
    few = f"ulimit -Sn 10; exec {shlex.join([*RANK_MAIN, str(run.folder)])}"
    assert started([["sh", "-c", few]] * 2, *own) == [0, 0]
    report = report_of(run)
    assert report.state == "done"
    assert all(one.right for one in report.measures)


def manifest() -> dict[str, Any]:
    """The Job that the documentation shows."""
    (text,) = re.findall(r"```yaml\n(apiVersion: batch/v1\n.*?)```", DOCUMENTATION.read_text("utf-8"), re.DOTALL)
    found: dict[str, Any] = yaml.safe_load(text)
    return found


def command_of(run: LabRun) -> Sequence[str]:
    """The command of the pods of the documentation for *run*, with this Python and a rank in each."""
    python, *rest, folder = manifest()["spec"]["template"]["spec"]["containers"][0]["command"]
    assert (python, folder) == ("python", "/runs/RUN/job.json")
    return [sys.executable, *(one.replace("node=8", "node=1") for one in rest), str(run.folder)]


@pytest.mark.needs("torch")
@slow
def test_two_pods_with_a_torchrun_each_are_one_run(tmp_path: Path) -> None:
    """As the manifest starts them, but on one machine."""
    run = run_of(tmp_path, "ring-bytes", ranks="2", nodes="2")
    pods = [{"JOB_COMPLETION_INDEX": str(pod)} for pod in range(2)]
    assert started([command_of(run)] * 2, *pods) == [0, 0]
    report = report_of(run)
    assert (report.state, report.world, report.nodes, report.machine.nodes) == ("done", 2, 2, 2)
    assert all(one.right for one in report.measures)


@slow
@pytest.mark.needs("clock", "torch")
def test_an_emulated_link_between_two_clocks_is_refused_at_once(tmp_path: Path) -> None:
    """A rank in a time namespace of its own: it would wait for a day."""
    inside = ["unshare", "--time", "--monotonic", "100000", "--fork", "--kill-child"]
    run = run_of(tmp_path, "algorithms", ranks="2", sizes="64KiB")
    command = [*RANK_MAIN, str(run.folder)]
    own = [{"RANK": str(rank), "WORLD_SIZE": "2"} for rank in range(2)]
    processes = [
        subprocess.Popen([*before, *command], env={**os.environ, **one}, stderr=subprocess.DEVNULL)
        for before, one in zip(([], inside), own, strict=True)
    ]
    try:
        assert processes[1].wait(timeout=PATIENCE) == 1
    finally:
        for one in processes:
            one.kill()
            one.wait()
    assert run.outcome
    assert run.outcome.state is RunState.FAILED
    assert "rank 1: ValueError: this rank and rank 0 have two clocks, and an emu" in run.outcome.cause


def test_a_rank_started_by_hand_that_fails_is_told(tmp_path: Path) -> None:
    run = run_of(tmp_path, "ring-bytes", ranks="3")
    assert started([[*RANK_MAIN, str(run.folder)]], {"RANK": "0", "WORLD_SIZE": "2"}) == [1]
    assert run.outcome
    assert run.outcome.state == "failed"
    assert "this run has 3 ranks, but 2 were started" in run.outcome.cause
    assert json.loads((run.folder / "job.json").read_text())["launcher"] == "by hand"


@pytest.mark.parametrize(
    ("before", "after"), [((1024, 524_288), 4352), ((1024, 2048), 2048), ((8192, 524_288), 8192), ((1024, -1), 4352)]
)
def test_a_thousand_ranks_may_all_be_connected(
    monkeypatch: pytest.MonkeyPatch, before: tuple[int, int], after: int
) -> None:
    held = [before]
    monkeypatch.setattr(resource, "getrlimit", lambda _: held[-1])
    monkeypatch.setattr(resource, "setrlimit", lambda _, limits: held.append(limits))
    allow_connections(1024)
    assert held[-1] == (after, before[1])


STACK = """\
Current thread 0x00007f38983c5b80 (most recent call first):
  File "/library/ring_bytes/worker.py", line {line} in main
"""


def test_a_run_whose_ranks_were_stopped_at_its_limit_is_out_of_time(tmp_path: Path) -> None:
    run = run_of(tmp_path, "ring-bytes", ranks="3")
    assert not run.has_started
    note_start(run.folder)
    for rank, line in enumerate((12, 20, 12)):
        (run.folder / f"stack{rank}.txt").touch()  # as every rank has one while it runs
        assert run.outcome is None
        stack_of(run.folder, rank).write_text(STACK.format(line=line))
    assert run.outcome is None  # stopped before its time was up: its pods were deleted
    begun = (run.folder / "started").stat().st_mtime - run.job.seconds
    os.utime(run.folder / "started", (begun, begun))
    assert run.outcome
    assert run.outcome.state is RunState.TIMEOUT
    assert run.outcome.cause.startswith(
        "it took more than its 30 s: rank 1 was at worker.py line 20, while ranks 0, 2 were at"
    )


def test_the_instructions_start_every_rank(tmp_path: Path) -> None:
    run = run_of(tmp_path, "all-reduce", ranks="8", nodes="2")
    says = instructions(run)
    assert "--nnodes=2 --node-rank=N --master-addr=HOST --nproc-per-node=4 -m app.labs" in says
    alone = run_of(tmp_path, "all-reduce", ranks="8")
    assert "torchrun --standalone --nproc-per-node=8 -m app.labs.runner" in (instructions(alone))
    assert "WORLD_SIZE=8" in instructions(alone)
    odd = run_of(tmp_path / "my #1? runs", "all-reduce", ranks="8")
    lines = [line for line in instructions(odd).splitlines() if "app.labs.runner" in line]
    assert [shlex.split(line)[-1] for line in lines] == [str(odd.folder / "job.json")] * 2


def test_the_job_of_the_documentation_is_what_kubernetes_expects() -> None:
    job = manifest()
    kubernetes_validate.validate(job, kubernetes_validate.latest_version(), strict=True)
    spec = job["spec"]
    assert (spec["completionMode"], spec["backoffLimit"], spec["completions"]) == ("Indexed", 0, spec["parallelism"])
    assert "activeDeadlineSeconds" not in {**spec, **spec["template"]["spec"]}  # it would count the wait for GPUs
    term = spec["template"]["spec"]["affinity"]["podAntiAffinity"]
    (apart,) = term["requiredDuringSchedulingIgnoredDuringExecution"]
    assert apart["labelSelector"]["matchLabels"] == spec["template"]["metadata"]["labels"]
    (container,) = spec["template"]["spec"]["containers"]
    assert f"--nproc-per-node={container['resources']['limits']['nvidia.com/gpu']}" in container["command"]
    assert {one["name"] for one in spec["template"]["spec"]["volumes"]} == {
        one["name"] for one in container["volumeMounts"]
    }


def test_prepare_stores_a_run_and_prints_how_to_start_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WALLCLOCK_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("WALLCLOCK_LAB_NETWORK", "ib0")
    assert main(["lab", "prepare", "all-reduce", "ranks=8", "nodes=2", "--backend", "nccl"]) == 0
    text = capsys.readouterr().out
    (folder,) = (tmp_path / "runs").iterdir()
    assert f"app.labs.runner {folder}/job.json" in text
    stored = json.loads((folder / "job.json").read_text())
    assert (stored["backend"], stored["nodes"], stored["network"]) == ("nccl", 2, "ib0")
    assert stored["refuses_busy"] is True
    assert main(["lab", "show", text.split()[1]]) == 0
    assert main(["lab", "prepare", "all-reduce", "ranks=8", "--backend", "nccl", "--anyway"]) == 0
    (other,) = set((tmp_path / "runs").iterdir()) - {folder}
    assert json.loads((other / "job.json").read_text())["refuses_busy"] is False
    assert main(["lab", "prepare", "ring-bytes", "--backend", "gloo"]) == 0
    assert "WORLD_SIZE=4" in capsys.readouterr().out
