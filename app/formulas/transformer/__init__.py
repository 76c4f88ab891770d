"""Parameters and computation of a transformer.

A multiply-add is two FLOP. Training costs as much as three forward passes: one forward pass, and a
backward pass of twice its cost.
"""

from app.formulas.transformer.budget import compute_optimal, petaflop_days, training_flops
from app.formulas.transformer.caches import key_value_cache_bytes, latent_cache_bytes
from app.formulas.transformer.flops import attention_share, layer_flops, step_flops, token_flops
from app.formulas.transformer.parameters import (
    active_parameters,
    attention_parameters,
    feed_forward_parameters,
    layer_parameters,
    model_parameters,
)

__all__ = [
    "active_parameters",
    "attention_parameters",
    "attention_share",
    "compute_optimal",
    "feed_forward_parameters",
    "key_value_cache_bytes",
    "latent_cache_bytes",
    "layer_flops",
    "layer_parameters",
    "model_parameters",
    "petaflop_days",
    "step_flops",
    "token_flops",
    "training_flops",
]
