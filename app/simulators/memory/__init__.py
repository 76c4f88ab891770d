"""Training state and its traffic played out: who holds which parameter, and who sends which."""

from app.simulators.memory.holding import Holding, hybrid_holding, zero_holding
from app.simulators.memory.steps import hybrid_step, zero_step

__all__ = ["Holding", "hybrid_holding", "hybrid_step", "zero_holding", "zero_step"]
