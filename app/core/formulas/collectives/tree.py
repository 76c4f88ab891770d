"""All-reduce on trees and over several nodes, and collectives that do not reduce."""

from app.core.formulas.checks import at_least, positive, rounds_bytes, rounds_time, whole
from app.core.units import Bytes, BytesPerSecond, Count, Seconds


def _levels(ranks: Count, least: int = 1) -> int:
    """ceil(log2(ranks)), exactly."""
    return (whole("ranks", ranks, least) - 1).bit_length()


def tree_all_reduce_steps(ranks: Count) -> Count:
    """Steps of an all-reduce up a binomial tree and down again.

    In each step up, the ranks that still hold a partial sum form pairs, and half of them are done;
    on the way down the same pairs exchange the sum.

        N = 2 ceil(log2(ranks))

    Args:
        ranks: ranks in the tree.

    Raises:
        ValueError: *ranks* is not a whole number of at least one.

    Source:
        Thakur, Rabenseifner and Gropp, Optimization of Collective Communication Operations in MPICH, International
        Journal of High Performance Computing Applications 19(1), 2005 (binomial trees for broadcast and reduce).
    """
    return 2 * _levels(ranks)


def tree_all_reduce_time(size: Bytes, ranks: Count, bandwidth: BytesPerSecond, latency: Seconds = 0.0) -> Seconds:
    """Time of an all-reduce up and down a binomial tree, not pipelined.

    Each of the 2 ceil(log2(ranks)) steps sends the whole array, so there are few steps but each
    is long: good for small arrays, bad for large ones.

        T = 2 ceil(log2(ranks)) (latency + size / bandwidth)

    Convention:
        This is the textbook tree. NCCL's trees are double and pipelined: see
        double_binary_tree_all_reduce_time. The bandwidth is one direction.

    Args:
        size: bytes of the array that each rank starts and ends with.
        ranks: ranks in the tree.
        bandwidth: bytes per second that one rank sends to another.
        latency: seconds added to each step.

    Source:
        Thakur, Rabenseifner and Gropp, International Journal of High Performance Computing
        Applications 19(1), 2005 (a binomial reduce followed by a binomial broadcast).
    """
    step = positive("size", size) / positive("bandwidth", bandwidth)
    return 2 * _levels(ranks) * (at_least("latency", latency, 0) + step)


def double_binary_tree_all_reduce_time(
    size: Bytes, ranks: Count, bandwidth: BytesPerSecond, latency: Seconds = 0.0
) -> Seconds:
    """Time of an all-reduce on two pipelined binary trees that carry half of the array each.

    Every rank is an inner node of one tree and a leaf of the other, so each sends two arrays in total: half an array up
    each tree, and two halves down the tree where it has children. With many small chunks, only the first one waits for
    the levels of the tree. A single rank needs no time.

        T = 2 ceil(log2(ranks)) latency + 2 size / bandwidth

    Convention:
        The limit of many chunks, with a latency that delays a chunk but does not keep the link
        busy. The bandwidth is one direction. NCCL calls this algorithm Tree. With two or three
        ranks, no node has two children: a rank sends only one array, or one and a half, and this is
        an upper bound.

    Args:
        size: bytes of the array that each rank starts and ends with.
        ranks: ranks in each of the trees.
        bandwidth: bytes per second that one rank sends while it receives as much.
        latency: seconds added to each hop.

    Source:
        Sanders, Speck and Traff, Two-tree algorithms for full bandwidth broadcast, reduction and
        scan, Parallel Computing 35(12), 2009; NCCL, src/graph/trees.cc.
    """
    levels = _levels(ranks)
    sending = 2 * (positive("size", size) / positive("bandwidth", bandwidth))
    waiting = 2 * levels * at_least("latency", latency, 0)
    return waiting + sending if levels else 0.0


