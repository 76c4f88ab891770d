"""Sums whose every partial result is rounded to a format, and updates rounded by chance."""

import math
from typing import NamedTuple

from app.core.formulas.checks import positive, signed, whole
from app.core.formulas.precision.formats import Format, NumberFormat
from app.core.formulas.precision.rounding import round_to
from app.core.formulas.refusals import larger_than
from app.core.translation import noted
from app.core.units import Count, Ratio


class Drift(NamedTuple):
    """Where a value that is rounded by chance is, on average, and how far runs are apart."""

    mean: Ratio
    deviation: Ratio


def sum_stops_at(format: Format) -> Ratio:
    """Value at which a running sum of ones in a format stops growing.

    A format with m bits of the mantissa has every whole number up to here. From here on the
    spacing is 2: adding one is half-way, and the tie goes back to the even number.

        N = 2^(m + 1)

    Convention:
        Each partial sum is rounded to nearest, ties to even. The range of the format does not
        matter.

    Args:
        format: format of the accumulator.

    Raises:
        ValueError: *format* is unknown.

    Source:
        IEEE 754-2019, sections 3.3 and 4.3.1; Higham, Accuracy and Stability of Numerical
        Algorithms, chapter 4.
    """
    return 2.0 ** (NumberFormat.named(format).mantissa_bits + 1)


def sequential_sum(value: Ratio, terms: Count, format: Format) -> Ratio:
    """Sum of equal values that are added to an accumulator one after the other.

    T is the sum of all terms but one, and the last one is added; round is to the nearest number
    of the format. Once the value is less than half of the spacing at T, nothing changes any more.

        R = round(T + value)

    Convention:
        The value is rounded to the format first; ties to even. As a ring all-reduce adds, which
        passes a partial sum from rank to rank.

    Args:
        value: value of each term.
        terms: how many terms are added.
        format: format of the accumulator.

    Raises:
        ValueError: an argument is outside its domain, or the sum would overflow to infinity.

    Source:
        Higham, Accuracy and Stability of Numerical Algorithms, chapter 4.
    """
    term = round_to(signed("value", value), format)
    total, step, left = 0.0, 0.0, whole("terms", terms)
    while left:
        before, last = total, step
        total = round_to(before + term, format)
        step, left = total - before, left - 1
        if not step:
            break
        if step == last:
            more = min(left, _alike(total, step, term))
            total, left = total + more * step, left - more
    return total


def _alike(total: float, step: float, term: float) -> int:
    """How many more terms add as much as the last two did: until the spacing doubles."""
    top = 2.0 ** math.frexp(total)[1]
    if abs(total) - 2 * abs(step) < top / 2:  # the spacing has just doubled
        return 0
    return max(0, int((top - abs(total) - abs(term)) // abs(step)) - 1)


def pairwise_sum(value: Ratio, terms: Count, format: Format) -> Ratio:
    """Sum of equal values that are added in pairs, then the sums in pairs, and so on.

    A and B are the sums of the two halves; round is to the nearest number of the format. The two
    are of about the same size, so no small number meets a large one.

        R = round(A + B)

    Convention:
        The value is rounded to the format first; ties to even. Where their number is odd, the
        last one waits for the next round. As a tree adds.

    Args:
        value: value of each term.
        terms: how many terms are added.
        format: format of every partial sum.

    Raises:
        ValueError: an argument is outside its domain, or the sum would overflow to infinity.

    Source:
        Higham, Accuracy and Stability of Numerical Algorithms, chapter 4.
    """
    same = last = round_to(signed("value", value), format)
    count = whole("terms", terms)
    while count > 1:
        last = last if count % 2 else round_to(same + last, format)
        count = count // 2 + count % 2
        if count > 1:
            same = round_to(same + same, format)
    return last


def stochastic_drift(update: Ratio, spacing: Ratio, steps: Count) -> Drift:
    """Mean and standard deviation of the change after small updates with stochastic rounding.

    Each update moves the value by one whole spacing, with the chance p, or not at all: a binomial
    distribution.

        p = update / spacing
        M = steps * update
        D = spacing * sqrt(steps * p * (1 - p))

    Convention:
        As long as the value stays where the spacing is the same. Rounding to nearest would lose
        every update of less than half of the spacing.

    Args:
        update: size of each update, at most the spacing.
        spacing: distance between adjacent numbers of the format near the value.
        steps: number of updates.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Gupta et al., Deep Learning with Limited Numerical Precision, arXiv:1502.02551,
        section 3.1.
    """
    whole("steps", steps)
    if positive("update", update) > positive("spacing", spacing):
        raise larger_than("update", update, noted("the spacing"), f"{spacing:g}")
    chance = update / spacing
    return Drift(steps * update, spacing * math.sqrt(steps * chance * (1 - chance)))
