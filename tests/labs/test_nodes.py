"""Ranks up to a thousand, and the nodes that they take."""

import itertools
import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from app.core.errors import InputError
from app.labs.launch.base import write_run
from app.labs.launch.local import LocalLauncher
from app.labs.launch.slurm import SiteLines, SlurmLauncher, nodes_of_job, options_of, script_of
from app.labs.results.analysis import read_report, report_of
from app.labs.run import LabRun
from app.labs.spec import MOST_RANKS, Lab, LabJob, lab_called, read_job
from app.server.config import Settings
from app.site.labs.match import is_of
from tests.each import each

LARGE = lab_called("all-reduce").model_copy(update={"ranks": (1, MOST_RANKS, 2)})


def job_of(ranks: int, nodes: int | None = None, lab: Lab = LARGE) -> LabJob:
    given = {"ranks": str(ranks)} if nodes is None else {"ranks": str(ranks), "nodes": str(nodes)}
    return read_job(lab, given)


def settings(**more: Any) -> Settings:
    return Settings(lab_launcher="slurm", **more)


def test_a_job_without_nodes_is_written_as_before() -> None:
    job = read_job(lab_called("ring-bytes"), {"ranks": "4"})
    assert job.nodes is None
    assert job.command.startswith("wallclock lab run ring-bytes ranks=4 ")
    assert "nodes" not in job.given
    assert job.on_nodes(1).command == job.command


def test_nodes_are_a_parameter_of_the_run_beside_ranks() -> None:
    job = job_of(1024, 128)
    assert (job.ranks, job.nodes, job.given["nodes"]) == (1024, 128, "128")
    assert job.command.startswith("wallclock lab run all-reduce ranks=1024 nodes=128 operation=")
    assert job_of(1024).on_nodes(128) == job
    assert job.on_nodes(128) == job
    one = job_of(8, 1)
    assert "ranks=8 nodes=1 " in one.command
    assert read_job(LARGE, one.given) == one


@each(
    ("ranks", "nodes", "says"),
    [
        ("8", "3", "8 ranks cannot be spread evenly over 3 nodes"),
        ("8", "16", "nodes must be from 1 to 8, not 16"),
        ("8", "0", "nodes must be from 1 to 8, not 0"),
        ("8", "1.5", "nodes must be a whole number"),
        ("8", "two", "nodes: cannot read 'two'"),
        ("1025", "1", "ranks must be from 1 to 1024, not 1025"),
    ],
)
def test_nodes_that_cannot_be_are_refused(ranks: str, nodes: str, says: str) -> None:
    with pytest.raises(InputError) as caught:
        read_job(LARGE, {"ranks": ranks, "nodes": nodes})
    assert says in str(caught.value)


@each("name", ["algorithms", "two-nodes", "pipeline", "straggler"])
def test_an_emulated_lab_is_refused_on_several_nodes(name: str) -> None:
    lab = lab_called(name)
    with pytest.raises(InputError, match=f"{name} runs on one node: its link is emulated, which"):
        read_job(lab, {"ranks": "4", "nodes": "2"})
    assert read_job(lab, {"ranks": "4", "nodes": "1"}).nodes == 1


def test_no_lab_has_a_parameter_of_that_name() -> None:
    labs = [LARGE, *(form for form in (LARGE.gpu,) if form)]
    assert not any("nodes" in lab.parameters for lab in labs)


@each("ranks", [(0, 8, 2), (4, 2, 2), (2, 8, 9), (2, MOST_RANKS + 1, 2)])
def test_a_lab_whose_ranks_are_out_of_bounds_is_refused(ranks: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match=r"ranks are \[minimum, maximum, default\], from 1 to 1024"):
        Lab.model_validate({**LARGE.model_dump(), "gpu": None, "ranks": ranks})


def test_this_machine_is_one_node(tmp_path: Path) -> None:
    launcher = LocalLauncher(tmp_path)
    with pytest.raises(InputError, match="2 nodes require a cluster, .* take nodes=1, or set WALL"):
        launcher.start(job_of(2, 2), "gloo")
    assert launcher.with_nodes(job_of(2), "gloo").nodes == 1
    assert not list(tmp_path.iterdir())


def test_an_emulated_lab_never_comes_to_slurm_on_several_nodes(tmp_path: Path) -> None:
    launcher = SlurmLauncher(settings(runs=tmp_path, slurm_nodes=4, slurm_gpus=2))
    for ranks in (2, 4, 8):
        job = read_job(lab_called("algorithms"), {"ranks": str(ranks)})
        assert launcher.with_nodes(job, "gloo").nodes == 1


