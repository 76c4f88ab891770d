"""What repeated data are worth."""

import math

from app.core.formulas.checks import at_least, positive
from app.core.units import Ratio


def effective_tokens(unique: Ratio, epochs: Ratio, constant: Ratio = 15.4) -> Ratio:
    """Tokens of new data that teach as much as several epochs over the same data.

    The first pass counts in full. Each further one is worth less, by a rate that decays with the
    repetitions.

        R = epochs - 1
        T = unique * (1 + constant * (1 - exp(-R / constant)))

    Convention:
        Repetitions are epochs less one. However many there are, they are worth at most *constant*
        times the unique tokens. At as many repetitions as the constant, a repeated token is worth
        63 % of a new one on average.

    Args:
        unique: tokens in the data set.
        epochs: passes over it, at least one; the last one may be cut short.
        constant: repetitions after which further ones hardly count (fitted: 15.39).

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Muennighoff et al., Scaling Data-Constrained Language Models, arXiv:2305.16264, section 3.1
        and appendix A (R*_D = 15.387756).
    """
    repeated, worth = at_least("epochs", epochs, 1) - 1, positive("constant", constant)
    return positive("unique", unique) * (1 - worth * math.expm1(-repeated / worth))
