"""Healthy machines of many kinds fail nothing in `wallclock lab check`, and sick ones fail."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from app.labs.check.gpu_state import health_table, read_xids
from app.labs.check.hardware import driver, links
from app.labs.check.kernels import check_network, pcie_under_load
from app.labs.check.steps import after_the_load
from app.labs.check.world import CheckFinding, CheckRun, CheckVerdict, Expectation, compare_expected, expectation
from app.labs.machines.devices import Devices
from app.labs.machines.vendor import Output, read_smi_log
from tests.each import each
from tests.labs.gpus import H100, machine
from tests.labs.smi import KINDS, NO_FABRIC, PLAIN, SAID, smi_log
from tests.labs.worlds import FakeWorld, dgx, linked
from tests.waiting import wait_until

UNKNOWN, PASSED, ODD, FAILED = CheckVerdict
NVLINK, ERRORS, LOG = "nvidia-smi nvlink -s", "nvidia-smi nvlink -e", "nvidia-smi -q -x"
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
            NVLINK: linked(self.count, INACTIVE),
            LOG: Output(smi_log(self.count, self.name, {} if self.name in KINDS else NO_FABRIC)),
            **self.said,
        }
        return dgx(said, gpus=gpus(self.name, self.count, self.topology), cards=())


MIG_ON = {"mig_mode/current_mig": "Enabled", "mig_mode/pending_mig": "Enabled"}
WIDTH, GENERATION = (
    "pci/pci_gpu_link_info/link_widths/current_link_width",
    "pci/pci_gpu_link_info/pcie_gen/current_link_gen",
)
WIDEST = "pci/pci_gpu_link_info/link_widths/max_link_width"
JOINING = {"fabric/state": "In Progress", "fabric/status": "N/A"}
BARE = {
    **PLAIN, WIDTH: "N/A", WIDEST: "N/A", "max_clocks/sm_clock": "3003 MHz", "mig_mode/current_mig": "N/A",
    "gpu_power_readings/current_power_limit": "N/A", "gpu_power_readings/default_power_limit": "N/A",
}  # fmt: skip

HEALTHY: Mapping[str, Kind] = {
    "one H100 SXM in a virtual machine": Kind(
        name=H100, count=1, said={LOG: Output(smi_log(1, every=JOINING))}
    ),
    "one GPU of a rack that waits for the others": Kind(
        name=H100, count=1,
        said={LOG: Output(smi_log(1, every={**JOINING, "platformInfo/peer_type": "Switch Connected"}))},
    ),
    "one H100 SXM of eight in a container": Kind(
        name=H100, count=1, said={NVLINK: linked(1), LOG: Output(smi_log(1))}
    ),
    "eight H100 under the GPU Operator": Kind(
        name=H100, count=8, topology=all_linked(8),
        said={NVLINK: linked(8)},
    ),
    "eight A100, whose driver knows no state of a fabric": Kind(
        name="NVIDIA A100-SXM4-80GB", count=8, topology=all_linked(8, "NV12"),
        said={NVLINK: linked(8, AMPERE)},
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
        said={NVLINK: linked(4, FAST)},
    ),
    "eight B200": Kind(
        name="NVIDIA B200", count=8, topology=all_linked(8),
        said={NVLINK: linked(8, FAST)},
    ),
    "four GB300 of an NVL72": Kind(
        name="NVIDIA GB300", count=4, topology=all_linked(4), said={NVLINK: linked(4, FAST)},
    ),
    "eight T4": Kind(name="Tesla T4", count=8, said={NVLINK: Output("")}),
    "two H100 NVL with bridges, whose fabric has not started": Kind(
        name="NVIDIA H100 NVL", count=2, topology=all_linked(2, "NV12"),
        said={NVLINK: linked(2, "\n".join(f"\t Link {n}: 26.562 GB/s" for n in range(12))),
              LOG: Output(smi_log(2, "NVIDIA H100 NVL", {"fabric/state": "Not Started", "fabric/status": "N/A"}))},
    ),
    "a GPU that had to be reset, and was": Kind(
        name="NVIDIA L40S", count=2,
        said={"dmesg": Output(
            "[  10.000001] NVRM: Xid (PCI:0000:1b:00): 95, pid=77, name=python, Uncontained\n"
            "[  11.000001] NVRM: Xid (PCI:0000:1b:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU "
            "Reset Required)\n"
            "[1020.000001] NVRM: Xid (PCI:0000:1b:00): 154, GPU recovery action changed from 0x1 (GPU Reset Required) to"
            " 0x0 (None)\n")},
    ),
    "a rack whose links have corrected errors": Kind(
        name="NVIDIA GB200", count=4, topology=all_linked(4),
        said={NVLINK: linked(4, FAST), ERRORS: linked(4, "\t Link 3: Malformed packet Errors: 0\n\t Link 3: FEC Errors - 0: 9")},
    ),
    "GB10": Kind(
        name="NVIDIA GB10", count=1,
        said={NVLINK: Output("", "nvidia-smi failed: 255"), LOG: Output(smi_log(1, "NVIDIA GB10", BARE))},
    ),
    "a GPU that a desktop uses a little": Kind(
        name="NVIDIA L40S", count=1,
        said={LOG: Output(smi_log(1, every={**PLAIN, "utilization/gpu_util": "20 %", "fb_memory_usage/used": "1024 MiB"}))},
    ),
    "more power than usual": Kind(
        name="NVIDIA L40S", count=1, said={LOG: Output(smi_log(1, every={"gpu_power_readings/current_power_limit": "701 W"}))},
    ),
    "an instance of MIG": Kind(name=f"{H100} MIG 3g.40gb", count=1, said={LOG: Output(smi_log(1, every=MIG_ON))}),
    "a warning before and after the rows": Kind(
        name="NVIDIA L40S", count=2,
        said={LOG: Output(f"{INFOROM}\n{smi_log(2, 'NVIDIA L40S')}\n{INFOROM}, or so\n"),
              NVLINK: Output(f"{INFOROM}\n")},
    ),
    "a laptop whose slot has eight lanes": Kind(
        name="NVIDIA GeForce RTX 4090 Laptop GPU", count=1,
        said={LOG: Output(smi_log(1, every={**PLAIN, WIDTH: "8x"}))},
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
    used = {LOG: Output(smi_log(processes=((4711, "python", "30110 MiB"),)))}
    assert "other processes: 4711" in told(findings_of(dgx(used, is_container=True)), ODD)


def test_pcie_is_read_while_it_is_in_use() -> None:
    """An idle link is slow and may be narrow: of all readings, that of the fastest counts."""
    idle, busy = (Output(smi_log(every={GENERATION: g, WIDTH: w})) for g, w in (("1", "8x"), ("5", "16x")))

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


ONE_SLOW = "\n".join(f"\t Link {link}: {13.281 if link == 9 else 26.562} GB/s" for link in range(18))
GB200 = "NVIDIA GB200"
COUNTS = "\n".join(
    f"\t Link {link}: {name}: 0"
    for link in range(18)
    for name in ("Malformed packet Errors", "Link recovery failed events", "Effective Errors", "FEC Errors - 0")
)


def said_by_gpus(path: str, text: str) -> Callable[[], FakeWorld]:
    """A DGX whose last GPU says *text* at *path*."""
    return lambda: dgx({LOG: Output(smi_log(last={path: text}))})


def tray(path: str, text: str) -> Callable[[], FakeWorld]:
    """A tray of a GB200 NVL72 whose last GPU says *text* at *path*."""
    said = {NVLINK: linked(4, FAST), LOG: Output(smi_log(4, GB200, last={path: text}))}
    return lambda: dgx(said, gpus=gpus(GB200, 4, all_linked(4)))


def logged(*lines: str) -> Callable[[], FakeWorld]:
    """A DGX whose kernel logged *lines*; the check began at 1000 s."""
    return lambda: dgx({"dmesg": Output("\n".join(lines))})


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
        said_by_gpus("fabric/health/bandwidth", "Degraded"), ODD, "fabric/health/bandwidth: Degraded on GPU 7",
    ),
    "a fabric that failed": (
        said_by_gpus("fabric/status", "Insufficient Resources"), FAILED, "Insufficient Resources on GPU 7",
    ),
    "an error of memory": (said_by_gpus("ecc_errors/volatile/dram_uncorrectable", "2"), FAILED, "uncorrectable: 2 on GPU 7"),
    "a row that waits": (said_by_gpus("remapped_rows/remapped_row_pending", "Yes"), FAILED, "pending: Yes on GPU 7"),
    "a page that waits": (said_by_gpus("retired_pages/pending_blacklist", "Yes"), FAILED, "blacklist: Yes on GPU 7"),
    "no spare rows": (said_by_gpus("remapped_rows/remapped_row_failure", "Yes"), FAILED, "Replace the GPU"),
    "a GPU that has to be reset": (said_by_gpus("gpu_recovery_action", "Reset"), FAILED, "gpu_recovery_action: Reset"),
    "eight lanes": (said_by_gpus(WIDTH, "8x"), FAILED, "PCIe width: 8x of 16x on GPU 7 under load"),
    "a slow slot": (said_by_gpus(GENERATION, "4"), ODD, "PCIe generation: 4 of 5 on GPU 7"),
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
        lambda: dgx({LOG: Output("", "nvidia-smi failed: NVIDIA H100", f"{smi_log(7)}\nGPU 7 is lost. Reboot\n")}),
        FAILED, "nvidia-smi: GPU 7 is lost",
    ),
    "memory that is in use in another container": (
        said_by_gpus("fb_memory_usage/used", "30110 MiB"), ODD,
        "GPU 7 has 31.57 GB in use; its processes are not listed here",
    ),
    "a little more memory than a desktop uses": (
        said_by_gpus("fb_memory_usage/used", "1025 MiB"), ODD, "GPU 7 has 1.075 GB in use",
    ),
    "a little more time than a desktop uses": (said_by_gpus("utilization/gpu_util", "21 %"), ODD, "GPU 7 is busy 21%"),
    "one slow link of one GPU": (
        lambda: dgx({NVLINK: Output(f"{linked(7).text}\nGPU 7: {H100} (UUID: GPU-7)\n{ONE_SLOW}")}),
        ODD, "rate of a link: 13.3 GB/s | 26 to 27",
    ),
    "a GPU that is busy in another container": (
        said_by_gpus("utilization/gpu_util", "97 %"), ODD, "GPU 7 is busy 97%",
    ),
    "whole GPUs beside divided ones": (
        lambda: dgx({LOG: Output(smi_log(last=MIG_ON))}), ODD, "MIG: on for GPU 7",
    ),
    "a rack whose routes are broken": (
        tray("fabric/health/route_unhealthy", "True"), FAILED, "fabric/health/route_unhealthy: True on GPU 3",
    ),
    "routes that recover": (
        tray("fabric/health/route_recovery_in_progress", "True"), ODD, "route_recovery_in_progress: True on GPU 3",
    ),
    "a rack that was put together wrong": (
        tray("fabric/health/incorrect_configuration", "Incorrect Chassis Serial Number"), FAILED, "Incorrect Chassis",
    ),
    "a fabric that says so itself": (tray("fabric/health/summary", "Unhealthy"), FAILED, "summary: Unhealthy on GPU 3"),
    "a fabric with less capacity": (tray("fabric/health/summary", "Limited Capacity"), ODD, "Limited Capacity on GPU 3"),
    "a channel that waits": (tray("ecc_errors/channel_repair_pending", "Yes"), FAILED, "channel_repair_pending: Yes"),
    "a part that waits": (said_by_gpus("ecc_errors/tpc_repair_pending", "Yes"), FAILED, "tpc_repair_pending: Yes"),
    "memory beyond repair": (tray("ecc_errors/unrepairable_memory", "Yes"), FAILED, "Replace the GPU"),
    "too many errors of static memory": (
        said_by_gpus("ecc_errors/aggregate/sram_threshold_exceeded", "Yes"), FAILED, "sram_threshold_exceeded: Yes",
    ),
    "a value that nobody has seen yet": (
        said_by_gpus("fabric/health/optics", "Dirty"), ODD, "fabric/health/optics: Dirty on GPU 7",
    ),
    "a section that nobody has seen yet": (said_by_gpus("nvlink_state/lanes", "Frayed"), ODD, "nvlink_state/lanes: Frayed"),
    "a threshold with a new word": (
        said_by_gpus("ecc_errors/aggregate/sram_threshold_exceeded", "Nearly"), ODD, "exceeded: Nearly on GPU 7",
    ),
    "an error that the driver cannot name": (said_by_gpus("compute_mode", "Unknown Error"), FAILED, "GPU 7: Unknown Error"),
    "a GPU that is held down": (
        said_by_gpus("clocks_event_reasons/clocks_event_reason_hw_thermal_slowdown", "Active"), ODD, "cooling",
    ),
    "no spare rows for some banks": (
        said_by_gpus("remapped_rows/row_remapper_histogram/row_remapper_histogram_none", "2 bank(s)"), ODD, "2 bank(s)",
    ),
    "a mode that waits for a reset": (
        said_by_gpus("ecc_mode/pending_ecc", "Disabled"), ODD, "ecc_mode/pending_ecc: Disabled on GPU 7",
    ),
    "one link of 18": (
        lambda: dgx({NVLINK: linked(8, FAST.replace("53.125", "26.562").replace("Link 17: 26.562 GB/s", "Link 17: <inactive>"))}),
        FAILED, "NVLinks of each GPU: 17, in bundles of 18 | 18",
    ),
    "links of a tool that fails": (
        lambda: dgx({NVLINK: Output("", "nvidia-smi failed: 255", ONE_DOWN.replace("<inactive>", "inActive"))}),
        FAILED, "each GPU: 0",
    ),
    "links that lose packets": (
        lambda: dgx({ERRORS: linked(8, COUNTS.replace("Link 3: Malformed packet Errors: 0", "Link 3: Malformed packet Errors: 4"))}),
        ODD, "NVLink, Malformed packet Errors: 4 on link 3 of GPU 0",
    ),
    "a fatal error of NVLink 5": (
        logged(XID.format("145, RLW_SRC_TRACK Fatal XC0 i0 Link 03 (0x00000007 0x00000001)").partition(", pid")[0]),
        FAILED, "145 on 0000:1b:00: an error of NVLink (RLW), RLW_SRC_TRACK Fatal",
    ),
    "an error of NVLink 5 that is not fatal": (
        logged(XID.format("149, NETIR_BER_EVENT Nonfatal XC0 i0 Link 03 (0x00086226)").partition(", pid")[0]),
        ODD, "NETIR_BER_EVENT Nonfatal",
    ),
    "a reset that is due": (
        logged(XID.format("154, GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)")),
        FAILED, "the driver asks for an action: Node Reboot Required",
    ),
    "a fault of this check whose end is told": (
        logged(XID.format(95), XID.format("154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)")),
        FAILED, "95 on 0000:1b:00",
    ),
    "a fatal fault of an NVSwitch": (
        logged("[1010.000001] nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 32 LTSSM Fault Up"),
        FAILED, "20034 on NVSwitch 0000:c1:00.0: Fatal, Link 32",
    ),
    "less power on the last GPU": (
        said_by_gpus("gpu_power_readings/current_power_limit", "500.00 W"), ODD, "500 W instead of 700 W on GPU 7",
    ),
}  # fmt: skip


@each("what", SICK)
def test_a_sick_machine_is_told(what: str) -> None:
    world, verdict, words = SICK[what]
    findings = findings_of(world())
    assert words in told(findings, verdict), told(findings, ODD) + told(findings, FAILED)


HARDWARE = (46, 48, 54, 62, 64, 74, 79, 94, 95, 109, 110, 119, 120, 136, 140, 143, 156, 158, 171, 172)


@each("number", HARDWARE)
def test_a_fault_that_needs_a_reset_or_a_repair_fails_if_it_is_new(number: int) -> None:
    new = told(findings_of(logged(XID.format(number))()), FAILED)
    assert f"Xids during the check: {number} on 0000:1b:00: " in new
    assert told(findings_of(logged(XID.replace("1010", " 910").format(number))()), FAILED) == ""


@each("number", (63, 92, 121, 137, 144, 155, 160, 168))
def test_a_fault_to_be_watched_is_odd_and_in_words(number: int) -> None:
    findings = findings_of(logged(XID.format(number))())
    assert told(findings, FAILED) == ""
    words = told(findings, ODD).partition(f"{number} on 0000:1b:00: ")[2].partition(" | ")[0]
    assert len(words) > 10
    assert "pid" not in words


@each("path", sorted(SAID))
def test_a_word_of_a_sick_gpu_is_noticed_wherever_it_tells_of_health(path: str) -> None:
    """In each place that is not an identity or a measurement, a word that no healthy GPU says is odd or worse."""
    table = health_table()
    is_read = not path.startswith(table.ignored) and table.rule_of(path).healthy.pattern != ".*"
    findings = findings_of(said_by_gpus(path, "Sick")())
    assert bool(told(findings, ODD) + told(findings, FAILED)) is (
        is_read
        or path.startswith(("fabric/state", "fabric/status"))
        or path in (WIDTH, WIDEST, GENERATION)
        or path.endswith("max_link_gen")
    )


NETWORKS: Mapping[str, CheckVerdict] = {
    "NVLS, P2P/CUMEM, NET/IB/GDRDMA": PASSED,
    "NET/IBext_v8/GDRDMA": PASSED,
    "NET/IB": ODD,
    "NET/Socket": ODD,
    "P2P/MNNVL": PASSED,
    "NVLS, P2P/MNNVL": PASSED,
    "P2P/CUMEM, NET/AWS Libfabric/GDRDMA": PASSED,
    "NET/AWS Libfabric": ODD,
    "NET/gIB/GDRDMA, P2P/CUMEM": PASSED,
    "NET/FasTrak": PASSED,
    "NET/GPUDirectTCPX_v7": PASSED,
    "NET/AWS Libfabric/GDRDMA, NET/Socket": ODD,
    "": ODD,
}


@each("chosen", NETWORKS)
def test_fast_networks_are_known_by_their_names(chosen: str) -> None:
    assert check_network(chosen).verdict is NETWORKS[chosen]


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


@each(
    ("number", "verdict", "cure"),
    [
        (4.9, FAILED, "low"), (5.0, ODD, "low"), (9.9, ODD, "low"), (10.0, PASSED, ""), (20.0, PASSED, ""),
        (20.1, ODD, "high"), (30.0, ODD, "high"), (30.1, FAILED, "impossible"),
    ],
)  # fmt: skip
def test_a_number_is_odd_outside_of_its_range_and_wrong_beyond_its_limits(
    number: float, verdict: CheckVerdict, cure: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    of = {"what": "copy", "gpu": "Z1", "unit": "GB/s", "least": 10, "most": 20, "fails_below": 5, "fails_above": 30}
    one = Expectation.model_validate({**of, **{name: name for name in ("low", "high", "impossible", "source")}})
    monkeypatch.setattr("app.labs.check.world.expectation", lambda what, gpu, ranks: one)
    found = compare_expected("copy", number * 1e9, "TB/s", "copy", "Z1")
    assert (found.verdict, found.expected) == (verdict, "10 to 20 GB/s")
    assert not cure or found.cure == cure


def test_a_range_is_told_by_its_ends() -> None:
    plain = Expectation.model_validate({"what": "copy", "gpu": "Z1", "least": 12, "source": "s"})
    assert plain.shown() == "12 or more"
    assert plain.model_copy(update={"most": 12.0}).shown() == "12"
    assert plain.model_copy(update={"most": 18.0, "unit": "us"}).shown() == "12 to 18 us"


def test_what_is_expected_of_so_many_ranks_is_not_expected_of_others() -> None:
    for ranks in (2, 8):
        assert (expectation("bandwidth", H100, ranks) is not None) is (ranks == 8)
    assert expectation("copy", H100) == expectation("copy", H100, 3)
    assert expectation("copy", "NVIDIA Z1") is None


@each(("size", "count", "verdict"), [(2**30, 8, PASSED), (2**30 - 1, 8, FAILED), (2**30 - 1, 1, ODD), (0, 2, FAILED)])
def test_nccl_needs_a_gibibyte_of_shared_memory(size: float, count: int, verdict: CheckVerdict) -> None:
    findings = links(dgx(gpus=gpus(H100, count), shared_memory=float(size)))
    (found,) = (one for one in findings if one.name == "/dev/shm")
    assert found.verdict is verdict
    assert (found.found == "not there") is (size == 0)


@each(
    ("cards", "lockable", "verdict"),
    [((), 2.0**20, PASSED), (("mlx5_0",), math.inf, PASSED), (("mlx5_0",), 2.0**40, FAILED)],
)
def test_cards_of_infiniband_need_all_memory_to_be_lockable(
    cards: tuple[str, ...], lockable: float, verdict: CheckVerdict
) -> None:
    (found,) = (one for one in links(dgx(cards=cards, lockable=lockable)) if one.name == "locked memory")
    assert found.verdict is verdict


def test_a_fault_of_before_the_check_is_over_once_the_driver_says_so_and_one_of_during_it_is_not() -> None:
    fault = "[  {}] NVRM: Xid (PCI:0000:1b:00): 95, pid=77, name=python, Uncontained\n"
    ended = "[  30.0] NVRM: Xid (PCI:0000:1b:00): 154, GPU recovery action changed from 0x1 (GPU Reset) to 0x0 (None)\n"
    for at, left in ((9.9, []), (10.0, [95]), (10.1, [95])):
        assert [one.number for one in read_xids(fault.format(at) + ended, begun=10.0)] == left


def test_values_are_read_by_their_places() -> None:
    first, last = read_smi_log(smi_log(2, last={WIDTH: "8x", "fabric/health/bandwidth": "Full"})).gpus
    assert first.bus == "00000000:1B:00.0"
    assert (first.said(WIDTH), last.said(WIDTH)) == ("16x", "8x")
    assert last.values["ecc_errors/aggregate/dram_uncorrectable"] == "7"
    assert (first.said("fabric/health/bandwidth"), last.said("fabric/health/bandwidth")) == ("", "Full")
    cut = read_smi_log(smi_log(2).replace("</gpu>", "", 1))
    assert (cut.gpus, cut.other) == ((), ("the answer of nvidia-smi -q -x cannot be read",))


def test_two_trays_of_a_rack_talk_over_nvlink() -> None:
    apart = check_network("P2P/CUMEM, NET/IB/GDRDMA", "NVIDIA GB200")
    assert apart.verdict is ODD
    assert "nvidia-imex-ctl" in apart.cure
    assert check_network("NVLS, P2P/MNNVL", "NVIDIA GB300").verdict is PASSED
    assert check_network("NVLS, P2P/CUMEM, NET/IB/GDRDMA", "NVIDIA B200").verdict is PASSED


@pytest.mark.parametrize("more", [{"gpus": machine(1)}, {}])
def test_every_finding_of_a_fake_machine_has_words(more: dict[str, Any]) -> None:
    assert all(finding.name and finding.found for finding in findings_of(dgx(**more)))
