"""Layers split over ranks and computed, with every sent number counted."""

from tests.oracles.sharding.matrices import Matrix, bend, counted_product, parallel_mlp
from tests.oracles.sharding.ring_attention import pass_blocks

__all__ = ["Matrix", "bend", "counted_product", "parallel_mlp", "pass_blocks"]
