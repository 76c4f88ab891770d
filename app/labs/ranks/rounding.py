"""Whether results in BF16 agree but for rounding."""

import math

import torch

_BF16 = 2.0**-8  # the largest relative error of rounding to 8 significant bits
_MARGIN = 2.0


def agree(found: torch.Tensor, expected: torch.Tensor, roundings: int) -> bool:
    """Whether *roundings* to BF16, one after another, can explain how far *found* is off.

    A rounding changes a number by at most 2^-8 of it, by 0.4 * 2^-8 in the root mean square. The
    errors of independent roundings add up like the sides of right angles: *roundings* of them move
    a tensor by 0.4 * sqrt(roundings) * 2^-8 of its length. Five times that is allowed. Of many
    elements the length hardly varies; a wrong result is about as far off as it is long.
    """
    error = torch.linalg.vector_norm(found.float() - expected.float(), dtype=torch.float64)
    length = torch.linalg.vector_norm(expected.float(), dtype=torch.float64)
    return bool(error <= _MARGIN * math.sqrt(roundings) * _BF16 * length)
