"""Samples of answers, enumerated."""

from fractions import Fraction
from itertools import combinations


def share_with_a_right_one(samples: int, correct: int, k: int) -> Fraction:
    """Share of all choices of *k* out of *samples* that include one of the *correct* ones."""
    hands = list(combinations(range(samples), k))
    return Fraction(sum(min(hand) < correct for hand in hands), len(hands))
