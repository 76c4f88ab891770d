"""Steps 1, 2 and 4: what the driver and torch say about the GPUs, and the links between them."""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from app.core.units import BYTE, scale_of, show
from app.labs.check.world import (
    CheckFinding,
    World,
    compare_expected,
    expectation,
    failed_finding,
    odd_finding,
    passed_finding,
    unknown,
)
from app.labs.evidence.faults import fault_cure
from app.labs.machines.devices import Devices, is_instance
from app.labs.machines.nvidia_output import GpuSections, GpuTable, numbered_rows, query_gpus, read_gpu_sections

_FIELDS = (
    "name",
    "driver_version",
    "mig.mode.current",
    "ecc.errors.uncorrected.volatile.total",
    "compute_mode",
    "persistence_mode",
    "power.limit",
    "power.default_limit",
    "clocks.max.sm",
)
_USAGE = ("memory.used", "utilization.gpu")
_IN_USE, _BUSY = 2.0**30, 20  # bytes that an idle driver does not take, and percent
_MIB = 2.0**20
_LOST = re.compile(r"\blost\b|unable to determine|fallen off|requires? reset|unknown error", re.I)
_INFOROM = re.compile(r"infoROM is corrupted", re.IGNORECASE)
_CONSUMER = re.compile(r"GeForce|RTX \d0[5-9]0")


def driver(world: World) -> Iterator[CheckFinding]:
    """What the vendor's tool says about the GPUs."""
    if world.is_slurm:
        yield on_the_nodes("GPUs")
        return
    devices = world.devices()
    if devices.kind == "none":
        yield _without(devices)
        return
    yield passed_finding("GPUs", _described(devices))
    if devices.kind == "rocm":
        yield _list_of_amd(world)
        return
    table = _query_gpus(world, _FIELDS)
    yield from _other_lines(table)
    if table.columns:
        yield from _modes(table, devices)
        yield _others(world)
    elif table.trouble and not table.other:
        yield unknown("modes", table.trouble)


def _query_gpus(world: World, fields: Sequence[str]) -> GpuTable:
    def ask(query: str) -> tuple[str, str]:
        said = world.ask("nvidia-smi", query, "--format=csv,noheader,nounits")
        return said.text or said.printed, said.trouble

    return query_gpus(ask, fields)


def _other_lines(table: GpuTable) -> Iterator[CheckFinding]:
    """What nvidia-smi printed beside the rows: a GPU that is lost, or a warning."""
    for line in table.other:
        if _LOST.search(line):
            cure = fault_cure("fallen off the bus")
            yield failed_finding("nvidia-smi", line, "a line for each GPU", cure)
        elif _INFOROM.search(line):
            cure = (
                "The GPU computes, but its serial number and its counts of memory errors may be "
                "missing. If the warning is there after a restart, ask the vendor."
            )
            yield odd_finding("InfoROM", line, "no warning", cure)
        else:
            yield unknown("nvidia-smi also says", line)


def on_the_nodes(name: str) -> CheckFinding:
    """What cannot be seen from where jobs are submitted."""
    cure = "Run this on a node too: srun wallclock lab check, with WALLCLOCK_LAB_LAUNCHER=local."
    return unknown(name, "under Slurm, this is a matter of the nodes", cure)


def _described(devices: Devices) -> str:
    """The GPUs in a few words."""
    names = [one.name for one in devices.devices]
    kinds = ", ".join(f"{names.count(name)} × {name}" for name in dict.fromkeys(names))
    return f"{kinds}, driver {devices.driver}" if devices.driver else kinds


def _without(devices: Devices) -> CheckFinding:
    if not devices.note:
        return unknown("GPUs", devices.why_none)
    cure = fault_cure(devices.error) or "Install a build of PyTorch and a driver that fit together."
    return failed_finding("GPUs", devices.note, "torch can use the GPUs", cure)


def _list_of_amd(world: World) -> CheckFinding:
    said = world.ask("amd-smi", "list")
    count = len(re.findall(r"^GPU: *\d+", said.text, re.MULTILINE))
    return unknown("amd-smi", said.trouble) if said.trouble else passed_finding("amd-smi", f"{count} GPUs")


def _modes(table: GpuTable, devices: Devices) -> Iterator[CheckFinding]:
    """The modes in which the GPUs are; what the driver does not tell is left out."""
    yield _mig(table.column("mig.mode.current"), devices)
    errors = table.column("ecc.errors.uncorrected.volatile.total")
    if wrong := [number for number, text in enumerate(errors) if text.isdigit() and int(text)]:
        found = ", ".join(f"{errors[number]} on GPU {number}" for number in wrong)
        cure = fault_cure("uncorrectable ECC error")
        yield failed_finding("uncorrected memory errors", found, "none since the driver was loaded", cure)
    elif any(text.isdigit() for text in errors):
        yield passed_finding("uncorrected memory errors", "none")
    modes = sorted(set(table.column("compute_mode")) - {""})
    if modes == ["Default"]:
        yield passed_finding("compute mode", "Default")
    elif modes:
        cure = "Let several processes share a GPU (nvidia-smi -c DEFAULT)."
        yield odd_finding("compute mode", ", ".join(modes), "Default", cure)
    if any(persistence := table.column("persistence_mode")):
        idle = _numbers(persistence, "Disabled")
        cure = "Turn it on (nvidia-smi -pm 1): without it, the first use of a GPU takes seconds."
        off = odd_finding("persistence", f"off for {idle}", "on", cure)
        yield off if idle else passed_finding("persistence", "on")
    yield _power(table)


