"""The twelve steps of `wallclock lab check`, on machines that are well and on others."""

import json
import math
import os
import resource
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest

from app.__main__ import main
from app.commands.lab_check import check_summary, step_lines
from app.core.errors import InputError
from app.core.units import scale_of
from app.labs.check.steps import STEPS, report_check, take_steps
from app.labs.check.world import (
    CheckFinding,
    CheckRun,
    CheckStep,
    CheckVerdict,
    Expectation,
    What,
    World,
    _table,
    compare_expected,
    expectation,
    failing_job,
    status,
)
from app.labs.machines.devices import Devices, join_sources, promised_gpus
from app.labs.machines.vendor import Output
from app.labs.run import LabRun
from app.server.config import Settings
from app.site.labs.upload import read_sent_file
from tests.each import each
from tests.labs.gpus import H100, faulty, listing, machine, seen
from tests.labs.quiet_runs import quiet_run
from tests.labs.smi import NO_FABRIC, smi_log
from tests.labs.worlds import FakeWorld, Speeds, dgx, linked

UNKNOWN, PASSED, ODD, FAILED = CheckVerdict


def steps_of(world: World) -> dict[int, CheckStep]:
    return {step.number: step for step in take_steps(world)}


def only(world: World, number: int) -> list[CheckFinding]:
    """What one step finds; the others are not taken."""
    _, look = STEPS[number - 1]
    return list(look(world))


def told(findings: list[CheckFinding], verdict: CheckVerdict) -> str:
    """The findings with that verdict, in words."""
    return "\n".join(f"{f.name}: {f.found} | {f.expected} | {f.cure}" for f in findings if f.verdict is verdict)


def changed(devices: Devices, **more: Any) -> Devices:
    """*devices*, each of which is otherwise."""
    return replace(devices, devices=tuple(replace(one, **more) for one in devices.devices))


def test_a_healthy_dgx_passes_every_step_that_one_machine_can_take() -> None:
    steps = steps_of(dgx())
    assert list(steps) == list(range(1, 13))
    assert {number for number, step in steps.items() if step.verdict is UNKNOWN} == {7, 11}
    others = [step for number, step in steps.items() if number not in (7, 11)]
    assert all(step.verdict is PASSED for step in others), [told(list(s.findings), ODD) for s in others]
    assert not report_check(tuple(steps.values()), "").has_failed


SICK = Speeds(small=1e-3, bus=100e9, copy=1e12, products=dict.fromkeys(("bf16", "tf32", "fp32"), 1e12))


@each("number", [6, 8, 9])
def test_what_is_disturbed_twice_is_not_judged(number: int) -> None:
    """However slow it was: nothing measured has passed or failed, and no number is left to compare nodes by."""
    for speeds in (Speeds(by_rank=(1.0,) * 7 + (1.2,)), SICK):
        findings = only(dgx(disturbed=1000, speeds=speeds), number)
        measured = [one for one in findings if not one.name.startswith("PCIe")]
        assert {one.verdict for one in measured} - {ODD} == {UNKNOWN}, told(measured, FAILED)
        assert [one.name for one in measured if one.verdict is ODD] == []
        assert "Rank 3 had no core." in told(measured, UNKNOWN)
        assert [one.value for one in measured] == [None] * len(measured)


def test_what_is_disturbed_once_is_run_again() -> None:
    world = dgx(disturbed=1)
    assert "BF16, n = 8192: 680 TFLOP/s" in told(only(world, 8), PASSED)
    assert len([one for one in world.ran if "bf16" in one]) == 2
    assert len([one for one in world.ran if "tf32" in one]) == 1


