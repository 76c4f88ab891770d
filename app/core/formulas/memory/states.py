"""Weights, gradients and optimizer state on a rank, and what sharding them sends."""

from typing import NamedTuple, get_args

from app.core.formulas.checks import ZeroStage, at_least, one_of, positive, whole
from app.core.units import Bytes, Count

WEIGHTS_FROM, GRADIENTS_FROM, OPTIMIZER_FROM = 3, 2, 1


class Split(NamedTuple):
    """Bytes per parameter that every rank holds whole, and bytes that are sharded."""

    kept: Bytes
    shared: Bytes

    @classmethod
    def of(cls, stage: ZeroStage, weight_bytes: Bytes, gradient_bytes: Bytes, optimizer_bytes: Bytes) -> "Split":
        """The bytes of a parameter, split as *stage* does."""
        check_stage(stage)
        shared_from = {
            WEIGHTS_FROM: positive("weight_bytes", weight_bytes),
            GRADIENTS_FROM: at_least("gradient_bytes", gradient_bytes, 0),
            OPTIMIZER_FROM: at_least("optimizer_bytes", optimizer_bytes, 0),
        }
        return cls(
            kept=sum(size for first, size in shared_from.items() if stage < first),
            shared=sum(size for first, size in shared_from.items() if stage >= first),
        )


def check_stage(stage: ZeroStage) -> None:
    """Refuse a value that is not a ZeRO stage."""
    one_of("stage", stage, get_args(ZeroStage))


def state_bytes(
    parameters: Count, weight_bytes: Bytes = 2, gradient_bytes: Bytes = 2, optimizer_bytes: Bytes = 12
) -> Bytes:
    """Bytes of weights, gradients and optimizer state of one replica.

    Mixed precision with Adam stores, per parameter, a 16-bit weight and gradient of 2 bytes each
    and 12 bytes of 32-bit optimizer state: a master copy of the weight, a momentum, a variance.

        M = parameters * (weight_bytes + gradient_bytes + optimizer_bytes)

    Convention:
        16 bytes per parameter is the count of the ZeRO paper. It is 18 with 32-bit gradients
        (Megatron-LM, Llama 3), 12 without a master copy, and 14 in a checkpoint, which has no
        gradients.

    Args:
        parameters: parameters of the model.
        weight_bytes: bytes of one weight.
        gradient_bytes: bytes of one gradient.
        optimizer_bytes: bytes of optimizer state per parameter.

    Source:
        Rajbhandari et al., ZeRO, arXiv:1910.02054, section 3.1.
    """
    kept, _ = Split.of(0, weight_bytes, gradient_bytes, optimizer_bytes)
    return whole("parameters", parameters) * kept


def zero_state_bytes(
    parameters: Count,
    ranks: Count,
    stage: ZeroStage,
    weight_bytes: Bytes = 2,
    gradient_bytes: Bytes = 2,
    optimizer_bytes: Bytes = 12,
) -> Bytes:
    """Bytes of weights, gradients and optimizer state on each data-parallel rank under ZeRO.

    Stage 0 is plain data parallelism: every rank holds everything. Stage 1 shards the optimizer
    state, stage 2 the gradients too, stage 3 the weights as well. K are the bytes per parameter
    that every rank holds whole, D those that are sharded; M_1 is stage 1.

        M = parameters * (K + D / ranks)
        M_1 = parameters * (weight_bytes + gradient_bytes + optimizer_bytes / ranks)

    Convention:
        The defaults are the 16 bytes per parameter of the ZeRO paper. Some implementations keep
        32-bit gradients (18 in total; 20 in DeepSpeed's stage 2). PyTorch's FSDP is stage 3,
        unless it keeps the weights after the forward pass.

    Args:
        parameters: parameters of the whole model.
        ranks: data-parallel ranks.
        stage: stage of ZeRO, 0 to 3.
        weight_bytes: bytes of one weight.
        gradient_bytes: bytes of one gradient.
        optimizer_bytes: bytes of optimizer state per parameter.

    Source:
        Rajbhandari et al., ZeRO, arXiv:1910.02054, section 5 and table 1.
    """
    kept, shared = Split.of(stage, weight_bytes, gradient_bytes, optimizer_bytes)
    return whole("parameters", parameters) * (kept + shared / whole("ranks", ranks))


