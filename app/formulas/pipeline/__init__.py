"""Pipeline parallelism: bubbles, activation memory, and traffic between stages.

Two quantities are called the bubble. The ratio is idle over ideal time and may exceed one; the
fraction is idle over the whole step. They have two names here.
"""

from app.formulas.pipeline.bubble import (
    bubble_fraction,
    bubble_ratio,
    microbatches_for_fraction,
    microbatches_for_ratio,
)
from app.formulas.pipeline.holding import in_flight_microbatches, stage_activation_bytes
from app.formulas.pipeline.schedules import schedule_bubble
from app.formulas.pipeline.stages import layers_per_stage, point_to_point_bytes

__all__ = [
    "bubble_fraction",
    "bubble_ratio",
    "in_flight_microbatches",
    "layers_per_stage",
    "microbatches_for_fraction",
    "microbatches_for_ratio",
    "point_to_point_bytes",
    "schedule_bubble",
    "stage_activation_bytes",
]
