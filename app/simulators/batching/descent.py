"""Gradient descent with noise, played out exactly: every sign of the noise, with its share."""

from fractions import Fraction
from math import comb


def descend(steps: int, rate: Fraction, gradient: Fraction) -> Fraction:
    """How far *steps* steps go along a gradient that does not change."""
    place = Fraction(0)
    for _ in range(steps):
        place -= rate * gradient
    return place


def spread(batch: int, rate: Fraction) -> Fraction:
    """The variance of one step whose examples each add noise of plus or minus one."""
    ways = {2 * ups - batch: comb(batch, ups) for ups in range(batch + 1)}
    total = sum(ways.values())
    steps = {rate * Fraction(noise, batch): Fraction(n, total) for noise, n in ways.items()}
    mean = sum(step * share for step, share in steps.items())
    return sum(((step - mean) ** 2 * share for step, share in steps.items()), Fraction(0))


def best_gain(batch: int, noise: Fraction) -> Fraction:
    """The most that one step can gain on a bowl of curvature one, as a share of the noiseless.

    A step of length r along a gradient of size one gains r - r² (1 + noise / batch) / 2; the best
    of many lengths is taken.
    """
    lengths = (Fraction(n, 10_000) for n in range(10_001))
    gains = (r - r * r * (1 + noise / batch) / 2 for r in lengths)
    return max(gains) / Fraction(1, 2)