def _mig(modes: Sequence[str], devices: Devices) -> CheckFinding:
    """Whether GPUs are divided although a run would use them whole."""
    divided = _numbers(modes, "Enabled")
    if not divided:
        return passed_finding("MIG", "off")
    if is_instance(devices.devices[0]):
        return passed_finding("MIG", f"on for {divided}, and runs use {devices.devices[0].name}")
    cure = "Turn it off (nvidia-smi -mig 0) to use whole GPUs; an instance has room for one rank."
    return odd_finding("MIG", f"on for {divided}", "off", cure)


def _power(table: GpuTable) -> CheckFinding:
    limits, usual = table.column("power.limit"), table.column("power.default_limit")
    clocks = [clock for clock in table.column("clocks.max.sm") if clock]
    clock = f"clocks up to {clocks[0]} MHz" if clocks else "clocks not told"
    low = [
        f"{float(now):g} W instead of {float(normal):g} W on GPU {number}"
        for number, (now, normal) in enumerate(zip(limits, usual, strict=False))
        if _is_number(now) and _is_number(normal) and float(now) < float(normal)
    ]
    if low:
        cure = "Raise it (nvidia-smi -pl), or expect lower clocks."
        more = f" and {len(low) - 1} more" if low[1:] else ""
        return odd_finding("power limit", f"{low[0]}{more}, {clock}", "that of the datasheet", cure)
    known = [limit for limit in limits if _is_number(limit)]
    shown = f"{float(known[0]):g} W" if known else "not told"
    return passed_finding("power limit", f"{shown}, {clock}")


def _others(world: World) -> CheckFinding:
    """Whether others use the GPUs now; a container does not see their processes."""
    fields = "--query-compute-apps=pid,process_name,used_memory"
    said = world.ask("nvidia-smi", fields, "--format=csv,noheader")
    processes = numbered_rows(said.text, 3)
    used = _in_use(world)
    cure = "Measure when they have ended: they take time and memory of the GPUs."
    if processes:
        found = "; ".join(", ".join(row) for row in processes[:3])
        return odd_finding("other processes", found, "none", cure)
    if used:
        why = "its processes are not listed here, as in a container"
        return odd_finding("other processes", f"{used[0]}; {why}", "none", cure)
    if said.trouble:
        return unknown("other processes", said.trouble)
    if not world.sees_all_processes():
        found = "none is listed, but those outside of this container would not be"
        return unknown("other processes", found, "Run this on the host, or in its PID namespace.")
    return passed_finding("other processes", "none")


def _in_use(world: World) -> Sequence[str]:
    """The GPUs whose memory or time is in use, in words."""
    table = _query_gpus(world, _USAGE)
    memory, time = ([float(text) if _is_number(text) else 0.0 for text in table.column(name)] for name in _USAGE)
    found = [
        f"GPU {number} has {show(_MIB * used, BYTE)} in use"
        for number, used in enumerate(memory)
        if _MIB * used > _IN_USE
    ]
    busy = [f"GPU {number} is busy {share:g}% of the time" for number, share in enumerate(time) if share > _BUSY]
    return [*found, *busy]


def torch_devices(world: World) -> Iterator[CheckFinding]:
    """What torch says about the GPUs."""
    if world.is_slurm:
        yield on_the_nodes("GPUs of torch")
        return
    devices = world.devices()
    if not devices.devices:
        yield unknown("GPUs of torch", devices.why_none)
        return
    build = f"ROCm {devices.hip}" if devices.hip else f"CUDA {devices.cuda}"
    yield passed_finding("build", f"torch {devices.torch}, for {build}")
    yield _count(world, devices)
    for number, one in enumerate(devices.devices):
        if not one.works:
            yield failed_finding(f"GPU {number}", one.fault, "a kernel runs on it", fault_cure(one.fault))
    if all(one.works for one in devices.devices):
        capabilities = ", ".join(sorted({one.capability for one in devices.devices}))
        yield passed_finding("kernels", f"one ran on each GPU, of capability {capabilities}")
    if len(devices.devices) > 1:
        yield _peers(devices)


