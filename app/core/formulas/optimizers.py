"""Optimizers: what they keep for each parameter, and what Muon computes and sends."""

from typing import Literal

from app.core.formulas.checks import at_least, fraction, one_of, positive, too_large, whole
from app.core.units import Bytes, Count, Flops, Ratio

_MOST_STEPS = 1000


def newton_schulz_flops(rows: Count, columns: Count, steps: Count = 5) -> Flops:
    """Operations with which Muon orthogonalizes a matrix.

    With n the shorter and m the longer side, each step multiplies X by its transpose (n m n),
    squares the result (n n n), and multiplies X by the polynomial of the two (n n m).

        n = min(rows, columns)
        m = max(rows, columns)
        F = steps * (4 FLOP * n^2 * m + 2 FLOP * n^3)

    Convention:
        A multiply-add is two operations. Sums and scalings are left out, and so is the symmetry
        of the first two products.

    Args:
        rows: rows of the matrix.
        columns: columns of the matrix.
        steps: rounds of the iteration.

    Raises:
        ValueError: an argument is not a whole number of at least 1.

    Source:
        Jordan et al., Muon: An optimizer for hidden layers in neural networks, 2024, section Runtime analysis.
    """
    short, long = sorted((whole("rows", rows), whole("columns", columns)))
    return whole("steps", steps) * (4.0 * short**2 * long + 2.0 * short**3)


def newton_schulz(value: Ratio, steps: Count = 5) -> Ratio:
    """Singular value after rounds of Muon's Newton-Schulz iteration.

    The iteration multiplies whole matrices, but each singular value goes its own way. X is the
    value before the last of the rounds.

        R = 3.4445 * X - 4.7750 * X^3 + 2.0315 * X^5

    Convention:
        The matrix is divided by its Frobenius norm first, so no singular value is above 1. The
        coefficients are tuned to lift small values quickly: after five rounds, values of 0.002 or
        more end between about 0.7 and 1.2. They do not converge to 1.

    Args:
        value: singular value before the first round, at most 1.
        steps: rounds of the iteration, at most 1,000.

    Source:
        Jordan et al., Muon: An optimizer for hidden layers in neural networks, 2024, section Tuning the coefficients.
    """
    x = fraction("value", value)
    if whole("steps", steps) > _MOST_STEPS:
        raise too_large("steps", steps, _MOST_STEPS)
    for _ in range(int(steps)):
        x = 3.4445 * x - 4.7750 * x**3 + 2.0315 * x**5
    return x


def muon_traffic_ratio(gradient_bytes: Bytes, weight_bytes: Bytes, gather_bytes: Bytes = 2) -> Ratio:
    """Traffic of Muon over that of Adam, where ranks share the optimizer state as in ZeRO-1.

    Both reduce-scatter gradients and all-gather weights. Muon needs whole matrices, so it also
    all-gathers its momentum.

        R = (gradient_bytes + weight_bytes + gather_bytes) / (gradient_bytes + weight_bytes)

    Convention:
        Bytes per parameter. Each rank keeps its own part of the result, so nothing is sent after
        the orthogonalization but the weights that Adam sends too. Where ranks own whole matrices,
        nothing has to be gathered.

    Args:
        gradient_bytes: bytes with which a gradient is reduce-scattered.
        weight_bytes: bytes with which a weight is all-gathered.
        gather_bytes: bytes with which the momentum is all-gathered.

    Source:
        Liu et al., Muon is Scalable for LLM Training, arXiv:2502.16982, section 2.3.
    """
    adam = at_least("gradient_bytes", gradient_bytes, 0) + positive("weight_bytes", weight_bytes)
    return 1 + positive("gather_bytes", gather_bytes) / adam


Optimizer = Literal["adam", "adam_8bit", "muon", "adafactor"]


def state_bytes_per_parameter(optimizer: Optimizer, rows: Count, columns: Count, block: Count = 256) -> Bytes:
    """Bytes of master weight and optimizer state per parameter of a matrix.

    The FP32 master weight, and: two FP32 moments for Adam (A); two moments of one byte each and
    their FP32 scales for Adam in 8 bits (E); one FP32 momentum for Muon (M); FP32 sums of the
    rows and of the columns for Adafactor without momentum (F).

        A = 4 B + 8 B
        E = 4 B + 2 * (1 B + 4 B / block)
        M = 4 B + 4 B
        F = 4 B + 4 B * (rows + columns) / (rows * columns)

    Convention:
        The 16-bit weight and the gradient are not included. As optimizer_bytes of
        memory.state_bytes.

    Args:
        optimizer: adam, adam_8bit, muon or adafactor.
        rows: rows of the matrix.
        columns: columns of the matrix.
        block: values of an 8-bit moment that share a scale.

    Source:
        Dettmers et al., 8-bit Optimizers, arXiv:2110.02861; Shazeer and Stern, Adafactor,
        arXiv:1804.04235; Liu et al., Muon is Scalable, arXiv:2502.16982.
    """
    one_of("optimizer", optimizer, ("adam", "adam_8bit", "muon", "adafactor"))
    high, wide = whole("rows", rows), whole("columns", columns)
    scaled = 1 + 4 / whole("block", block)
    kept = {"adam": 8, "adam_8bit": 2 * scaled, "muon": 4, "adafactor": 4 / wide + 4 / high}
    return 4 + kept[optimizer]
