"""Machines with GPUs, as far as a test needs them: a vendor's tool on the PATH, a torch that answers."""

import json
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from app.labs.machines import devices
from app.labs.machines.devices import Devices, join_sources
from app.labs.machines.vendor import GpuListing, ListedGpu
from app.labs.runner.probe import SeenDevice, TorchProbe
from tests.labs.smi import tree_of, whole_log

NO_GPUS = "No CUDA GPUs are available"
TOO_OLD = "The NVIDIA driver on your system is too old (found version 12020). Please update it."
NO_KERNEL = "CUDA error: no kernel image is available for execution on the device"
H100 = "NVIDIA H100 80GB HBM3"
_SMI = """\
#!/bin/sh
case "$*" in
  -L) cat {folder}/list;;
  topo*) cat {folder}/topology;;
  *used_memory*) cat {folder}/used;;
  "-q -x") cat {folder}/log;;
esac
"""
TOPOLOGY = """\
\t\x1b[4mGPU0\tGPU1\tCPU Affinity\x1b[0m
GPU0\t X \tNV18\t0-51
GPU1\tNV18\t X \t0-51

Legend:

  X    = Self
  NV#  = Connection traversing a bonded set of # NVLinks
"""


def uuid_of(number: int) -> str:
    """The UUID of a GPU, as CUDA has it: without a prefix."""
    return f"{number:08x}-aaaa-bbbb-cccc-{number:012x}"


def instance_of(number: int) -> str:
    """The UUID of a MIG instance."""
    return f"{number:08x}-dddd-eeee-ffff-{number:012x}"


def listing(names: Sequence[str] = (H100,) * 8, profiles: Sequence[str] = ()) -> GpuListing:
    """What nvidia-smi lists; the first GPU is divided into instances of *profiles*."""
    instances = {f"MIG-{instance_of(number)}": text for number, text in enumerate(profiles)}
    gpus = [
        ListedGpu(
            name=name, uuid=f"GPU-{uuid_of(number)}", driver="580.65.06", persistence="Enabled",
            mig="Disabled", ecc="Enabled", compute_mode="Default", power="700.00", clock="1980",
            memory_clock="2619", pcie_generation="5", pcie_lanes="16",
            instances={} if number else instances,
        )
        for number, name in enumerate(names)
    ]  # fmt: skip
    return GpuListing(tool="nvidia-smi", gpus=tuple(gpus), topology="GPU0 X NV18")


def seen(numbers: Sequence[int] = (), error: str = "", **more: str) -> TorchProbe:
    """What a torch with CUDA sees: the GPUs of these numbers, all peers of each other, or an error."""
    gpus = tuple(
        SeenDevice(
            name=H100, uuid=uuid_of(number), capability="9.0", memory_bytes=80 * 2**30,
            free_bytes=79 * 2**30, peers=tuple(n for n in range(len(numbers)) if n != place),
        )
        for place, number in enumerate(numbers)
    )  # fmt: skip
    build = {"torch": "2.13.0", "cuda": "13.0", **more}
    return TorchProbe(**build, devices=gpus, error=error)


def faulty(found: TorchProbe, number: int) -> TorchProbe:
    """*found*, with a GPU on which no kernel runs."""
    gpus = list(found.devices)
    gpus[number] = replace(gpus[number], fault=NO_KERNEL, peers=())
    return replace(found, devices=tuple(gpus))


def machine(count: int = 8) -> Devices:
    """A machine with *count* GPUs that work."""
    return join_sources(seen(range(count)), listing((H100,) * count), {})


def nvidia_smi(folder: Path, gpus: GpuListing, script: str = "") -> Path:
    """The folder of a nvidia-smi that prints *gpus*, or is the *script*."""
    logs, lines = [], []
    for number, one in enumerate(gpus.gpus):
        link = "pci/pci_gpu_link_info"
        values = {
            "uuid": one.uuid, "product_name": one.name, "persistence_mode": one.persistence,
            "mig_mode/current_mig": one.mig, "ecc_mode/current_ecc": one.ecc, "compute_mode": one.compute_mode,
            "gpu_power_readings/current_power_limit": one.power and f"{one.power} W",
            "max_clocks/sm_clock": f"{one.clock} MHz", "max_clocks/mem_clock": f"{one.memory_clock} MHz",
            f"{link}/pcie_gen/max_link_gen": one.pcie_generation,
            f"{link}/link_widths/current_link_width": f"{one.pcie_lanes}x",
        }  # fmt: skip
        logs.append(f'<gpu id="{number}">{tree_of(values)}</gpu>')
        lines.append(f"GPU {number}: {one.name} (UUID: {one.uuid})")
        lines += [
            f"  MIG {profile}     Device  {place}: (UUID: {uuid})"
            for place, (uuid, profile) in enumerate(one.instances.items())
        ]
    (folder / "log").write_text(whole_log(logs, "580.65.06"))
    (folder / "list").write_text("\n".join(lines))
    (folder / "topology").write_text(TOPOLOGY)
    (folder / "used").write_text("31744\n[N/A]\n")
    places = folder / "bin"
    places.mkdir(exist_ok=True)
    file = places / "nvidia-smi"
    file.write_text(script or _SMI.format(folder=folder))
    file.chmod(0o755)
    return places


def known(monkeypatch: pytest.MonkeyPatch, folder: Path, found: Devices | None, names: Sequence[str] = (H100,)) -> None:
    """This machine has torch, and a vendor's tool that has found *found*; None while it still looks."""
    monkeypatch.setattr("app.labs.launch.local.find_spec", lambda _: True)
    places = nvidia_smi(folder, listing(names))
    monkeypatch.setenv("PATH", f"{places}{os.pathsep}{os.environ['PATH']}")
    question = devices.MachineQuery(time.monotonic())
    if found:
        question.answer.set_result(found)
    monkeypatch.setattr(devices, "_ASKED", {tuple(map(os.environ.get, devices._MATTERS)): question})


def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """This machine has no trace of a GPU."""
    for module in ("app.labs.machines.devices", "app.labs.launch.base"):
        monkeypatch.setattr(f"{module}.has_traces", lambda: False)


def answering(found: TorchProbe | str) -> Callable[[Path], int]:
    """Starts a process in the place of the one that asks torch; it has printed *found*."""

    def start(printed: Path) -> int:
        text = found if isinstance(found, str) else json.dumps(asdict(found))
        printed.write_text(f"a driver says hello\n{text}\n")
        return os.posix_spawn("/bin/true", ["true"], {})

    return start


def silent(printed: Path) -> int:
    """Starts a process that never answers."""
    return os.posix_spawn("/bin/sleep", ["sleep", "600"], {})