def _count(world: World, devices: Devices) -> CheckFinding:
    seen = len(devices.devices)
    if devices.kind == "rocm":
        return passed_finding("GPUs of torch", str(seen))
    said = world.ask("nvidia-smi", "-L")
    listed = sum(line.startswith("GPU ") for line in said.text.splitlines())
    if said.trouble or listed == seen:
        return passed_finding("GPUs of torch", str(seen))
    cure = "Unset CUDA_VISIBLE_DEVICES, or give the container or the job all GPUs."
    return odd_finding("GPUs of torch", f"{seen}; {devices.note}", f"{listed}, as nvidia-smi lists", cure)


def _peers(devices: Devices) -> CheckFinding:
    count = len(devices.devices)
    pairs = sum(len(one.peers) for one in devices.devices)
    if pairs == count * (count - 1):
        return passed_finding("peers", "each GPU can access the memory of every other")
    if not pairs and _CONSUMER.search(devices.devices[0].name):
        return passed_finding("peers", "none, as is usual for this GPU")
    cure = "See nvidia-smi topo -p2p r; turn off the IOMMU or ACS if the GPUs are behind them."
    return odd_finding("peers", f"{pairs} of {count * (count - 1)} pairs", "all pairs", cure)


def _numbers(column: Sequence[str], word: str) -> str:
    """The GPUs that have *word* in a column, as a person would write them."""
    found = [str(number) for number, text in enumerate(column) if text == word]
    return f"GPU {', '.join(found)}" if found else ""


def _is_number(text: str) -> bool:
    return bool(re.fullmatch(r"\d+(\.\d+)?", text))


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
        yield passed_finding("links between GPUs", "XGMI" if "XGMI" in devices.topology else "PCIe")
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
        return passed_finding(name, "none, and one GPU needs none")
    if trouble:
        return unknown("NVLinks", trouble)
    if known is None and not _BETWEEN.search(devices.topology):
        return passed_finding(name, "PCIe")
    expected = known.shown() if known else "as in the matrix of nvidia-smi topo -m"
    if count >= _SWITCHED or _BETWEEN.search(devices.topology):
        return failed_finding("NVLinks", "none", expected, _NO_LINKS)
    cure = f"{_NO_LINKS} A virtual machine may have been given GPUs without their links."
    return odd_finding("NVLinks", "none", expected, cure)


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
        yield _joined_finding(joining, is_alone=len(devices.devices) == 1)
        yield from _health(joining)
    elif is_switched:
        yield _fabric_manager(world)


def _joined_finding(gpus: Sequence[GpuSections], *, is_alone: bool) -> CheckFinding:
    states = [f"{one.said('Fabric', 'State')}, {one.said('Fabric', 'Status')}" for one in gpus]
    states = [state.removesuffix(", ") for state in states]
    late = [number for number, one in enumerate(states) if one != "Completed, Success"]
    if not late:
        return passed_finding("fabric", "every GPU has joined it")
    found = f"{states[late[0]]} on GPU {', '.join(map(str, late))}"
    if is_alone:
        return passed_finding("fabric", f"{found}; one GPU does not need it")
    cure = f"{fault_cure('system not yet initialized')} On GB200, see nvidia-imex-ctl too."
    return failed_finding("fabric", found, "Completed, Success", cure)


def _health(gpus: Sequence[GpuSections]) -> Iterator[CheckFinding]:
    for number, one in enumerate(gpus):
        health = one.below("Fabric", "Health")
        bad = [f"{name}: {text}" for name, text in health.items() if _BAD_HEALTH.search(text)]
        if bad:
            cure = "Some links of the fabric are down: see nvidia-smi nvlink -s and -e."
            yield odd_finding("health of the fabric", f"{bad[0]} on GPU {number}", "full", cure)


def _fabric_manager(world: World) -> CheckFinding:
    """The service, where the driver says nothing about the fabric: kernels have run without it."""
    said = world.ask("systemctl", "is-active", "nvidia-fabricmanager")
    if said.text.strip() == "active":
        return passed_finding("fabric manager", "active")
    why = said.trouble or "inactive"
    return unknown("fabric manager", f"{why}; it may run in a container, or on the host")


def _shared_memory(world: World, gpus: int) -> CheckFinding:
    size = world.size_of("/dev/shm")
    found = show(size, BYTE) if size else "not there"
    if size >= _SHARED_MEMORY:
        return passed_finding("/dev/shm", found)
    verdict = failed_finding if gpus > 1 else odd_finding
    return verdict("/dev/shm", found, "1 GiB or more", fault_cure(_SHM))


def _locked_memory(world: World) -> CheckFinding:
    cards = world.names_in("/sys/class/infiniband")
    limit = world.locked_memory()
    found = "unlimited" if limit == math.inf else show(limit, BYTE)
    if not cards:
        return passed_finding("locked memory", f"{found}; there is no InfiniBand")
    if limit == math.inf:
        return passed_finding("locked memory", found)
    cure = fault_cure("Call to ibv_reg_mr failed")
    return failed_finding("locked memory", found, f"unlimited, for {', '.join(cards[:2])}", cure)
