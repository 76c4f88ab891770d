"""Several layouts as columns, as a search computes them."""

from collections.abc import Sequence
from typing import cast

import numpy

from app.core.formulas.parallelism import Degrees


def together(some: Sequence[Degrees]) -> Degrees:
    """The numbers of *some* layouts, each as a column that formulas take for a number."""
    return Degrees(*(cast(int, numpy.array(column, dtype=float)) for column in zip(*some, strict=True)))