def test_a_dgx_is_run_as_the_first_hour_says() -> None:
    world = dgx()
    list(take_steps(world))
    assert world.ran == [
        "products on 0 of 8 over gloo",
        "all-reduce gloo sizes=4KiB,1MiB ranks=2",
        "all-reduce nccl sizes=4KiB,1MiB ranks=2",
        "all-reduce nccl sizes=4KiB,1MiB ranks=8",
        "all-reduce nccl ranks=8 sizes=8KiB,8GiB",
        "matrix-product nccl format=bf16 sides=8192",
        "matrix-product nccl format=tf32 sides=8192",
        "matrix-product nccl format=fp32 sides=8192",
        "memory-copy nccl sizes=4GiB",
        "memory-copy nccl source=pinned sizes=16MiB..1GiB",
        "memory on 1 of 4 over nccl",
        "raises on 1 of 4 over nccl",
        "killed on 2 of 4 over nccl",
        "skips on 3 of 4 over nccl",
        "nothing on 0 of 4 over nccl",
    ]


def test_the_large_sizes_and_the_kernels_are_left_out_of_a_quick_check() -> None:
    world = dgx(quick=True)
    steps = steps_of(world)
    assert "all-reduce nccl ranks=8 sizes=8KiB,64MiB" in world.ran
    assert not [command for command in world.ran if command.startswith(("matrix", "att", "mem-"))]
    assert [steps[number].verdict for number in (8, 9)] == [UNKNOWN] * 2
    assert not report_check(tuple(steps.values()), "").has_failed


def test_a_machine_without_gpus_fails_nothing_and_says_what_it_could_not_check() -> None:
    steps = steps_of(FakeWorld(cards=(), lockable=2.0**23))
    verdicts = {number: step.verdict for number, step in steps.items()}
    assert [number for number, one in verdicts.items() if one is PASSED] == [3, 4, 5, 10]
    assert not report_check(tuple(steps.values()), "").has_failed
    for number in (1, 2, 6, 8, 9):
        assert "this machine has no GPU" in told(list(steps[number].findings), UNKNOWN)


NO_CUDA = join_sources(seen(error="it was built without CUDA and without ROCm", cuda=""), listing(), {})
TOO_OLD = join_sources(seen(error="The NVIDIA driver on your system is too old (found version 12020)."), listing(), {})
BROKEN_GPU = join_sources(faulty(seen(range(8)), 3), listing(), {})
FEWER = join_sources(seen(range(4)), listing(), {"CUDA_VISIBLE_DEVICES": "0,1,2,3"})
NVLINK = "nvidia-smi nvlink -s"
LOG = "nvidia-smi -q -x"
SWAPPED = {"mig_mode/current_mig": "Enabled", "mig_mode/pending_mig": "Enabled"}
CONSUMER = replace(changed(machine(2), name="NVIDIA GeForce RTX 4090", peers=()), topology="GPU0 X PHB")

