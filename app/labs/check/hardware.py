"""Steps 1, 2 and 4: what the driver and torch say about the GPUs, and the links between them."""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from app.core.units import BYTE, scale_of, show
from app.labs.check.gpu_state import judge_modes, read_state
from app.labs.check.world import CheckFinding, World, compare_expected, expectation
from app.labs.evidence.faults import fault_cure
from app.labs.machines.devices import Devices, counted_names, is_instance
from app.labs.machines.vendor import GpuLog

_IN_USE, _BUSY = 2.0**30, 20  # bytes that an idle driver does not take, and percent
_MIB = 2.0**20
_CONSUMER = re.compile(r"GeForce|RTX \d0[5-9]0")


def driver(world: World) -> Iterator[CheckFinding]:
    """What the vendor's tool says about the GPUs."""
    devices = world.devices()
    if devices.kind == "none":
        yield _without(devices)
        return
    driver = f", driver {devices.driver}" if devices.driver else ""
    yield CheckFinding.passed("GPUs", f"{counted_names([one.name for one in devices.devices])}{driver}")
    if devices.kind == "rocm":
        return
    log, trouble = read_state(world)
    if trouble:
        yield CheckFinding.unknown("state of the GPUs", trouble)
    yield from judge_modes(log)
    if log.gpus:
        yield _mig(log.gpus, devices)
        yield _power(log.gpus)
        yield _others(world, log.gpus)


def _without(devices: Devices) -> CheckFinding:
    if not devices.note:
        return CheckFinding.unknown("GPUs", devices.why_none)
    cure = fault_cure(devices.error) or "Install a build of PyTorch and a driver that fit together."
    return CheckFinding.failed("GPUs", devices.note, "torch can use the GPUs", cure)


def _mig(gpus: Sequence[GpuLog], devices: Devices) -> CheckFinding:
    """Whether GPUs are divided although a run would use them whole."""
    numbers = [str(number) for number, one in enumerate(gpus) if one.said("mig_mode/current_mig") == "Enabled"]
    divided = f"GPU {', '.join(numbers)}"
    if not numbers:
        return CheckFinding.passed("MIG", "off")
    if is_instance(devices.devices[0]):
        return CheckFinding.passed("MIG", f"on for {divided}, and runs use {devices.devices[0].name}")
    cure = "Turn it off (nvidia-smi -mig 0) to use whole GPUs; an instance has room for one rank."
    return CheckFinding.odd("MIG", f"on for {divided}", "off", cure)


def _power(gpus: Sequence[GpuLog]) -> CheckFinding:
    readings = [
        (number, _number(one, "gpu_power_readings/current_power_limit"), _number(one, _USUAL_POWER))
        for number, one in enumerate(gpus)
    ]
    clock = gpus[0].said("max_clocks/sm_clock")
    clock = f"clocks up to {clock}" if clock else "clocks not told"
    low = [f"{now:g} W instead of {usual:g} W on GPU {number}" for number, now, usual in readings if 0 < now < usual]
    if low:
        cure = "Raise it (nvidia-smi -pl), or expect lower clocks."
        more = f" and {len(low) - 1} more" if low[1:] else ""
        return CheckFinding.odd("power limit", f"{low[0]}{more}, {clock}", "that of the datasheet", cure)
    return CheckFinding.passed("power limit", f"{f'{readings[0][1]:g} W' if readings[0][1] else 'not told'}, {clock}")


def _others(world: World, gpus: Sequence[GpuLog]) -> CheckFinding:
    """Whether others use the GPUs now; a container does not see their processes."""
    processes = [text for one in gpus for text in one.processes]
    cure = "Measure when they have ended: they take time and memory of the GPUs."
    if processes:
        return CheckFinding.odd("other processes", "; ".join(processes[:3]), "none", cure)
    if used := list(_in_use(gpus)):
        why = "its processes are not listed here, as in a container"
        return CheckFinding.odd("other processes", f"{used[0]}; {why}", "none", cure)
    if not world.sees_all_processes():
        found = "none is listed, but those outside of this container would not be"
        return CheckFinding.unknown("other processes", found, "Run this on the host, or in its PID namespace.")
    return CheckFinding.passed("other processes", "none")


def _in_use(gpus: Sequence[GpuLog]) -> Iterator[str]:
    """The GPUs whose memory or time is in use, in words."""
    for number, one in enumerate(gpus):
        memory, share = _MIB * _number(one, "fb_memory_usage/used"), _number(one, "utilization/gpu_util")
        if memory > _IN_USE:
            yield f"GPU {number} has {show(memory, BYTE)} in use"
        if share > _BUSY:
            yield f"GPU {number} is busy {share:g}% of the time"


