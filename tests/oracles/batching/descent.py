"""Noisy gradient descent, exactly: every sign of the noise, with its probability."""

from fractions import Fraction
from math import comb


def descend(steps: int, rate: Fraction, gradient: Fraction) -> Fraction:
    """Distance of *steps* steps along a constant gradient."""
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
    """The most progress of one step on a quadratic, relative to that without noise.

    A step of length r along a gradient of size one gains r - r² (1 + noise / batch) / 2; the best
    of many lengths is taken.
    """
    lengths = (Fraction(n, 10_000) for n in range(10_001))
    gains = (r - r * r * (1 + noise / batch) / 2 for r in lengths)
    return max(gains) / Fraction(1, 2)