TABLE = [
    (ranks, gpus, most, nodes)
    for ranks, gpus, most in itertools.product(range(1, 33), range(1, 9), range(1, 5))
    for nodes in (None, *range(1, 5))
]


def options(job: LabJob, backend: str, chosen: Settings, header: str = "") -> dict[str, str]:
    """What Slurm is asked for, by name."""
    nodes = nodes_of_job(job, backend, chosen)
    words = options_of(job.on_nodes(nodes), backend, chosen, SiteLines(header))
    return {name: value for name, _, value in (word.partition("=") for word in words)}


def test_every_rank_gets_a_gpu_on_as_few_nodes_as_have_them_or_it_is_refused() -> None:
    """Ranks 1 to 32, GPUs 1 to 8, nodes 1 to 4: played out by handing out GPUs one by one."""
    jobs = {}
    for ranks, nodes in itertools.product(range(1, 33), (None, *range(1, 5))):
        if nodes is None or (nodes <= ranks and ranks % nodes == 0):
            jobs[ranks, nodes] = job_of(ranks, nodes)
    plain = settings()
    for ranks, gpus, most, nodes in TABLE:
        if (ranks, nodes) not in jobs:
            continue
        job = jobs[ranks, nodes]
        chosen = plain.model_copy(update={"slurm_gpus": gpus, "slurm_nodes": most})
        free = [gpus] * (nodes or most)
        fewest = next((n for n in range(1, most + 1) if sum(free[:n]) >= ranks), None)
        possible = nodes <= most and sum(free) >= ranks if nodes else fewest and not ranks % fewest
        if not possible:
            with pytest.raises(InputError, match=r"ranks? (on|take)"):
                nodes_of_job(job, "nccl", chosen)
            continue
        asked = options(job, "nccl", chosen)
        assert int(asked["--nodes"]) == (nodes or fewest)
        assert int(asked["--ntasks"]) == ranks
        assert int(asked["--ntasks-per-node"]) * int(asked["--nodes"]) == ranks
        assert asked["--gres"] == f"gpu:{asked['--ntasks-per-node']}"
        assert int(asked["--ntasks-per-node"]) <= gpus


def test_over_gloo_ranks_take_one_node_unless_more_are_named() -> None:
    chosen = settings(slurm_gpus=2, slurm_nodes=4)
    assert nodes_of_job(job_of(8), "gloo", chosen) == 1
    assert nodes_of_job(job_of(8, 4), "gloo", chosen) == 4
    assert options(job_of(8, 4), "gloo", chosen)["--ntasks-per-node"] == "2"
    assert "--gres" not in options(job_of(8, 4), "gloo", chosen)
    assert "--cpus-per-task" not in options(job_of(8, 4), "gloo", chosen)


@each(
    ("ranks", "nodes", "says"),
    [
        (16, None, "16 ranks on 2 nodes, since a node has 8 GPUs: a run may take 1 node here, by WALL"),
        (16, 2, "16 ranks on 2 nodes: a run may take 1 node here, by WALLCLOCK_SLURM_NODES"),
        (16, 1, "16 ranks on 1 node need 16 GPUs per node, and a node has 8"),
    ],
)
def test_what_has_no_room_says_what_there_is(ranks: int, nodes: int | None, says: str) -> None:
    with pytest.raises(InputError) as caught:
        nodes_of_job(job_of(ranks, nodes), "nccl", settings(slurm_gpus=8))
    assert str(caught.value).startswith(says)


def test_ranks_that_do_not_fill_their_nodes_evenly_are_refused() -> None:
    with pytest.raises(InputError, match=r"9 ranks take 2 nodes of 8 GPUs, .*; take 8 or 10 ranks"):
        nodes_of_job(job_of(9), "nccl", settings(slurm_gpus=8, slurm_nodes=4))


