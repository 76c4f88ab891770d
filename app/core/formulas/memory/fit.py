"""How many ranks a model needs, and how large a model fits."""

import math
from fractions import Fraction

from app.core.formulas.checks import ZeroStage, at_least, positive, whole
from app.core.formulas.memory.split import Split
from app.core.formulas.refusals import larger_than
from app.core.translation import noted, say
from app.core.units import BYTE, Bytes, Count, show


def zero_smallest_ranks(
    parameters: Count,
    memory: Bytes,
    stage: ZeroStage,
    reserved: Bytes = 0,
    weight_bytes: Bytes = 2,
    gradient_bytes: Bytes = 2,
    optimizer_bytes: Bytes = 12,
) -> Count:
    """Fewest data-parallel ranks on which the state of a model fits under ZeRO.

    The state that every rank holds whole (K bytes per parameter) and the reserved memory leave
    some room, in which a rank's share of the sharded state (D bytes per parameter) must fit. If
    the first two already fill the memory, no number of ranks is enough.

        N = ceil(parameters * D / (memory - reserved - parameters * K))

    Convention:
        An exactly full memory counts as a fit. A card sold as 80 GB has 80e9 bytes here; drivers
        report a little more than that and reserve a little for themselves.

    Args:
        parameters: parameters of the whole model.
        memory: bytes of memory of one rank.
        stage: stage of ZeRO, 0 to 3.
        reserved: bytes of that memory for activations, buffers and the like.
        weight_bytes: bytes of one weight.
        gradient_bytes: bytes of one gradient.
        optimizer_bytes: bytes of optimizer state per parameter.

    Raises:
        ValueError: an argument is outside its domain, or *memory* is too small for any number
            of ranks.

    Source:
        Rajbhandari et al., ZeRO, arXiv:1910.02054, section 5, solved for the number of ranks.
    """
    kept, shared = Split.of(stage, weight_bytes, gradient_bytes, optimizer_bytes)
    count = whole("parameters", parameters)
    floor = Fraction(at_least("reserved", reserved, 0)) + count * Fraction(kept)
    room = Fraction(positive("memory", memory)) - floor
    if room < 0 or (shared and not room):
        raise ValueError(
            say(
                "{name} must be above the {floor} that stage {stage} and the reserved memory take"
                " on every rank, however many there are, not {value}",
                name="memory",
                floor=show(float(floor), BYTE),
                stage=stage,
                value=show(memory, BYTE),
            )
        )
    return max(1, math.ceil(count * Fraction(shared) / room)) if shared else 1


def zero_largest_model(
    memory: Bytes,
    ranks: Count,
    stage: ZeroStage,
    reserved: Bytes = 0,
    weight_bytes: Bytes = 2,
    gradient_bytes: Bytes = 2,
    optimizer_bytes: Bytes = 12,
) -> Count:
    """Most parameters whose state fits on each data-parallel rank under ZeRO.

    The memory that is not reserved, over the bytes that a rank holds per parameter: K bytes that
    every rank holds whole, and a share of the D bytes that are sharded.

        P = floor((memory - reserved) / (K + D / ranks))

    Convention:
        Model parallelism multiplies this number, as in table 2 of the ZeRO paper. The measured
        sizes there are smaller, since activations and fragmentation take memory too.

    Args:
        memory: bytes of memory of one rank.
        ranks: data-parallel ranks.
        stage: stage of ZeRO, 0 to 3.
        reserved: bytes of that memory for activations, buffers and the like.
        weight_bytes: bytes of one weight.
        gradient_bytes: bytes of one gradient.
        optimizer_bytes: bytes of optimizer state per parameter.

    Raises:
        ValueError: an argument is outside its domain, or *reserved* exceeds *memory*.

    Source:
        Rajbhandari et al., ZeRO, arXiv:1910.02054, section 5 and table 2.
    """
    kept, shared = Split.of(stage, weight_bytes, gradient_bytes, optimizer_bytes)
    room = Fraction(positive("memory", memory)) - Fraction(at_least("reserved", reserved, 0))
    if room < 0:
        raise larger_than("reserved", show(reserved, BYTE), noted("the memory"), show(memory, BYTE))
    return math.floor(room / (Fraction(kept) + Fraction(shared) / whole("ranks", ranks)))
