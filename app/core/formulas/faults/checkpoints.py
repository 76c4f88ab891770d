"""The size of a checkpoint, and the time to write it."""

from app.core.formulas.checks import positive, whole
from app.core.units import Bytes, BytesPerSecond, Count, Seconds


def checkpoint_bytes(parameters: Count, bytes_per_parameter: Bytes = 14) -> Bytes:
    """Bytes of a checkpoint from which training can resume exactly.

    16-bit weights, their 32-bit copy and Adam's two 32-bit moments; gradients are recomputed.

        M = bytes_per_parameter * parameters

    Convention:
        2 + 4 + 8 = 14 bytes per parameter. The 16-bit weights can be restored from their 32-bit
        copy, which leaves 12; the step and the learning rate add a few bytes.

    Args:
        parameters: parameters of the model.
        bytes_per_parameter: bytes written per parameter.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Counted from Rajbhandari et al., ZeRO, arXiv:1910.02054, section 3.1, without gradients.
    """
    each = positive("bytes_per_parameter", bytes_per_parameter)
    return each * whole("parameters", parameters)


def write_time(size: Bytes, bandwidth: BytesPerSecond, writers: Count = 1) -> Seconds:
    """Time to write a checkpoint with several writers.

        T = size / (bandwidth * writers)

    Convention:
        The bandwidth is that of one writer, and the storage keeps up with all of them: 64 writers
        of 10 GB/s need storage of 640 GB/s. If the storage takes only 10 GB/s in total, use one
        writer.

    Args:
        size: bytes of the whole checkpoint.
        bandwidth: bytes per second of each writer.
        writers: writers that work in parallel, each on its share.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        From the definition.
    """
    together = positive("bandwidth", bandwidth) * whole("writers", writers)
    return positive("size", size) / together