# A machine, the step that notices what is wrong with it, the verdict, and some words of it.
WRONG: dict[str, tuple[Callable[[], World], int, CheckVerdict, tuple[str, ...]]] = {
    "torch without CUDA": (lambda: FakeWorld(gpus=NO_CUDA), 1, FAILED, ("built without CUDA", "Install a build")),
    "an old driver": (lambda: FakeWorld(gpus=TOO_OLD), 1, FAILED, ("too old", "Update the driver")),
    "MIG": (lambda: dgx({LOG: Output(smi_log(last=SWAPPED))}), 1, ODD, ("MIG: on for GPU 7", "-mig 0")),
    "errors of memory": (
        lambda: dgx({LOG: Output(smi_log(last={"ecc_errors/volatile/dram_uncorrectable": "3"}))}),
        12,
        FAILED,
        ("ecc_errors/volatile/dram_uncorrectable: 3 on GPU 7", "Reset the GPU"),
    ),
    "a GPU for one process": (
        lambda: dgx({LOG: Output(smi_log(every={"compute_mode": "Exclusive_Process"}))}),
        1,
        ODD,
        ("Exclusive_Process", "nvidia-smi -c DEFAULT"),
    ),
    "no persistence": (
        lambda: dgx({LOG: Output(smi_log(every={"persistence_mode": "Disabled"}))}),
        1,
        ODD,
        ("nvidia-smi -pm 1",),
    ),
    "less power": (
        lambda: dgx({LOG: Output(smi_log(every={"gpu_power_readings/current_power_limit": "500.00 W"}))}),
        1,
        ODD,
        ("500 W instead of 700 W on GPU 0 and 7 more",),
    ),
    "another process": (
        lambda: dgx({LOG: Output(smi_log(processes=((4711, "python", "30110 MiB"),)))}),
        1,
        ODD,
        ("other processes: 4711, python, 30110 MiB | none",),
    ),
    "a GPU that fails": (lambda: dgx(gpus=BROKEN_GPU), 2, FAILED, ("GPU 3", "get_arch_list")),
    "GPUs that are hidden": (
        lambda: dgx(gpus=FEWER),
        2,
        ODD,
        ("4; ", "8, as nvidia-smi lists", "CUDA_VISIBLE_DEVICES"),
    ),
    "peers that are lost": (lambda: dgx(gpus=changed(machine(8), peers=(1,))), 2, ODD, ("8 of 56 pairs", "IOMMU")),
    "a torch that is imported slowly": (lambda: dgx(importing=30.0), 3, ODD, ("imported in 30.0 s | less than 30 s",)),
    "forks that cannot multiply": (
        lambda: dgx(faults={"products": "rank 5: RuntimeError: CUDA error"}),
        3,
        FAILED,
        ("rank 5",),
    ),
    "no fabric manager": (
        lambda: dgx({LOG: Output(smi_log(last={"fabric/state": "In Progress", "fabric/status": "N/A"}))}),
        4,
        FAILED,
        ("fabric: In Progress on GPU 7 | Completed, Success", "systemctl start nvidia-fabricmanager"),
    ),
    "no links": (lambda: dgx({NVLINK: linked(text="")}), 4, FAILED, ("NVLinks: none | 18",)),
    "two links down": (
        lambda: dgx({NVLINK: linked(text="\n".join(["\t Link 0: 26.562 GB/s"] * 16))}),
        4,
        FAILED,
        ("NVLinks of each GPU: 16", "| 18 |", "nvidia-smi nvlink"),
    ),
    "slow links": (
        lambda: dgx({NVLINK: linked(text="\n".join(["\t Link 0: 13.281 GB/s"] * 18))}),
        4,
        ODD,
        ("rate of a link: 13.3 GB/s | 26 to 27 GB/s",),
    ),
    "little shared memory": (lambda: dgx(shared_memory=64 * 2.0**20), 4, FAILED, ("67.11 MB", "Increase /dev/shm")),
    "little locked memory": (lambda: dgx(lockable=8 * 2.0**20), 4, FAILED, ("mlx5_0, mlx5_1", "ulimit -l")),
    "NCCL over sockets": (lambda: dgx(transport="NET/Socket"), 5, FAILED, ("NET/Socket | P2P or NVLS", "/dev/shm")),
    "NCCL without P2P": (lambda: dgx(transport="SHM/direct"), 5, ODD, ("SHM/direct | P2P or NVLS", "P2P_DISABLE")),
    "ranks that meet late": (lambda: dgx(joined=10.0), 5, ODD, ("10.0 s | less than 10 s",)),
    "NCCL that fails": (lambda: dgx(failing={"all-reduce": "rank 1: it hangs"}), 5, FAILED, ("rank 1: it hangs",)),
    "NVLS off": (lambda: dgx(speeds=Speeds(bus=365e9)), 6, ODD, ("365 GB/s | 460 to 490 GB/s", "NVLS is off")),
    "a tenth of the bandwidth": (lambda: dgx(speeds=Speeds(bus=40e9)), 6, FAILED, ("40 GB/s | 460 to 490 GB/s",)),
    "launches in the times": (lambda: dgx(speeds=Speeds(small=80e-6)), 6, ODD, ("80 µs | 15 to 40 us",)),
    "TF32 where FP32 was asked for": (
        lambda: dgx(speeds=Speeds(products={"bf16": 6.8e14, "tf32": 4e14, "fp32": 3.9e14})),
        8,
        FAILED,
        ("390 TFLOP/s | 45 to 60 TFLOP/s", "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE"),
    ),
    "a GPU that is hot": (
        lambda: dgx(throttled="by the temperature for 31% of the run"),
        8,
        ODD,
        ("clock during BF16: held down by the temperature for 31% of the run", "cooling"),
    ),
    "a GPU that is slower than the others": (
        lambda: dgx(speeds=Speeds(by_rank=(1.0, 1.01, 1.0, 1.0, 1.0, 1.08, 1.0, 1.0))),
        8,
        ODD,
        ("GPUs at BF16: GPU 5 (GPU-00000005-", "takes 8 % longer | within 3% of their median"),
    ),
    "more than the datasheet": (
        lambda: dgx(speeds=Speeds(copy=7e12)),
        9,
        FAILED,
        ("7 TB/s | 2.7 to 3.1 TB/s", "the cache"),
    ),
    "another rank is blamed": (
        lambda: dgx(faults={"killed": "rank 0: Connection reset by peer"}),
        10,
        FAILED,
        ("rank 2 is killed: rank 0", "rank 2 is to blame, within 25 s"),
    ),
    "no rank is blamed": (lambda: dgx(faults={"skips": "it took more than its 20 s"}), 10, FAILED, ("rank 3 skips",)),
    "a run that ends late": (lambda: dgx(lasting=26.0), 10, ODD, ("(26.0 s) | rank 2 is to blame, within 25 s",)),
    "a process that stays": (lambda: dgx(left=(4711,)), 10, FAILED, ("processes left: 4711",)),
    "a next run that fails": (
        lambda: dgx(faults={"nothing": "another run has been using these devices"}),
        10,
        FAILED,
        ("the next run: another run has been using",),
    ),
}


