"""Small matrices in blocks on a mesh of ranks, moved and multiplied number by number.

It knows no rule of collectives: a plan that adds a partial sum twice, or loses one, leaves numbers
that are not those of the product.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from itertools import product as every
from math import prod

from app.core.translation import noted, say

Block = tuple[int | None, ...]  # the cells of an array that a rank holds; None where it has none
Blocks = tuple[Block, ...]  # by rank
Cut = tuple[str, ...]  # the mesh axes that split a dimension, the outermost first

# Weights of the numbers in the arrays: no two sums of products are equal by chance.
_SEEDS = {0: (3, 5, 1), 1: (7, -2, 4), 2: (11, 6, -5)}


class IllegalMoveError(ValueError):
    """A move that cannot be made: the message says why."""


class MoveKind(StrEnum):
    """What a move does; the value is how a plan says it."""

    ALL_GATHER = "all-gather"
    MULTIPLY = "multiply"
    ALL_REDUCE = "all-reduce"
    REDUCE_SCATTER = "reduce-scatter"
    ALL_TO_ALL = "all-to-all"
    KEEP = "keep own part of"


_SAID = {
    MoveKind.ALL_GATHER: noted("all-gather {array} over {axis}"),
    MoveKind.MULTIPLY: noted("multiply"),
    MoveKind.ALL_REDUCE: noted("all-reduce {array} over {axis}"),
    MoveKind.REDUCE_SCATTER: noted("reduce-scatter {array} over {axis} along {dim}"),
    MoveKind.ALL_TO_ALL: noted("all-to-all {array} over {axis} along {dim}"),
    MoveKind.KEEP: noted("keep own part of {array} over {axis} along {dim}"),
}


@dataclass(frozen=True, slots=True)
class Move:
    """One move of a plan, on an array over a mesh axis, and along a dimension where it splits."""

    kind: MoveKind
    array: str = ""
    axis: str = ""
    along: str = ""

    def __str__(self) -> str:
        return say(_SAID[self.kind], array=self.array, axis=self.axis, dim=self.along)


MULTIPLY = Move(MoveKind.MULTIPLY)


@dataclass(frozen=True, slots=True)
class ShardedLayout:
    """The dimensions of an array, and the mesh axes that split each."""

    dims: tuple[str, ...]
    cuts: tuple[Cut, ...]

    @property
    def axes(self) -> tuple[str, ...]:
        """Every mesh axis that splits a dimension."""
        return tuple(axis for cut in self.cuts for axis in cut)


@dataclass(frozen=True, slots=True)
class RankMesh:
    """Ranks in a grid: the names of its axes, and how many ranks each has."""

    axes: tuple[str, ...]
    shape: tuple[int, ...]

    @property
    def sides(self) -> Iterator[tuple[str, int]]:
        """Each axis with its number of ranks."""
        return zip(self.axes, self.shape, strict=True)

    @property
    def small(self) -> int:
        """The size of every dimension as it is played: each way to split it divides it."""
        return prod(self.shape)

    @property
    def ranks(self) -> list[tuple[int, ...]]:
        """The coordinates of every rank, those of the last axis varying fastest."""
        return list(every(*map(range, self.shape)))

    def along(self, axis: str) -> int:
        """The number of ranks along *axis*."""
        return self.shape[self.axes.index(axis)]

    def groups(self, axis: str) -> Iterator[list[int]]:
        """The ranks, by number, that differ in their place along *axis* alone."""
        at, ranks = self.axes.index(axis), self.ranks
        numbers = {rank: number for number, rank in enumerate(ranks)}
        for rank in ranks:
            if not rank[at]:
                yield [numbers[(*rank[:at], k, *rank[at + 1 :])] for k in range(self.shape[at])]

    def span(self, rank: Sequence[int], cut: Cut) -> range:
        """The part of a dimension, split by *cut*, that belongs to *rank*."""
        block, blocks = 0, 1
        for axis in cut:
            block = block * self.along(axis) + rank[self.axes.index(axis)]
            blocks *= self.along(axis)
        return range(block * self.small // blocks, (block + 1) * self.small // blocks)


def place_array(mesh: RankMesh, layout: ShardedLayout, numbers: Sequence[int]) -> Blocks:
    """The block of each rank when an array of *numbers*, row by row, has that *layout*."""
    cells = list(every(range(mesh.small), repeat=len(layout.dims)))
    held = []
    for rank in mesh.ranks:
        spans = [mesh.span(rank, cut) for cut in layout.cuts]
        held.append(
            tuple(
                number if all(at in span for at, span in zip(cell, spans, strict=True)) else None
                for cell, number in zip(cells, numbers, strict=True)
            )
        )
    return tuple(held)


def numbers_of(order: int, dims: int, small: int) -> tuple[int, ...]:
    """Small whole numbers for the array that is number *order* in a plan, row by row."""
    a, b, c = _SEEDS[order]
    cells = every(range(small), repeat=dims)
    return tuple(a * i * i + b * sum(rest) + c + (i + 1) * sum(rest) for i, *rest in cells)


def gathered(mesh: RankMesh, held: Blocks, axis: str) -> Blocks:
    """Each rank has the blocks of all ranks along *axis*.

    Raises:
        IllegalMoveError: two ranks hold different numbers for a cell.
    """
    new = list(held)
    for group in mesh.groups(axis):
        block = tuple(map(_same, zip(*(held[rank] for rank in group), strict=True)))
        for rank in group:
            new[rank] = block
    return tuple(new)


def _same(cells: Sequence[int | None]) -> int | None:
    found = set(cells) - {None}
    if len(found) > 1:
        raise IllegalMoveError(say("the ranks hold different partial sums of the same cells"))
    return found.pop() if found else None


def reduced(mesh: RankMesh, held: Blocks, axis: str) -> Blocks:
    """Each rank has the sums of the blocks along *axis*.

    Raises:
        IllegalMoveError: the ranks do not hold the same block.
    """
    new = list(held)
    for group in mesh.groups(axis):
        block = tuple(map(_sum, zip(*(held[rank] for rank in group), strict=True)))
        for rank in group:
            new[rank] = block
    return tuple(new)


def _sum(cells: Sequence[int | None]) -> int | None:
    there = [cell for cell in cells if cell is not None]
    if there and len(there) < len(cells):
        raise IllegalMoveError(say("the ranks hold different blocks, so nothing can be added up"))
    return sum(there) if there else None


def kept(mesh: RankMesh, held: Blocks, axis: str, dim: int, dims: int) -> Blocks:
    """Each rank drops all but its own part along *axis* of what it holds, split by *dim*."""
    at, ways, small = mesh.axes.index(axis), mesh.along(axis), mesh.small
    step = small ** (dims - 1 - dim)
    places = [number // step % small for number in range(len(held[0]))]
    new = []
    for rank, block in zip(mesh.ranks, held, strict=True):
        there = sorted({p for p, cell in zip(places, block, strict=True) if cell is not None})
        own = set(there[rank[at] * len(there) // ways : (rank[at] + 1) * len(there) // ways])
        new.append(tuple(c if p in own else None for p, c in zip(places, block, strict=True)))
    return tuple(new)


def multiplied(left: Blocks, right: Blocks, small: int) -> Blocks:
    """The product of what each rank holds: a cell needs one number of each at least."""
    return tuple(_product(a, b, small) for a, b in zip(left, right, strict=True))


@lru_cache(maxsize=4096)
def _product(left: Block, right: Block, small: int) -> Block:
    rows = [left[at * small : (at + 1) * small] for at in range(small)]
    columns = [right[at::small] for at in range(small)]
    return tuple(_dot(row, column) for row in rows for column in columns)


def _dot(row: Block, column: Block) -> int | None:
    there = [a * b for a, b in zip(row, column, strict=True) if a is not None and b is not None]
    return sum(there) if there else None


def held_share(held: Blocks) -> float:
    """The part of an array that a rank holds; of the rank that holds most."""
    return max(sum(cell is not None for cell in block) / len(block) for block in held)


def is_lost(held: Blocks) -> bool:
    """Whether some cell is held by no rank."""
    return any(all(cell is None for cell in cells) for cells in zip(*held, strict=True))


def sent(kind: MoveKind, held: Blocks, ranks: int) -> float:
    """What each rank sends, as a part of the array: around a ring, as the collectives do.

    An all-gather passes on every block but one; an all-reduce is a reduce-scatter and an
    all-gather; an all-to-all keeps one part of its block at home.
    """
    own = held_share(held)
    return {
        MoveKind.ALL_GATHER: own * (ranks - 1),
        MoveKind.ALL_REDUCE: 2 * own * (ranks - 1) / ranks,
        MoveKind.REDUCE_SCATTER: own * (ranks - 1) / ranks,
        MoveKind.ALL_TO_ALL: own * (ranks - 1) / ranks,
    }.get(kind, 0.0)


def apply_move(mesh: RankMesh, held: Blocks, move: Move, dims: Sequence[str]) -> Blocks:
    """What each rank holds after *move*, which is not a product.

    Raises:
        IllegalMoveError: it cannot be made.
    """
    if move.kind is MoveKind.ALL_GATHER:
        return gathered(mesh, held, move.axis)
    if move.kind is MoveKind.ALL_REDUCE:
        return reduced(mesh, held, move.axis)
    before = held
    if move.kind is MoveKind.REDUCE_SCATTER:
        before = reduced(mesh, held, move.axis)
    elif move.kind is MoveKind.ALL_TO_ALL:
        before = gathered(mesh, held, move.axis)
    return kept(mesh, before, move.axis, dims.index(move.along), len(dims))
