"""Machines for a load, and the slots of a batch that wait for its longest answer."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from app.core.formulas.checks import positive, several, whole
from app.core.units import Count, PerSecond, Ratio

_SUMMED = 100  # terms of a harmonic number; a series is exact beyond
_EULER = 0.57721566490153286


class PoolSizes(NamedTuple):
    """Nodes that read prompts, nodes that write answers, and both together."""

    prefill: Ratio
    decode: Ratio
    total: Ratio


def pool_sizes(
    input_rate: PerSecond, output_rate: PerSecond, prefill_rate: PerSecond, decode_rate: PerSecond
) -> PoolSizes:
    """Nodes for the mean load of a service that reads prompts and writes answers on separate nodes.

        P = input_rate / prefill_rate
        D = output_rate / decode_rate
        N = P + D

    Convention:
        Not rounded, and for the mean load: peaks and failures need more.

    Args:
        input_rate: tokens of prompts that arrive per second.
        output_rate: tokens of answers that are written per second.
        prefill_rate: tokens per second that a node reads.
        decode_rate: tokens per second that a node writes.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        From the definition; DeepSeek, DeepSeek-V3/R1 Inference System Overview, 2025.
    """
    prefill = positive("input_rate", input_rate) / positive("prefill_rate", prefill_rate)
    decode = positive("output_rate", output_rate) / positive("decode_rate", decode_rate)
    return PoolSizes(prefill, decode, prefill + decode)


def static_batch_idle(lengths: Sequence[Count]) -> Ratio:
    """Share of the time for which the slots of a static batch have nothing to do.

    All slots are held until the longest answer is done.

        I = 1 - mean / largest

    Convention:
        Every slot generates one token per step until its answer is done.

    Args:
        lengths: tokens of each answer in the batch.

    Raises:
        ValueError: *lengths* is empty, or a length is outside its domain.

    Source:
        Yu et al., Orca, OSDI 2022, section 3 (early-finished and late-joining requests).
    """
    several("lengths", lengths)
    tokens = [whole("lengths", length) for length in lengths]
    return 1 - sum(tokens) / (len(tokens) * max(tokens))


def expected_longest(mean: Ratio, batch: Count) -> Ratio:
    """Expected length of the longest of several answers of exponentially distributed lengths.

    With k answers left, the next one ends after mean / k steps on average. H is the sum of 1 / k
    for k from 1 to batch, about ln(batch) + 0.577.

        L = mean * H

    Convention:
        Independent answers of the same mean. An exponential distribution has no memory: how long an
        answer has become says nothing about how much is to come.

    Args:
        mean: mean tokens of an answer.
        batch: answers that start together.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Order statistics of the exponential distribution: Rényi, On the theory of order statistics,
        Acta Mathematica Hungarica 4, 1953.
    """
    return positive("mean", mean) * _harmonic(whole("batch", batch))


def _harmonic(terms: int) -> float:
    """1 + 1/2 + ... + 1/terms."""
    if terms <= _SUMMED:
        return math.fsum(1 / k for k in range(1, terms + 1))
    return math.log(terms) + _EULER + 1 / (2 * terms) - 1 / (12 * terms**2) + 1 / (120 * terms**4)
