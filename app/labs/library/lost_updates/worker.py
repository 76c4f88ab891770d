"""The same small update, added many times in two formats."""

import torch

from app.labs.runner.rank import WorkerRank


def main(rank: WorkerRank) -> None:
    """Add the update in BF16, and to an FP32 master copy."""
    start, update, steps = (rank.number(name) for name in ("weight", "update", "steps"))
    weight = torch.tensor(start, dtype=torch.bfloat16)
    master = torch.tensor(start, dtype=torch.float32)
    for _ in range(int(steps)):
        weight = (weight.float() + update).to(torch.bfloat16)
        master = master + update
    rank.report.check("format", weight.dtype is torch.bfloat16)
    rank.report.measure("bf16", [float(weight)])
    rank.report.measure("master", [float(master)])