def _number(gpu: GpuLog, path: str) -> float:
    """The number at *path*, without its unit; 0 where it is not told."""
    found = re.match(r"\d+(\.\d+)?", gpu.said(path))
    return float(found.group()) if found else 0.0


def torch_devices(world: World) -> Iterator[CheckFinding]:
    """What torch says about the GPUs."""
    devices = world.devices()
    if not devices.devices:
        yield CheckFinding.unknown("GPUs of torch", devices.why_none)
        return
    build = f"ROCm {devices.hip}" if devices.hip else f"CUDA {devices.cuda}"
    yield CheckFinding.passed("build", f"torch {devices.torch}, for {build}")
    yield _count(world, devices)
    for number, one in enumerate(devices.devices):
        if not one.works:
            yield CheckFinding.failed(f"GPU {number}", one.fault, "a kernel runs on it", fault_cure(one.fault))
    if all(one.works for one in devices.devices):
        capabilities = ", ".join(sorted({one.capability for one in devices.devices}))
        yield CheckFinding.passed("kernels", f"one ran on each GPU, of capability {capabilities}")
    if len(devices.devices) > 1:
        yield _peers(devices)


def _count(world: World, devices: Devices) -> CheckFinding:
    seen = len(devices.devices)
    if devices.kind == "rocm":
        return CheckFinding.passed("GPUs of torch", str(seen))
    said = world.ask("nvidia-smi", "-L")
    listed = sum(line.startswith("GPU ") for line in said.text.splitlines())
    if said.trouble or listed == seen:
        return CheckFinding.passed("GPUs of torch", str(seen))
    cure = "Unset CUDA_VISIBLE_DEVICES, or give the container or the job all GPUs."
    return CheckFinding.odd("GPUs of torch", f"{seen}; {devices.note}", f"{listed}, as nvidia-smi lists", cure)


def _peers(devices: Devices) -> CheckFinding:
    count = len(devices.devices)
    pairs = sum(len(one.peers) for one in devices.devices)
    if pairs == count * (count - 1):
        return CheckFinding.passed("peers", "each GPU can access the memory of every other")
    if not pairs and _CONSUMER.search(devices.devices[0].name):
        return CheckFinding.passed("peers", "none, as is usual for this GPU")
    cure = "See nvidia-smi topo -p2p r; turn off the IOMMU or ACS if the GPUs are behind them."
    return CheckFinding.odd("peers", f"{pairs} of {count * (count - 1)} pairs", "all pairs", cure)


_LINK = re.compile(r"Link \d+: (?P<rate>[\d.]+) GB/s")
_BETWEEN = re.compile(r"\bNV(\d+)\b")
_ROW = re.compile(r"^GPU\d+\s.*$", re.MULTILINE)  # of the matrix of links
_COUNT = re.compile(
    r"Link (?P<link>\d+): (?P<name>[^:\n]*(?:[Ee]rrors|failed)[^:\n]*): (?P<count>\d+)\s*$", re.MULTILINE
)
_CORRECTED = re.compile(r"FEC|Symbol|Replay", re.IGNORECASE)  # what a link corrects by itself
_USUAL_POWER = "gpu_power_readings/default_power_limit"
_FEWEST_SWITCHED = 4  # GPUs that switches connect; two have a bridge
_SWITCHED = 8  # GPUs of one board, from which on they are connected by NVSwitches
_SHARED_MEMORY = 2.0**30  # bytes that NCCL may need in /dev/shm
_SHM = "Error while creating shared memory segment /dev/shm/nccl-1"
_NO_LINKS = "See nvidia-smi nvlink -s and topo -m, and whether the fabric manager runs."


def links(world: World) -> Iterator[CheckFinding]:
    """The links between the GPUs, and the limits of the system that NCCL meets."""
    devices = world.devices()
    if devices.kind == "cuda":
        yield from _nvlinks(world, devices)
        yield from _link_errors(world)
        yield from _fabric(world, devices)
    elif devices.kind == "none":
        yield CheckFinding.unknown("links between GPUs", devices.why_none)
    elif devices.topology:
        yield CheckFinding.passed("links between GPUs", "XGMI" if "XGMI" in devices.topology else "PCIe")
    yield _shared_memory(world, len(devices.devices))
    yield _locked_memory(world)


