"""Runs that another program starts: torchrun, Kubernetes, or a person."""

import json
import os
import resource
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from app.__main__ import main
from app.db.run_state import RunState
from app.labs.launch.kubernetes import PodOptions, instructions, kubernetes_job, prepared
from app.labs.results.analysis import report_of
from app.labs.run import LabRun
from app.labs.runner.job import note_start, stack_of
from app.labs.runner.limits import allow_connections
from app.labs.spec import lab_called, read_job
from tests.labs.conftest import PATIENCE

slow = pytest.mark.slow(15)
RANK_MAIN = [sys.executable, "-m", "app.labs.runner"]
FIELDS = yaml.safe_load((Path(__file__).parent / "batch_v1.yaml").read_text())
POD = PodOptions(image="lab:1", claim="shared")


def run_of(folder: Path, name: str, backend: str = "gloo", **given: str) -> LabRun:
    return prepared(read_job(lab_called(name), given), folder, backend)


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


def command_of(run: LabRun) -> Sequence[str]:
    """The command of the pods of *run*, with this Python."""
    job = yaml.safe_load(kubernetes_job(run, POD))
    python, *rest = job["spec"]["template"]["spec"]["containers"][0]["command"]
    assert python == "python"
    return [sys.executable, *rest]


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
    assert [shlex.split(line)[-1] for line in lines] == [str(odd.folder)] * 2


def faults(value: Any, kind: str, where: str) -> Iterator[str]:
    """What is wrong with *value* as a *kind* of `batch_v1.yaml`."""
    if kind.startswith("list["):
        assert isinstance(value, list), where
        for number, one in enumerate(value):
            yield from faults(one, kind[5:-1], f"{where}[{number}]")
    elif kind in FIELDS:
        fields = {name.rstrip("!"): kind for name, kind in FIELDS[kind].items()}
        yield from (f"{where} has no {name}" for name in value.keys() - fields.keys())
        needed = {name[:-1] for name in FIELDS[kind] if name.endswith("!")}
        yield from (f"{where} lacks {name}" for name in needed - value.keys())
        for name in value.keys() & fields.keys():
            yield from faults(value[name], fields[name], f"{where}.{name}")
    else:
        plain = {"str": str, "int": int, "bool": bool, "dict(str, str)": dict}
        if kind not in plain or not isinstance(value, plain[kind]):
            yield f"{where} is {value!r}, not {kind}"


def test_the_check_of_fields_finds_what_is_wrong() -> None:
    wrong = {"spec": {"completions": "2", "parallel": 2, "template": {"spec": {}}}}
    assert set(faults(wrong, "Job", "job")) == {
        "job.spec has no parallel",
        "job.spec.completions is '2', not int",
        "job.spec.template.spec lacks containers",
    }


RDMA = PodOptions(image="lab:1", claim="c", resources=("rdma/hca_shared=1",), cpus=14, memory="64Gi")


@pytest.mark.parametrize(
    ("given", "backend", "options", "pods", "ranks", "limits", "requests"),
    [
        ({"ranks": "8"}, "nccl", POD, 1, 8, {"nvidia.com/gpu": 8}, ("32", "128Gi")),
        (
            {"ranks": "8", "nodes": "2"}, "nccl", RDMA, 2, 4,
            {"nvidia.com/gpu": 4, "rdma/hca_shared": 1}, ("56", "256Gi"),
        ),
        (
            {"ranks": "8"}, "nccl", PodOptions(image="i", claim="c", resources=("amd.com/gpu",)), 1, 8,
            {"amd.com/gpu": 8}, ("32", "128Gi"),
        ),
        (
            {"ranks": "2"}, "nccl",
            PodOptions(image="i", claim="c", resources=("nvidia.com/mig-1g.10gb", "rdma/a=2")), 1, 2,
            {"nvidia.com/mig-1g.10gb": 2, "rdma/a": 2}, ("8", "32Gi"),
        ),
        ({"ranks": "8", "nodes": "4"}, "gloo", POD, 4, 2, None, ("2", "4Gi")),
    ],
)  # fmt: skip
def test_a_manifest_has_a_pod_per_node(
    tmp_path: Path, given: dict[str, str], backend: str, options: PodOptions,
    pods: int, ranks: int, limits: dict[str, int] | None, requests: tuple[str, str],
) -> None:  # fmt: skip
    run = run_of(tmp_path / "runs", "all-reduce", backend, **given)
    job = yaml.safe_load(kubernetes_job(run, options))
    assert list(faults(job, "Job", "job")) == []
    assert (job["apiVersion"], job["kind"]) == ("batch/v1", "Job")
    assert len(job["metadata"]["name"]) + len("-999") <= 63  # the host name of a pod
    spec = job["spec"]
    assert (spec["completionMode"], spec["backoffLimit"]) == ("Indexed", 0)
    assert (spec["completions"], spec["parallelism"]) == (pods, pods)
    pod = spec["template"]["spec"]
    assert "activeDeadlineSeconds" not in {**spec, **pod}  # it would count the wait for GPUs
    (container,) = pod["containers"]
    assert f"--nproc-per-node={ranks}" in container["command"]
    assert container["command"][-1] == str(run.folder)
    assert container["resources"].get("limits") == limits
    assert container["resources"]["requests"] == dict(zip(("cpu", "memory"), requests, strict=True))
    mounts = {one["name"]: one["mountPath"] for one in container["volumeMounts"]}
    assert mounts == {"runs": str(tmp_path / "runs"), "memory": "/dev/shm"}
    assert {one["name"] for one in pod["volumes"]} == set(mounts)
    may_lock = container.get("securityContext", {}).get("capabilities", {}).get("add") or []
    assert may_lock == (["IPC_LOCK"] if any("rdma" in one for one in options.resources) else [])


