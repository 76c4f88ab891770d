"""Bytes of training state and activations in different formats."""

from app.core.formulas.checks import at_least, positive, whole
from app.core.formulas.refusals import larger_than
from app.core.units import Bytes, Count


def mixed_precision_bytes(parameters: Count, gradient_bytes: Bytes = 2) -> Bytes:
    """Bytes of training state with 16-bit weights and Adam in 32 bits.

    A 16-bit weight for the computation; a 32-bit copy to update, since small updates are lost in
    16 bits; two 32-bit moments; and the gradient.

        M = (2 B + 4 B + 4 B + 4 B + gradient_bytes) * parameters

    Convention:
        16 bytes per parameter with 16-bit gradients, 18 if they are accumulated in 32 bits. With
        gradient_bytes 0, the 14 bytes of a checkpoint.

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

    A weight, two moments and the gradient; no master copy is needed.

        M = (4 B + 4 B + 4 B + gradient_bytes) * parameters

    Convention:
        16 bytes per parameter, the same as with mixed precision, which saves activations and time,
        not state. Without gradients it is 12 bytes, and 14 with mixed precision.

    Args:
        parameters: parameters of the model.
        gradient_bytes: bytes of a parameter's gradient.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Kingma and Ba, Adam, arXiv:1412.6980 (two moments).
    """
    each = 12 + at_least("gradient_bytes", gradient_bytes, 0)
    return each * whole("parameters", parameters)


def activation_saving(elements: Count, element_bytes: Bytes = 2, smaller_bytes: Bytes = 1) -> Bytes:
    """Bytes saved by storing activations in a smaller format.

        M = elements * (element_bytes - smaller_bytes)

    Convention:
        Elements, not bytes: 2 b s d elements are 2 b s d bytes only in a one-byte format. The
        scales that some recipes add per block are not included.

    Args:
        elements: number of stored elements.
        element_bytes: bytes of an element.
        smaller_bytes: bytes of an element in the smaller format.

    Raises:
        ValueError: an argument is outside its domain, or *smaller_bytes* is the larger one.

    Source:
        Korthikanti et al., arXiv:2205.05198, section 4 (stored activations).
    """
    now, then = positive("element_bytes", element_bytes), positive("smaller_bytes", smaller_bytes)
    if then > now:
        raise larger_than("smaller_bytes", then, "element_bytes", f"{now:g}")
    return whole("elements", elements) * (now - then)
