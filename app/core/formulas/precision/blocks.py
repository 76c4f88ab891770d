"""Blocks of values that share a scale: MXFP4, NVFP4 and their relatives."""

import math
from collections.abc import Mapping, Sequence
from typing import Literal

from app.core.formulas.checks import one_of, positive, several, signed, whole
from app.core.formulas.precision.limits import largest_finite, smallest_subnormal
from app.core.formulas.precision.rounding import round_to
from app.core.units import Count, Ratio

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

    A power of two (e8m0) aligns the largest value with E, the exponent of the largest number of
    the element format. A scale in E4M3 brings it to that number, M, as closely as E4M3 can; round
    is to the nearest number of E4M3.

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

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        OCP Microscaling Formats (MX) Specification 1.0, section 6.3; NVIDIA, Pretraining Large
        Language Models with NVFP4, arXiv:2509.25149.
    """
    one_of("element", element, ("fp8_e4m3", "fp8_e5m2", "mxfp4"))
    one_of("scale", scale, ("e8m0", "e4m3"))
    top, size = largest_finite(element), positive("largest", largest)
    if scale == "e8m0":
        return 2.0 ** (_exponent(size) - _exponent(top))
    return max(round_to(size / top, "fp8_e4m3"), smallest_subnormal("fp8_e4m3"))


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

    Raises:
        ValueError: an argument is outside its domain.

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
    return tuple(scale * round_to(value / scale, "mxfp4") for value in numbers)


def _exponent(size: float) -> int:
    return math.frexp(size)[1] - 1
