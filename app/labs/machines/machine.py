"""The machine of a run: what it is, what a container has of it, and its GPUs' datasheet."""

import os
import platform
import re
from collections.abc import Container, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from app.core.expressions import Quantity, names_in, parse_expression
from app.core.formulas.presets import Gpu, gpu_printed_as
from app.core.units import BYTE, BYTE_PER_SECOND, FLOP_PER_SECOND, show
from app.labs.machines.devices import NO_DEVICES, Device, Devices
from app.labs.machines.vendor import ListedGpu, memory_in_use, run_vendor_tool
from app.labs.spec import Lab

_GROUPS = Path("/sys/fs/cgroup")
_OWN = Path("/proc/self/cgroup")


def cores_allotted(groups: Path = _GROUPS, own: Path = _OWN) -> int | float:
    """Cores that this process may use: those of its affinity, or fewer by the quota of its group.

    In a job of Slurm, those of all its tasks on this node.
    """
    cores = int(os.environ.get("SLURM_CPUS_ON_NODE", "0")) or len(os.sched_getaffinity(0))
    quota = min(_quotas(groups, own), default=cores)
    return cores if quota >= cores else round(quota, 2)


def memory_allotted(groups: Path = _GROUPS, own: Path = _OWN) -> int:
    """Bytes of memory that this process may use: the host's, or fewer by the limit of its group."""
    host = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limits = (
        int(text)
        for folder in _folders(groups, own, "memory")
        for name in ("memory.max", "memory.limit_in_bytes")
        if (text := _read_allotment(folder / name)).isdigit()
    )
    return min((host, *limits))


def _quotas(groups: Path, own: Path) -> Iterator[float]:
    """Cores by quota, of this process's group and those above it, in both versions of cgroups."""
    for folder in _folders(groups, own, "cpu"):
        quota, _, period = _read_allotment(folder / "cpu.max").partition(" ")
        if not quota:
            quota = _read_allotment(folder / "cpu.cfs_quota_us")
            period = _read_allotment(folder / "cpu.cfs_period_us")
        if quota.isdigit() and period.isdigit() and int(period):
            yield int(quota) / int(period)


def _folders(groups: Path, own: Path, controller: str) -> Iterator[Path]:
    """The folders of this process's group for *controller*, and of every group above it."""
    for line in _read_allotment(own).splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number != "0" and controller not in controllers.split(","):
            continue
        root = groups if number == "0" else groups / controller
        group = root / path.lstrip("/")
        yield from (one for one in (group, *group.parents) if one.is_relative_to(root))


def _read_allotment(path: Path) -> str:
    with suppress(OSError):
        return path.read_text().strip()
    return ""


_PATIENCE = 5  # seconds for a command
_PREFIXES = ("NCCL_", "RCCL_", "TORCH_NCCL_")
_VARIABLES = (
    "CUDA_DEVICE_MAX_CONNECTIONS",
    "CUDA_LAUNCH_BLOCKING",
    "NVIDIA_TF32_OVERRIDE",
    "PYTORCH_CUDA_ALLOC_CONF",
    "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE",
)
_NAMES_A_HOST = ("NCCL_COMM_ID", "NCCL_HOSTID")
_LONGEST = 80  # characters of a variable's value
# A job's OverSubscribe, as Slurm shows it: with OK and YES, other jobs may be on its nodes.
SHARED = "shared node"
_SHARING = {"NO": "exclusive node", "OK": SHARED, "YES": SHARED, "USER": "shared with the same user's jobs"}
Fact = int | float | str


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineFacts:
    """A machine; None for what is unknown. Runs that were sent in may describe theirs in words.

    *cores* and *memory_bytes* are those that the run may use. The facts about GPUs hold for all of
    *gpus*, or are listed in their order.
    """

    processor: Fact | None = None
    cores: Fact | None = None
    memory_bytes: Fact | None = None
    load: Fact | None = None
    system: Fact | None = None
    python: Fact | None = None
    gpus: tuple[Fact, ...] = ()
    uuids: tuple[Fact, ...] = ()
    topology: Fact | None = None
    driver: Fact | None = None
    nodes: Fact | None = None
    sharing: Fact | None = None
    gpu_memory: Fact | None = None
    power_limit: Fact | None = None
    clocks: Fact | None = None
    ecc: Fact | None = None
    mig: Fact | None = None
    persistence: Fact | None = None
    compute_mode: Fact | None = None
    pcie: Fact | None = None
    peers: Fact | None = None
    others: Fact | None = None
    variables: tuple[Fact, ...] = ()


def describe_machine(devices: Devices = NO_DEVICES, nodes: int | None = None) -> MachineFacts:
    """Processor, cores, memory, load and system of this machine, and its *devices*."""
    rows = [_machine_facts(one) for one in devices.devices]
    names = rows[0] if rows else {}
    watched = (
        name for name in sorted(os.environ.keys() - _NAMES_A_HOST) if name.startswith(_PREFIXES) or name in _VARIABLES
    )
    return MachineFacts(
        processor=_processor(),
        cores=cores_allotted(),
        memory_bytes=memory_allotted(),
        load=round(os.getloadavg()[0], 2),
        system=f"{platform.system()} {platform.release()}",
        python=platform.python_version(),
        gpus=tuple(one.name for one in devices.devices),
        uuids=tuple(one.uuid for one in devices.devices if one.uuid),
        topology=devices.topology or None,
        driver=devices.driver or None,
        nodes=nodes,
        sharing=_sharing(os.environ.get("SLURM_JOB_ID", "")),
        peers=_peers(devices.devices),
        others=_others() if devices.devices else None,
        # What changes the times; of a path, the last part.
        variables=tuple(f"{name}={os.environ[name].rpartition('/')[2][:_LONGEST]}" for name in watched),
        **{name: _once(row[name] for row in rows) for name in names},
    )


