"""What one optimizer step takes in, and how long it takes, when micro-batches are accumulated."""

from app.formulas.batching.accumulation import (
    accumulated_step_time,
    accumulation_saving,
    accumulation_steps,
    effective_batch,
)
from app.formulas.batching.noise import critical_batch, gradient_noise_scale
from app.formulas.batching.rates import communication_share, sequences_per_second
from app.formulas.batching.scaling import (
    examples_to_target,
    linear_scaled_rate,
    square_root_scaled_rate,
    steps_to_target,
)
from app.formulas.batching.schedules import cosine_rate, rate_exposure, warmup_steps

__all__ = [
    "accumulated_step_time",
    "accumulation_saving",
    "accumulation_steps",
    "communication_share",
    "cosine_rate",
    "critical_batch",
    "effective_batch",
    "examples_to_target",
    "gradient_noise_scale",
    "linear_scaled_rate",
    "rate_exposure",
    "sequences_per_second",
    "square_root_scaled_rate",
    "steps_to_target",
    "warmup_steps",
]
