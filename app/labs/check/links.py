"""Step 4: the links between the GPUs, and the limits of the system that NCCL meets."""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from app.core.units import BYTE, scale_of, show
from app.labs.check.findings import CheckFinding, failed_finding, odd, passed, unknown
from app.labs.check.hardware import on_the_nodes
from app.labs.check.reference_values import compare_expected, expectation
from app.labs.check.world import World
from app.labs.evidence.faults import fault_cure
from app.labs.machines.devices import Devices
from app.labs.machines.nvidia_output import GpuSections, read_gpu_sections

_LINK = re.compile(r"Link \d+: (?P<rate>[\d.]+) GB/s")
_BETWEEN = re.compile(r"\bNV(\d+)\b")
_ROW = re.compile(r"^GPU\d+\s.*$", re.MULTILINE)  # of the matrix of links
_SWITCHED = 8  # GPUs of one board, from which on they are connected by NVSwitches
_SHARED_MEMORY = 2.0**30  # bytes that NCCL may need in /dev/shm
_SHM = "Error while creating shared memory segment /dev/shm/nccl-1"
_BAD_HEALTH = re.compile(r"degraded|unhealthy|limited", re.IGNORECASE)
_NO_LINKS = "See nvidia-smi nvlink -s and topo -m, and whether the fabric manager runs."


def links(world: World) -> Iterator[CheckFinding]:
    """The links between the GPUs, and the limits of the system that NCCL meets."""
    if world.is_slurm:
        yield on_the_nodes("links and limits")
        return
    devices = world.devices()
    if devices.kind == "cuda":
        yield from _nvlinks(world, devices)
        yield from _fabric(world, devices)
    elif devices.kind == "none":
        yield unknown("links between GPUs", devices.why_none)
    elif devices.topology:
        yield passed("links between GPUs", "XGMI" if "XGMI" in devices.topology else "PCIe")
    yield _shared_memory(world, len(devices.devices))
    yield _locked_memory(world)


def _nvlinks(world: World, devices: Devices) -> Iterator[CheckFinding]:
    gpu = devices.devices[0].name
    said = world.ask("nvidia-smi", "nvlink", "-s")
    rates = [[float(rate) for rate in _LINK.findall(part)] for part in _by_gpu(said.text)]
    counts = [len(rate) for rate in rates]
    if not any(counts):
        yield _without_links(devices, said.trouble)
        return
    bundles = sorted({int(number) for number in _BETWEEN.findall(devices.topology)})
    between = f", in bundles of {', '.join(map(str, bundles))}" if bundles else ""
    least = compare_expected("NVLinks of each GPU", min(counts), "", "NVLinks", gpu)
    yield replace(least, found=least.found + between)
    lowest = min(min(rate) for rate in rates if rate) * scale_of("GB/s").factor
    yield compare_expected("rate of a link", lowest, "GB/s", "NVLink", gpu)


def _without_links(devices: Devices, trouble: str) -> CheckFinding:
    """No NVLink is active: one GPU needs none, and many GPUs have none at all."""
    count, name = len(devices.devices), "links between GPUs"
    known = expectation("NVLinks", devices.devices[0].name)
    if count == 1:
        return passed(name, "none, and one GPU needs none")
    if trouble:
        return unknown("NVLinks", trouble)
    if known is None and not _BETWEEN.search(devices.topology):
        return passed(name, "PCIe")
    expected = known.shown() if known else "as in the matrix of nvidia-smi topo -m"
    if count >= _SWITCHED or _BETWEEN.search(devices.topology):
        return failed_finding("NVLinks", "none", expected, _NO_LINKS)
    cure = f"{_NO_LINKS} A virtual machine may have been given GPUs without their links."
    return odd("NVLinks", "none", expected, cure)


def _is_linked_throughout(topology: str) -> bool:
    """Whether NVLink connects all pairs of GPUs, as switches do; bridges and a DGX-1 do not."""
    rows = _ROW.findall(topology)
    return sum(len(_BETWEEN.findall(row)) for row in rows) >= len(rows) * (len(rows) - 1)


def _by_gpu(text: str) -> Sequence[str]:
    """The parts of `nvidia-smi nvlink -s` that belong to each GPU."""
    return re.split(r"^GPU \d+:", text, flags=re.MULTILINE)[1:]


def _fabric(world: World, devices: Devices) -> Iterator[CheckFinding]:
    """Whether the GPUs have joined the fabric of their switches, as each of them says.

    The fabric manager may run in a container, or on the host of a virtual machine.
    """
    said = world.ask("nvidia-smi", "-q")
    joining = [one for one in read_gpu_sections(said.text) if one.said("Fabric", "State")]
    is_switched = len(devices.devices) >= _SWITCHED and _is_linked_throughout(devices.topology)
    if joining:
        yield _joined(joining, is_alone=len(devices.devices) == 1)
        yield from _health(joining)
    elif is_switched:
        yield _fabric_manager(world)


def _joined(gpus: Sequence[GpuSections], *, is_alone: bool) -> CheckFinding:
    states = [f"{one.said('Fabric', 'State')}, {one.said('Fabric', 'Status')}" for one in gpus]
    states = [state.removesuffix(", ") for state in states]
    late = [number for number, one in enumerate(states) if one != "Completed, Success"]
    if not late:
        return passed("fabric", "every GPU has joined it")
    found = f"{states[late[0]]} on GPU {', '.join(map(str, late))}"
    if is_alone:
        return passed("fabric", f"{found}; one GPU does not need it")
    cure = f"{fault_cure('system not yet initialized')} On GB200, see nvidia-imex-ctl too."
    return failed_finding("fabric", found, "Completed, Success", cure)


def _health(gpus: Sequence[GpuSections]) -> Iterator[CheckFinding]:
    for number, one in enumerate(gpus):
        health = one.below("Fabric", "Health")
        bad = [f"{name}: {text}" for name, text in health.items() if _BAD_HEALTH.search(text)]
        if bad:
            cure = "Some links of the fabric are down: see nvidia-smi nvlink -s and -e."
            yield odd("health of the fabric", f"{bad[0]} on GPU {number}", "full", cure)


def _fabric_manager(world: World) -> CheckFinding:
    """The service, where the driver says nothing about the fabric: kernels have run without it."""
    said = world.ask("systemctl", "is-active", "nvidia-fabricmanager")
    if said.text.strip() == "active":
        return passed("fabric manager", "active")
    why = said.trouble or "inactive"
    return unknown("fabric manager", f"{why}; it may run in a container, or on the host")


def _shared_memory(world: World, gpus: int) -> CheckFinding:
    size = world.size_of("/dev/shm")
    found = show(size, BYTE) if size else "not there"
    if size >= _SHARED_MEMORY:
        return passed("/dev/shm", found)
    verdict = failed_finding if gpus > 1 else odd
    return verdict("/dev/shm", found, "1 GiB or more", fault_cure(_SHM))


def _locked_memory(world: World) -> CheckFinding:
    cards = world.names_in("/sys/class/infiniband")
    limit = world.locked_memory()
    found = "unlimited" if limit == math.inf else show(limit, BYTE)
    if not cards:
        return passed("locked memory", f"{found}; there is no InfiniBand")
    if limit == math.inf:
        return passed("locked memory", found)
    cure = fault_cure("Call to ibv_reg_mr failed")
    return failed_finding("locked memory", found, f"unlimited, for {', '.join(cards[:2])}", cure)
