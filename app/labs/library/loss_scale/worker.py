"""A dynamic loss scale with gradients in FP16."""

import torch

from app.labs.runner.rank import WorkerRank

_USUAL, _LARGE = 1e-9, 1e12  # the first fits into FP16 at every scale, the second at none


def main(rank: WorkerRank) -> None:
    """Scale the gradient, check for infinity, halve or double the scale."""
    scale, clean, skipped = rank.number("initial"), 0, 0
    for step in range(1, int(rank.number("steps")) + 1):
        true = _LARGE if step % int(rank.number("every")) == 0 else _USUAL
        gradient = (torch.tensor(true) * scale).to(torch.float16)
        if torch.isfinite(gradient):
            clean += 1
            if clean == int(rank.number("interval")):
                scale, clean = 2 * scale, 0
        else:
            scale, clean, skipped = scale / 2, 0, skipped + 1
    rank.report.check("scale", scale > 0)
    rank.report.measure("scale", [scale])
    rank.report.measure("skipped", [float(skipped)])
