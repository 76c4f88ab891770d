"""Bytes that fewer bits save, and those that they do not."""

from app.formulas.checks import at_least, positive, whole
from app.units import Bytes, Count


def mixed_precision_bytes(parameters: Count, gradient_bytes: Bytes = 2) -> Bytes:
    """Bytes of training state with 16-bit weights and Adam in 32 bits.

    A 16-bit weight to compute with; a 32-bit copy to update, since small updates are lost in 16
    bits; two 32-bit moments; and the gradient.

        M = (2 B + 4 B + 4 B + 4 B + gradient_bytes) * parameters

    Convention:
        16 bytes a parameter with 16-bit gradients, 18 where they are accumulated in 32 bits; with
        gradient_bytes 0 the 14 bytes that a checkpoint keeps.

    Args:
        parameters: parameters of the model.
        gradient_bytes: bytes of a parameter's gradient.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Rajbhandari et al., ZeRO, arXiv:1910.02054, section 3.1; Micikevicius et al.,
        arXiv:1710.03740, section 3.1.
    """
    each = 14 + at_least("gradient_bytes", gradient_bytes, 0)
    return each * whole("parameters", parameters)


def full_precision_bytes(parameters: Count, gradient_bytes: Bytes = 4) -> Bytes:
    """Bytes of training state with everything in 32 bits.

    A weight, two moments and the gradient; no second copy is needed.

        M = (4 B + 4 B + 4 B + gradient_bytes) * parameters

    Convention:
        16 bytes a parameter, as many as with mixed precision: what mixed precision saves is
        activations and time, not state. Without the gradients on either side it is 12 against 14.

    Args:
        parameters: parameters of the model.
        gradient_bytes: bytes of a parameter's gradient.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Kingma and Ba, Adam, arXiv:1412.6980 (two moments); counted.
    """
    each = 12 + at_least("gradient_bytes", gradient_bytes, 0)
    return each * whole("parameters", parameters)


def activation_saving(elements: Count, element_bytes: Bytes = 2, smaller_bytes: Bytes = 1) -> Bytes:
    """Bytes saved by keeping activations in a smaller format.

        M = elements * (element_bytes - smaller_bytes)

    Convention:
        Elements, not bytes: 2 b s d elements are as many bytes only in a format of one byte. The
        scales that some recipes add for each block are left out.

    Args:
        elements: numbers that are kept.
        element_bytes: bytes of each now.
        smaller_bytes: bytes of each in the smaller format.

    Raises:
        ValueError: an argument is outside its domain, or *smaller_bytes* is the larger.

    Source:
        Counted; Korthikanti et al., arXiv:2205.05198, section 4 (what is kept).
    """
    now, then = positive("element_bytes", element_bytes), positive("smaller_bytes", smaller_bytes)
    if then > now:
        raise ValueError(f"smaller_bytes must be at most element_bytes, {now:g}, not {then!r}")
    return whole("elements", elements) * (now - then)