def zero_redundant_bytes(
    parameters: Count,
    ranks: Count,
    stage: ZeroStage,
    weight_bytes: Bytes = 2,
    gradient_bytes: Bytes = 2,
    optimizer_bytes: Bytes = 12,
) -> Bytes:
    """Bytes that all ranks together hold beyond the one copy that training needs.

    State that every rank holds whole exists once per rank and is needed once; sharded state exists once. K are the
    bytes per parameter that every rank holds whole: all of them in stage 0, none in stage 3.

        R = (ranks - 1) parameters * K

    Convention:
        Copies beyond the first. All copies, the first included, would be ranks * parameters * K.

    Args:
        parameters: parameters of the whole model.
        ranks: data-parallel ranks.
        stage: stage of ZeRO, 0 to 3.
        weight_bytes: bytes of one weight.
        gradient_bytes: bytes of one gradient.
        optimizer_bytes: bytes of optimizer state per parameter.

    Source:
        Rajbhandari et al., ZeRO, arXiv:1910.02054, sections 3.1 and 5 (redundancy of model states).
    """
    kept, _ = Split.of(stage, weight_bytes, gradient_bytes, optimizer_bytes)
    return (whole("ranks", ranks) - 1) * whole("parameters", parameters) * kept


def hybrid_shard_state_bytes(
    parameters: Count,
    shard_ranks: Count,
    weight_bytes: Bytes = 2,
    gradient_bytes: Bytes = 2,
    optimizer_bytes: Bytes = 12,
) -> Bytes:
    """Bytes of weights, gradients and optimizer state on each rank under hybrid sharding.

    Stage 3 inside each group of shard_ranks ranks; every group holds a full replica. More groups
    process more data; they do not reduce the state of a rank.

        M = parameters * (weight_bytes + gradient_bytes + optimizer_bytes) / shard_ranks

    Convention:
        The defaults are the 16 bytes per parameter of the ZeRO paper. PyTorch calls the scheme
        HSDP, or HYBRID_SHARD.

    Args:
        parameters: parameters of the whole model.
        shard_ranks: ranks of one group, over which a replica is sharded.
        weight_bytes: bytes of one weight.
        gradient_bytes: bytes of one gradient.
        optimizer_bytes: bytes of optimizer state per parameter.

    Source:
        Zhao et al., PyTorch FSDP, arXiv:2304.11277, section 3.2 (sharding strategies).
    """
    _, shared = Split.of(3, weight_bytes, gradient_bytes, optimizer_bytes)
    return whole("parameters", parameters) * shared / whole("shard_ranks", shard_ranks)


class HybridTraffic(NamedTuple):
    """Bytes that a rank sends inside its group, and across groups."""

    intra_bytes: Bytes
    inter_bytes: Bytes


def _others(name: str, ranks: Count) -> float:
    """The share of an evenly divided array that the other ranks hold."""
    return (whole(name, ranks) - 1) / ranks


def zero_traffic_bytes(weight_bytes_total: Bytes, ranks: Count, stage: ZeroStage) -> Bytes:
    """Bytes that each data-parallel rank sends in a step under ZeRO.

    Stages 0 to 2 reduce-scatter the gradients and all-gather either the sums (stage 0, an all-reduce) or the updated
    weights; stage 3 gathers the weights before the forward pass and again before the backward pass, then
    reduce-scatters the gradients. V is for stages 0 to 2, V_3 for stage 3.

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

    Source:
        Zhao et al., PyTorch FSDP, arXiv:2304.11277, section 3.2 (sharding strategies).
    """
    size = positive("weight_bytes_total", weight_bytes_total)
    return HybridTraffic(
        intra_bytes=3 * size * _others("shard_ranks", shard_ranks),
        inter_bytes=2 * size / shard_ranks * _others("replicas", replicas),
    )
