"""Loss scaling, which keeps small gradients in the range of FP16."""

import math
from collections.abc import Sequence

from app.core.formulas.checks import LARGEST, SMALLEST, one_of, positive, several, whole
from app.core.formulas.precision.formats import Format
from app.core.formulas.precision.limits import smallest_normal
from app.core.formulas.refusals import too_large
from app.core.translation import say
from app.core.units import Count, Ratio


def loss_scale(
    overflows: Sequence[bool], initial: Ratio, growth_interval: Count, growth: Ratio = 2, backoff: Ratio = 0.5
) -> tuple[Ratio, ...]:
    """Loss scale at the start and after each step.

    A step whose gradients overflow is skipped, and the scale shrinks; after growth_interval clean
    steps in a row, the scale grows. Either restarts the count. After O overflows and G growths,
    the scale is S.

        S = initial * backoff^O * growth^G

    Convention:
        The first value is the initial scale, the last one the scale after all steps. As PyTorch's
        GradScaler, whose defaults are 65536, 2000, 2 and 0.5.

    Args:
        overflows: for each step, whether a gradient overflowed.
        initial: scale at the start.
        growth_interval: clean steps in a row before the scale grows.
        growth: factor by which it grows, at least 1.
        backoff: factor by which it shrinks, at most 1.

    Raises:
        ValueError: an argument is outside its domain, or the scale is out of bounds.

    Source:
        PyTorch, torch.amp.GradScaler; Micikevicius et al., arXiv:1710.03740, section 3.2.
    """
    several("overflows", overflows, least=0)
    scale, interval = (positive("initial", initial), whole("growth_interval", growth_interval))
    if positive("growth", growth) < 1:
        raise ValueError(say("{name} must be at least {least}, not {value}", name="growth", least=1, value=growth))
    if positive("backoff", backoff) > 1:
        raise too_large("backoff", backoff, 1)
    trace, clean = [scale], 0
    for overflow in overflows:
        one_of("overflows", overflow, (False, True))
        clean = 0 if overflow else clean + 1
        scale *= backoff if overflow else growth if clean == interval else 1
        clean %= interval
        if not SMALLEST <= scale <= LARGEST:
            raise ValueError(
                say(
                    "{name} must leave the scale between 1e-30 and 1e30, not {value}",
                    name="overflows",
                    value=f"{scale:g}",
                )
            )
        trace.append(scale)
    return tuple(trace)


def smallest_loss_scale(gradient: Ratio, format: Format) -> Ratio:
    """Smallest power of two that lifts a gradient into the normal range of a format.

    N is the smallest normal number of the format.

        S = 2^(ceil(log2(N / gradient)))

    Convention:
        The normal range is where the format has full precision. Never below 1: a gradient that is
        already in the range needs no scale.

    Args:
        gradient: size of the gradient.
        format: format in which it is stored.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Micikevicius et al., arXiv:1710.03740, section 3.2.
    """
    mantissa, exponent = math.frexp(smallest_normal(format) / positive("gradient", gradient))
    return max(1.0, math.ldexp(1.0, exponent if mantissa > 1 / 2 else exponent - 1))
