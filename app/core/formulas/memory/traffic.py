"""Bytes that a rank sends in a step of sharded data parallelism."""

from typing import NamedTuple

from app.core.formulas.checks import ZeroStage, positive, whole
from app.core.formulas.memory.split import GRADIENTS_FROM, WEIGHTS_FROM, check_stage
from app.core.units import Bytes, Count


class HybridTraffic(NamedTuple):
    """Bytes that a rank sends inside its group, and across groups."""

    intra_bytes: Bytes
    inter_bytes: Bytes


def _others(name: str, ranks: Count) -> float:
    """The share of an evenly divided array that the other ranks hold."""
    return (whole(name, ranks) - 1) / ranks


def zero_traffic_bytes(weight_bytes_total: Bytes, ranks: Count, stage: ZeroStage) -> Bytes:
    """Bytes that each data-parallel rank sends in a step under ZeRO.

    Stages 0 to 2 reduce-scatter the gradients and all-gather either the sums (stage 0, an
    all-reduce) or the updated weights; stage 3 gathers the weights before the forward pass and
    again before the backward pass, then reduce-scatters the gradients. V is for stages 0 to 2, V_3
    for stage 3.

        V = 2 weight_bytes_total * (ranks - 1) / ranks
        V_3 = 3 weight_bytes_total * (ranks - 1) / ranks

    Convention:
        Bytes sent, for gradients as wide as the weights. The ZeRO paper counts elements and
        drops (ranks - 1) / ranks: 2 and 3 model sizes. Stage 3 thus sends 1.5 times as much as
        plain data parallelism, not 3 times: an all-reduce already sends two model sizes.

    Args:
        weight_bytes_total: bytes of all weights, and also of all gradients.
        ranks: data-parallel ranks.
        stage: stage of ZeRO, 0 to 3.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Rajbhandari et al., ZeRO, arXiv:1910.02054, section 7.
    """
    return zero_accumulated_traffic_bytes(weight_bytes_total, ranks, stage, 1)


def zero_accumulated_traffic_bytes(
    weight_bytes_total: Bytes, ranks: Count, stage: ZeroStage, accumulation: Count
) -> Bytes:
    """Bytes that each data-parallel rank sends in a step that accumulates micro-batches.

    Stages 0 and 1 can accumulate whole gradients locally and communicate once. Stage 2 keeps only
    its shard of the sum, so every micro-batch needs a reduce-scatter; stage 3 also gathers the
    weights twice per micro-batch. V is for stages 0 and 1, V_2 and V_3 for the others.

        V = 2 weight_bytes_total * (ranks - 1) / ranks
        V_2 = (accumulation + 1) weight_bytes_total * (ranks - 1) / ranks
        V_3 = 3 accumulation * weight_bytes_total * (ranks - 1) / ranks

    Convention:
        Per optimizer step. The common claim that stages 1 and 2 add no traffic holds for one
        micro-batch per step.

    Args:
        weight_bytes_total: bytes of all weights, and also of all gradients.
        ranks: data-parallel ranks.
        stage: stage of ZeRO, 0 to 3.
        accumulation: micro-batches per optimizer step.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Rajbhandari et al., ZeRO, arXiv:1910.02054, section 7, extended to several micro-batches.
    """
    check_stage(stage)
    scatters = whole("accumulation", accumulation) if stage >= GRADIENTS_FROM else 1
    gathers = 2 * accumulation if stage >= WEIGHTS_FROM else 1
    size = positive("weight_bytes_total", weight_bytes_total)
    return (scatters + gathers) * size * _others("ranks", ranks)


def hybrid_shard_traffic(weight_bytes_total: Bytes, shard_ranks: Count, replicas: Count) -> HybridTraffic:
    """Bytes that each rank sends in a step of hybrid sharding, inside its group and across groups.

    Inside a group it is stage 3: two all-gathers and a reduce-scatter. Then every rank
    all-reduces its shard of the gradients with the ranks of the other groups that hold the same
    shard. A is the traffic inside a group, B the traffic across groups.

        A = 3 weight_bytes_total * (shard_ranks - 1) / shard_ranks
        B = 2 weight_bytes_total / shard_ranks * (replicas - 1) / replicas

    Convention:
        Bytes sent, for gradients as wide as the weights. Across groups a rank sends only a shard,
        not the model: with groups of 8, about a tenth of the traffic inside.

    Args:
        weight_bytes_total: bytes of all weights, and also of all gradients.
        shard_ranks: ranks of one group, over which a replica is sharded.
        replicas: number of groups.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Zhao et al., PyTorch FSDP, arXiv:2304.11277, section 3.2 (sharding strategies).
    """
    size = positive("weight_bytes_total", weight_bytes_total)
    return HybridTraffic(
        intra_bytes=3 * size * _others("shard_ranks", shard_ranks),
        inter_bytes=2 * size / shard_ranks * _others("replicas", replicas),
    )
