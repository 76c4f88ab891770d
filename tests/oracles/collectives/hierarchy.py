"""All-reduce over nodes of several GPUs, with one network inside them and another between."""

from app.core.translation import say
from app.core.units import Bytes, BytesPerSecond, Count, Seconds
from tests.oracles.collectives.network import CollectiveResult, Network
from tests.oracles.collectives.ring import Ring, all_gather, contributions, reduce_scatter


def hierarchical_all_reduce(
    size: Bytes,
    nodes: Count,
    gpus_per_node: Count,
    intra_bandwidth: BytesPerSecond,
    inter_bandwidth: BytesPerSecond,
    intra_latency: Seconds = 0.0,
    inter_latency: Seconds = 0.0,
) -> CollectiveResult:
    """Reduce inside the nodes, then between them, then gather the sums inside the nodes.

    GPU g of node m is rank m * gpus_per_node + g. The array is cut into one chunk for each rank,
    the smallest that ever travels.
    """
    ranks = nodes * gpus_per_node
    chunk, held = size / ranks, contributions(ranks)
    inside, between = (Network(intra_bandwidth, intra_latency), Network(inter_bandwidth, inter_latency))
    parts = [range(gpu, ranks, gpus_per_node) for gpu in range(gpus_per_node)]
    in_nodes = [Ring(range(first, first + gpus_per_node), parts) for first in range(0, ranks, gpus_per_node)]
    owned = reduce_scatter(inside, held, in_nodes, chunk)
    across = [
        Ring(range(gpu, ranks, gpus_per_node), [[at] for at in parts[owned[gpu]]]) for gpu in range(gpus_per_node)
    ]
    all_gather(between, held, across, chunk, reduce_scatter(between, held, across, chunk))
    all_gather(inside, held, in_nodes, chunk, owned)
    if any(share != frozenset(range(ranks)) for chunks in held for share in chunks):
        raise ValueError(
            say(
                "{nodes} nodes of {gpus_per_node} GPUs did not end with the sum",
                nodes=nodes,
                gpus_per_node=gpus_per_node,
            )
        )
    return inside.played().then(between.played())
