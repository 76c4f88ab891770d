"""What is told about a machine: what a run may use, and what limits or disturbs it."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from app.labs.machines.devices import Devices, join_sources
from app.labs.machines.machine import MachineFacts, cores_allotted, describe_machine, memory_allotted
from app.labs.results.notes import note_on_sharing
from tests.each import each
from tests.labs.gpus import H100, listing, machine, nvidia_smi, seen, uuid_of


def test_gpus_are_described_once_where_they_are_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    places = nvidia_smi(tmp_path, listing())
    monkeypatch.setenv("PATH", f"{places}{os.pathsep}{os.environ['PATH']}")
    facts = describe_machine(machine(3), nodes=2)
    assert facts.gpus == (H100,) * 3
    assert facts.uuids == tuple(f"GPU-{uuid_of(number)}" for number in range(3))
    assert (facts.driver, facts.nodes, facts.topology) == ("580.65.06", 2, "GPU0 X NV18")
    assert (facts.power_limit, facts.clocks) == ("700 W", "1980 MHz, memory 2619 MHz")
    assert (facts.ecc, facts.mig, facts.persistence) == ("Enabled", "Disabled", "Enabled")
    assert (facts.compute_mode, facts.pcie) == ("Default", "generation 5, 16 lanes")
    assert (facts.peers, facts.gpu_memory) == ("all of them", "85.9 GB")
    assert facts.others == "2 processes, 33.29 GB"  # one does not say how much


def test_gpus_that_differ_are_described_in_turn() -> None:
    gpus = listing([H100] * 3)
    odd = replace(gpus.gpus[1], power="350.00", ecc="Disabled", pcie_lanes="")
    found = join_sources(seen(range(3)), replace(gpus, gpus=(gpus.gpus[0], odd, gpus.gpus[2])), {})
    facts = describe_machine(found)
    assert facts.power_limit == "700 W; 350 W; 700 W"
    assert facts.pcie == "generation 5, 16 lanes; generation 5; generation 5, 16 lanes"


@each(("peers", "says"), [([(1,), (0,), ()], "0 to 1; 1 to 0"), ([(), (), ()], "none of them"), ([()], None)])
def test_which_gpus_reach_each_other_is_told(peers: list[tuple[int, ...]], says: str | None) -> None:
    known = machine(len(peers))
    devices = (replace(one, peers=own) for one, own in zip(known.devices, peers, strict=True))
    assert describe_machine(replace(known, devices=tuple(devices))).peers == says


def test_a_machine_without_gpus_says_nothing_about_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    facts = describe_machine()
    assert facts.processor
    assert facts.cores
    empty = (facts.gpus, facts.uuids, facts.driver, facts.ecc, facts.peers, facts.others, facts.sharing)
    assert not any(empty)


def test_gpus_without_a_tool_are_known_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.labs.machines.vendor._ASIDE", "")
    monkeypatch.setenv("PATH", "")
    found: Devices = join_sources(seen([0]), replace(listing(), gpus=()), {})
    facts = describe_machine(found)
    assert (facts.gpus, facts.gpu_memory, facts.clocks, facts.others) == ((H100,), "85.9 GB", None, None)


def test_variables_that_change_what_is_measured_are_kept_without_their_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if "NCCL" in name]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("NCCL_ALGO", "Ring")
    monkeypatch.setenv("NCCL_TOPO_FILE", "/home/somebody/topology.xml")
    monkeypatch.setenv("TORCH_ALLOW_TF32_CUBLAS_OVERRIDE", "1")
    monkeypatch.setenv("HOME", "/home/somebody")
    monkeypatch.setenv("NCCL_HOSTID", "node17")
    assert describe_machine().variables == (
        "NCCL_ALGO=Ring",
        "NCCL_TOPO_FILE=topology.xml",
        "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE=1",
    )


@pytest.mark.parametrize(
    ("word", "says"),
    [("NO", "exclusive node"), ("OK", "shared node"), ("USER", "shared with the same user's jobs"), ("?", None)],
)
def test_whether_slurm_shares_the_node_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, word: str, says: str | None
) -> None:
    file = tmp_path / "scontrol"
    file.write_text(f'#!/bin/sh\n[ "$4" = 17 ] && echo "JobId=17 JobName=lab OverSubscribe={word} Nodes=2"\n')
    file.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("SLURM_JOB_ID", "17")
    assert describe_machine().sharing == says


def test_a_run_on_a_shared_node_says_so() -> None:
    assert note_on_sharing(MachineFacts(sharing="shared node")).startswith("Slurm could run other")
    assert note_on_sharing(MachineFacts(sharing="exclusive node")) == ""
    assert note_on_sharing(MachineFacts()) == ""


def groups(folder: Path, files: dict[str, str], own: str) -> tuple[Path, Path]:
    """A tree of cgroups with these *files*, and the file that says which is ours."""
    for name, text in files.items():
        (folder / "groups" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "groups" / name).write_text(f"{text}\n")
    (folder / "own").write_text(f"{own}\n")
    return folder / "groups", folder / "own"


HOST = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
ALL = 64


@pytest.mark.parametrize(
    ("files", "own", "cores", "memory"),
    [
        ({}, "0::/", ALL, HOST),
        ({"cpu.max": "max 100000", "memory.max": "max"}, "0::/", ALL, HOST),
        ({"cpu.max": "150000 100000", "memory.max": "1048576"}, "0::/", 1.5, 2**20),
        (
            {"job/cpu.max": "max 100000", "job/step/memory.max": "4096", "cpu.max": "300000 100000"},
            "0::/job/step",
            3,
            4096,
        ),
        ({"job/memory.max": "8192", "job/step/memory.max": "4096"}, "0::/job/step", ALL, 4096),
        ({"job/memory.max": "4096", "job/step/memory.max": "8192"}, "0::/job/step", ALL, 4096),
        ({"other/memory.max": "4096"}, "0::/job/step", ALL, HOST),
        (
            {
                "cpu/a/cpu.cfs_quota_us": "200000",
                "cpu/a/cpu.cfs_period_us": "100000",
                "memory/memory.limit_in_bytes": "4096",
            },
            "5:cpu,cpuacct:/a\n4:memory:/elsewhere\n0::/",
            2,
            4096,
        ),
        ({"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, "5:cpu:/", ALL, HOST),
        (
            {
                f"cpu/{group}/cpu.cfs_{what}_us": time
                for group, what, time in (
                    ("a", "quota", "200000"),
                    ("a", "period", "100000"),
                    ("b", "quota", "100000"),
                    ("b", "period", "100000"),
                )
            },
            "6:cpuset:/b\n5:cpu,cpuacct:/a",
            2,
            HOST,
        ),
        ({"cpu.max": "9900000 100000", "memory.max": str(2 * HOST)}, "0::/", ALL, HOST),
    ],
)
def test_a_container_is_described_by_its_limits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str], own: str, cores: float, memory: int
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(ALL)))
    monkeypatch.delenv("SLURM_CPUS_ON_NODE", raising=False)
    where = groups(tmp_path, files, own)
    assert (cores_allotted(*where), memory_allotted(*where)) == (cores, memory)


def test_in_a_job_of_slurm_the_cores_are_those_of_all_its_tasks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLURM_CPUS_ON_NODE", "48")
    assert cores_allotted(*groups(tmp_path, {}, "0::/")) == 48
