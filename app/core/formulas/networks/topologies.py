"""Fat trees and tori: how many hosts they connect, and what crosses their middle."""

from typing import NamedTuple

from app.core.formulas.checks import positive, whole
from app.core.formulas.refusals import not_even, too_large
from app.core.units import Bytes, BytesPerSecond, Count, Seconds

_MOST_LEVELS = 8
_MOST_DIMENSIONS = 8


class TreeSize(NamedTuple):
    """Hosts that a fat tree connects, and its switches."""

    hosts: Count
    switches: Count


def fat_tree(ports: Count, levels: Count = 3) -> TreeSize:
    """Hosts that a fat tree of equal switches connects, and the switches that it takes.

    Every switch below the top has half of its ports down and half of them up; a switch at the top
    has all of its ports down. Each further level multiplies the hosts by ports / 2. Each level
    below the top has twice as many switches as the top.

        H = 2 * (ports / 2)^levels
        S = (2 * levels - 1) * (ports / 2)^(levels - 1)

    Convention:
        Without oversubscription: as many links go up from each level as go down. Three levels are
        ports^3 / 4 hosts and 5 ports^2 / 4 switches.

    Args:
        ports: ports of each switch, an even number.
        levels: levels of switches, from 1 to 8.

    Raises:
        ValueError: *ports* is odd, or an argument is outside its domain.

    Source:
        Al-Fares, Loukissas and Vahdat, A Scalable, Commodity Data Center Network Architecture,
        SIGCOMM 2008 (three levels).
    """
    half, odd = divmod(whole("ports", ports, 2), 2)
    if odd:
        raise not_even("ports", ports)
    high = whole("levels", levels)
    if high > _MOST_LEVELS:
        raise too_large("levels", levels, _MOST_LEVELS)
    return TreeSize(2 * half**high, (2 * high - 1) * half ** (high - 1))


def torus_bisection(side: Count, dimensions: Count, bandwidth: BytesPerSecond) -> BytesPerSecond:
    """Bandwidth from one half of a torus to the other, in one direction.

    A cut between two layers of chips crosses side^(dimensions - 1) links. Every ring of the torus
    closes, so it has to be cut in a second place.

        B = 2 * side^(dimensions - 1) * bandwidth

    Convention:
        A torus with the same, even number of chips in every dimension. With two chips in a ring,
        the two are connected by two links.

    Args:
        side: chips along each dimension, an even number.
        dimensions: dimensions of the torus, from 1 to 8.
        bandwidth: bytes per second of one link in one direction.

    Raises:
        ValueError: *side* is odd, or an argument is outside its domain.

    Source:
        Dally and Towles, Principles and Practices of Interconnection Networks, 2004;
        Jouppi et al., TPU v4, arXiv:2304.01433.
    """
    along = _even_side(side)
    many = whole("dimensions", dimensions)
    if many > _MOST_DIMENSIONS:
        raise too_large("dimensions", dimensions, _MOST_DIMENSIONS)
    return 2 * float(along) ** (many - 1) * positive("bandwidth", bandwidth)


def torus_all_to_all_time(side: Count, size: Bytes, bandwidth: BytesPerSecond) -> Seconds:
    """Time of an all-to-all on a torus that routes along shortest paths and loads all links alike.

    In each dimension data travel side / 4 links on average, and a chip has two links in each. The
    time does not depend on the number of dimensions.

        T = side * size / (8 * bandwidth)

    Convention:
        Bandwidth alone, without latency. The size is the whole input of a chip, its own piece
        included, as in nccl-tests. The number of chips along each dimension is even.

    Args:
        side: chips along each dimension, an even number.
        size: bytes that each chip spreads evenly over all chips.
        bandwidth: bytes per second of one link in one direction.

    Raises:
        ValueError: *side* is odd, or an argument is outside its domain.

    Source:
        Dally and Towles, Principles and Practices of Interconnection Networks, 2004
        (load of the links under uniform traffic).
    """
    hops = _even_side(side) / 4
    return hops * positive("size", size) / (2 * positive("bandwidth", bandwidth))


def _even_side(side: Count) -> int:
    if whole("side", side, 2) % 2:
        raise not_even("side", side)
    return int(side)
