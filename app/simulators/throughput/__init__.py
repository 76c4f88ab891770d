"""A chip with an external memory, and the numbers that move between them."""

from app.simulators.throughput.machine import Machine, run
from app.simulators.throughput.moving import fused_attention, multiply, unfused_attention

__all__ = ["Machine", "fused_attention", "multiply", "run", "unfused_attention"]
