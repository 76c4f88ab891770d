"""How large a checkpoint is, and how long it takes to write."""

from app.formulas.checks import positive, whole
from app.units import Bytes, BytesPerSecond, Count, Seconds


def checkpoint_bytes(parameters: Count, bytes_per_parameter: Bytes = 14) -> Bytes:
    """Bytes of a checkpoint from which training goes on as if nothing had happened.

    16-bit weights, their 32-bit copy and Adam's two 32-bit moments; gradients are made anew.

        M = bytes_per_parameter * parameters

    Convention:
        2 + 4 + 8 = 14 bytes a parameter. The 16-bit weights can be had from their copy, which makes
        12; the step and the learning rate are a few bytes more.

    Args:
        parameters: parameters of the model.
        bytes_per_parameter: bytes written for each.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Counted from Rajbhandari et al., ZeRO, arXiv:1910.02054, section 3.1, without gradients.
    """
    each = positive("bytes_per_parameter", bytes_per_parameter)
    return each * whole("parameters", parameters)


def write_time(size: Bytes, bandwidth: BytesPerSecond, writers: Count = 1) -> Seconds:
    """Time to write a checkpoint that several writers share.

        T = size / (bandwidth * writers)

    Convention:
        The bandwidth is each writer's own, and the storage takes them all: 64 writers of 10 GB/s
        need storage of 640 GB/s. Where one server takes 10 GB/s in all, there is one writer.

    Args:
        size: bytes of the whole checkpoint.
        bandwidth: bytes per second of each writer.
        writers: writers that work at once, each on its share.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Counted from the definition.
    """
    together = positive("bandwidth", bandwidth) * whole("writers", writers)
    return positive("size", size) / together
