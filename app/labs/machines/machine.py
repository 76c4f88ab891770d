"""Describe the machine that a run runs on, without importing torch."""

import os
import platform
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from app.core.units import BYTE, show
from app.labs.machines.allotment import cores_allotted, memory_allotted
from app.labs.machines.devices import NO_DEVICES, Device, Devices
from app.labs.machines.vendor import ListedGpu, memory_in_use, run_vendor_tool

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
        variables=tuple(_variables(os.environ)),
        **_about(devices.devices),
    )


def _about(devices: Iterable[Device]) -> Mapping[str, str | None]:
    """The facts that each GPU has, once if they are the same for all."""
    rows = [_facts(one) for one in devices]
    names = rows[0] if rows else {}
    return {name: _once(row[name] for row in rows) for name in names}


def _facts(one: Device) -> Mapping[str, str]:
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


def _variables(environment: Mapping[str, str]) -> Iterator[str]:
    """The variables that change what is measured; of a path, the last part."""
    for name in sorted(environment.keys() - _NAMES_A_HOST):
        if name.startswith(_PREFIXES) or name in _VARIABLES:
            yield f"{name}={environment[name].rpartition('/')[2][:_LONGEST]}"


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
