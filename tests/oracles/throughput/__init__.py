"""A chip with an external memory, and the numbers that move between them."""

from tests.oracles.throughput.machine import Machine, run
from tests.oracles.throughput.moving import fused_attention, multiply, reached_share, unfused_attention
from tests.oracles.throughput.waiting import last_batch, launched, time_of_tiles

__all__ = [
    "Machine",
    "fused_attention",
    "last_batch",
    "launched",
    "multiply",
    "reached_share",
    "run",
    "time_of_tiles",
    "unfused_attention",
]