def _machine_facts(one: Device) -> Mapping[str, str]:
    said = one.listed or ListedGpu(name=one.name, instances={})
    clocks = [f"{said.clock} MHz" if said.clock else ""]
    clocks += [f"memory {said.memory_clock} MHz" if said.memory_clock else ""]
    lanes = f", {said.pcie_lanes} lanes" if said.pcie_lanes else ""
    return {
        "gpu_memory": show(one.memory_bytes, BYTE) if one.memory_bytes else "",
        "power_limit": f"{float(said.power):g} W" if said.power else "",
        "clocks": ", ".join(filter(None, clocks)),
        "ecc": said.ecc,
        "mig": said.mig,
        "persistence": said.persistence,
        "compute_mode": said.compute_mode,
        "pcie": f"generation {said.pcie_generation}{lanes}" if said.pcie_generation else "",
    }


def _once(texts: Iterable[str]) -> str | None:
    found = list(texts)
    return (found[0] if len(set(found)) == 1 else "; ".join(found)) or None


def _peers(devices: tuple[Device, ...]) -> str | None:
    """Which GPUs can access each other's memory."""
    if len(devices) < 2:  # noqa: PLR2004  # a GPU has no peer if it is alone
        return None
    pairs = {(n, peer) for n, one in enumerate(devices) for peer in one.peers}
    if len(pairs) == len(devices) * (len(devices) - 1):
        return "all of them"
    return "; ".join(f"{a} to {b}" for a, b in sorted(pairs)) or "none of them"


def _others() -> str | None:
    """The processes that use the GPUs now, before the run: how many, and their memory."""
    used = memory_in_use(_PATIENCE)
    if not used:
        return None
    count = f"{len(used)} {'process' if len(used) == 1 else 'processes'}"
    return f"{count}, {show(sum(used), BYTE)}"


def _sharing(job: str) -> str | None:
    """Whether Slurm gives the nodes of *job* to others too; None where there is no job."""
    if not job:
        return None
    said = run_vendor_tool(("scontrol", "show", "job", "--oneliner", job), _PATIENCE).text
    words = dict(word.partition("=")[::2] for word in said.split())
    return _SHARING.get(words.get("OverSubscribe", ""))


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if "model name" in line), "")


_PREFIX = "gpu_"
_NVLINK = ("P2P/", "NVLS")  # how NCCL calls transports that may be NVLink
_ROW = re.compile(r"^GPU\d+\s+(.*)$", re.MULTILINE)  # of the matrix of links, after its name
_WIRED = re.compile(r"X|NV\d+")  # a GPU itself, and a bundle of NVLinks
_BF16_SINCE = 2020  # the year of the first GPUs with products of BF16


@dataclass(frozen=True, slots=True)
class Datasheet:
    """Quantities by name, and a note where some are unknown."""

    names: Mapping[str, Quantity] = field(default_factory=dict)
    note: str = ""


NO_DATASHEET = Datasheet()


def is_unknown(text: str, known: Container[str]) -> bool:
    """Whether the expression *text* takes from a datasheet what is not among the *known* names."""
    return _PREFIX in text and any(
        name.startswith(_PREFIX) and name not in known for name in names_in(parse_expression(text))
    )


def datasheet_of(lab: Lab, backend: str, machine: MachineFacts, transport: str) -> Datasheet:
    """The datasheet of the GPUs of *machine*, for a run of *lab*.

    *transport* is what NCCL chose, empty if unknown. A share of the wire needs all ranks to be connected by NVLink.
    """
    is_used = any(_PREFIX in text for one in lab.measures.values() for text in one.derived.values())
    if backend != "nccl" or not machine.gpus or not is_used:
        return NO_DATASHEET
    names = {str(name) for name in machine.gpus}
    gpu = gpu_printed_as(min(names)) if len(names) == 1 else None
    if gpu is None:
        several = ", ".join(sorted(names))
        return Datasheet(note=f"There is no datasheet of {several} here: no share of a peak is shown.")
    wire = gpu.nvlink if _is_by_nvlink(machine, transport) else 0.0
    return Datasheet(dict(_quantities(gpu, wire)))


def _quantities(gpu: Gpu, wire: float) -> Iterator[tuple[str, Quantity]]:
    has_bf16 = gpu.year >= _BF16_SINCE
    rates = {"wire": wire, "memory_device": gpu.memory_bandwidth}
    peaks = {"bf16": gpu.peak if has_bf16 else 0.0, "fp16": gpu.peak, "fp8": gpu.peak_8bit}
    for name, rate in rates.items():
        if rate:
            yield f"{_PREFIX}{name}", Quantity(rate, BYTE_PER_SECOND.dimension)
    for name, peak in peaks.items():
        if peak:
            yield f"{_PREFIX}peak_{name}", Quantity(peak, FLOP_PER_SECOND.dimension)


def _is_by_nvlink(machine: MachineFacts, transport: str) -> bool:
    """Whether NCCL connected all ranks as NVLink would; where it does not say, within a node.

    P2P is the way over PCIe as well, so all links must be NVLink where they are known.
    """
    rows = [row.split() for row in _ROW.findall(str(machine.topology or ""))]
    if not all(_WIRED.fullmatch(link) for row in rows for link in row[: len(rows)]):
        return False
    if transport:
        return all(way.startswith(_NVLINK) for way in transport.split(", "))
    return machine.nodes in (None, 1)
