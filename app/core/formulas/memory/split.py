"""Which bytes of a parameter each ZeRO stage shards."""

from typing import NamedTuple, get_args

from app.core.formulas.checks import ZeroStage, at_least, one_of, positive
from app.core.units import Bytes

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
