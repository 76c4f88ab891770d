"""Flows that are hashed to parallel links."""

import math
from operator import mul

from app.core.formulas.checks import whole
from app.core.formulas.refusals import too_large
from app.core.units import Count, Ratio

_MOST = 128  # flows, and links
_ENOUGH = 1e-12  # of a probability: the next ones are far smaller, and rounding leaves about 1e-14


def expected_busiest(flows: Count, links: Count) -> Ratio:
    """Expected number of flows on the link that has the most of them.

    Each flow is hashed to one of the links, all equally likely. The mean of a count is the sum,
    over all m from 0, of the probability that it exceeds m. Given their total, independent Poisson
    counts of equal mean are distributed like the flows on the links, which gives Q, the probability
    that no link has more than m. The sum of 1 - Q over all m:

        E = sum

    Convention:
        A mean over hashes. Every flow counts the same, however much it sends.

    Args:
        flows: flows, at most 128.
        links: links that they are hashed to, at most 128.

    Raises:
        ValueError: an argument is outside its domain.

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

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Feller, An Introduction to Probability Theory and Its Applications, volume 1, section II.3
        (birthdays).
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
