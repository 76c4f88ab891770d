"""Clusters: GPUs, how people write their number, and the links between them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple, Self

from app.core.formulas.checks import divides
from app.core.formulas.presets.gpus import GPUS, Gpu, without_vendor
from app.core.formulas.records import Record
from app.core.translation import noted, say, value_error
from app.core.units import BYTE_PER_SECOND, Bytes, BytesPerSecond, Count, FlopsPerSecond, Ratio, Seconds, show

_GIGA, _MICRO = 1e9, 1e-6


@dataclass(frozen=True, kw_only=True)
class Link(Record):
    """A link of one GPU.

    *bandwidth* is one direction of the link; *effective* is what NCCL has been measured to reach, 0 if unpublished;
    *latency* is that of one step, 0 if unpublished. A collective takes *start* once more, and n ranks reach n / (n +
    *ramp*) of what large groups have *approached*, or of what is effective if that is 0.
    """

    what: ClassVar[str] = noted("link")
    unpublished: ClassVar[frozenset[str]] = frozenset({"effective", "latency"})

    name: str
    bandwidth: BytesPerSecond
    effective: BytesPerSecond = 0.0
    latency: Seconds = 0.0
    start: Seconds = 0.0
    ramp: Ratio = 0.0
    approached: BytesPerSecond = 0.0
    source: str


_TUNER = "NCCL, src/graph/tuning.cc (latency of a ring's step, protocol Simple)"
_AS_BEFORE = "start and ramp: taken over from NVLink 3"
_LINKS = (
    Link(name="NVLink 2", bandwidth=150 * _GIGA, latency=3.4 * _MICRO,
        source=f"V100 datasheet: 300 GB/s both ways added; {_TUNER}"),
    Link(name="NVLink 3", bandwidth=300 * _GIGA, effective=230 * _GIGA, latency=3.4 * _MICRO,
        start=40 * _MICRO, ramp=0.4, approached=235 * _GIGA,
        source=f"A100 datasheet: 600 GB/s both ways added; nccl-tests issue 149; {_TUNER}; start, ramp and what is"
        " approached: vTrain's table of all-reduces over 2, 4 and 8 GPUs (arXiv:2312.12391), read off"),
    Link(name="NVLink 4", bandwidth=450 * _GIGA, effective=370 * _GIGA, latency=3.4 * _MICRO,
        start=40 * _MICRO, ramp=0.4,
        source=f"H100 datasheet: 900 GB/s both ways added; nccl-tests issue 212; {_TUNER}; {_AS_BEFORE}"),
    Link(name="NVLink 4, H800", bandwidth=200 * _GIGA, effective=160 * _GIGA, latency=3.4 * _MICRO,
        start=40 * _MICRO, ramp=0.4,
        source=f"DeepSeek-V3 report, section 3.2.2 (160 effective); {_TUNER}; {_AS_BEFORE}"),
    Link(name="NVLink 5", bandwidth=900 * _GIGA, latency=3.4 * _MICRO, start=40 * _MICRO, ramp=0.4,
        source=f"B200 datasheet: 1.8 TB/s both ways added; {_TUNER}; {_AS_BEFORE}"),
    Link(name="400 Gbit/s network", bandwidth=50 * _GIGA, latency=14 * _MICRO,
        source=f"one NIC per GPU, InfiniBand NDR or RoCE; {_TUNER}"),
    Link(name="200 Gbit/s network", bandwidth=25 * _GIGA, latency=14 * _MICRO,
        source=f"one NIC per GPU, InfiniBand HDR; {_TUNER}"),
    Link(name="Cross-pod 1:7", bandwidth=50 * _GIGA / 7, latency=14 * _MICRO,
        source="Llama 3 report, arXiv:2407.21783, section 3.3.1: a 400 Gbit/s NIC at 1:7, at worst"),
    Link(name="TPU v5p ICI", bandwidth=600 * _GIGA,
        source="Cloud TPU v5p documentation: 1,200 GB/s per chip, both ways added"),
)  # fmt: skip

LINKS = Link.publish({known.name: known for known in _LINKS})


_TIMES = r"\s*[x×*]\s*"
_NODES = r"(?:nodes?|servers?|machines?)"
_COUNT = rf"(?P<count>\d{{1,7}})(?:{_TIMES}|\s+)(?P<gpu>(?:[a-z]|\d{{4}}\b)[\w ./-]{{0,60}}?)"
_EACH = r"(?:,?\s*\(?(?P<each>\d{1,3})\s*(?:gpus?\s*)?(?:per|a|/)\s*node\)?)?"
_COUNTED = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        rf"{_COUNT}\s+(?:on|in|across|over)\s+(?P<among>\d{{1,6}})\s+{_NODES}",
        rf"{_COUNT}(?:\s+(?:per|a)\s+node)?(?:{_TIMES}|,\s*|\s+on\s+)(?P<nodes>\d{{1,6}})\s+{_NODES}",
        rf"(?:(?P<nodes>\d{{1,6}})(?:{_TIMES}|\s+{_NODES}(?:\s+(?:of|with)\s+|{_TIMES}|,\s*)))?{_COUNT}(?:\s+each)?{_EACH}",
        rf"(?P<gpu>[a-z][\w ./-]{{0,60}}?)(?:\s+[x×*]\s*|(?<=[\dx])x(?=\d)|\s*[×*:]\s*)(?P<count>\d{{1,7}}){_EACH}",
    )
)


class GpuCount(NamedTuple):
    """A number of *gpus*, and the *gpu* by name; *node* of them are in each node, 0 if unsaid."""

    gpus: int
    gpu: str
    node: int = 0


def gpu_count(text: str) -> GpuCount | None:
    """What *text* counts; None if it does not count GPUs.

    >>> gpu_count("2 x 8 NVIDIA H100s")
    GpuCount(gpus=16, gpu='H100', node=8)

    Raises:
        ValueError: the GPUs cannot be spread evenly over the nodes.
    """
    forms = (form.fullmatch(text.strip()) for form in _COUNTED)
    if (found := next(filter(None, forms), None)) is None:
        return None
    parts = found.groupdict()
    name = without_vendor(re.sub(r"\s+gpus?$", "", parts["gpu"], flags=re.IGNORECASE))
    name, count = re.sub(r"(?<=[\dxX])s$", "", name), int(parts["count"])
    if parts.get("nodes"):
        return GpuCount(count * int(parts["nodes"]), name, count)
    if parts.get("among"):
        nodes = int(parts["among"])
        divides(noted("nodes"), nodes, noted("GPUs"), count)
        return GpuCount(count, name, count // nodes)
    return GpuCount(count, name, int(parts.get("each") or 0))


_LARGEST_NODE = 16
_NO_NETWORK = noted(
    "the network of a node of {gpu} is not known: write gpu={gpu} gpus={count}"
    " intra_bandwidth=… inter_bandwidth=…, each one direction of a GPU, such as 50 GB/s"
)


@dataclass(frozen=True, kw_only=True)
class Cluster(Record):
    """GPUs in nodes, nodes in pods.

    *intra_bandwidth* and *inter_bandwidth* are one direction of one GPU, inside a node and to other
    nodes; between pods the bandwidth is *oversubscription* times lower in the worst case. The
    latencies are those of a step, by default as in NCCL's tuner: protocol Simple over NVLink, and a
    tree with protocol LL between nodes. *rack* and *pod* are numbers of GPUs; 0 means that there is
    no such level. A node of more than 16 GPUs is a rack that shares NVLink, such as 72 GPUs, and a
    job may use it in part. *uneven* says which nodes were taken where the usual ones do not divide the GPUs.
    """

    what: ClassVar[str] = noted("cluster")
    least: ClassVar[Mapping[str, float]] = {"intra_latency": 0, "inter_latency": 0, "oversubscription": 1}

    name: str = "as given"
    gpu: Gpu
    gpus: Count
    gpus_per_node: Count = 8
    rack: Count = 0
    pod: Count = 0
    intra_bandwidth: BytesPerSecond
    inter_bandwidth: BytesPerSecond
    intra_latency: Seconds = 3.4 * _MICRO
    inter_latency: Seconds = 5 * _MICRO
    oversubscription: Ratio = 1.0
    uneven: str = ""
    source: str = "as given"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.gpus_per_node <= _LARGEST_NODE:
            divides("gpus_per_node", min(self.gpus_per_node, self.gpus), noted("GPUs"), self.gpus)

    @property
    def memory(self) -> Bytes:
        """Total memory of all GPUs."""
        return self.gpus * self.gpu.memory

    @property
    def peak(self) -> FlopsPerSecond:
        """Total peak of all GPUs, dense, in 16 bits."""
        return self.gpus * self.gpu.peak

    @property
    def levels(self) -> tuple[tuple[str, int], ...]:
        """The nested groups of GPUs, from the smallest."""
        sizes = (("node", self.gpus_per_node), ("rack", self.rack), ("pod", self.pod))
        return (*((name, size) for name, size in sizes if size), ("cluster", self.gpus))

    @property
    def cross_pod_bandwidth(self) -> BytesPerSecond:
        """One direction of one GPU to another pod, when all send at once."""
        return self.inter_bandwidth / self.oversubscription

    @classmethod
    def named(cls, name: str) -> Self:
        """The cluster called *name*, or a number of GPUs: 16 H200, 8xH100, 16 nodes of 4 H100, RTX 4090.

        Unless it says how many are in a node, those are in the nodes of the cluster with a published network that
        has such GPUs.

        Raises:
            ValueError: there is none; the message offers the closest name.
        """
        if cls.has(name) or (counted := _gpus_in(name)) is None:
            return super().named(name)
        gpu = Gpu.named(counted.gpu)
        if (known := cls.node_of(gpu)) is None:
            raise value_error(_NO_NETWORK, gpu=gpu.name, count=counted.gpus)
        is_tray = known.gpus_per_node > _LARGEST_NODE >= counted.node  # of a rack, which shares NVLink
        node = counted.node if counted.node and not is_tray else known.gpus_per_node
        if (counted.gpus, node) == (known.gpus, known.gpus_per_node):
            return known
        if counted.node or node > _LARGEST_NODE or counted.gpus % max(1, min(node, counted.gpus)) == 0:
            return replace(known, gpus=counted.gpus, gpus_per_node=node)
        even = max(size for size in range(1, node) if counted.gpus % size == 0)
        form = noted("nodes of {node} do not divide {gpus} GPUs, so nodes of {even} are taken")
        uneven = say(form, node=node, gpus=counted.gpus, even=even)
        return replace(known, gpus=counted.gpus, gpus_per_node=even, uneven=uneven)

    @classmethod
    def node_of(cls, gpu: Gpu) -> Self | None:
        """The node of *gpu* that is sold most; None if its network is not known."""
        return next((one for one in cls.known().values() if one.gpu == gpu and one.is_a_node), None)

    @property
    def understood(self) -> str:
        """Its nodes and the wires of a GPU, in words.

        >>> Cluster.read("16 nodes of 4 H100").understood
        '16 nodes of 4 H100 SXM; each GPU sends 450 GB/s inside a node and 50 GB/s between nodes'
        """
        inside, between = (show(rate, BYTE_PER_SECOND, 3) for rate in (self.intra_bandwidth, self.inter_bandwidth))
        node, gpu = min(self.gpus, self.gpus_per_node), self.gpu.name
        if self.gpus == 1:
            return f"1 {gpu}"
        if self.gpus == node:
            return say("1 node of {node} {gpu}; each GPU sends {inside}", node=node, gpu=gpu, inside=inside)
        count = -(-self.gpus // node)
        if node == 1:
            return say("{count} nodes of 1 {gpu}; each GPU sends {between}", count=count, gpu=gpu, between=between)
        if self.gpus_per_node > _LARGEST_NODE:
            form = noted(
                "{gpus} {gpu} in racks of {node}; each GPU sends {inside} inside a rack and {between} between racks"
            )
            return say(form, gpus=self.gpus, gpu=gpu, node=node, inside=inside, between=between)
        form = noted("{count} nodes of {node} {gpu}; each GPU sends {inside} inside a node and {between} between nodes")
        return say(form, count=count, node=node, gpu=gpu, inside=inside, between=between)

    @property
    def is_a_node(self) -> bool:
        """Whether it is one node, or one rack that shares NVLink."""
        return self.gpus == self.gpus_per_node and not self.name.startswith("One node")


def _gpus_in(name: str) -> GpuCount | None:
    """What *name* counts; the name of a GPU alone is one of it."""
    if (counted := gpu_count(name)) is not None:
        return counted
    try:
        return GpuCount(1, Gpu.named(name).name)
    except ValueError:
        return None


def _cluster(
    name: str, gpu: str, gpus: int, intra: float, inter: float, source: str, gpus_per_node: int = 8, rack: int = 0,
    pod: int = 0, oversubscription: float = 1.0,
) -> Cluster:  # fmt: skip
    """GPUs whose links have *intra* and *inter* GB/s."""
    return Cluster(
        name=name, gpu=GPUS[gpu], gpus=gpus, gpus_per_node=gpus_per_node, rack=rack, pod=pod,
        intra_bandwidth=intra * _GIGA, inter_bandwidth=inter * _GIGA, oversubscription=oversubscription, source=source,
    )  # fmt: skip


def _dgx(name: str, gpu: str, network: float, node: int, source: str) -> Cluster:
    """A node in which NVLink reaches all."""
    return _cluster(name, gpu, node, GPUS[gpu].nvlink / _GIGA, network, source, node)


def _infinity_fabric(gpu: str, link: float) -> Cluster:
    source = f"AMD Instinct {gpu} platform, seven links of {link:g} GB/s each way; eight network cards of 400 Gbit/s"
    return _cluster(f"{gpu} platform", gpu, 8, 7 * link, 50, f"{source}, as the shapes of Oracle Cloud have them")


def _boards(name: str, gpu: str, pcie: float, network: float, source: str) -> Cluster:
    """GPUs that reach each other over PCIe, whose datasheets add both ways."""
    return _cluster(name, gpu, 8, pcie, network, f"{source}; PCIe of {pcie:g} GB/s each way")


_RACK = "72 GPUs share NVLink; one network card per GPU"
_EC2 = "Amazon EC2, accelerated computing"
_ONE_CARD = "boards of PCIe without NVLink bridges; a network card of 100 Gbit/s for eight of them is assumed"
_CARD_FOR_TWO = "boards of PCIe without NVLink bridges; a network card of 200 Gbit/s for two of them is assumed"
_LLAMA = "Grattafiori et al., The Llama 3 Herd of Models, arXiv:2407.21783, section 3.3.1"
_CLUSTERS = (
    _cluster("One node of 8 A100", "A100", 8, 300, 25, "NVIDIA DGX A100 datasheet"),
    _cluster("One node of 8 H100", "H100", 8, 450, 50, "NVIDIA DGX H100 datasheet"),
    _cluster("64 H100", "H100", 64, 450, 50, "eight nodes of the NVIDIA DGX H100 datasheet"),
    _cluster("Llama 3 405B, 16384 H100", "H100", 16384, 450, 50, rack=16, pod=3072, oversubscription=7,
        source=f"{_LLAMA} and table 4"),
    _cluster("Meta 24K H100", "H100", 24576, 450, 50, rack=16, pod=3072, oversubscription=7,
        source=f"{_LLAMA}: 2 servers per rack, 192 racks per pod, 8 pods; RoCE, 400 Gbit/s per GPU"),
    _cluster("DeepSeek 2048 H800", "H800", 2048, 200, 50,
        "DeepSeek-V3 Technical Report, arXiv:2412.19437, sections 3.1 and 3.2.2: NVLink of 200 GB/s, of which 160"
        " are effective"),
    _cluster("Megatron 3072 A100", "A100", 3072, 300, 25, "Narayanan et al., arXiv:2104.04473, section 5 (Selene)"),
    _dgx("DGX-A100", "A100", 25, 8, "NVIDIA DGX A100 datasheet: eight cards of 200 Gbit/s"),
    _dgx("DGX-H100", "H100", 50, 8, "NVIDIA DGX H100 datasheet: eight cards of 400 Gbit/s"),
    _dgx("DGX-H200", "H200", 50, 8, "NVIDIA DGX H200 datasheet: eight cards of 400 Gbit/s"),
    _dgx("DGX-B200", "B200", 50, 8, "NVIDIA DGX B200 datasheet: eight cards of 400 Gbit/s"),
    _dgx("DGX-B300", "B300", 100, 8, "NVIDIA DGX B300 datasheet: eight cards of 800 Gbit/s"),
    _dgx("DGX-GB200", "GB200", 50, 72, f"NVIDIA GB200 NVL72: {_RACK}, 400 Gbit/s"),
    _dgx("DGX-GB300", "GB300", 100, 72, f"NVIDIA GB300 NVL72: {_RACK}, 800 Gbit/s"),
    _dgx("HGX-H20", "H20", 50, 8, "NVLink of the HGX H20 specification; eight cards of 400 Gbit/s, as in an HGX H100"),
    _dgx("DGX-1", "V100", 6.25, 8, "NVIDIA DGX-1 with V100, 32 GB: four cards of 100 Gbit/s"),
    _dgx("DGX-1 16GB", "V100 SXM2 16GB", 6.25, 8, "NVIDIA DGX-1 with V100: four cards of 100 Gbit/s"),
    _dgx("DGX-A100 40GB", "A100 40GB", 25, 8, "NVIDIA DGX A100 datasheet: eight cards of 200 Gbit/s"),
    _dgx("HGX-A800", "A800", 25, 8, "NVLink of the NVIDIA A800 datasheet; the network as in a DGX A100"),
    _dgx("HGX-H800", "H800", 50, 8,
        "DeepSeek-V3 Technical Report, arXiv:2412.19437, section 3.1: NVLink, eight cards of 400 Gbit/s"),
    _dgx("Quad GH200", "GH200", 25, 4,
        "NVIDIA quad GH200, as in Alps and JUPITER: six links of NVLink 4 to each of three peers; one card of 200"
        " Gbit/s per GPU"),
    _dgx("Quad GH200 144GB", "GH200 144GB", 25, 4, "as quad GH200"),
    _cluster("DGX Spark", "GB10", 1, 25, 25, "NVIDIA DGX Spark datasheet: ConnectX-7, 200 Gbit/s", gpus_per_node=1),
    _cluster("Frontier node, dies", "MI250X GCD", 8, 150, 12.5,
        "OLCF, Frontier user guide: to dies of other modules, links of 50 and 100 GB/s each way; four cards of 200"
        " Gbit/s"),
    _cluster("Frontier node", "MI250X", 4, 300, 25, gpus_per_node=4,
        source="OLCF, Frontier user guide: two dies each; four cards of 200 Gbit/s"),
    _boards("g4dn.metal", "T4", 16, 1.5625, f"{_EC2}: 100 Gbit/s"),
    _boards("g5.48xlarge", "A10G", 32, 1.5625, f"{_EC2}: 100 Gbit/s"),
    _boards("g6.48xlarge", "L4", 32, 1.5625, f"{_EC2}: 100 Gbit/s"),
    _boards("g6e.48xlarge", "L40S", 32, 6.25, f"{_EC2}: 400 Gbit/s"),
    _boards("g7e.48xlarge", "RTX PRO 6000", 64, 25, f"{_EC2}: 1,600 Gbit/s"),
    *(
        _boards(f"Server of {gpu}", gpu, pcie, 1.5625, _ONE_CARD)
        for gpu, pcie in (
            ("RTX 3090", 32), ("RTX 4090", 32), ("RTX 5090", 64), ("RTX A6000", 32), ("RTX 6000 Ada", 32), ("A10", 32),
            ("A40", 32), ("L40", 32), ("V100 PCIe", 16), ("V100 PCIe 16GB", 16),
        )
    ),
    *(
        _boards(f"Server of {gpu}", gpu, pcie, 12.5, _CARD_FOR_TWO)
        for gpu, pcie in (
            ("A100 PCIe 40GB", 32), ("A100 PCIe 80GB", 32), ("A800 PCIe 80GB", 32), ("H100 PCIe", 64), ("H100 NVL", 64)
        )
    ),
    _infinity_fabric("MI300X", 64),
    _infinity_fabric("MI325X", 64),
    _infinity_fabric("MI350X", 76.8),
    _infinity_fabric("MI355X", 76.8),
    _dgx("H100 96GB HBM2e 500 W", "H100 96GB HBM2e 500 W", 50, 8,
        "torchtitan, benchmarks/llama3_h100_202412_torchtitan.md; the network as in a DGX H100"),
)  # fmt: skip

CLUSTERS = Cluster.publish({known.name: known for known in _CLUSTERS})