@each("what", WRONG)
def test_what_is_wrong_with_a_machine_is_told_with_a_cure(what: str) -> None:
    world, number, verdict, words = WRONG[what]
    findings = only(world(), number)
    text = told(findings, verdict)
    for word in words:
        assert word in text, text
    for worse in tuple(CheckVerdict)[tuple(CheckVerdict).index(verdict) + 1 :]:
        assert told(findings, worse) == ""


def test_a_driver_that_is_down_is_told_once() -> None:
    world = FakeWorld(gpus=machine(8))
    assert "nvidia-smi cannot be run" in told(only(world, 1), UNKNOWN)
    assert told(only(world, 2), FAILED) == ""


def test_of_two_gpus_in_different_collectives_none_is_blamed() -> None:
    world = dgx(gpus=machine(2), faults={"skips": "rank 0 was in synchronize"})
    assert told(only(world, 10), FAILED) == ""
    assert "of two ranks in different collectives" in told(only(world, 10), UNKNOWN)


def test_a_gpu_that_is_lost_does_not_hide_the_others() -> None:
    lost = "Unable to determine the device handle for GPU0000:1B:00.0: GPU is lost."
    sick = smi_log(7, last={"compute_mode": "Prohibited"})
    findings = only(dgx({LOG: Output(f"{sick}\n{lost}\n")}), 1)
    assert f"nvidia-smi: {lost}" in told(findings, FAILED)
    assert "compute_mode: Prohibited on GPU 6" in told(findings, ODD)
    assert "GPU is lost" in told(only(dgx({LOG: Output(lost)}), 1), FAILED)
    within = smi_log(last=dict.fromkeys(("fabric/state", "ecc_errors/volatile/dram_correctable"), "GPU is lost"))
    assert told(only(dgx({LOG: Output(within)}), 12), FAILED).startswith("GPU 7: GPU is lost (00000000:22:00.0)")


