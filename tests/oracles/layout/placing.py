"""The ranks of a mesh, each with its slice of every tensor of its stage."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Mesh:
    """Degrees of tensor, context, expert, data and pipeline parallelism."""

    tensor: int = 1
    context: int = 1
    expert: int = 1
    data: int = 1
    pipeline: int = 1


@dataclass(frozen=True, slots=True)
class WeightTensor:
    """Elements of a weight, whether tensor parallelism splits it, and the expert it belongs to."""

    stage: int
    elements: int
    cut: bool
    expert: int | None = None


@dataclass(slots=True)
class MeshRank:
    """The elements that a rank holds."""

    place: tuple[int, int, int, int]
    weights: float = 0.0
    gradients: float = 0.0
    optimizer: float = 0.0
    seen: set[int] = field(default_factory=set)


def place(mesh: Mesh, tensors: Iterable[WeightTensor], experts: int, zero: int) -> list[MeshRank]:
    """Give every rank its slices; ZeRO shards over the ranks that have the same slice."""
    ranks = [MeshRank(where) for where in _places(mesh)]
    known = list(tensors)
    for number, tensor in enumerate(known):
        owners = [rank for rank in ranks if _holds(mesh, rank, tensor, experts)]
        for rank in owners:
            same = [other for other in owners if other.place[0] == rank.place[0]]
            own = tensor.elements / mesh.tensor if tensor.cut else tensor.elements
            share = own / len(same)
            rank.weights += share if zero in {3} else own
            rank.gradients += share if zero in {2, 3} else own
            rank.optimizer += share if zero >= 1 else own
            rank.seen.add(number)
    return ranks


def _places(mesh: Mesh) -> Iterator[tuple[int, int, int, int]]:
    for p in range(mesh.pipeline):
        for d in range(mesh.data):
            for c in range(mesh.context):
                for t in range(mesh.tensor):
                    yield t, c, d, p


def _holds(mesh: Mesh, rank: MeshRank, tensor: WeightTensor, experts: int) -> bool:
    _, c, d, p = rank.place
    if p != tensor.stage:
        return False
    if tensor.expert is None:
        return True
    group = (d * mesh.context + c) % mesh.expert
    return tensor.expert * mesh.expert // experts == group
