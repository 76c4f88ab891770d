"""A chip with a memory beside it, and the numbers that go to and fro."""

from app.simulators.throughput.machine import Machine, run
from app.simulators.throughput.moving import fused_attention, multiply, unfused_attention

__all__ = ["Machine", "fused_attention", "multiply", "run", "unfused_attention"]
