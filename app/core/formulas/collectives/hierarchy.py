"""All-reduce over several nodes, and in the network."""

from app.core.formulas.checks import at_least, positive, whole
from app.core.formulas.rounds import rounds_time
from app.core.units import Bytes, BytesPerSecond, Count, Seconds


def hierarchical_all_reduce_time(
    size: Bytes,
    nodes: Count,
    gpus_per_node: Count,
    intra_bandwidth: BytesPerSecond,
    inter_bandwidth: BytesPerSecond,
    intra_latency: Seconds = 0.0,
    inter_latency: Seconds = 0.0,
) -> Seconds:
    """Time of a hierarchical all-reduce: inside the nodes first, then between them.

    A ring reduce-scatter leaves every GPU of a node with one piece of the node's sum; the GPUs
    that hold the same piece all-reduce it over a ring of nodes, each on its own network link;
    a ring all-gather inside the node completes the array. P is the piece of one GPU.

        P = size / gpus_per_node
        T_1 = (gpus_per_node - 1) (intra_latency + P / intra_bandwidth)
        T_2 = 2 (nodes - 1) (inter_latency + P / (nodes * inter_bandwidth))
        T = 2 T_1 + T_2

    Convention:
        Both bandwidths are one direction of one GPU, so a node with eight network cards of
        50 GB/s has 50 GB/s here, not 400. For nodes with a single link see node_all_reduce_time.

    Args:
        size: bytes of the array that each GPU starts and ends with.
        nodes: number of nodes.
        gpus_per_node: GPUs in each node.
        intra_bandwidth: bytes per second that one GPU sends inside its node.
        inter_bandwidth: bytes per second that one GPU sends to another node.
        intra_latency: seconds added to each step inside a node.
        inter_latency: seconds added to each step between nodes.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Cho et al., BlueConnect: Decomposing All-Reduce for Deep Learning on Heterogeneous
        Network Hierarchy, MLSys 2019.
    """
    whole("nodes", nodes)
    positive("inter_bandwidth", inter_bandwidth)
    at_least("inter_latency", inter_latency, 0)
    piece = positive("size", size) / whole("gpus_per_node", gpus_per_node)
    transfer = piece / positive("intra_bandwidth", intra_bandwidth)
    inside = (gpus_per_node - 1) * (at_least("intra_latency", intra_latency, 0) + transfer)
    return 2 * (inside + rounds_time(piece, nodes, inter_bandwidth, inter_latency))


def node_all_reduce_time(size: Bytes, nodes: Count, node_bandwidth: BytesPerSecond, latency: Seconds = 0.0) -> Seconds:
    """Time of an all-reduce between nodes alone, when each node has one network link.

    A ring in which every node is one rank; time inside the nodes is not included.

        T = 2 (nodes - 1) (latency + size / (nodes * node_bandwidth))

    Convention:
        The bandwidth is one direction of the whole node, all its network cards together.

    Args:
        size: bytes of the array that each node starts and ends with.
        nodes: nodes in the ring.
        node_bandwidth: bytes per second that a node sends while it receives as much.
        latency: seconds added to each step.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        nccl-tests, doc/PERFORMANCE.md, section AllReduce, with nodes for ranks.
    """
    whole("nodes", nodes)
    positive("node_bandwidth", node_bandwidth)
    return 2 * rounds_time(size, nodes, node_bandwidth, latency)


def in_network_all_reduce_time(size: Bytes, bandwidth: BytesPerSecond, latency: Seconds = 0.0) -> Seconds:
    """Time of an all-reduce in which the switch computes the sums.

    Every rank sends its array to the switch once and receives the sum once, at the same time in
    the other direction. A ring sends nearly twice as much; the bus bandwidth, which assumes a
    ring, can therefore exceed the link's bandwidth.

        T = 2 latency + size / bandwidth

    Convention:
        The limit of many chunks; the bandwidth is one direction. NVIDIA calls this NVLS on NVLink
        switches and SHARP on InfiniBand switches.

    Args:
        size: bytes of the array that each rank starts and ends with.
        bandwidth: bytes per second that one rank sends while it receives as much.
        latency: seconds from a rank to the switch, and from the switch to a rank.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Graham et al., Scalable Hierarchical Aggregation Protocol (SHARP), COMHPC 2016;
        nccl-tests, issue 212 (bus bandwidth above that of the link).
    """
    streaming = positive("size", size) / positive("bandwidth", bandwidth)
    return 2 * at_least("latency", latency, 0) + streaming
