"""The tensors that a transformer layer stores for its backward pass, one by one."""

from dataclasses import dataclass
from math import prod

from app.core.units import Bytes, Count

HALF, MASK = 2, 1  # bytes of a 16-bit number, and of a dropout mask's element


@dataclass(frozen=True, slots=True)
class StoredTensor:
    """A stored tensor: its *shape* on one rank, and whether it holds attention scores."""

    name: str
    shape: tuple[float, ...]
    element: Bytes = HALF
    scores: bool = False

    @property
    def size(self) -> Bytes:
        """Its bytes."""
        return prod(self.shape) * self.element


def stored_tensors(
    sequence: Count, batch: Count, hidden: Count, heads: Count, tensor_ranks: Count = 1, sequence_parallel: bool = False
) -> list[StoredTensor]:
    """The tensors that one rank stores of a layer with 16-bit activations, dropout and GELU.

    Tensor parallelism gives a rank some of the heads and of the feed-forward's columns; sequence
    parallelism some of the tokens elsewhere.
    """
    tokens = sequence / tensor_ranks if sequence_parallel else sequence
    outside = (tokens, batch, hidden)
    columns = (sequence, batch, hidden / tensor_ranks)
    wide = (sequence, batch, 4 * hidden / tensor_ranks)
    scores = (batch, heads / tensor_ranks, sequence, sequence)
    return [
        StoredTensor("input of the first norm", outside),
        StoredTensor("input of queries, keys and values", outside),
        StoredTensor("queries", columns),
        StoredTensor("keys", columns),
        StoredTensor("output of the softmax", scores, scores=True),
        StoredTensor("dropout mask of the scores", scores, MASK, scores=True),
        StoredTensor("output of the scores' dropout", scores, scores=True),
        StoredTensor("values", columns),
        StoredTensor("input of the projection", columns),
        StoredTensor("dropout mask of attention", outside, MASK),
        StoredTensor("input of the second norm", outside),
        StoredTensor("input of the feed-forward", outside),
        StoredTensor("input of the GELU", wide),
        StoredTensor("output of the GELU", wide),
        StoredTensor("dropout mask of the feed-forward", outside, MASK),
    ]


def stored_bytes(tensors: list[StoredTensor], recompute: str) -> Bytes:
    """Bytes of *tensors* that are left when *recompute* drops what can be recomputed."""
    left = {"none": tensors, "selective": [tensor for tensor in tensors if not tensor.scores], "full": tensors[:1]}
    return sum(tensor.size for tensor in left[recompute])
