"""Steps 5 to 9: collectives, products and copies, and the wires between."""

import re
from collections.abc import Iterator, Mapping, Sequence

from app.core.units import BYTE, show
from app.labs.check.world import CheckFinding, CheckRun, What, World, compare_expected
from app.labs.machines.devices import Devices
from app.labs.machines.vendor import GpuLog, read_smi_log
from app.labs.results.analysis import OUTLIER, gpu_spread, slow_gpus
from app.labs.results.report import Measure, Report

_NVLINK = "MNNVL"
_NAMED = re.compile(r"NET/(?P<name>[^,]+?)(?P<direct>/GDRDMA)?(?:,|$)")
_WITHOUT_CARDS = ("GPUDirectTCPX", "FasTrak")  # Google's plugins copy for themselves
_EXPECTED = "MNNVL, or a network with GDRDMA"
_CURES: Mapping[str, str] = {
    "Socket": (
        "This is TCP. With InfiniBand or RoCE, see whether NCCL finds the cards (NCCL_IB_HCA, NCCL_IB_DISABLE); on AWS "
        "and Google Cloud, whether their plugin is on LD_LIBRARY_PATH (aws-ofi-nccl, gIB, FasTrak)."
    ),
    "IB": (
        "Load nvidia-peermem, or use a driver and a kernel with DMA-BUF: without GPUDirect RDMA, "
        "everything goes through the memory of the host."
    ),
    "Libfabric": (
        "GPUDirect RDMA is off: see the log of aws-ofi-nccl, and FI_EFA_USE_DEVICE_RDMA. Some "
        "instances, such as P3 and G4, have none."
    ),
}
_OF_SEVERAL_TRAYS = re.compile(r"\bGB[23]00\b")
_IMEX = (
    "See nvidia-imex-ctl -N, the channels in /dev/nvidia-caps-imex-channels of each node, and NCCL_MNNVL_ENABLE. Nodes "
    "of two racks have no NVLink between them by design."
)
_OTHER = "GPUDirect RDMA is off; see the log of the network plugin (NCCL_DEBUG_SUBSYS=INIT,NET)."


def check_network(chosen: str, gpu: str = "") -> CheckFinding:
    """What NCCL has *chosen* between nodes with GPUs called *gpu*, against what is fast."""
    if _OF_SEVERAL_TRAYS.search(gpu) and _NVLINK not in chosen:
        return CheckFinding.odd(
            "network", chosen or "unknown", "MNNVL, since NVSwitches connect the trays of a rack", _IMEX
        )
    networks = list(_NAMED.finditer(chosen))
    slow = [one for one in networks if not one["direct"] and not any(name in one["name"] for name in _WITHOUT_CARDS)]
    if slow:
        name = slow[0]["name"]
        cure = next((says for part, says in _CURES.items() if part in name), _OTHER)
        return CheckFinding.odd("network", chosen, _EXPECTED, cure)
    if networks or _NVLINK in chosen:
        return CheckFinding.passed("network", chosen, _EXPECTED)
    return CheckFinding.odd("network", chosen or "unknown", _EXPECTED, _CURES["Socket"])


LAB = "all-reduce"
_JOINING = 10.0  # seconds until the ranks have met
_SMALL, _LARGE, _QUICK = "8KiB", "8GiB", "64MiB"
_TWO = "WALLCLOCK_LAB_LAUNCHER=slurm and WALLCLOCK_SLURM_NODES=2 let this run on two nodes."


def nccl(world: World) -> Iterator[CheckFinding]:
    """Whether ranks meet and sum, over gloo and over NCCL, and what NCCL connects them by."""
    sizes = {"sizes": "4KiB,1MiB"}
    yield _sums("2 ranks over gloo", world.run(LAB, {**sizes, "ranks": "2"}, "gloo"))
    devices, most = world.devices(), world.devices().usable // world.nodes
    if most <= 1:
        yield CheckFinding.unknown("NCCL", "it needs two GPUs" if most else devices.why_none)
        return
    for ranks in dict.fromkeys((2, most)):
        ran = world.run(LAB, {**sizes, "ranks": str(ranks)}, "nccl")
        yield _sums(f"{ranks} ranks over NCCL", ran)
        if ran.is_done:
            yield _joined(f"meeting of {ranks} ranks", ran)
            yield _transport(f"transport of {ranks} ranks", ran.report, devices)


def _sums(name: str, ran: CheckRun) -> CheckFinding:
    report = ran.report
    if not ran.is_done:
        return CheckFinding.failed(name, report.cause or report.state.word, "the sums are right", "")
    versions = ", ".join(f"{key} {text}" for key, text in report.versions.items())
    return CheckFinding.passed(name, f"the sums of {report.world} ranks are right; {versions}")