def test_gpus_that_are_linked_in_pairs_need_no_fabric() -> None:
    pairs = [["NV4" if a // 2 == b // 2 else "SYS" for b in range(8)] for a in range(8)]
    topology = "\n".join("\t".join([f"GPU{n}", *row]) for n, row in enumerate(pairs))
    bridged = replace(machine(8), topology=topology)
    said = {LOG: Output(smi_log(every=NO_FABRIC))}
    findings = only(dgx(said, gpus=bridged), 4)
    assert "fabric" not in {finding.name for finding in findings}


def test_gpus_without_peers_are_usual_on_a_desktop() -> None:
    two = Output("GPU 0: NVIDIA GeForce RTX 4090\nGPU 1: NVIDIA GeForce RTX 4090\n")
    said = {NVLINK: Output(""), "nvidia-smi -L": two}
    world = dgx(said, gpus=CONSUMER, transport="SHM/direct", cards=())
    for number in (2, 4, 5):
        assert {f.verdict for f in only(world, number)} == {PASSED}, only(world, number)
    assert "is not known here" in told(only(world, 6), UNKNOWN)


def test_a_single_gpu_needs_no_nccl() -> None:
    laptop = changed(machine(1), name="NVIDIA GeForce RTX 4090 Laptop GPU")
    world = dgx({NVLINK: Output("")}, gpus=laptop)
    assert told(only(world, 5), UNKNOWN) == "NCCL: it needs two GPUs |  | "
    assert "failures over NCCL" in told(only(world, 10), UNKNOWN)
    assert "memory on 1 of 4 over gloo" in world.ran
    slow = {"bf16": 9.5e13, "tf32": 1e12, "fp32": 1e12}
    world.speeds = Speeds(products=slow, copy=5e11)
    assert "BF16, n = 8192: 95 TFLOP/s" in told(only(world, 8), PASSED)
    assert "copy of 4GiB: 0.5 TB/s" in told(only(world, 9), PASSED)


def test_of_three_gpus_the_last_skips_a_collective() -> None:
    found = told(only(dgx(gpus=machine(3)), 10), PASSED)
    assert "rank 2 skips a collective" in found
    assert "rank 2 is killed" in found


@each(
    "world",
    [
        dgx({LOG: Output(smi_log(last={"utilization/gpu_util": "20 %"}))}),
        dgx({LOG: Output(smi_log(last={"fb_memory_usage/used": "1024 MiB"}))}),
        dgx({LOG: Output(smi_log(every={"gpu_power_readings/current_power_limit": "N/A"}))}),
        dgx(shared_memory=2.0**30),
    ],
)
def test_what_is_just_enough_is_not_odd(world: FakeWorld) -> None:
    assert {one.verdict for number in (1, 4) for one in only(world, number)} == {PASSED}


def test_little_shared_memory_fails_where_several_gpus_need_it() -> None:
    for gpus, verdict in ((1, ODD), (2, FAILED)):
        assert "/dev/shm: 67.11 MB" in told(only(dgx(gpus=machine(gpus), shared_memory=64 * 2.0**20), 4), verdict)


def test_what_a_failed_run_leaves_is_alive_or_holds_a_gpu(tmp_path: Path) -> None:
    world = FakeWorld(said={"nvidia-smi": Output("999999998\n")})
    for place, pid in enumerate((os.getpid(), 999_999_998, 999_999_999)):
        (tmp_path / f"pid{place}").write_text(str(pid))
    assert list(world._left(LabRun(tmp_path))) == [os.getpid(), 999_999_998]


def test_gpus_of_amd_are_known_by_what_torch_says() -> None:
    mi300x = changed(replace(machine(8), kind="rocm", hip="7.0", cuda=""), name="AMD Instinct MI300X")
    speeds = Speeds(bus=315e9, copy=4e12)
    world = FakeWorld(gpus=mi300x, speeds=speeds, transport="P2P/IPC")
    assert "GPUs: 8 × AMD Instinct MI300X" in told(only(world, 1), PASSED)
    assert "for ROCm 7.0" in told(only(world, 2), PASSED)
    assert "315 GB/s | 300 to 336 GB/s" in told(only(world, 6), PASSED)
    assert "4 TB/s | 3.8 to 4.3 TB/s" in told(only(world, 9), PASSED)


def cluster(**more: Any) -> FakeWorld:
    both = replace(machine(8), devices=machine(8).devices * 2)
    return dgx(gpus=both, is_slurm=True, nodes=2, transport="P2P/CUMEM, NET/IB/GDRDMA", **more)


def test_a_cluster_to_which_nobody_promised_gpus_says_so() -> None:
    world = FakeWorld(gpus=promised_gpus(0, 2), is_slurm=True, nodes=2)
    for number in (5, 6, 7, 8):
        says = told(only(world, number), UNKNOWN)
        assert "WALLCLOCK_SLURM_GPUS, the number of GPUs of a node, is 0" in says
        assert "WALLCLOCK_SLURM_NODES=2" not in says


def test_two_nodes_are_measured_and_their_network_is_named() -> None:
    world = cluster()
    findings = only(world, 7)
    assert {finding.verdict for finding in findings} == {PASSED}, findings
    assert world.ran == ["all-reduce nccl ranks=16 sizes=8GiB"]
    world = cluster(speeds=Speeds(nodes=31e9))
    world.transport = "P2P/CUMEM, NET/Socket"
    text = told(only(world, 7), ODD)
    assert "NET/Socket | MNNVL, or a network with GDRDMA" in text
    assert "31 GB/s | 300 GB/s or more" in told(only(world, 7), FAILED)


def test_what_belongs_to_the_nodes_of_a_cluster_is_left_to_them() -> None:
    world, small = cluster(), cluster()
    small.nodes = 1
    for steps in (steps_of(cluster()), steps_of(small)):
        for number in (1, 2, 4, 12):
            assert "WALLCLOCK_LAB_LAUNCHER=local" in told(list(steps[number].findings), UNKNOWN)
    assert "each rank imports torch" in told(only(world, 3), UNKNOWN)
    world.transport = "NVLS, P2P/CUMEM"
    assert {finding.verdict for number in (5, 6) for finding in only(world, number)} == {PASSED}
    assert world.ran[1:] == [
        "all-reduce gloo sizes=4KiB,1MiB ranks=2",
        "all-reduce nccl sizes=4KiB,1MiB ranks=2",
        "all-reduce nccl sizes=4KiB,1MiB ranks=8",
        "all-reduce nccl ranks=8 sizes=8KiB,8GiB",
    ]


def test_all_that_disturbed_a_run_is_said() -> None:
    doubts = ("The load was high.", "A GPU was hot.")
    judged = CheckRun(report=replace(quiet_run("all-reduce"), doubts=doubts)).judged(
        CheckFinding.unknown("bandwidth", "3 GB/s")
    )
    assert judged.found == "3 GB/s, which was disturbed, and so was a second run. The load was high. A GPU was hot."


class Disturbed(FakeWorld):
    """A machine that does something else whenever it is to measure."""

    def run(self, lab: str, *_: object, **__: object) -> CheckRun:
        return CheckRun(report=replace(quiet_run(lab), doubts=("The load was high.",)))


def test_a_disturbed_run_is_not_written_to_a_file_to_send_in(tmp_path: Path) -> None:
    findings = only(Disturbed(record=tmp_path / "runs.jsonl", quick=True), 11)
    assert "The load was high." in told(findings, ODD)
    assert "file: 0 runs" in told(findings, PASSED)


class Recorded(FakeWorld):
    """A machine on which every run is one of those that were recorded here."""

    def run(self, lab: str, *_: object, **__: object) -> CheckRun:
        if lab == "attention":
            raise InputError("attention has no form for this machine")
        return CheckRun(report=quiet_run(lab))


def test_the_standard_runs_are_written_to_a_file_that_a_server_takes(tmp_path: Path) -> None:
    file = tmp_path / "runs.jsonl"
    findings = only(Recorded(record=file), 11)
    assert "attention has no form" in told(findings, UNKNOWN)
    labs = [report.lab for report in read_sent_file(file.read_text())]
    assert labs == ["all-reduce", "point-to-point", "two-streams", "matrix-product", "memory-copy"]
    passed = told(findings, PASSED)
    assert f"file: 5 runs in {file}" in passed
    assert "file: " in told(only(Recorded(record=tmp_path / "no" / "runs"), 11), FAILED)


def test_the_report_can_be_read_by_people_and_by_programs() -> None:
    sick = Output(smi_log(every={"compute_mode": "Prohibited"}, last={"persistence_mode": "GPU is lost"}))
    steps = tuple(take_steps(dgx({LOG: sick})))
    lines = list(step_lines(steps[0]))
    assert lines[0].startswith(" 1. Driver and GPUs: failed  (")
    assert f"      passed                GPUs: 8 × {H100}, driver 580.65.06" in lines
    place = lines.index("      odd                   compute_mode: Prohibited on GPU 0, 1, 2, 3, 4, 5, 6, 7")
    assert lines[place + 1].strip() == "expected: Default"
    assert lines[place + 2].strip().startswith("Let several processes")
    result = report_check(steps, "wallclock lab check")
    assert result.has_failed
    assert check_summary(result).startswith("1 failed, ")
    plain = json.loads(result.as_json())
    assert [step["number"] for step in plain["steps"]] == list(range(1, 13))
    assert plain["steps"][0]["verdict"] == "failed"
    known = {one["name"] for one in plain["steps"][5]["findings"] if one["source"]}
    assert "bus bandwidth at 8.59 GB" in known


@each("one", _table().numbers, ids=lambda one: f"{one.what}, {one.gpu.pattern}")
def test_what_is_expected_is_a_range_with_a_source_and_cures(one: Expectation) -> None:
    scale_of(one.unit)
    assert one.fails_below < one.least <= one.most <= one.fails_above
    assert one.source
    assert one.low.endswith(".")
    assert one.high.endswith(".") == (one.most < math.inf)
    assert one.verdict_on(one.least) is one.verdict_on(min(one.most, 1e9)) is PASSED
    assert one.verdict_on(0.999 * one.least) is ODD
    assert bool(one.impossible) <= (one.fails_above < math.inf)
    assert one.verdict_on(one.fails_below) is ODD
    if one.most < one.fails_above < math.inf:
        assert one.verdict_on(one.fails_above) is ODD
        assert one.verdict_on(1.001 * one.fails_above) is FAILED


@each("one", [one for one in _table().numbers if one.gpu.search(H100)], ids=lambda one: one.what)
def test_a_number_outside_of_its_range_has_the_cure_of_its_side(one: Expectation) -> None:
    ranks, factor = one.ranks or 5, scale_of(one.unit).factor  # without a number, it holds for every one
    cures = {0.99 * one.least: one.low, one.most: one.high, 1.01 * one.most: one.high}
    if one.fails_above < math.inf:
        cures |= {one.fails_above: one.high, 1.01 * one.fails_above: one.impossible or one.high}
    for number, cure in cures.items():
        found = compare_expected("it", number * factor, one.unit, one.what, H100, ranks)
        assert (found.cure, found.verdict) == (cure, one.verdict_on(number)), number
    assert one.ranks == 0 or expectation(one.what, H100, one.ranks + 1) is not one


def test_a_number_may_be_in_another_unit_than_what_is_expected() -> None:
    assert compare_expected("it", 3e12, "GB/s", "copy", H100).verdict is PASSED


def test_every_kind_of_number_is_expected_of_some_gpu_and_none_of_an_unknown_one() -> None:
    assert {one.what for one in _table().numbers} == set(get_args(What))
    assert "to be replaced" in status()
    for gpu in ("NVIDIA A800", f"{H100} MIG 1g.10gb", "NVIDIA GeForce RTX 4080"):
        assert expectation("copy", gpu) is None


@pytest.mark.needs("torch")
@pytest.mark.slow(10)
def test_the_command_checks_what_it_can_on_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WALLCLOCK_RUNS", str(tmp_path / "runs"))
    file = tmp_path / "runs.jsonl"
    assert main(["lab", "check", "--quick", "--json", "--record", str(file)]) == 0
    result = json.loads(capsys.readouterr().out)
    found = {one["name"]: one for step in result["steps"] for one in step["findings"]}
    for name in (
        "process with torch",
        "forks",
        "2 ranks over gloo",
        "out of memory on rank 1",
        "an exception on rank 1",
        "rank 2 is killed",
        "rank 3 skips a collective",
        "the next run",
    ):
        assert found[name]["verdict"] == "passed", found[name]
    assert "rank 3 was in barrier" in found["rank 3 skips a collective"]["found"]
    assert result["command"].startswith("wallclock lab check --quick --record ")
    disturbed = {lab for lab in ("all-reduce", "memory-copy") if lab in found}
    assert all(found[lab]["verdict"] == "odd" for lab in disturbed)
    assert len(file.read_text().splitlines()) == 2 - len(disturbed)


def test_the_limits_of_this_machine_are_those_of_its_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(Settings(runs=tmp_path / "runs"))
    assert world.size_of(str(tmp_path)) == shutil.disk_usage(tmp_path).total
    (tmp_path / "b").touch()
    (tmp_path / "a").touch()
    assert [name for name in world.names_in(str(tmp_path)) if len(name) == 1] == ["a", "b"]
    assert (world.size_of("/nowhere"), world.names_in("/nowhere")) == (0, [])
    for limit, bytes_ in ((resource.RLIM_INFINITY, math.inf), (65_536, 65_536.0)):
        monkeypatch.setattr(resource, "getrlimit", lambda _, limit=limit: (limit, resource.RLIM_INFINITY))
        assert world.locked_memory() == bytes_
    for link, is_all in (("pid:[4026531836]", True), ("pid:[4026532000]", False)):
        monkeypatch.setattr(os, "readlink", lambda _, link=link: link)
        assert world.sees_all_processes() is is_all
    assert (world.is_slurm, world.nodes) == (False, 1)
    cluster = World(Settings(runs=tmp_path / "runs", lab_launcher="slurm", slurm_nodes=4))
    assert (cluster.is_slurm, cluster.nodes) == (True, 4)
    world.close()


def test_a_run_that_fails_on_purpose_says_which_rank_does_what() -> None:
    job = failing_job("raises", 1, 4, 20.0)
    assert (job.lab.name, job.lab.seconds, job.ranks) == ("check", 20.0, 4)
    assert job.values == {"what": "raises", "bad": 1.0, "seconds": 20.0}
    assert job.given == {"ranks": "4", "what": "raises", "bad": "1", "seconds": "20"}
    assert job.lab.worker.is_file()


def test_a_step_has_the_worst_verdict_of_its_findings_and_a_check_fails_by_its_failures_alone() -> None:
    findings = [CheckFinding("a", verdict, "") for verdict in (PASSED, ODD, UNKNOWN, FAILED)]
    for count, worst in enumerate((PASSED, ODD, ODD, FAILED), 1):
        step = CheckStep(1, "one", tuple(findings[:count]), 0.0)
        assert step.verdict is worst
        assert report_check((CheckStep(2, "two", (), 0.0), step), "").has_failed is (worst is FAILED)
    assert CheckStep(1, "none", (), 0.0).verdict is UNKNOWN
