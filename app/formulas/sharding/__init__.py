"""Splitting one layer over ranks: shapes, traffic and loads.

Tensor parallelism splits matrices, context parallelism the sequence, expert parallelism the
experts. *size* is the whole activation of one micro-batch.
"""

from app.formulas.sharding.context import (
    context_gather_bytes,
    context_ring_bytes,
    context_ring_hides,
)
from app.formulas.sharding.experts import (
    expert_all_to_all_bytes,
    expert_capacity,
    expert_imbalance,
)
from app.formulas.sharding.meshes import data_parallel_degree, parallelism_order
from app.formulas.sharding.shapes import column_shard, heads_per_rank, row_shard
from app.formulas.sharding.tensor import (
    sequence_parallel_traffic_bytes,
    tensor_all_reduce_size,
    tensor_all_reduces,
    tensor_overhead,
    tensor_traffic_bytes,
)

__all__ = [
    "column_shard",
    "context_gather_bytes",
    "context_ring_bytes",
    "context_ring_hides",
    "data_parallel_degree",
    "expert_all_to_all_bytes",
    "expert_capacity",
    "expert_imbalance",
    "heads_per_rank",
    "parallelism_order",
    "row_shard",
    "sequence_parallel_traffic_bytes",
    "tensor_all_reduce_size",
    "tensor_all_reduces",
    "tensor_overhead",
    "tensor_traffic_bytes",
]
