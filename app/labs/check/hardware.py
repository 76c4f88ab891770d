"""Steps 1, 2 and 4: what the driver, torch and the links say, before anything runs."""

import csv
import math
import re
from collections.abc import Iterator, Sequence

from app.labs.check.findings import CheckFinding, failed_finding, odd, passed, unknown
from app.labs.check.reference_values import compare_expected, expectation
from app.labs.check.world import World
from app.labs.evidence.faults import fault_cure
from app.labs.machines.devices import Devices
from app.units import BYTE, scale_of, show

_FIELDS = (
    "name", "driver_version", "mig.mode.current", "ecc.errors.uncorrected.volatile.total",
    "compute_mode", "persistence_mode", "power.limit", "power.default_limit", "clocks.max.sm",
)  # fmt: skip
_LINK = re.compile(r"Link \d+: (?P<rate>[\d.]+) GB/s")
_BETWEEN = re.compile(r"\bNV(\d+)\b")
_ROW = re.compile(r"^GPU\d+\s.*$", re.MULTILINE)  # of the matrix of links
_SWITCHED = 8  # GPUs of one board, from which on they are connected by NVSwitches
_SHARED_MEMORY = 2.0**30  # bytes that NCCL may need in /dev/shm
_CONSUMER = re.compile(r"GeForce|RTX \d0[5-9]0")
_SHM = "Error while creating shared memory segment /dev/shm/nccl-1"


def driver(world: World) -> Iterator[CheckFinding]:
    """What the vendor's tool says about the GPUs."""
    if world.is_slurm:
        yield _on_the_nodes("GPUs")
        return
    devices = world.devices()
    if devices.kind == "none":
        yield _without(devices)
        return
    yield passed("GPUs", _described(devices))
    if devices.kind == "rocm":
        yield _list_of_amd(world)
        return
    query = f"--query-gpu={','.join(_FIELDS)}"
    said = world.ask("nvidia-smi", query, "--format=csv,noheader,nounits")
    if said.trouble:
        yield unknown("modes", said.trouble)
        return
    rows = [[cell.strip() for cell in row] for row in csv.reader(said.text.splitlines()) if row]
    whole = [row for row in rows if len(row) == len(_FIELDS)]
    for row in rows:
        if row not in whole:
            cure = fault_cure("fallen off the bus")
            yield failed_finding("nvidia-smi", ", ".join(row), "a line for each GPU", cure)
    if whole:
        yield from _modes(dict(zip(_FIELDS, zip(*whole, strict=True), strict=True)))
    yield _others(world)


def _on_the_nodes(name: str) -> CheckFinding:
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
    return unknown("amd-smi", said.trouble) if said.trouble else passed("amd-smi", f"{count} GPUs")


def _modes(columns: dict[str, tuple[str, ...]]) -> Iterator[CheckFinding]:
    """The modes in which the GPUs are, as columns of nvidia-smi."""
    mig = _numbers(columns["mig.mode.current"], "Enabled")
    cure = "Turn it off (nvidia-smi -mig 0) to use whole GPUs; an instance has room for one rank."
    yield odd("MIG", f"on for {mig}", "off", cure) if mig else passed("MIG", "off")
    errors = columns["ecc.errors.uncorrected.volatile.total"]
    wrong = [number for number, text in enumerate(errors) if text.isdigit() and int(text)]
    if wrong:
        found = ", ".join(f"{errors[number]} on GPU {number}" for number in wrong)
        cure = fault_cure("uncorrectable ECC error")
        yield failed_finding(
            "uncorrected memory errors", found, "none since the driver was loaded", cure
        )
    elif any(text.isdigit() for text in errors):
        yield passed("uncorrected memory errors", "none")
    modes = sorted(set(columns["compute_mode"]))
    if modes == ["Default"]:
        yield passed("compute mode", "Default")
    else:
        cure = "Let several processes share a GPU (nvidia-smi -c DEFAULT)."
        yield odd("compute mode", ", ".join(modes), "Default", cure)
    idle = _numbers(columns["persistence_mode"], "Disabled")
    cure = "Turn it on (nvidia-smi -pm 1): without it, the first use of a GPU takes seconds."
    yield odd("persistence", f"off for {idle}", "on", cure) if idle else passed("persistence", "on")
    yield _power(columns)


def _power(columns: dict[str, tuple[str, ...]]) -> CheckFinding:
    limits, usual = columns["power.limit"], columns["power.default_limit"]
    clock = f"clocks up to {columns['clocks.max.sm'][0]} MHz"
    low = [
        f"{float(now):g} W instead of {float(normal):g} W"
        for now, normal in zip(limits, usual, strict=True)
        if _is_number(now) and _is_number(normal) and float(now) < float(normal)
    ]
    if low:
        cure = "Raise it (nvidia-smi -pl), or expect lower clocks."
        return odd("power limit", f"{low[0]}, {clock}", "that of the datasheet", cure)
    shown = f"{float(limits[0]):g} W" if _is_number(limits[0]) else "not told"
    return passed("power limit", f"{shown}, {clock}")


def _others(world: World) -> CheckFinding:
    """The processes that use the GPUs now."""
    fields = "--query-compute-apps=pid,process_name,used_memory"
    said = world.ask("nvidia-smi", fields, "--format=csv,noheader")
    if said.trouble:
        return unknown("other processes", said.trouble)
    lines = [" ".join(line.split()) for line in said.text.splitlines() if line.strip()]
    if not lines:
        return passed("other processes", "none")
    cure = "Measure when they have ended: they take time and memory of the GPUs."
    return odd("other processes", "; ".join(lines[:3]), "none", cure)


