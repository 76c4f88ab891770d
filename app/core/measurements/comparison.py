"""A test beside the wire and the formulas: how much of the hardware it reached, and why."""

import re
from dataclasses import dataclass

from app.core.formulas.collectives import (
    all_to_all_time,
    in_network_all_reduce_time,
    ring_all_gather_time,
    ring_all_reduce_time,
    ring_reduce_scatter_time,
)
from app.core.formulas.presets import CLUSTERS, Cluster
from app.core.measurements.reports import CollectiveTest, SizeRow
from app.core.translation import noted, say
from app.core.units import BYTE_PER_SECOND, BytesPerSecond, Ratio, Seconds, show

ABOVE_THE_WIRE = "E-79"  # the erratum about a bus bandwidth above that of the link
_GPU = re.compile(r"\b(A100|H100|H200|B200|B300|GB200|GB300)\b")
_OTHER_BOARDS = re.compile(r"\b(?:PCIe|NVL\b|MIG)")
_LARGEST_NODE = 16
_ROUNDED = 1.01
_IN_SWITCH = ("all_reduce", "reduce", "reduce_scatter", "broadcast", "all_gather")
_LOW = 0.7  # of the wire
_SOCKETS = 0.1
_PCIE = 64e9  # bytes per second, one direction of PCIe 5.0 with 16 lanes (PCI-SIG)
_NEAR = 0.2
_LARGE = 64 * 2**20  # bytes from which bandwidth counts, not latency
_FORMULAS = {
    "all_reduce": ring_all_reduce_time,
    "all_gather": ring_all_gather_time,
    "reduce_scatter": ring_reduce_scatter_time,
    "alltoall": all_to_all_time,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The largest size of a test beside the *wire*, which is one direction of one rank."""

    cluster: Cluster
    nodes: int
    wire: BytesPerSecond
    which: str
    row: SizeRow
    predicted: Seconds | None  # by the formula of the collective on that wire, without latency
    cause: str
    above: str = ""  # why the bus bandwidth is above the wire, if it is
    in_switch: Seconds | None = None  # as predicted, if a switch computes the sums

    @property
    def share(self) -> Ratio:
        """Bus bandwidth over the wire; above 1 where a switch computes or NVLink carries most."""
        return self.row.busbw / self.wire


def cluster_of_test(test: CollectiveTest) -> Cluster | None:
    """The cluster whose GPU the test names; None if it names none of which the links are known."""
    return cluster_named_in(test.hardware)


def cluster_named_in(hardware: str) -> Cluster | None:
    """The cluster of the GPU that *hardware* names; None if its links are not known."""
    found = _GPU.search(hardware)
    if found is None or _OTHER_BOARDS.search(hardware.replace("NVL72", "")):
        return None
    return CLUSTERS.get(f"DGX-{found[1]}")


def compare_test(test: CollectiveTest, cluster: Cluster | None = None) -> Comparison | None:
    """*test* beside *cluster*, by default that of its GPU; None without ranks or a cluster."""
    cluster = cluster or cluster_of_test(test)
    if cluster is None or not test.ranks or test.ranks < 2 or not test.rows or not test.collective:  # noqa: PLR2004
        return None
    row = max(test.rows, key=lambda row: row.size)
    nodes = _nodes(test, test.ranks, cluster)
    wire, which = _wire(test.collective, test.ranks, nodes, cluster)
    formula = _FORMULAS.get(test.collective)
    return Comparison(
        cluster=cluster,
        nodes=nodes,
        wire=wire,
        which=which,
        row=row,
        predicted=formula(row.size, test.ranks, wire) if formula else None,
        cause=_cause(row, nodes, wire, cluster),
        above=_above(test.collective, nodes) if row.busbw > wire * _ROUNDED else "",
        in_switch=_in_switch(test.collective, row, nodes, wire),
    )


def wire_of(collective: str, ranks: int, hardware: str) -> tuple[BytesPerSecond, str] | None:
    """What limits *collective* on *ranks* GPUs, and its name; None if the hardware is not known.

    As many of them as a node has are taken to be in one node.
    """
    cluster = cluster_named_in(hardware)
    if cluster is None or ranks < 2:  # noqa: PLR2004
        return None
    return _wire(collective, ranks, -(-ranks // cluster.gpus_per_node), cluster)


def _nodes(test: CollectiveTest, ranks: int, cluster: Cluster) -> int:
    """Groups of GPUs that share NVLink: hosts, or racks where a rack shares it."""
    if test.hosts and cluster.gpus_per_node <= _LARGEST_NODE:
        return test.hosts
    return -(-ranks // cluster.gpus_per_node)


def _wire(collective: str, ranks: int, nodes: int, cluster: Cluster) -> tuple[BytesPerSecond, str]:
    """What limits the bus bandwidth of *collective*, and its name."""
    inside, card = cluster.intra_bandwidth, cluster.inter_bandwidth
    if nodes <= 1:
        return inside, noted("NVLink of a GPU")
    each = max(1, ranks // nodes)
    if collective in {"alltoall", "alltoallv"}:
        return min(inside, card * (ranks - 1) / (ranks - each)), noted("the network card of a GPU")
    if collective == "sendrecv":
        return min(inside, card), noted("the network card of a GPU")
    if card * each > inside:
        return inside, noted("NVLink of a GPU")
    if each > 1:
        return card * each, say("the {each} network cards of a node", each=each)
    return card * each, noted("a network card")


def _above(collective: str, nodes: int) -> str:
    """Why a bus bandwidth is above the wire."""
    if collective not in _IN_SWITCH:
        return noted(
            "no algorithm of this collective sends less than the wire carries: the hardware is that"
            " of another cluster, or the sizes are those of one rank's part."
        )
    if nodes <= 1:
        return noted(
            "the NVLink switch computes the sums or copies the data (NVLS), so that each GPU sends"
            " its array once, where bus bandwidth assumes a ring, which sends it nearly twice."
        )
    return noted(
        "much of the data stays within a node, as in a tree over nodes, or a switch computes the"
        " sums (SHARP), while bus bandwidth assumes a ring through every GPU."
    )


def _in_switch(collective: str, row: SizeRow, nodes: int, wire: BytesPerSecond) -> Seconds | None:
    if collective != "all_reduce" or nodes > 1 or row.busbw <= wire * _ROUNDED:
        return None
    return in_network_all_reduce_time(row.size, wire)


def _cause(row: SizeRow, nodes: int, wire: BytesPerSecond, cluster: Cluster) -> str:
    """The usual cause of a bus bandwidth that is low; empty if it is not."""
    share = row.busbw / wire
    if share >= _LOW:
        return ""
    if row.size < _LARGE:
        return noted("The largest size is so small that latency counts more than bandwidth.")
    if nodes <= 1 and row.busbw > _PCIE:
        return noted(
            "NVLink is in use, since PCIe carries 64 GB/s at most, but not all of it: too few"
            " channels (NCCL_MIN_CTAS), links that are down (`nvidia-smi nvlink --status`), or"
            " other work on the GPUs."
        )
    if nodes <= 1:
        return noted(
            "GPUs that reach each other over PCIe instead of NVLink: look for P2P and NVLS in what"
            " NCCL_DEBUG=INFO prints, and at `nvidia-smi topo -m`."
        )
    if share < _SOCKETS and row.busbw < cluster.inter_bandwidth * (1 - _NEAR):
        return noted(
            "TCP sockets instead of RDMA: the network plugin is not loaded, or NCCL_DEBUG=INFO"
            " prints NET/Socket instead of NET/IB or NET/OFI."
        )
    if abs(row.busbw / cluster.inter_bandwidth - 1) < _NEAR and wire > cluster.inter_bandwidth:
        card = show(cluster.inter_bandwidth, BYTE_PER_SECOND)
        form = noted("One network card in use of several: its {card} are what was reached (NCCL_IB_HCA).")
        return say(form, card=card)
    return noted(
        "GPUDirect RDMA that is off (NCCL_NET_GDR_LEVEL), PCIe access control (ACS), network cards"
        " left out (NCCL_IB_HCA), or a fabric of less bandwidth than one card per GPU."
    )
