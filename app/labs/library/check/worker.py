"""The ranks of `wallclock lab check`: they sum, unless one of them goes wrong on purpose.

There is no lab.yaml beside it, since it is not a lab.
"""

import os
import signal
import time

import torch
import torch.distributed as dist

from app.labs.runner.proof import DataProof, Difference, Pattern
from app.labs.runner.rank import WorkerRank

_COUNT, _SIDE = 2**20, 256  # elements of a sum, and the side of a matrix
_TOO_MANY = 1 << 60  # bytes
_COARSE = 0.02  # relative error from rounding to BF16, several times over


def main(rank: WorkerRank) -> None:
    """Sum over all ranks; the rank `bad` does `what` instead, or before."""
    what, is_bad = rank.word("what"), rank.rank == rank.number("bad")
    new = rank.folder / f".pid{rank.rank}"
    with new.open("w") as file:
        file.write(str(os.getpid()))
    new.rename(rank.folder / f"pid{rank.rank}")  # no reader sees half of it
    if what == "products":
        rank.report.check("products", _multiplies(rank.rank))
    if what == "hangs":
        time.sleep(rank.number("seconds"))
    if is_bad:
        _go_wrong(rank, what)
    if is_bad and what == "skips":
        dist.barrier()
    array, pattern = torch.empty(_COUNT, device=rank.device), Pattern(rank.world, torch.float32, rank.device)

    def difference(turn: int) -> Difference | None:
        """What is wrong in the sum of this rank."""
        pattern.begin(turn)
        pattern.fill(array, 0, pattern.weight(rank.rank))
        dist.all_reduce(array)
        if rank.on_gpu:
            torch.cuda.synchronize(rank.device)  # so that the stack shows who waits for others
        return pattern.difference(array, 0, pattern.total)

    rank.prove(DataProof("sums", difference))


def _go_wrong(rank: WorkerRank, what: str) -> None:
    match what:
        case "memory":
            torch.empty(_TOO_MANY, dtype=torch.uint8, device=rank.device)
        case "raises":
            raise ValueError("an error on purpose")
        case "killed":
            os.kill(os.getpid(), signal.SIGKILL)


def _multiplies(number: int) -> bool:
    """Whether GPU *number* multiplies matrices of BF16."""
    shape = (_SIDE, _SIDE)
    first, second = (torch.randn(shape, dtype=torch.bfloat16) for _ in range(2))
    device = torch.device("cuda", number)
    found = (first.to(device) @ second.to(device)).cpu().float()
    expected = first.float() @ second.float()
    return bool((found - expected).norm() <= _COARSE * expected.norm())
