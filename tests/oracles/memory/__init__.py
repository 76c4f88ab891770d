"""Training state, its traffic, and activations: what each rank holds and sends."""

from tests.oracles.memory.activations import StoredTensor, stored_bytes, stored_tensors
from tests.oracles.memory.holding import Holding, hybrid_holding, zero_holding
from tests.oracles.memory.steps import hybrid_step, zero_step

__all__ = [
    "Holding",
    "StoredTensor",
    "hybrid_holding",
    "hybrid_step",
    "stored_bytes",
    "stored_tensors",
    "zero_holding",
    "zero_step",
]
