"""The lanes and the generation of PCIe while it is in use: an idle GPU may turn both down."""

import re
from collections.abc import Iterator, Sequence

from app.labs.check.findings import CheckFinding, failed_finding, odd, passed, unknown
from app.labs.check.world import World
from app.labs.machines.nvidia_output import GpuSections, read_gpu_sections

_LOAD = {"source": "pinned", "sizes": "16MiB..1GiB"}  # takes a few seconds
_LINK = ("PCI", "GPU Link Info")
_WIDTH, _GENERATION = (*_LINK, "Link Width"), (*_LINK, "PCIe Generation")
_SERVERS = re.compile(r"SXM|HBM|\b(A100|H100|H200|H20|B200|B300|GB200|GB300|L40S)\b")
_LANES = "Reseat the GPU and its riser, and see the setting of the slot (lspci -vv, LnkSta)."
_SLOW = "See the setting of the slot (lspci -vv, LnkSta), and the errors of PCIe in dmesg."


def pcie_under_load(world: World) -> Iterator[CheckFinding]:
    """What PCIe has while every GPU copies from the memory of the host."""
    devices = world.devices()
    if devices.kind != "cuda" or world.is_slurm:
        return
    ran, said = world.run_watched("memory-copy", _LOAD, "nvidia-smi", "-q")
    if not ran.is_done:
        yield unknown("PCIe under load", ran.report.cause or ran.report.state.word)
        return
    readings = [read_gpu_sections(one.text) for one in said if one.text]
    gpus = [_busiest(one) for one in zip(*readings, strict=False)]
    yield _link("PCIe width", gpus, _WIDTH, "all lanes", _LANES, devices.devices[0].name)
    yield _link("PCIe generation", gpus, _GENERATION, "that of GPU and slot", _SLOW, "")


def _busiest(readings: Sequence[GpuSections]) -> GpuSections:
    """The reading of a GPU at which its link was the fastest."""
    return max(readings, key=lambda one: (one.said(*_GENERATION, "Current"), _lanes(one)))


def _lanes(one: GpuSections) -> int:
    digits = one.said(*_WIDTH, "Current").removesuffix("x")
    return int(digits) if digits.isdigit() else 0


def _link(
    name: str, gpus: Sequence[GpuSections], path: tuple[str, ...], all_of: str, cure: str, gpu: str
) -> CheckFinding:
    """Whether all links have what their GPU and its slot have; on a server, less is a failure."""
    pairs = [(one.said(*path, "Current"), one.said(*path, "Max")) for one in gpus]
    known = [(number, now, most) for number, (now, most) in enumerate(pairs) if now and most]
    if not known:
        return unknown(name, "the driver does not tell it")
    less = [f"{now} of {most} on GPU {number}" for number, now, most in known if now != most]
    if not less:
        return passed(name, f"{known[0][1]} under load")
    verdict = failed_finding if _SERVERS.search(gpu) else odd
    return verdict(name, f"{', '.join(less)} under load", all_of, cure)