def _joined(name: str, ran: CheckRun) -> CheckFinding:
    found, expected = f"{ran.joined:.1f} s", f"less than {_JOINING:g} s"
    if ran.joined < _JOINING:
        return CheckFinding.passed(name, found, expected)
    cure = "Turn persistence mode on, and see what NCCL waits for in its log (nccl0.log of the run)."
    return CheckFinding.odd(name, found, expected, cure)


def _transport(name: str, report: Report, devices: Devices) -> CheckFinding:
    """What NCCL chose, against what the GPUs can do."""
    chosen = report.details.get("transport", "")
    have_peers = any(one.peers or not one.uuid for one in devices.devices)  # or are not known
    expected = "P2P or NVLS" if have_peers else "SHM, since these GPUs have no peers"
    if not chosen:
        return CheckFinding.unknown(name, "the log of NCCL does not say; NCCL_DEBUG is set to something else")
    if "NET/" in chosen:
        cure = "Unset NCCL_P2P_DISABLE and NCCL_SHM_DISABLE, run all ranks in one container, and give it a /dev/shm."
        return CheckFinding.failed(name, chosen, expected, cure)
    if "SHM" in chosen and have_peers:
        cure = "Unset NCCL_P2P_DISABLE and NCCL_P2P_LEVEL; see nvidia-smi topo -p2p r."
        return CheckFinding.odd(name, chosen, expected, cure)
    return CheckFinding.passed(name, chosen, expected)


def bandwidth(world: World) -> Iterator[CheckFinding]:
    """The latency and the bus bandwidth of an all-reduce on all GPUs."""
    ranks = world.devices().usable // world.nodes
    if ranks <= 1:
        yield CheckFinding.unknown("all-reduce", "it needs two GPUs" if ranks else world.devices().why_none)
        return
    large = _QUICK if world.quick else _LARGE
    ran = world.run(LAB, {"ranks": str(ranks), "sizes": f"{_SMALL},{large}"}, "nccl")
    if not ran.is_done:
        yield _sums("all-reduce", ran)
        return
    gpu = gpu_of(ran.report)
    times = [one for one in ran.report.measures if one.name == "time"]
    launched = [one for one in ran.report.measures if one.name == "time with launch"]
    yield ran.judged(compare_expected(f"time of {_SMALL}", _smallest(times).median, "us", "latency", gpu, ranks))
    if launched:
        time = _smallest(launched).median
        name = f"time of {_SMALL} with its launch"
        yield ran.judged(compare_expected(name, time, "us", "latency with launch", gpu, ranks))
    if world.quick:
        yield CheckFinding.unknown("bus bandwidth", f"it needs {_LARGE}, which --quick leaves out")
        return
    value, size = largest_bus_bandwidth(ran.report)
    name = f"bus bandwidth at {show(size, BYTE, 3)}"
    yield ran.judged(compare_expected(name, value, "GB/s", "bandwidth", gpu, ranks))


def gpu_of(report: Report) -> str:
    """The name of the GPUs of a run."""
    return str(next(iter(report.machine.gpus), "unknown GPUs"))


def _smallest(measures: list[Measure]) -> Measure:
    return min(measures, key=lambda one: float(one.where["size"]))


def largest_bus_bandwidth(report: Report) -> tuple[float, float]:
    """The bus bandwidth of the largest size, and that size in bytes."""
    times = [one for one in report.measures if one.name == "time"]
    largest = max(times, key=lambda one: float(one.where["size"]))
    return largest.derived["bus bandwidth"].value, float(largest.where["size"])


def two_nodes(world: World) -> Iterator[CheckFinding]:
    """The bus bandwidth between two nodes, and whether it is that of a fast network."""
    devices = world.devices()
    if not world.is_slurm or world.nodes <= 1:
        yield CheckFinding.unknown("two nodes", "this runs on one machine", _TWO)
        return
    if not devices.usable:
        yield CheckFinding.unknown("two nodes", devices.why_none)
        return
    per_node = devices.usable // world.nodes
    ranks = 2 * per_node
    size = _QUICK if world.quick else _LARGE
    ran = world.run(LAB, {"ranks": str(ranks), "sizes": size}, "nccl")
    if not ran.is_done:
        yield _sums(f"{ranks} ranks on two nodes", ran)
        return
    gpu = gpu_of(ran.report)
    value, _ = largest_bus_bandwidth(ran.report)
    yield ran.judged(compare_expected("bus bandwidth", value, "GB/s", "bandwidth of two nodes", gpu, ranks))
    yield check_network(ran.report.details.get("transport", ""), gpu)


_LOAD = {"source": "pinned", "sizes": "16MiB..1GiB"}  # takes a few seconds
_LINK = "pci/pci_gpu_link_info"
_WIDTH = (f"{_LINK}/link_widths/current_link_width", f"{_LINK}/link_widths/max_link_width")
_GENERATION = (f"{_LINK}/pcie_gen/current_link_gen", f"{_LINK}/pcie_gen/max_link_gen")
_SERVERS = re.compile(r"SXM|HBM|\b(A100|H100|H200|H20|B200|B300|GB200|GB300|L40S)\b")
_LANES = "Reseat the GPU and its riser, and see the setting of the slot (lspci -vv, LnkSta)."
_SLOW = "See the setting of the slot (lspci -vv, LnkSta), and the errors of PCIe in dmesg."


