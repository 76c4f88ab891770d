"""Matrix products: computation, traffic, and arithmetic intensity."""

import math

from app.core.formulas.checks import at_least, one_of, positive, whole
from app.core.units import Bytes, BytesPerSecond, Count, Flops, FlopsPerByte, FlopsPerSecond


def matmul_flops(m: Count, n: Count, k: Count) -> Flops:
    """Computation of a product of an m by k matrix with a k by n matrix.

    Each of the m n results is a sum of k products.

        C = 2 m * n * k * 1 FLOP

    Convention:
        A multiply-add is two FLOP, as in datasheets.

    Args:
        m: rows of the result.
        n: columns of the result.
        k: length of each sum.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        NVIDIA, Matrix Multiplication Background User's Guide, section 2.
    """
    return 2.0 * whole("m", m) * whole("n", n) * whole("k", k)


def matmul_bytes(m: Count, n: Count, k: Count, element_bytes: Bytes, count_output: bool = True) -> Bytes:
    """Least bytes that a matrix product moves.

    Both factors are read and the result is written, once each. A counts the result, I does not.

        A = (m * k + k * n + m * n) * element_bytes
        I = (m * k + k * n) * element_bytes

    Convention:
        A lower bound: with too small a cache, factors are read more than once. Some books count
        only reads, but the result has to be written too.

    Args:
        m: rows of the result.
        n: columns of the result.
        k: length of each sum.
        element_bytes: bytes of one number.
        count_output: whether writing the result counts.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        NVIDIA, Matrix Multiplication Background User's Guide, section 2.
    """
    one_of("count_output", count_output, (False, True))
    rows, columns, depth = whole("m", m), whole("n", n), whole("k", k)
    elements = float(rows) * depth + float(depth) * columns
    elements += float(rows) * columns if count_output else 0.0
    return elements * positive("element_bytes", element_bytes)


def matmul_intensity(m: Count, n: Count, k: Count, element_bytes: Bytes, count_output: bool = True) -> FlopsPerByte:
    """Arithmetic intensity of a matrix product: FLOP per byte moved.

    C is the computation and V the traffic.

        C = 2 m * n * k * 1 FLOP
        V = (m * k + k * n + m * n) * element_bytes
        I = C / V

    Convention:
        The result counts unless *count_output* is off: 1,365 for 4096³ in 16 bits, and 2,048 with
        the factors alone.

    Args:
        m: rows of the result.
        n: columns of the result.
        k: length of each sum.
        element_bytes: bytes of one number.
        count_output: whether writing the result counts.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Williams, Waterman and Patterson, Roofline, CACM 52(4), 2009 (intensity); NVIDIA, Matrix
        Multiplication Background User's Guide, section 2.
    """
    moved = matmul_bytes(m, n, k, element_bytes, count_output)
    return matmul_flops(m, n, k) / moved


def smallest_square_matmul(peak: FlopsPerSecond, bandwidth: BytesPerSecond, element_bytes: Bytes = 2) -> Count:
    """Side of the smallest square matrices whose product is compute-bound.

    2 n³ FLOP over 3 n² elements of e bytes is an intensity of 2 n / (3 e); it must reach the ridge.

        N = ceil(3 * element_bytes * peak / (2 * bandwidth * 1 FLOP))

    Convention:
        Factors read once, result written once, at the dense peak.

    Args:
        peak: dense peak FLOP per second of the GPU.
        bandwidth: bytes per second of its memory.
        element_bytes: bytes of one number.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Solved from Williams, Waterman and Patterson, Roofline, CACM 52(4), 2009.
    """
    ridge = positive("peak", peak) / positive("bandwidth", bandwidth)
    side = 3 * positive("element_bytes", element_bytes) * ridge / 2
    return max(1, math.ceil(side * (1 - 1e-12)))


def elementwise_intensity(
    element_bytes: Bytes, reads: Count = 1, writes: Count = 1, operations: Count = 1
) -> FlopsPerByte:
    """Arithmetic intensity of an elementwise operation: FLOP per byte moved.

        I = operations * 1 FLOP / ((reads + writes) * element_bytes)

    Convention:
        Reads and writes both count: 0.25 for a ReLU in 16 bits, and 0.5 with reads alone.

    Args:
        element_bytes: bytes of one number.
        reads: numbers read per result.
        writes: numbers written per result; 0 if the result stays on the chip.
        operations: FLOP per result.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Williams, Waterman and Patterson, Roofline, CACM 52(4), 2009.
    """
    moved = whole("reads", reads) + at_least("writes", whole("writes", writes, 0), 0)
    return whole("operations", operations) / (moved * positive("element_bytes", element_bytes))
