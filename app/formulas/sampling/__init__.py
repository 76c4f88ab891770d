"""Answers drawn more than once, and what a model costs over its whole life."""

from app.formulas.sampling.drawing import pass_at_k
from app.formulas.sampling.lifetime import (
    inference_flops,
    lifetime_flops,
    smaller_model_breakeven,
)

__all__ = ["inference_flops", "lifetime_flops", "pass_at_k", "smaller_model_breakeven"]
