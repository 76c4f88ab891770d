"""Training steps in FP16, whose scaled gradients may overflow."""

from collections.abc import Iterable
from dataclasses import dataclass, field

_TOO_LARGE = 65520.0  # rounds to infinity in FP16


@dataclass(slots=True)
class Trained:
    """The scale before each step, whether the step overflowed, and the last scale."""

    scale: float
    scales: list[float] = field(default_factory=list)
    overflows: list[bool] = field(default_factory=list)


def train(gradients: Iterable[float], scale: float, patience: int) -> Trained:
    """Step through *gradients*; after *patience* clean steps the scale doubles."""
    run = Trained(scale)
    earned = 0
    for gradient in gradients:
        run.scales.append(run.scale)
        too_large = gradient * run.scale >= _TOO_LARGE
        run.overflows.append(too_large)
        if too_large:
            run.scale /= 2
            earned = 0
            continue
        earned += 1
        if earned >= patience:
            run.scale += run.scale
            earned -= patience
    return run
