"""Memory of training on a rank, and the traffic of sharding it.

*parameters* counts elements; the sizes of a weight, of its gradient and of its optimizer state
are bytes per parameter, 2 + 2 + 12 = 16 for mixed precision with Adam.
"""

from app.formulas.memory.activations import (
    activation_bytes,
    checkpointing_overhead,
    layer_activation_bytes,
)
from app.formulas.memory.budget import memory_budget
from app.formulas.memory.fitting import zero_largest_model, zero_smallest_ranks
from app.formulas.memory.states import (
    hybrid_shard_state_bytes,
    state_bytes,
    zero_redundant_bytes,
    zero_state_bytes,
)
from app.formulas.memory.traffic import (
    hybrid_shard_traffic,
    zero_accumulated_traffic_bytes,
    zero_traffic_bytes,
)

__all__ = [
    "activation_bytes",
    "checkpointing_overhead",
    "hybrid_shard_state_bytes",
    "hybrid_shard_traffic",
    "layer_activation_bytes",
    "memory_budget",
    "state_bytes",
    "zero_accumulated_traffic_bytes",
    "zero_largest_model",
    "zero_redundant_bytes",
    "zero_smallest_ranks",
    "zero_state_bytes",
    "zero_traffic_bytes",
]
