"""Healthy machines of many kinds fail nothing in `wallclock lab check`, and sick ones fail."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from app.labs.check.hardware import driver, links
from app.labs.check.kernels import check_network, pcie_under_load, variables_without
from app.labs.check.steps import after_the_load
from app.labs.check.world import CheckFinding, CheckRun, CheckVerdict, compare_expected
from app.labs.machines.devices import Devices
from app.labs.machines.nvidia_output import query_gpus, read_gpu_sections
from app.labs.machines.vendor import Output
from tests.each import each
from tests.labs.gpus import H100, machine
from tests.labs.smi import NO_FABRIC, PLAIN, sections
from tests.labs.worlds import FakeWorld, dgx, linked, queried
from tests.waiting import wait_until

UNKNOWN, PASSED, ODD, FAILED = CheckVerdict
MODES, APPS = "nvidia-smi --query-gpu=name", "nvidia-smi --query-compute-apps"
USAGE, NVLINK, SECTIONS = ("nvidia-smi --query-gpu=memory.used", "nvidia-smi nvlink -s", "nvidia-smi -q")
INFOROM = "WARNING: infoROM is corrupted at gpu 0000:1B:00.0"
INACTIVE = "\n".join(f"\t Link {link}: <inactive>" for link in range(18))
FAST = "\n".join(f"\t Link {link}: 53.125 GB/s" for link in range(18))
AMPERE = "\n".join(f"\t Link {link}: 25 GB/s" for link in range(12))


def gpus(name: str, count: int, topology: str = "GPU0 X") -> Devices:
    found = machine(count)
    return replace(found, devices=tuple(replace(one, name=name) for one in found.devices), topology=topology)


def all_linked(count: int, word: str = "NV18") -> str:
    """The matrix of GPUs that are all connected."""
    rows = [["X" if a == b else word for b in range(count)] for a in range(count)]
    return "\n".join("\t".join([f"GPU{n}", *row]) for n, row in enumerate(rows))


@dataclass(kw_only=True)
class Kind:
    """A machine: its GPUs, and what differs from a DGX in what its tools print."""

    name: str
    count: int
    topology: str = "GPU0 X"
    said: Mapping[str, Output] = field(default_factory=dict)

    def world(self) -> FakeWorld:
        said = {
            MODES: queried(self.name, self.count),
            NVLINK: linked(self.count, INACTIVE),
            SECTIONS: Output(sections(self.count, name=self.name, **NO_FABRIC)),
            "systemctl is-active": Output("", "systemctl cannot be run: No such file or directory"),
            **self.said,
        }
        return dgx(said, gpus=gpus(self.name, self.count, self.topology), cards=())


BARE = (  # without power limits and modes, as of GB10 and some virtual GPUs
    "{name}, 580.95.05, [N/A], [N/A], Default, Enabled, [N/A], [N/A], 3003"
)
MIG_ON = queried(mig="Enabled", errors="[N/A]", count=1)

HEALTHY: Mapping[str, Kind] = {
    "one H100 SXM in a virtual machine": Kind(
        name=H100, count=1, said={SECTIONS: Output(sections(1, state="In Progress", status="N/A"))}
    ),
    "one H100 SXM of eight in a container": Kind(
        name=H100, count=1, said={NVLINK: linked(1), SECTIONS: Output(sections(1))}
    ),
    "eight H100 under the GPU Operator": Kind(
        name=H100, count=8, topology=all_linked(8),
        said={NVLINK: linked(8), SECTIONS: Output(sections(8)),
              "systemctl is-active": Output("", "systemctl failed: inactive")},
    ),
    "eight A100, whose driver knows no state of a fabric": Kind(
        name="NVIDIA A100-SXM4-80GB", count=8, topology=all_linked(8, "NV12"),
        said={NVLINK: linked(8, AMPERE), "systemctl is-active": Output("", "systemctl failed: inactive")},
    ),
    "four A100 on one board": Kind(
        name="NVIDIA A100-SXM4-40GB", count=4, topology=all_linked(4, "NV4"),
        said={NVLINK: linked(4, AMPERE)},
    ),
    "two H100 PCIe without bridges": Kind(name="NVIDIA H100 PCIe", count=2),
    "eight L40S": Kind(name="NVIDIA L40S", count=8, said={NVLINK: Output("")}),
    "a driver whose tool has no nvlink": Kind(
        name="NVIDIA L4", count=2, said={NVLINK: Output("", "nvidia-smi failed: Invalid option")}
    ),
    "four GB200 of an NVL72": Kind(
        name="NVIDIA GB200", count=4, topology=all_linked(4),
        said={NVLINK: linked(4, FAST), SECTIONS: Output(sections(4, health="Full"))},
    ),
    "eight B200": Kind(
        name="NVIDIA B200", count=8, topology=all_linked(8),
        said={NVLINK: linked(8, FAST), SECTIONS: Output(sections(8))},
    ),
    "GB10": Kind(
        name="NVIDIA GB10", count=1,
        said={MODES: Output(BARE.format(name="NVIDIA GB10")),
              NVLINK: Output("", "nvidia-smi failed: 255"),
              SECTIONS: Output(sections(1, **{**PLAIN, "width": "N/A", "widest": "N/A"}))},
    ),
    "an instance of MIG": Kind(name=f"{H100} MIG 3g.40gb", count=1, said={MODES: MIG_ON}),
    "a warning before and after the rows": Kind(
        name="NVIDIA L40S", count=2,
        said={MODES: Output(f"{INFOROM}\n{queried('NVIDIA L40S', 2).text}\n{INFOROM}, or so\n"),
              APPS: Output(f"{INFOROM}\n"), NVLINK: Output(f"{INFOROM}\n")},
    ),
    "a laptop whose slot has eight lanes": Kind(
        name="NVIDIA GeForce RTX 4090 Laptop GPU", count=1,
        said={SECTIONS: Output(sections(1, width="8x", **PLAIN))},
    ),
    "programs that failed, and this check's": Kind(
        name="NVIDIA L40S", count=2,
        said={"dmesg": Output(
            "[  10.000001] NVRM: Xid (PCI:0000:1b:00): 31, pid=77, name=python, Ch 00000008\n"
            "[1010.000001] NVRM: Xid (PCI:0000:1b:00): 43, pid=78, name=python\n")},
    ),
    "a log that is not for users": Kind(
        name="NVIDIA L40S", count=2,
        said={"dmesg": Output("", "dmesg failed: read kernel buffer failed: Operation not permitted"),
              "journalctl": Output("", "journalctl cannot be run: No such file or directory")},
    ),
}  # fmt: skip


def findings_of(world: FakeWorld) -> list[CheckFinding]:
    return [one for look in (driver, links, pcie_under_load, after_the_load) for one in look(world)]


def told(findings: list[CheckFinding], verdict: CheckVerdict) -> str:
    return "\n".join(f"{f.name}: {f.found} | {f.expected} | {f.cure}" for f in findings if f.verdict is verdict)


@each("kind", HEALTHY)
def test_a_healthy_machine_of_any_kind_fails_nothing(kind: str) -> None:
    findings = findings_of(HEALTHY[kind].world())
    assert told(findings, FAILED) == ""
    if "warning" not in kind and "laptop" not in kind:
        assert told(findings, ODD) == ""


def test_a_warning_is_neither_a_gpu_nor_a_process() -> None:
    findings = findings_of(HEALTHY["a warning before and after the rows"].world())
    assert told(findings, ODD).count("InfoROM: WARNING: infoROM is corrupted") == 2
    assert "other processes: none" in told(findings, PASSED)


def test_no_process_is_claimed_absent_where_a_container_hides_them() -> None:
    findings = findings_of(dgx(is_container=True))
    assert "other processes" not in told(findings, PASSED)
    assert "other processes: none is listed, but" in told(findings, UNKNOWN)
    used = {APPS: Output("4711, python, 30110 MiB\n")}
    assert "other processes: 4711" in told(findings_of(dgx(used, is_container=True)), ODD)


def test_pcie_is_read_while_it_is_in_use() -> None:
    """An idle link is slow and may be narrow: of all readings, that of the fastest counts."""
    idle, busy = (Output(sections(generation=g, width=w)) for g, w in (("1", "8x"), ("5", "16x")))

    class Napping(FakeWorld):
        def run_watched(self, lab: str, given: Mapping[str, str], *command: str) -> tuple[CheckRun, Sequence[Output]]:
            ran, _ = super().run_watched(lab, given, *command)
            return ran, [idle, busy, idle]

    plain = dgx()
    world = Napping(gpus=plain.gpus, said=plain.said)
    findings = list(pcie_under_load(world))
    assert "PCIe width: 16x under load" in told(findings, PASSED)
    assert "PCIe generation: 5 under load" in told(findings, PASSED)
    assert any("memory-copy nccl source=pinned" in one for one in world.ran)


def test_a_tool_is_asked_while_a_run_goes_on() -> None:
    class Slow(FakeWorld):
        def run(self, *given: Any, **more: Any) -> CheckRun:
            wait_until(lambda: len(asked) > 2)
            return super().run(*given, **more)

        def ask(self, *command: str) -> Output:
            asked.append(command)
            return Output(str(len(asked)))

    asked: list[tuple[str, ...]] = []
    ran, said = Slow(gpus=dgx().gpus).run_watched("memory-copy", {"sizes": "4GiB"}, "nvidia-smi")
    assert ran.is_done
    assert [one.text for one in said] == [str(number) for number in range(1, len(asked) + 1)]
    assert len(said) > 2


SLOW, MISSING = AMPERE.replace("25 GB/s", "12.5 GB/s"), "\n".join(AMPERE.splitlines()[:6])
ONE_DOWN = f"{linked(7).text}\nGPU 7: {H100} (UUID: GPU-7)\n{INACTIVE}"
XID = "[1010.000001] NVRM: Xid (PCI:0000:1b:00): {}, pid='<unknown>', name=<unknown>"


def said_by_gpus(**last: str) -> Callable[[], FakeWorld]:
    """A DGX whose last GPU says something else."""
    return lambda: dgx({SECTIONS: Output(sections(last=last))})


SICK: Mapping[str, tuple[Callable[[], FakeWorld], CheckVerdict, str]] = {
    "no links between eight": (
        lambda: dgx({NVLINK: linked(8, INACTIVE)}), FAILED, "NVLinks: none | 18",
    ),
    "no links, and none in the matrix": (
        lambda: dgx({NVLINK: linked(8, INACTIVE)}, gpus=gpus(H100, 8)), FAILED, "NVLinks: none",
    ),
    "no links between two": (
        lambda: dgx({NVLINK: linked(2, INACTIVE)}, gpus=gpus(H100, 2)), ODD, "virtual machine",
    ),
    "no links of one GPU": (lambda: dgx({NVLINK: Output(ONE_DOWN)}), FAILED, "each GPU: 0"),
    "half the links": (
        lambda: dgx({NVLINK: linked(8, MISSING)}, gpus=gpus("NVIDIA A100-SXM4-80GB", 8)),
        FAILED, "NVLinks of each GPU: 6 | 12",
    ),
    "slow links": (
        lambda: dgx({NVLINK: linked(8, SLOW)}, gpus=gpus("NVIDIA A100-SXM4-80GB", 8)),
        ODD, "rate of a link: 12.5 GB/s",
    ),
    "a fabric with less bandwidth": (
        said_by_gpus(health="Degraded"), ODD, "Bandwidth: Degraded on GPU 7",
    ),
    "a fabric that failed": (
        said_by_gpus(status="Insufficient Resources"), FAILED, "Insufficient Resources on GPU 7",
    ),
    "an error of memory": (said_by_gpus(uncorrected="2"), FAILED, "uncorrected 2 on GPU 7"),
    "a row that waits": (said_by_gpus(pending="Yes"), FAILED, "at the next reset of GPU 7"),
    "a page that waits": (said_by_gpus(pages="Yes"), FAILED, "at the next reset of GPU 7"),
    "no spare rows": (said_by_gpus(failure="Yes"), FAILED, "Replace the GPU"),
    "a GPU that has to be reset": (said_by_gpus(action="Reset"), FAILED, "recovery action: Reset"),
    "eight lanes": (said_by_gpus(width="8x"), FAILED, "PCIe width: 8x of 16x on GPU 7 under load"),
    "a slow slot": (said_by_gpus(generation="4"), ODD, "PCIe generation: 4 of 5 on GPU 7"),
    "off the bus": (lambda: dgx({"dmesg": Output(XID.format(79))}), FAILED, "79 on 0000:1b:00"),
    "an Xid from before": (
        lambda: dgx({"dmesg": Output(XID.replace("1010", " 910").format(48))}), ODD,
        "Xids before the check: 48 on 0000:1b:00: an error of memory",
    ),
    "an Xid that is not known here": (
        lambda: dgx({"dmesg": Output(XID.format(999))}), ODD, "Xids during the check: 999",
    ),
    "an Xid in the journal": (
        lambda: dgx({"dmesg": Output("", "dmesg failed: Operation not permitted"),
                     "journalctl": Output(XID.replace("[", "[ ").format(95))}),
        FAILED, "95 on 0000:1b:00",
    ),
    "a GPU that is lost while the tool fails": (
        lambda: dgx({MODES: Output("", "nvidia-smi failed: NVIDIA H100",
                                   f"{queried(count=7).text}\nGPU 7 is lost. Reboot\n")}),
        FAILED, "nvidia-smi: GPU 7 is lost",
    ),
    "memory that is in use in another container": (
        lambda: dgx({USAGE: Output("4, 0\n" * 7 + "30110, 0\n")}), ODD,
        "GPU 7 has 31.57 GB in use; its processes are not listed here",
    ),
    "a GPU that is busy in another container": (
        lambda: dgx({USAGE: Output("4, 97\n" + "4, 0\n" * 7)}), ODD, "GPU 0 is busy 97%",
    ),
    "whole GPUs beside divided ones": (
        lambda: dgx({MODES: queried(mig="Enabled")}), ODD, "MIG: on for GPU 0",
    ),
    "less power on the last GPU": (
        lambda: dgx({MODES: Output("\n".join([queried(count=7).text, queried(power="500", count=1).text]))}),
        ODD, "500 W instead of 700 W on GPU 7",
    ),
}  # fmt: skip


@each("what", SICK)
def test_a_sick_machine_is_told(what: str) -> None:
    world, verdict, words = SICK[what]
    findings = findings_of(world())
    assert words in told(findings, verdict), told(findings, ODD) + told(findings, FAILED)


NETWORKS: Mapping[str, tuple[CheckVerdict, str]] = {
    "NVLS, P2P/CUMEM, NET/IB/GDRDMA": (PASSED, "NCCL_IB_DISABLE"),
    "NET/IBext_v8/GDRDMA": (PASSED, "NCCL_IB_DISABLE"),
    "NET/IB": (ODD, "NCCL_IB_DISABLE"),
    "NET/Socket": (ODD, "NCCL_IB_DISABLE"),
    "P2P/MNNVL": (PASSED, ""),
    "NVLS, P2P/MNNVL": (PASSED, ""),
    "P2P/CUMEM, NET/AWS Libfabric/GDRDMA": (PASSED, "NCCL_NET"),
    "NET/AWS Libfabric": (ODD, "NCCL_NET"),
    "NET/gIB/GDRDMA, P2P/CUMEM": (PASSED, "NCCL_NET"),
    "NET/FasTrak": (PASSED, "NCCL_NET"),
    "NET/GPUDirectTCPX_v7": (PASSED, "NCCL_NET"),
    "NET/AWS Libfabric/GDRDMA, NET/Socket": (ODD, "NCCL_IB_DISABLE"),
    "": (ODD, "NCCL_IB_DISABLE"),
}


@each("chosen", NETWORKS)
def test_fast_networks_are_known_by_their_names(chosen: str) -> None:
    verdict, variable = NETWORKS[chosen]
    assert check_network(chosen).verdict is verdict
    assert list(variables_without(chosen)) == [variable] * bool(variable)


RATES: Mapping[str, tuple[str, float, CheckVerdict]] = {
    "an H100 as fast as any": (H100, 810e12, PASSED),
    "an H100 above its datasheet": (H100, 1000e12, ODD),
    "an H100 above its highest clock": (H100, 1100e12, FAILED),
    "an H100 that is slow": (H100, 500e12, ODD),
    "an A100": ("NVIDIA A100-SXM4-80GB", 265e12, PASSED),
    "an H100 PCIe": ("NVIDIA H100 PCIe", 480e12, PASSED),
    "an H200": ("NVIDIA H200", 720e12, PASSED),
    "a B200": ("NVIDIA B200", 1600e12, PASSED),
    "a GB200": ("NVIDIA GB200", 1700e12, PASSED),
    "an L40S": ("NVIDIA L40S", 220e12, PASSED),
    "an MI300X": ("AMD Instinct MI300X", 620e12, PASSED),
    "an unknown GPU": ("NVIDIA Z1", 620e12, UNKNOWN),
}


@each("what", RATES)
def test_a_rate_is_compared_with_what_is_real(what: str) -> None:
    gpu, rate, verdict = RATES[what]
    assert compare_expected("rate", rate, "TFLOP/s", "bf16 product", gpu).verdict is verdict


def test_fields_that_a_driver_does_not_know_are_left_out() -> None:
    asked: list[str] = []

    def old_driver(query: str) -> tuple[str, str]:
        asked.append(query)
        for field_name in ("mig.mode.current", "compute_mode"):
            if field_name in query:
                return "", f'nvidia-smi failed: Field "{field_name}" is not a valid field to query.'
        return "Tesla V100, 418.67\n", ""

    fields = ("name", "driver_version", "mig.mode.current", "compute_mode")
    table = query_gpus(old_driver, fields)
    assert table.columns == {"name": ("Tesla V100",), "driver_version": ("418.67",)}
    assert asked[-1] == "--query-gpu=name,driver_version"
    assert table.column("mig.mode.current") == ()


def test_sections_are_read_by_what_is_above_them() -> None:
    first, last = read_gpu_sections(sections(2, last={"uncorrected": "3", "width": "8x"}))
    assert first.bus == "00000000:1B:00.0"
    assert first.said("PCI", "GPU Link Info", "Link Width", "Current") == "16x"
    assert last.said("PCI", "GPU Link Info", "Link Width", "Current") == "8x"
    assert last.said("ECC Errors", "Volatile", "DRAM Uncorrectable") == "3"
    assert last.said("ECC Errors", "Aggregate", "DRAM Uncorrectable") == "7"
    assert last.said("Fabric", "Health", "Bandwidth") == ""


@pytest.mark.parametrize("more", [{"gpus": machine(1)}, {}])
def test_every_finding_of_a_fake_machine_has_words(more: dict[str, Any]) -> None:
    assert all(finding.name and finding.found for finding in findings_of(dgx(**more)))