def ring_tree_crossover_size(ranks: Count, bandwidth: BytesPerSecond, latency: Seconds) -> Bytes:
    """Size at which a ring and an unpipelined tree take equally long for an all-reduce.

    Set the two times equal and solve for the size; L is the depth of the tree. Smaller arrays are faster on the tree,
    larger ones on the ring. With two or three ranks the tree saves no steps, and the size is zero.

        L = ceil(log2(ranks))
        S = bandwidth * latency * ranks * (ranks - 1 - L) / (ranks * L - ranks + 1)

    Convention:
        Compared with tree_all_reduce_time. Against NCCL's pipelined double tree, the ring wins
        only at far larger sizes: see ring_double_tree_crossover_size.

    Args:
        ranks: ranks in the ring and in the tree, at least two.
        bandwidth: bytes per second that one rank sends while it receives as much.
        latency: seconds added to each step.

    Source:
        Derived from ring_all_reduce_time and tree_all_reduce_time; cost model of Thakur, Rabenseifner and Gropp,
        International Journal of High Performance Computing Applications 19(1), 2005.
    """
    levels = _levels(ranks, 2)
    saved_steps = whole("ranks", ranks) - 1 - levels
    product = positive("bandwidth", bandwidth) * at_least("latency", latency, 0)
    return product * ranks * saved_steps / (ranks * levels - ranks + 1)


def ring_double_tree_crossover_size(ranks: Count, bandwidth: BytesPerSecond, latency: Seconds) -> Bytes:
    """Size at which a ring and a pipelined double binary tree take equally long for an all-reduce.

    Set the two times equal and solve for the size; L is the depth of the trees. The ring's
    bandwidth term is smaller only by the factor (ranks - 1) / ranks, so the size at which this
    makes up for the additional steps grows with the square of the number of ranks.

        L = ceil(log2(ranks))
        S = ranks * bandwidth * latency * (ranks - 1 - L)

    Convention:
        The tree is NCCL's, in the limit of many chunks; for the textbook tree see
        ring_tree_crossover_size.

    Args:
        ranks: ranks in the ring and in the trees, at least two.
        bandwidth: bytes per second that one rank sends while it receives as much.
        latency: seconds added to each step.

    Source:
        Derived from ring_all_reduce_time and double_binary_tree_all_reduce_time; Sanders, Speck
        and Traff, Parallel Computing 35(12), 2009.
    """
    levels = _levels(ranks, 2)
    product = positive("bandwidth", bandwidth) * at_least("latency", latency, 0)
    return ranks * product * (ranks - 1 - levels)


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

    Source:
        nccl-tests, doc/PERFORMANCE.md, section AllReduce, with nodes for ranks.
    """
    whole("nodes", nodes)
    positive("node_bandwidth", node_bandwidth)
    return 2 * rounds_time(size, nodes, node_bandwidth, latency)


def in_network_all_reduce_time(size: Bytes, bandwidth: BytesPerSecond, latency: Seconds = 0.0) -> Seconds:
    """Time of an all-reduce in which the switch computes the sums.

    Every rank sends its array to the switch once and receives the sum once, at the same time in the other direction. A
    ring sends nearly twice as much; the bus bandwidth, which assumes a ring, can therefore exceed the link's bandwidth.

        T = 2 latency + size / bandwidth

    Convention:
        The limit of many chunks; the bandwidth is one direction. NVIDIA calls this NVLS on NVLink
        switches and SHARP on InfiniBand switches.

    Args:
        size: bytes of the array that each rank starts and ends with.
        bandwidth: bytes per second that one rank sends while it receives as much.
        latency: seconds from a rank to the switch, and from the switch to a rank.

    Source:
        Graham et al., Scalable Hierarchical Aggregation Protocol (SHARP), COMHPC 2016;
        nccl-tests, issue 212 (bus bandwidth above that of the link).
    """
    streaming = positive("size", size) / positive("bandwidth", bandwidth)
    return 2 * at_least("latency", latency, 0) + streaming


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

    Source:
        Thakur, Rabenseifner and Gropp, Optimization of Collective Communication Operations in MPICH, International
        Journal of High Performance Computing Applications 19(1), 2005 (the pairwise exchange).
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

    Source:
        nccl-tests, doc/PERFORMANCE.md, section Broadcast (the bandwidth term); counted from the
        definition (the latency term).
    """
    hops = whole("ranks", ranks) - 1
    streaming = positive("size", size) / positive("bandwidth", bandwidth)
    waiting = hops * at_least("latency", latency, 0)
    return waiting + streaming if hops else 0.0