def pcie_under_load(world: World) -> Iterator[CheckFinding]:
    """What PCIe has while every GPU copies from the memory of the host."""
    devices = world.devices()
    if devices.kind != "cuda" or world.is_slurm:
        return
    ran, said = world.run_watched("memory-copy", _LOAD, "nvidia-smi", "-q", "-x")
    if not ran.is_done:
        yield CheckFinding.unknown("PCIe under load", ran.report.cause or ran.report.state.word)
        return
    readings = [read_smi_log(one.text).gpus for one in said if one.text]
    # Of each GPU, the reading at which its link was the fastest.
    gpus = [
        max(one, key=lambda gpu: (gpu.said(_GENERATION[0]), gpu.said(_WIDTH[0]).rjust(3)))
        for one in zip(*readings, strict=False)
    ]
    yield _link("PCIe width", gpus, _WIDTH, "all lanes", _LANES, devices.devices[0].name)
    yield _link("PCIe generation", gpus, _GENERATION, "that of GPU and slot", _SLOW, "")


def _link(name: str, gpus: Sequence[GpuLog], paths: tuple[str, str], all_of: str, cure: str, gpu: str) -> CheckFinding:
    """Whether all links have what their GPU and its slot have; on a server, less is a failure."""
    pairs = [(one.said(paths[0]), one.said(paths[1])) for one in gpus]
    known = [(number, now, most) for number, (now, most) in enumerate(pairs) if now and most]
    if not known:
        return CheckFinding.unknown(name, "the driver does not tell it")
    less = [f"{now} of {most} on GPU {number}" for number, now, most in known if now != most]
    if not less:
        return CheckFinding.passed(name, f"{known[0][1]} under load")
    verdict = CheckFinding.failed if _SERVERS.search(gpu) else CheckFinding.odd
    return verdict(name, f"{', '.join(less)} under load", all_of, cure)


_SIDE, _SIZE = "8192", "4GiB"
_PRODUCTS: Mapping[str, What] = {"bf16": "bf16 product", "tf32": "tf32 product", "fp32": "fp32 product"}
_FAULTY = ("the temperature", "the power supply")  # large products reach the power limit of any GPU
_COOLER = "Check the cooling and the power supply of the GPU."
_SLOWER = (
    "See the temperature, the power limit and the clock of this GPU (nvidia-smi -q), and exchange"
    " its place with another to tell the GPU from its slot."
)


def products(world: World) -> Iterator[CheckFinding]:
    """The rate of large products in each format."""
    if why := _left_out(world):
        yield CheckFinding.unknown("matrix products", why)
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
            yield CheckFinding.odd(f"clock during {form.upper()}", f"held down {held_down}", "free", _COOLER)


def check_copies(world: World) -> Iterator[CheckFinding]:
    """The bandwidth of a large copy within the memory of a GPU, and what PCIe has under load."""
    if why := _left_out(world):
        yield CheckFinding.unknown("copies", why)
        return
    ran = world.run("memory-copy", {"sizes": _SIZE}, "nccl")
    if not ran.is_done or not ran.report.measures:
        yield _not_run(f"copy of {_SIZE}", ran)
        return
    value = ran.report.measures[0].derived["bandwidth"].value
    yield ran.judged(compare_expected(f"copy of {_SIZE}", value, "TB/s", "copy", gpu_of(ran.report)))
    yield from _spread("GPUs at copies", ran)
    yield from pcie_under_load(world)


def _spread(name: str, ran: CheckRun) -> Iterator[CheckFinding]:
    """How much the GPUs differ, each doing the same; those that are slower are named."""
    times = ran.report.measures[0].by_rank
    if len(times) <= 1:
        return
    (width, slow), expected = gpu_spread(times), f"within {OUTLIER:.0%} of their median"
    if slow:
        yield ran.judged(CheckFinding.odd(name, slow_gpus(slow, ran.report.machine), expected, _SLOWER))
    else:
        yield ran.judged(CheckFinding.passed(name, f"the {len(times)} differ by {width:.1%}", expected))


def _not_run(name: str, ran: CheckRun) -> CheckFinding:
    report = ran.report
    if ran.is_done:
        return CheckFinding.unknown(name, report.details.get("left out", "nothing was measured"))
    return CheckFinding.failed(name, report.cause or report.state.word, "it runs, and its data is right", "")


def _left_out(world: World) -> str:
    """Why nothing of this can be measured; empty if it can."""
    if not world.devices().usable:
        return world.devices().why_none
    return "--quick leaves this out" if world.quick else ""