def _nvlinks(world: World, devices: Devices) -> Iterator[CheckFinding]:
    gpu = devices.devices[0].name
    said = world.ask("nvidia-smi", "nvlink", "-s")
    rates = [[float(rate) for rate in _LINK.findall(part)] for part in _by_gpu(said.text or said.printed)]
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
        return CheckFinding.passed(name, "none, and one GPU needs none")
    if trouble:
        return CheckFinding.unknown("NVLinks", trouble)
    if known is None and not _BETWEEN.search(devices.topology):
        return CheckFinding.passed(name, "PCIe")
    expected = known.shown() if known else "as in the matrix of nvidia-smi topo -m"
    if count >= _SWITCHED or _BETWEEN.search(devices.topology):
        return CheckFinding.failed("NVLinks", "none", expected, _NO_LINKS)
    cure = f"{_NO_LINKS} A virtual machine may have been given GPUs without their links."
    return CheckFinding.odd("NVLinks", "none", expected, cure)


def _by_gpu(text: str) -> Sequence[str]:
    """The parts of `nvidia-smi nvlink -s` that belong to each GPU."""
    return re.split(r"^GPU \d+:", text, flags=re.MULTILINE)[1:]


def _link_errors(world: World) -> Iterator[CheckFinding]:
    """The errors that the links have counted and could not correct."""
    said = world.ask("nvidia-smi", "nvlink", "-e")
    found, counted = dict[str, list[str]](), 0
    for number, part in enumerate(_by_gpu(said.text or said.printed)):
        for line in _COUNT.finditer(part):
            counted += 1
            if int(line["count"]) and not _CORRECTED.search(line["name"]):
                found.setdefault(line["name"], []).append(f"{line['count']} on link {line['link']} of GPU {number}")
    for name, places in found.items():
        cure = "See nvidia-smi nvlink -e again after a reset (nvidia-smi nvlink -re): what grows is a bad link."
        yield CheckFinding.odd(f"NVLink, {name}", "; ".join(places[:3]), "0", cure)
    if counted and not found:
        yield CheckFinding.passed("errors of NVLink", "none that were not corrected")


def _fabric(world: World, devices: Devices) -> Iterator[CheckFinding]:
    """Whether the GPUs have joined the fabric of their switches, as each of them says."""
    gpus = [one for one in read_state(world)[0].gpus if one.said("fabric/state")]
    states = [f"{one.said('fabric/state')}, {one.said('fabric/status')}".removesuffix(", ") for one in gpus]
    late = [number for number, one in enumerate(states) if one != "Completed, Success"]
    if not late:
        yield from [CheckFinding.passed("fabric", "every GPU has joined it")] if gpus else []
        return
    found = f"{states[late[0]]} on GPU {', '.join(map(str, late))}"
    rows = _ROW.findall(devices.topology)  # NVLink connects all pairs where there are switches; bridges do not
    is_linked = sum(len(_BETWEEN.findall(row)) for row in rows) >= len(rows) * (len(rows) - 1)
    is_switched = len(devices.devices) >= _FEWEST_SWITCHED and is_linked
    peers = {one.said("platformInfo/peer_type") for one in gpus}
    if len(gpus) == 1 or not (is_switched or "Switch Connected" in peers):
        yield CheckFinding.passed("fabric", f"{found}; no switches connect several GPUs here")
        return
    cure = f"{fault_cure('system not yet initialized')} On GB200, see nvidia-imex-ctl too."
    yield CheckFinding.failed("fabric", found, "Completed, Success", cure)


def _shared_memory(world: World, gpus: int) -> CheckFinding:
    size = world.size_of("/dev/shm")
    found = show(size, BYTE) if size else "not there"
    if size >= _SHARED_MEMORY:
        return CheckFinding.passed("/dev/shm", found)
    verdict = CheckFinding.failed if gpus > 1 else CheckFinding.odd
    return verdict("/dev/shm", found, "1 GiB or more", fault_cure(_SHM))


def _locked_memory(world: World) -> CheckFinding:
    cards = world.names_in("/sys/class/infiniband")
    limit = world.locked_memory()
    found = "unlimited" if limit == math.inf else show(limit, BYTE)
    if not cards:
        return CheckFinding.passed("locked memory", f"{found}; there is no InfiniBand")
    if limit == math.inf:
        return CheckFinding.passed("locked memory", found)
    cure = fault_cure("Call to ibv_reg_mr failed")
    return CheckFinding.failed("locked memory", found, f"unlimited, for {', '.join(cards[:2])}", cure)
