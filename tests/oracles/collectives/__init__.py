"""Collectives, simulated chunk by chunk until every rank has what it should have."""

from tests.oracles.collectives.exchange import all_to_all, hierarchical_all_to_all
from tests.oracles.collectives.hierarchy import hierarchical_all_reduce
from tests.oracles.collectives.network import CollectiveResult
from tests.oracles.collectives.pipelined import broadcast, in_network_all_reduce
from tests.oracles.collectives.ring import ring_all_gather, ring_all_reduce, ring_reduce_scatter
from tests.oracles.collectives.rooted import naive_all_reduce, tree_all_reduce
from tests.oracles.collectives.two_trees import double_binary_tree_all_reduce

__all__ = [
    "CollectiveResult",
    "all_to_all",
    "broadcast",
    "double_binary_tree_all_reduce",
    "hierarchical_all_reduce",
    "hierarchical_all_to_all",
    "in_network_all_reduce",
    "naive_all_reduce",
    "ring_all_gather",
    "ring_all_reduce",
    "ring_reduce_scatter",
    "tree_all_reduce",
]
