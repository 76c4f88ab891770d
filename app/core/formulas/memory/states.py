"""Bytes of weights, gradients and optimizer state on a rank."""

from app.core.formulas.checks import ZeroStage, whole
from app.core.formulas.memory.split import Split
from app.core.units import Bytes, Count


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

    Raises:
        ValueError: an argument is outside its domain.

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

    Raises:
        ValueError: an argument is outside its domain.

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

    State that every rank holds whole exists once per rank and is needed once; sharded state
    exists once. K are the bytes per parameter that every rank holds whole: all of them in
    stage 0, none in stage 3.

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

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Rajbhandari et al., ZeRO, arXiv:1910.02054, sections 3.1 and 5 (redundancy of model
        states).
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

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Zhao et al., PyTorch FSDP, arXiv:2304.11277, section 3.2 (sharding strategies).
    """
    _, shared = Split.of(3, weight_bytes, gradient_bytes, optimizer_bytes)
    return whole("parameters", parameters) * shared / whole("shard_ranks", shard_ranks)
