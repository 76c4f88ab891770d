"""Switches, cuts and cables: what a network can carry between its hosts.

*bandwidth* is one direction of one link; a *host* is whatever is attached by one link, such as a
GPU with its own network card.
"""

import math
from operator import mul
from typing import NamedTuple

from app.core.formulas.checks import not_even, positive, too_large, whole
from app.core.units import Bytes, BytesPerSecond, Count, Ratio, Seconds

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


_MOST = 128  # flows, and links
_ENOUGH = 1e-12  # of a probability: the next ones are far smaller, and rounding leaves about 1e-14


def expected_busiest(flows: Count, links: Count) -> Ratio:
    """Expected number of flows on the link that has the most of them.

    Each flow is hashed to one of the links, all equally likely. The mean of a count is the sum, over all m from 0, of
    the probability that it exceeds m. Given their total, independent Poisson counts of equal mean are distributed like
    the flows on the links, which gives Q, the probability that no link has more than m. The sum of 1 - Q over all m:

        E = sum

    Convention:
        A mean over hashes. Every flow counts the same, however much it sends.

    Args:
        flows: flows, at most 128.
        links: links that they are hashed to, at most 128.

    Source:
        Raab and Steger, Balls into Bins - A Simple and Tight Analysis, RANDOM 1998 (the model);
        exactly as in Kolchin, Sevast'yanov and Chistyakov, Random Allocations, 1978.
    """
    count, among = _few("flows", flows), _few("links", links)
    mean = 0.0
    for most in range(count):
        exceeds = 1 - _none_exceeds(most, count, among)
        mean += exceeds
        if exceeds < _ENOUGH:
            break
    return mean


def separate_links_probability(flows: Count, links: Count) -> Ratio:
    """Probability that no two flows are hashed to the same link.

    The first flow may take any link, the next any but that one, and so on: a product of
    (links - i) / links for i from 0 to flows - 1.

        P = product

    Convention:
        Each flow is hashed to one of the links, all equally likely. With more flows than links, the
        probability is 0.

    Args:
        flows: flows, at most 128.
        links: links that they are hashed to, at most 128.

    Source:
        Feller, An Introduction to Probability Theory and Its Applications, volume 1, section II.3 (birthdays).
    """
    count, among = _few("flows", flows), _few("links", links)
    return math.prod(max(0, among - taken) / among for taken in range(count))


def _few(name: str, value: Count) -> int:
    count = whole(name, value)
    if count > _MOST:
        raise too_large(name, value, _MOST)
    return count


def _none_exceeds(most: int, flows: int, links: int) -> float:
    """Probability that no link has more than *most* flows."""
    mean = flows / links
    each = [_poisson(mean, count) for count in range(most + 1)] + [0.0] * (flows - most)
    totals = [1.0] + [0.0] * flows
    while links:  # the sum over all links, by halving their number
        totals = _added(totals, each) if links % 2 else totals
        links //= 2
        each = _added(each, each) if links else each
    return totals[flows] / _poisson(flows, flows)


def _added(one: list[float], other: list[float]) -> list[float]:
    """Probabilities of a sum of two numbers, given those of each, as far as both go."""
    back = other[::-1]
    return [sum(map(mul, one, back[-total:])) for total in range(1, len(one) + 1)]


def _poisson(mean: float, count: int) -> float:
    return math.exp(count * math.log(mean) - mean - math.lgamma(count + 1))
