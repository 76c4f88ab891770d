"""What one optimizer step takes in, and how long it takes, when micro-batches are accumulated."""

from app.formulas.batching.accumulation import (
    accumulated_step_time,
    accumulation_saving,
    accumulation_steps,
    effective_batch,
)
from app.formulas.batching.rates import communication_share, sequences_per_second
from app.formulas.batching.scaling import (
    examples_to_target,
    linear_scaled_rate,
    square_root_scaled_rate,
    steps_to_target,
)

__all__ = [
    "accumulated_step_time",
    "accumulation_saving",
    "accumulation_steps",
    "communication_share",
    "effective_batch",
    "examples_to_target",
    "linear_scaled_rate",
    "sequences_per_second",
    "square_root_scaled_rate",
    "steps_to_target",
]
