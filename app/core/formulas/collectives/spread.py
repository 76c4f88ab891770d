"""Collectives that distribute arrays without reducing them."""

from app.core.formulas.checks import at_least, positive, rounds_bytes, rounds_time, whole
from app.core.units import Bytes, BytesPerSecond, Count, Seconds


def all_to_all_bytes(size: Bytes, ranks: Count) -> Bytes:
    """Bytes that each rank sends in an all-to-all.

    Every rank cuts its array into one piece per rank, keeps its own and sends the others.

        V = size * (ranks - 1) / ranks

    Convention:
        The size is the whole input of one rank, its own piece included, as in nccl-tests.

    Args:
        size: bytes of the whole input array of each rank.
        ranks: ranks that exchange pieces.

    Raises:
        ValueError: *size* is not above zero, or *ranks* is not a whole number of at least one.

    Source:
        nccl-tests, src/alltoall.cu (its factor of the bus bandwidth).
    """
    return rounds_bytes(size, ranks)


def all_to_all_time(size: Bytes, ranks: Count, bandwidth: BytesPerSecond, latency: Seconds = 0.0) -> Seconds:
    """Time of an all-to-all: until every rank has a piece from each other rank.

    In round k every rank sends to the rank k places ahead and receives from the rank k places
    behind, so no link ever carries two pieces at once.

        T = (ranks - 1) (latency + size / (ranks * bandwidth))

    Convention:
        The rounds run one after another, so each adds the latency; an implementation that starts
        them all at once adds it about once. The bandwidth is one direction.

    Args:
        size: bytes of the whole input array of each rank.
        ranks: ranks that exchange pieces.
        bandwidth: bytes per second that one rank sends while it receives as much.
        latency: seconds added to each round.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Thakur, Rabenseifner and Gropp, Optimization of Collective Communication Operations in
        MPICH, International Journal of High Performance Computing Applications 19(1), 2005 (the
        pairwise exchange).
    """
    return rounds_time(size, ranks, bandwidth, latency)


def hierarchical_all_to_all_time(
    size: Bytes,
    nodes: Count,
    gpus_per_node: Count,
    intra_bandwidth: BytesPerSecond,
    inter_bandwidth: BytesPerSecond,
    intra_latency: Seconds = 0.0,
    inter_latency: Seconds = 0.0,
) -> Seconds:
    """Time of an all-to-all in two stages: inside the nodes first, then between them.

    In the first stage, GPU i of a node collects what its node has for the GPUs i of all nodes: an
    all-to-all in the node. In the second, the GPUs i exchange one message per pair of nodes. So
    each GPU sends its array twice, in far fewer and larger messages.

        T_1 = (gpus_per_node - 1) * (intra_latency + size / (gpus_per_node * intra_bandwidth))
        T_2 = (nodes - 1) * (inter_latency + size / (nodes * inter_bandwidth))
        T = T_1 + T_2

    Convention:
        The messages of a stage are sent one after another, as in all_to_all_time, and the second
        stage begins after the first. Both bandwidths are one direction of one GPU.

    Args:
        size: bytes of the whole input array of each GPU.
        nodes: number of nodes.
        gpus_per_node: GPUs in each node.
        intra_bandwidth: bytes per second that one GPU sends inside its node.
        inter_bandwidth: bytes per second that one GPU sends to another node.
        intra_latency: seconds added to each message inside a node.
        inter_latency: seconds added to each message between nodes.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Rajbhandari et al., DeepSpeed-MoE, arXiv:2201.05596 (hierarchical all-to-all);
        NVIDIA, Doubling all2all performance with NCCL 2.12 (PXN).
    """
    whole("gpus_per_node", gpus_per_node)
    whole("nodes", nodes)
    positive("intra_bandwidth", intra_bandwidth)
    positive("inter_bandwidth", inter_bandwidth)
    at_least("intra_latency", intra_latency, 0)
    at_least("inter_latency", inter_latency, 0)
    inside = rounds_time(size, gpus_per_node, intra_bandwidth, intra_latency)
    return inside + rounds_time(size, nodes, inter_bandwidth, inter_latency)


def broadcast_time(size: Bytes, ranks: Count, bandwidth: BytesPerSecond, latency: Seconds = 0.0) -> Seconds:
    """Time to broadcast one rank's array along a pipelined ring.

    The root cuts the array into many chunks and each rank forwards a chunk while it receives
    the next one. The stream takes as long as one transfer of the array; it reaches the last rank
    ranks - 1 hops later. A single rank needs no time.

        T = (ranks - 1) latency + size / bandwidth

    Convention:
        The limit of many chunks, with a latency that delays a chunk but does not keep the link
        busy. The bandwidth is one direction.

    Args:
        size: bytes of the array that the root broadcasts.
        ranks: ranks, the root included.
        bandwidth: bytes per second that one rank sends while it receives as much.
        latency: seconds added to each hop.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        nccl-tests, doc/PERFORMANCE.md, section Broadcast (the bandwidth term); counted from the
        definition (the latency term).
    """
    hops = whole("ranks", ranks) - 1
    streaming = positive("size", size) / positive("bandwidth", bandwidth)
    waiting = hops * at_least("latency", latency, 0)
    return waiting + streaming if hops else 0.0
