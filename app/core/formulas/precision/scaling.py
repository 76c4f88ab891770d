"""Loss scaling, blocks of values that share a scale, and sums and updates that are rounded."""

import math
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from app.core.formulas.checks import LARGEST, SMALLEST, larger_than, one_of, positive, several, signed, too_large, whole
from app.core.formulas.precision import formats
from app.core.translation import noted, value_error
from app.core.units import Count, Ratio


def loss_scale(
    overflows: Sequence[bool], initial: Ratio, growth_interval: Count, growth: Ratio = 2, backoff: Ratio = 0.5
) -> tuple[Ratio, ...]:
    """Loss scale at the start and after each step.

    A step whose gradients overflow is skipped, and the scale shrinks; after growth_interval clean steps in a row, the
    scale grows. Either restarts the count. After O overflows and G growths, the scale is S.

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
        raise value_error("{name} must be at least {least}, not {value}", name="growth", least=1, value=growth)
    if positive("backoff", backoff) > 1:
        raise too_large("backoff", backoff, 1)
    trace, clean = [scale], 0
    for overflow in overflows:
        one_of("overflows", overflow, (False, True))
        clean = 0 if overflow else clean + 1
        scale *= backoff if overflow else growth if clean == interval else 1
        clean %= interval
        if not SMALLEST <= scale <= LARGEST:
            raise value_error(
                "{name} must leave the scale between 1e-30 and 1e30, not {value}", name="overflows", value=f"{scale:g}"
            )
        trace.append(scale)
    return tuple(trace)


def smallest_loss_scale(gradient: Ratio, format: formats.Format) -> Ratio:
    """Smallest power of two that lifts a gradient into the normal range of a format.

    N is the smallest normal number of the format.

        S = 2^(ceil(log2(N / gradient)))

    Convention:
        The normal range is where the format has full precision. Never below 1: a gradient that is
        already in the range needs no scale.

    Args:
        gradient: size of the gradient.
        format: format in which it is stored.

    Source:
        Micikevicius et al., arXiv:1710.03740, section 3.2.
    """
    mantissa, exponent = math.frexp(formats.smallest_normal(format) / positive("gradient", gradient))
    return max(1.0, math.ldexp(1.0, exponent if mantissa > 1 / 2 else exponent - 1))


ElementFormat = Literal["fp8_e4m3", "fp8_e5m2", "mxfp4"]
ScaleFormat = Literal["e8m0", "e4m3"]
BlockFormat = Literal["mxfp4", "nvfp4"]
_SCALES: Mapping[BlockFormat, ScaleFormat] = {"mxfp4": "e8m0", "nvfp4": "e4m3"}


def bits_per_value(element_bits: Count, scale_bits: Count, block: Count) -> Ratio:
    """Bits that a value takes where the values of a block share a scale.

    Its own bits, and its part of the scale.

        B = element_bits + scale_bits / block

    Convention:
        4.25 for MXFP4 and 4.5 for NVFP4; the one FP32 scale that NVFP4 keeps for a whole array is
        left out.

    Args:
        element_bits: bits of one value.
        scale_bits: bits of a scale.
        block: values that share a scale.

    Raises:
        ValueError: an argument is not a whole number of at least 1.

    Source:
        OCP Microscaling Formats (MX) Specification 1.0, table 1.
    """
    shared = whole("scale_bits", scale_bits) / whole("block", block)
    return whole("element_bits", element_bits) + shared


def block_scale(largest: Ratio, element: ElementFormat, scale: ScaleFormat) -> Ratio:
    """Scale of a block, from the largest magnitude in it.

    A power of two (e8m0) aligns the largest value with E, the exponent of the largest number of the element format. A
    scale in E4M3 brings it to that number, M, as closely as E4M3 can; round is to the nearest number of E4M3.

        P = 2^(floor(log2(largest)) - E)
        S = round(largest / M)

    Convention:
        P for e8m0, S for e4m3. Values are divided by the scale before they are stored; what is
        above M then saturates. NVFP4's second scale, in FP32 for the whole array, is 1, and S is
        at least the smallest number of E4M3.

    Args:
        largest: largest magnitude in the block.
        element: format of the values.
        scale: format of the scale.

    Source:
        OCP Microscaling Formats (MX) Specification 1.0, section 6.3; NVIDIA, Pretraining Large
        Language Models with NVFP4, arXiv:2509.25149.
    """
    one_of("element", element, ("fp8_e4m3", "fp8_e5m2", "mxfp4"))
    one_of("scale", scale, ("e8m0", "e4m3"))
    top, size = formats.largest_finite(element), positive("largest", largest)
    if scale == "e8m0":
        return 2.0 ** (_exponent(size) - _exponent(top))
    return max(formats.round_to(size / top, "fp8_e4m3"), formats.smallest_subnormal("fp8_e4m3"))


def quantized_block(values: Sequence[Ratio], format: BlockFormat) -> tuple[Ratio, ...]:
    """Values of a block after they are rounded to a format with a shared scale.

    Each is divided by the scale S of the block, rounded to the nearest number of E2M1, ties to
    even, and multiplied by S again.

        Q = S * round(value / S)

    Convention:
        One block: 32 values in MXFP4, 16 in NVFP4, but any number is taken. A block of zeros
        stays as it is.

    Args:
        values: values of the block.
        format: mxfp4 has a power of two as its scale, nvfp4 a number of E4M3.

    Source:
        OCP Microscaling Formats (MX) Specification 1.0, section 6.3; NVIDIA, Pretraining Large
        Language Models with NVFP4, arXiv:2509.25149.
    """
    one_of("format", format, ("mxfp4", "nvfp4"))
    numbers = [signed("values", value) for value in several("values", values)]
    largest = max(map(abs, numbers))
    if not largest:
        return tuple(0.0 for _ in numbers)
    scale = block_scale(positive("values", largest), "mxfp4", _SCALES[format])
    return tuple(scale * formats.round_to(value / scale, "mxfp4") for value in numbers)


def _exponent(size: float) -> int:
    return math.frexp(size)[1] - 1


class Drift(NamedTuple):
    """Where a value that is rounded by chance is, on average, and how far runs are apart."""

    mean: Ratio
    deviation: Ratio


def sum_stops_at(format: formats.Format) -> Ratio:
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
        IEEE 754-2019, sections 3.3 and 4.3.1; Higham, Accuracy and Stability of Numerical Algorithms, chapter 4.
    """
    return 2.0 ** (formats.NumberFormat.named(format).mantissa_bits + 1)