@each(
    ("asked", "header", "found", "absent"),
    [
        ({}, "", {"--gres": "gpu:4", "--cpus-per-task": "4"}, ("--mem", "--exclusive")),
        ({"slurm_gpu_options": "--gres=gpu:h100:{gpus}"}, "", {"--gres": "gpu:h100:4"}, ("--gpus-per-node",)),
        (
            {"slurm_gpu_options": "--gpus-per-node={gpus} --constraint=nvlink"},
            "",
            {"--gpus-per-node": "4", "--constraint": "nvlink"},
            ("--gres",),
        ),
        ({}, "#SBATCH -A x --gres=gpu:h100:8", {"--cpus-per-task": "4"}, ("--gres",)),
        ({}, "#SBATCH --gpus-per-node=8", {}, ("--gres",)),
        ({}, "#SBATCH -G 8", {}, ("--gres",)),
        ({}, "#SBATCH --gres=nvme:1", {"--gres": "gpu:4"}, ()),
        ({}, "#SBATCH -c 12", {"--gres": "gpu:4"}, ("--cpus-per-task",)),
        ({}, "#SBATCH --cpus-per-gpu=12", {}, ("--cpus-per-task",)),
        ({"slurm_cpus": 12}, "", {"--cpus-per-task": "12"}, ()),
        ({"slurm_cpus": 0}, "", {}, ("--cpus-per-task",)),
        ({"slurm_memory": "32G"}, "", {"--mem": "128G"}, ()),
        ({"slurm_exclusive": True}, "", {"--exclusive": "", "--mem": "0"}, ()),
        ({"slurm_exclusive": True, "slurm_memory": "8G"}, "", {"--mem": "32G"}, ()),
        ({"slurm_partition": "h100,a100"}, "", {"--partition": "h100,a100"}, ()),
    ],
)
def test_slurm_is_asked_for_what_the_settings_say(
    asked: dict[str, Any], header: str, found: dict[str, str], absent: tuple[str, ...]
) -> None:
    options_found = options(job_of(8), "nccl", settings(slurm_gpus=4, slurm_nodes=2, **asked), header)
    assert {**options_found, **found} == options_found
    assert not set(absent) & set(options_found)


def test_a_run_has_time_to_start_besides_its_own() -> None:
    chosen = settings(slurm_gpus=8, slurm_starting=900)
    job = job_of(8, 1)
    script = script_of(job, Path("/runs/one"), chosen, SiteLines())
    (limit,) = (line.split()[3] for line in script.splitlines() if line.startswith("timeout"))
    assert int(limit) >= 900 + job.lab.seconds
    assert int(options(job, "nccl", chosen)["--time"]) > int(limit) / 60


def test_words_go_between_srun_and_python() -> None:
    words = "--container-image=/images/a+b.sqsh apptainer exec --nv 'an image.sif'"
    chosen = settings(slurm_srun=words, slurm_python="/opt/my python")
    site = SiteLines("#SBATCH --account=x", "module load cuda")
    lines = script_of(job_of(2, 1), Path("/runs/o'ne"), chosen, site).splitlines()
    assert lines[:2] == ["#!/bin/bash", "#SBATCH --account=x"]
    assert "module load cuda" in lines
    (start,) = (number for number, line in enumerate(lines) if line.startswith("timeout"))
    command = shlex.split("".join(line.rstrip("\\") for line in lines[start : start + 3]))
    python = command.index("/opt/my python")
    assert command[python - 5 : python] == [*shlex.split(words)]
    assert command[python + 1 :] == ["-m", "app.labs.runner", "/runs/o'ne/job.json"]


@each(
    ("name", "value"),
    [
        ("slurm_srun", "env 'WORD"),
        ("slurm_srun", "one\ntwo"),
        ("slurm_gpu_options", "--gres='"),
        ("slurm_memory", "32"),
        ("slurm_memory", "0G"),
        ("slurm_cpus", -1),
        ("slurm_starting", 0),
        ("lab_network", "ib0; rm"),
    ],
)
def test_a_setting_that_slurm_could_not_read_is_refused(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=name):
        settings(**{name: value})


def test_a_run_on_nodes_says_so_and_matches_only_its_like(tmp_path: Path) -> None:
    run = write_run(tmp_path, job_of(16, 2), "gloo", launcher="by hand")
    stored = json.loads((run.folder / "job.json").read_text())
    assert (stored["ranks"], stored["nodes"], stored["links"]) == (16, 2, "real")
    report = report_of(run)
    assert (report.nodes, report.size) == (2, "16 ranks on 2 nodes")
    assert read_report(report.as_json()).nodes == 2
    assert is_of(report, job_of(16))
    assert is_of(report, job_of(16, 2))
    assert not is_of(report, job_of(16, 1))
    assert not is_of(report, job_of(16, 4))


def test_logs_are_in_the_order_of_the_ranks(tmp_path: Path) -> None:
    for rank in range(12):
        (tmp_path / f"rank{rank}.log").write_text(f"{rank} says")
    (tmp_path / "slurm.log").write_text("slurm says")
    said = [line.split()[0] for line in LabRun(tmp_path).log().splitlines() if "says" in line]
    assert said == [*map(str, range(12)), "slurm"]
