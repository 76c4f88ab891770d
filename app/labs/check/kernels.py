"""Steps 8, 9 and 10: products, copies and attention on all GPUs at once, and PCIe while it is in use."""

import re
from collections.abc import Iterator, Mapping, Sequence

from app.labs.check.collectives import gpu_of
from app.labs.check.findings import CheckFinding, What, compare_expected, failed_finding, odd, passed, unknown
from app.labs.check.world import Ran, World
from app.labs.machines.nvidia_output import GpuSections, read_gpu_sections
from app.labs.results.analysis import OUTLIER, gpu_spread, slow_gpus

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


_SIDE, _SIZE, _TOKENS = "8192", "4GiB", "16384"
_PRODUCTS: Mapping[str, What] = {"bf16": "bf16 product", "tf32": "tf32 product", "fp32": "fp32 product"}
_KERNELS = ("flash", "cudnn", "efficient")
_FAULTY = ("the temperature", "the power supply")  # large products reach the power limit of any GPU
_COOLER = "Check the cooling and the power supply of the GPU."
_SLOWER = (
    "See the temperature, the power limit and the clock of this GPU (nvidia-smi -q), and exchange"
    " its place with another to tell the GPU from its slot."
)
_MISSING = "Only other kernels can be used here."


def products(world: World) -> Iterator[CheckFinding]:
    """The rate of large products in each format."""
    if why := _left_out(world):
        yield unknown("matrix products", why)
        return
    for form, what in _PRODUCTS.items():
        ran = world.run("matrix-product", {"format": form, "sides": _SIDE}, "nccl")
        name = f"{form.upper()}, n = {_SIDE}"
        if not ran.is_done or not ran.report.measures:
            yield _not_run(name, ran)
            continue
        rate = ran.report.measures[0].derived["rate"].value
        yield ran.judged(compare_expected(name, rate, "TFLOP/s", what, gpu_of(ran.report)))
        yield from _spread(f"GPUs at {form.upper()}", ran)
        held_down = ran.report.details.get("throttled", "")
        if any(reason in held_down for reason in _FAULTY):
            yield odd(f"clock during {form.upper()}", f"held down {held_down}", "free", _COOLER)


def check_copies(world: World) -> Iterator[CheckFinding]:
    """The bandwidth of a large copy within the memory of a GPU, and what PCIe has under load."""
    if why := _left_out(world):
        yield unknown("copies", why)
        return
    ran = world.run("memory-copy", {"sizes": _SIZE}, "nccl")
    if not ran.is_done or not ran.report.measures:
        yield _not_run(f"copy of {_SIZE}", ran)
        return
    value = ran.report.measures[0].derived["bandwidth"].value
    yield ran.judged(compare_expected(f"copy of {_SIZE}", value, "TB/s", "copy", gpu_of(ran.report)))
    yield from _spread("GPUs at copies", ran)
    yield from pcie_under_load(world)


def check_attention(world: World) -> Iterator[CheckFinding]:
    """Each fused kernel by its name, against the separate steps."""
    if why := _left_out(world):
        yield unknown("attention", why)
        return
    have = []
    for kernel in _KERNELS:
        finding = _fused(world, kernel)
        have += [kernel] if finding.cure != _MISSING else []
        yield finding
    if not {"flash", "cudnn"} & set(have):
        cure = "Install a build of PyTorch with FlashAttention for this GPU."
        yield odd("fused kernels", ", ".join(have) or "none", "flash or cudnn", cure)


def _fused(world: World, kernel: str) -> CheckFinding:
    name = f"{kernel}, {_TOKENS} tokens"
    ran = world.run("attention", {"kernel": kernel, "lengths": _TOKENS}, "nccl")
    report = ran.report
    if "no kernel" in report.cause:
        return unknown(name, "torch has no such kernel for this GPU", _MISSING)
    if not ran.is_done:
        return _not_run(name, ran)
    medians = {one.name: one.median for one in report.measures}
    chosen = report.details.get("kernel", kernel)
    if chosen != kernel:
        return failed_finding(name, f"torch chose {chosen}", kernel, "Report this, with the run.")
    if "fused" not in medians or "separate" not in medians:
        return passed(name, report.details.get("left out", "there was no room for it"))
    ratio = medians["separate"] / medians["fused"]
    return ran.judged(compare_expected(f"{name}, times faster", ratio, "", "speedup of attention", gpu_of(report)))


def _spread(name: str, ran: Ran) -> Iterator[CheckFinding]:
    """How much the GPUs differ, each doing the same; those that are slower are named."""
    times = ran.report.measures[0].by_rank
    if len(times) <= 1:
        return
    spread, expected = gpu_spread(times), f"within {OUTLIER:.0%} of their median"
    if spread.slow:
        yield ran.judged(odd(name, slow_gpus(spread, ran.report.machine), expected, _SLOWER))
    else:
        yield ran.judged(passed(name, f"the {len(times)} differ by {spread.width:.1%}", expected))


def _not_run(name: str, ran: Ran) -> CheckFinding:
    report = ran.report
    if ran.is_done:
        return unknown(name, report.details.get("left out", "nothing was measured"))
    return failed_finding(name, report.cause or report.state.word, "it runs, and its data is right", "")


def _left_out(world: World) -> str:
    """Why nothing of this can be measured; empty if it can."""
    if not world.devices().usable:
        return world.devices().why_none
    return "--quick leaves this out" if world.quick else ""
