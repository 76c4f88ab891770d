"""Square matrix products of several sides."""

from functools import partial

import torch

from app.labs.ranks import formats
from app.labs.runner.rank import Call, WorkerRank

_MATRICES = 3  # two operands and their product
_CHECKED = {True: 1024, False: 128}  # side of the product that is checked, on GPUs and not


def main(rank: WorkerRank) -> None:
    """Check a product, then time every side."""
    name = rank.word("format")
    kind = formats.use(name)
    right = formats.is_right(name, kind, _CHECKED[rank.on_gpu], rank.device)
    rank.report.check("product", right)
    if rank.on_gpu:
        rank.report.tell("precision", formats.flags())
    for side in map(int, rank.numbers("sides")):
        size = _MATRICES * kind.itemsize * side**2
        if rank.budget.has_room(size, f"n = {side}"):
            call = rank.timing.rotate(partial(_product, rank, kind, side), size)
            rank.times("time", call, seconds=1.0, least=3, side=side)


def _product(rank: WorkerRank, kind: torch.dtype, side: int) -> Call:
    unit = torch.ones((), device=rank.device)
    return partial(formats.multiply_into, *formats.operands(kind, side, rank.device), unit)