def torch_devices(world: World) -> Iterator[CheckFinding]:
    """What torch says about the GPUs."""
    if world.is_slurm:
        yield _on_the_nodes("GPUs of torch")
        return
    devices = world.devices()
    if not devices.devices:
        yield unknown("GPUs of torch", devices.why_none)
        return
    build = f"ROCm {devices.hip}" if devices.hip else f"CUDA {devices.cuda}"
    yield passed("build", f"torch {devices.torch}, for {build}")
    yield _count(world, devices)
    for number, one in enumerate(devices.devices):
        if not one.works:
            yield failed_finding(
                f"GPU {number}", one.fault, "a kernel runs on it", fault_cure(one.fault)
            )
    if all(one.works for one in devices.devices):
        capabilities = ", ".join(sorted({one.capability for one in devices.devices}))
        yield passed("kernels", f"one ran on each GPU, of capability {capabilities}")
    if len(devices.devices) > 1:
        yield _peers(devices)


def _count(world: World, devices: Devices) -> CheckFinding:
    seen = len(devices.devices)
    if devices.kind == "rocm":
        return passed("GPUs of torch", str(seen))
    said = world.ask("nvidia-smi", "-L")
    listed = sum(line.startswith("GPU ") for line in said.text.splitlines())
    if said.trouble or listed == seen:
        return passed("GPUs of torch", str(seen))
    cure = "Unset CUDA_VISIBLE_DEVICES, or give the container or the job all GPUs."
    return odd("GPUs of torch", f"{seen}; {devices.note}", f"{listed}, as nvidia-smi lists", cure)


def _peers(devices: Devices) -> CheckFinding:
    count = len(devices.devices)
    pairs = sum(len(one.peers) for one in devices.devices)
    if pairs == count * (count - 1):
        return passed("peers", "each GPU can access the memory of every other")
    if not pairs and _CONSUMER.search(devices.devices[0].name):
        return passed("peers", "none, as is usual for this GPU")
    cure = "See nvidia-smi topo -p2p r; turn off the IOMMU or ACS if the GPUs are behind them."
    return odd("peers", f"{pairs} of {count * (count - 1)} pairs", "all pairs", cure)


def links(world: World) -> Iterator[CheckFinding]:
    """The links between the GPUs, and the limits of the system that NCCL meets."""
    if world.is_slurm:
        yield _on_the_nodes("links and limits")
        return
    devices = world.devices()
    if devices.kind == "cuda":
        yield from _nvlinks(world, devices)
    elif devices.kind == "none":
        yield unknown("links between GPUs", devices.why_none)
    elif devices.topology:
        yield passed("links between GPUs", "XGMI" if "XGMI" in devices.topology else "PCIe")
    yield _shared_memory(world, len(devices.devices))
    yield _locked_memory(world)


def _nvlinks(world: World, devices: Devices) -> Iterator[CheckFinding]:
    gpu = devices.devices[0].name
    bundles = sorted({int(number) for number in _BETWEEN.findall(devices.topology)})
    said = world.ask("nvidia-smi", "nvlink", "-s")
    rates = [[float(rate) for rate in _LINK.findall(part)] for part in _by_gpu(said.text)]
    counts = [len(rate) for rate in rates]
    if not any(counts):
        known = expectation("NVLinks", gpu)
        cure = "See nvidia-smi nvlink -s, and whether the fabric manager runs."
        what = failed_finding("NVLinks", "none", known.shown(), cure) if known else None
        yield what or passed("links between GPUs", "PCIe")
        return
    between = f", in bundles of {', '.join(map(str, bundles))}" if bundles else ""
    least = compare_expected("NVLinks of each GPU", min(counts), "", "NVLinks", gpu)
    yield least if not between else _with(least, between)
    lowest = min(min(rate) for rate in rates if rate) * scale_of("GB/s").factor
    yield compare_expected("rate of a link", lowest, "GB/s", "NVLink", gpu)
    if len(devices.devices) >= _SWITCHED and _is_linked_throughout(devices.topology):
        yield _fabric_manager(world)


def _is_linked_throughout(topology: str) -> bool:
    """Whether NVLink connects all pairs of GPUs, as switches do; bridges and a DGX-1 do not."""
    rows = _ROW.findall(topology)
    return sum(len(_BETWEEN.findall(row)) for row in rows) >= len(rows) * (len(rows) - 1)


def _with(finding: CheckFinding, more: str) -> CheckFinding:
    return CheckFinding(
        finding.name, finding.verdict, finding.found + more, finding.expected, finding.cure,
        finding.source,
    )  # fmt: skip


def _by_gpu(text: str) -> Sequence[str]:
    """The parts of `nvidia-smi nvlink -s` that belong to each GPU."""
    return re.split(r"^GPU \d+:", text, flags=re.MULTILINE)[1:]


def _fabric_manager(world: World) -> CheckFinding:
    said = world.ask("systemctl", "is-active", "nvidia-fabricmanager")
    if said.text.strip() == "active":
        return passed("fabric manager", "active")
    if "cannot be run" in said.trouble or "not been booted" in said.trouble:
        return unknown("fabric manager", said.trouble)
    found = said.trouble.rpartition(": ")[2] or "inactive"
    return failed_finding(
        "fabric manager", found, "active", fault_cure("system not yet initialized")
    )


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


def _numbers(column: Sequence[str], word: str) -> str:
    """The GPUs that have *word* in a column, as a person would write them."""
    found = [str(number) for number, text in enumerate(column) if text == word]
    return f"GPU {', '.join(found)}" if found else ""


def _is_number(text: str) -> bool:
    return bool(re.fullmatch(r"\d+(\.\d+)?", text))
