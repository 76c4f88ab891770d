"""Layers split over ranks and computed, with every sent number counted."""

from app.simulators.sharding.matrices import MlpSplit, multiply, parallel_mlp
from app.simulators.sharding.ring_attention import Passed, pass_blocks
from app.simulators.sharding.routing import Routed, route

__all__ = [
    "Passed",
    "Routed",
    "MlpSplit",
    "multiply",
    "parallel_mlp",
    "pass_blocks",
    "route",
]
