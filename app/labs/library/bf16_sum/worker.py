"""The same number of many replicas, added in the order of a ring and of a tree."""

import torch

from app.labs.runner.rank import WorkerRank

_KINDS = {"bf16": torch.bfloat16, "fp16": torch.float16}


def main(rank: WorkerRank) -> None:
    """Count to where ones stop, then add the replicas' values in both orders, and in FP32."""
    kind, count = _KINDS[rank.word("format")], int(rank.number("replicas"))
    values = torch.full((count,), rank.number("value"), dtype=torch.float64).to(kind)
    ring, tree = in_a_row(values), in_pairs(values)
    rank.report.check("format", ring.dtype is tree.dtype is kind)
    rank.report.measure("ones", [where_ones_stop(kind)])
    rank.report.measure("ring", [float(ring)])
    rank.report.measure("tree", [float(tree)])
    rank.report.measure("wide", [float(in_a_row(values.float()))])


def where_ones_stop(kind: torch.dtype) -> float:
    """The sum of ones to which another one adds nothing."""
    one = torch.ones((), dtype=kind)
    total = one
    while bool((more := total + one) > total):
        total = more
    return float(total)


def in_a_row(values: torch.Tensor) -> torch.Tensor:
    """The sum of *values*, each added to the sum of all before it, as a chunk in a ring."""
    total = values[0]
    for value in values[1:]:
        total = total + value
    return total


def in_pairs(values: torch.Tensor) -> torch.Tensor:
    """The sum of *values*, then of the sums of pairs, and so on; an odd one waits."""
    while len(values) > 1:
        even = len(values) // 2 * 2
        values = torch.cat((values[0:even:2] + values[1:even:2], values[even:]))
    return values[0]
