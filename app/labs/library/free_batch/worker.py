"""A matrix times more and more columns, and the two rates of its roofline."""

from functools import partial
from typing import Any

import torch

from app.labs.runner.rank import WorkerRank

_SECONDS = 0.5  # for the samples of a measure
_SAMPLES = 3  # at least
_WIDE = 1024  # columns of the product whose rate counts; the lab's formulas have them too


def main(rank: WorkerRank) -> None:
    """Check a product, time reading and a wide product, then every number of columns."""
    side = int(rank.number("side"))
    matrix = torch.randn(side, side)
    rank.report.check("product", _is_right(matrix))
    numbers = matrix.view(-1)
    rank.times("read", partial(torch.dot, numbers, numbers), _SECONDS, _SAMPLES)
    for name, columns in [("product", _WIDE), *(("time", int(n)) for n in rank.numbers("columns"))]:
        where: dict[str, Any] = {"columns": columns} if name == "time" else {}
        given, found = torch.randn(columns, side), torch.empty(columns, side)
        call = partial(torch.mm, given, matrix.t(), out=found)  # as a linear layer multiplies
        rank.times(name, call, _SECONDS, _SAMPLES, **where)


def _is_right(matrix: torch.Tensor) -> bool:
    """Whether the sums of rows come out as their products with ones."""
    ones = torch.ones(2, len(matrix))
    expected = matrix.double().sum(dim=1)
    found = (ones @ matrix.t())[1].double()
    return bool(torch.allclose(found, expected, rtol=1e-3, atol=1e-2))
