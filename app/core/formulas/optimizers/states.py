"""The state that an optimizer keeps beside the weights."""

from typing import Literal

from app.core.formulas.checks import one_of, whole
from app.core.units import Bytes, Count

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

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Dettmers et al., 8-bit Optimizers, arXiv:2110.02861; Shazeer and Stern, Adafactor,
        arXiv:1804.04235; Liu et al., Muon is Scalable, arXiv:2502.16982.
    """
    one_of("optimizer", optimizer, ("adam", "adam_8bit", "muon", "adafactor"))
    high, wide = whole("rows", rows), whole("columns", columns)
    scaled = 1 + 4 / whole("block", block)
    kept = {"adam": 8, "adam_8bit": 2 * scaled, "muon": 4, "adafactor": 4 / wide + 4 / high}
    return 4 + kept[optimizer]
