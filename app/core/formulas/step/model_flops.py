"""The computation of a model that its utilization counts."""

from app.core.formulas.presets import ModelShape
from app.core.formulas.transformer.flops import token_flops
from app.core.formulas.transformer.parameters import active_parameters
from app.core.units import Flops


def counted_flops(shape: ModelShape, sequence: int) -> Flops:
    """FLOP per token of a training step with a causal mask, as `transformer.token_flops` has them.

    A module that predicts a further token has a layer, and runs the output head once more.
    """
    again = shape.multi_token * shape.vocabulary * shape.hidden
    return token_flops(
        active_parameters(shape) + again,
        shape.layers + shape.multi_token,
        shape.heads,
        shape.head_size,
        sequence,
        causal=True,
        rope=shape.rope if shape.latent else 0,
    )
