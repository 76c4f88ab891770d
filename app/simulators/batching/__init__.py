"""A training step with accumulated micro-batches, played out on a clock."""

from app.simulators.batching.steps import Played, play_step, play_until

__all__ = ["Played", "play_step", "play_until"]
