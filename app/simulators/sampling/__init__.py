"""Answers that are drawn, one hand after another."""

from fractions import Fraction
from itertools import combinations


def share_with_a_right_one(samples: int, correct: int, k: int) -> Fraction:
    """Of all hands of *k* out of *samples*, the share that holds one of the *correct* ones."""
    hands = list(combinations(range(samples), k))
    return Fraction(sum(min(hand) < correct for hand in hands), len(hands))
