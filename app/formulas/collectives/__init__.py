"""Time and traffic of collective operations in the latency-bandwidth model.

*bandwidth* is what one rank can send in one direction while it receives as much in the other;
*size* is the whole array, as in the `size` column of nccl-tests.
"""

from app.formulas.collectives.bandwidth import (
    algorithm_bandwidth,
    bus_bandwidth,
    link_utilization,
)
from app.formulas.collectives.hierarchy import (
    hierarchical_all_reduce_time,
    in_network_all_reduce_time,
    node_all_reduce_time,
)
from app.formulas.collectives.naive import (
    naive_all_reduce_root_bytes,
    naive_all_reduce_time,
)
from app.formulas.collectives.ring import (
    ring_all_gather_bytes,
    ring_all_gather_time,
    ring_all_reduce_bytes,
    ring_all_reduce_steps,
    ring_all_reduce_time,
    ring_reduce_scatter_bytes,
    ring_reduce_scatter_time,
)
from app.formulas.collectives.spread import all_to_all_bytes, all_to_all_time, broadcast_time
from app.formulas.collectives.tree import (
    double_binary_tree_all_reduce_time,
    ring_double_tree_crossover_size,
    ring_tree_crossover_size,
    tree_all_reduce_steps,
    tree_all_reduce_time,
)

__all__ = [
    "algorithm_bandwidth",
    "all_to_all_bytes",
    "all_to_all_time",
    "broadcast_time",
    "bus_bandwidth",
    "double_binary_tree_all_reduce_time",
    "hierarchical_all_reduce_time",
    "in_network_all_reduce_time",
    "link_utilization",
    "naive_all_reduce_root_bytes",
    "naive_all_reduce_time",
    "node_all_reduce_time",
    "ring_all_gather_bytes",
    "ring_all_gather_time",
    "ring_all_reduce_bytes",
    "ring_all_reduce_steps",
    "ring_all_reduce_time",
    "ring_double_tree_crossover_size",
    "ring_reduce_scatter_bytes",
    "ring_reduce_scatter_time",
    "ring_tree_crossover_size",
    "tree_all_reduce_steps",
    "tree_all_reduce_time",
]