def test_pods_get_the_network_that_rdma_needs(tmp_path: Path) -> None:
    run = run_of(tmp_path, "all-reduce", "nccl", ranks="8", nodes="2")
    networks = "k8s.v1.cni.cncf.io/networks"
    attached = PodOptions(image="i", claim="c", annotations=(f"{networks}=a,b=c", "note="))
    job = yaml.safe_load(kubernetes_job(run, attached))
    assert list(faults(job, "Job", "job")) == []
    template = job["spec"]["template"]
    assert template["metadata"]["annotations"] == {networks: "a,b=c", "note": ""}
    assert "hostNetwork" not in template["spec"]
    job = yaml.safe_load(kubernetes_job(run, PodOptions(image="i", claim="c", host_network=True)))
    assert list(faults(job, "Job", "job")) == []
    template = job["spec"]["template"]
    assert "annotations" not in template["metadata"]
    assert template["spec"]["hostNetwork"] is True
    assert template["spec"]["dnsPolicy"] == "ClusterFirstWithHostNet"  # for names of the cluster


def test_pods_of_one_run_are_on_different_nodes(tmp_path: Path) -> None:
    run = run_of(tmp_path, "all-reduce", "nccl", ranks="8", nodes="2")
    template = yaml.safe_load(kubernetes_job(run, POD))["spec"]["template"]
    affinity = template["spec"]["affinity"]["podAntiAffinity"]
    (term,) = affinity["requiredDuringSchedulingIgnoredDuringExecution"]
    assert term["topologyKey"] == "kubernetes.io/hostname"
    assert term["labelSelector"]["matchLabels"] == template["metadata"]["labels"]
    alone = run_of(tmp_path, "algorithms", ranks="4")  # emulated: one clock, one pod
    spec = yaml.safe_load(kubernetes_job(alone, POD))["spec"]
    assert spec["completions"] == 1
    assert "affinity" not in spec["template"]["spec"]


def test_prepare_prints_a_manifest_or_instructions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WALLCLOCK_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("WALLCLOCK_LAB_NETWORK", "ib0")
    command = "lab prepare all-reduce ranks=8 nodes=2 --image lab:1 --claim shared --cpus 2"
    assert main([*shlex.split(command), "--backend", "nccl", "--resource", "amd.com/gpu"]) == 0
    text = capsys.readouterr().out
    (container,) = yaml.safe_load(text)["spec"]["template"]["spec"]["containers"]
    assert container["resources"]["limits"] == {"amd.com/gpu": 4}
    assert container["resources"]["requests"]["cpu"] == "8"
    stored = json.loads((Path(container["command"][-1]) / "job.json").read_text())
    assert (stored["backend"], stored["nodes"], stored["network"]) == ("nccl", 2, "ib0")
    assert main(["lab", "show", text.split()[4]]) == 0
    assert main(["lab", "prepare", "ring-bytes", "--backend", "gloo"]) == 0
    assert "WORLD_SIZE=4" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("option", "says"),
    [
        (("--resource", "gpu"), "--resource must be like nvidia.com/gpu or rdma/hca=1, not 'gpu'"),
        (("--resource", "rdma/hca=0"), "not 'rdma/hca=0'"),
        (("--annotation", "networks"), "--annotation must be like k8s.v1.cni.cncf.io/networks="),
        (("--memory", "16GB"), "--memory must be like 16Gi, not '16GB'"),
        (("--cpus", "-1"), "--cpus must not be negative, and is -1"),
    ],
)
def test_an_option_that_cannot_be_read_leaves_no_run_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    option: tuple[str, str], says: str,
) -> None:  # fmt: skip
    monkeypatch.setenv("WALLCLOCK_RUNS", str(tmp_path / "runs"))
    command = ["lab", "prepare", "all-reduce", "--image", "lab:1", "--backend", "gloo"]
    assert main([*command, *option]) == 1
    assert says in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()
