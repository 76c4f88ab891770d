"""Steps of training in FP16, each with a gradient that may be too large once it is scaled."""

from collections.abc import Iterable
from dataclasses import dataclass, field

_TOO_LARGE = 65520.0  # rounds to infinity in FP16


@dataclass(slots=True)
class Trained:
    """What happened: the scale before each step, whether it overflowed, and the last scale."""

    scale: float
    scales: list[float] = field(default_factory=list)
    overflows: list[bool] = field(default_factory=list)


def train(gradients: Iterable[float], scale: float, patience: int) -> Trained:
    """Step through *gradients*; a clean run of *patience* steps earns a doubling, and is spent."""
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