def sequential_sum(value: Ratio, terms: Count, format: formats.Format) -> Ratio:
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
    term = formats.round_to(signed("value", value), format)
    total, step, left = 0.0, 0.0, whole("terms", terms)
    while left:
        before, last = total, step
        total = formats.round_to(before + term, format)
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


def pairwise_sum(value: Ratio, terms: Count, format: formats.Format) -> Ratio:
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
    same = last = formats.round_to(signed("value", value), format)
    count = whole("terms", terms)
    while count > 1:
        last = last if count % 2 else formats.round_to(same + last, format)
        count = count // 2 + count % 2
        if count > 1:
            same = formats.round_to(same + same, format)
    return last


def stochastic_drift(update: Ratio, spacing: Ratio, steps: Count) -> Drift:
    """Mean and standard deviation of the change after small updates with stochastic rounding.

    Each update moves the value by one whole spacing, with the chance p, or not at all: a binomial distribution.

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

    Source:
        Gupta et al., Deep Learning with Limited Numerical Precision, arXiv:1502.02551, section 3.1.
    """
    whole("steps", steps)
    if positive("update", update) > positive("spacing", spacing):
        raise larger_than("update", update, noted("the spacing"), f"{spacing:g}")
    chance = update / spacing
    return Drift(steps * update, spacing * math.sqrt(steps * chance * (1 - chance)))
