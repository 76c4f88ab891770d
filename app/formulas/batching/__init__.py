"""What one optimizer step takes in, and how long it takes, when micro-batches are accumulated."""

from app.formulas.batching.accumulation import (
    accumulated_step_time,
    accumulation_saving,
    accumulation_steps,
    effective_batch,
)
from app.formulas.batching.rates import communication_share, sequences_per_second

__all__ = [
    "accumulated_step_time",
    "accumulation_saving",
    "accumulation_steps",
    "communication_share",
    "effective_batch",
    "sequences_per_second",
]
