"""A training step with accumulated micro-batches, played out on a clock."""

from app.simulators.batching.descent import best_gain, descend, spread
from app.simulators.batching.steps import Played, play_step, play_until

__all__ = ["Played", "best_gain", "descend", "play_step", "play_until", "spread"]
