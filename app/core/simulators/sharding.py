"""Arrays and tokens spread over ranks, with everything that is sent counted."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property, lru_cache
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


def _joined_blocks(
    mesh: RankMesh, held: Blocks, axis: str, join: Callable[[Sequence[int | None]], int | None]
) -> Blocks:
    new = list(held)
    for group in mesh.groups(axis):
        block = tuple(map(join, zip(*(held[rank] for rank in group), strict=True)))
        for rank in group:
            new[rank] = block
    return tuple(new)


def _same(cells: Sequence[int | None]) -> int | None:
    found = set(cells) - {None}
    if len(found) > 1:
        raise IllegalMoveError(say("the ranks hold different partial sums of the same cells"))
    return found.pop() if found else None


def _sum(cells: Sequence[int | None]) -> int | None:
    there = [cell for cell in cells if cell is not None]
    if there and len(there) < len(cells):
        raise IllegalMoveError(say("the ranks hold different blocks, so nothing can be added up"))
    return sum(there) if there else None


# What becomes of the numbers that the ranks of a group hold for a cell.
_JOINS = {
    MoveKind.ALL_GATHER: _same, MoveKind.ALL_TO_ALL: _same, MoveKind.ALL_REDUCE: _sum, MoveKind.REDUCE_SCATTER: _sum,
}  # fmt: skip


def keep_part(mesh: RankMesh, held: Blocks, axis: str, dim: int, dims: int) -> Blocks:
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


def multiply_blocks(left: Blocks, right: Blocks, small: int) -> Blocks:
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


def is_lost(held: Blocks) -> bool:
    """Whether some cell is held by no rank."""
    return any(all(cell is None for cell in cells) for cells in zip(*held, strict=True))


def sent_parts(kind: MoveKind, held: Blocks, ranks: int) -> float:
    """What each rank sends, as a part of the array: around a ring, as the collectives do.

    An all-gather passes on every block but one; an all-reduce is a reduce-scatter and an
    all-gather; an all-to-all keeps one part of its block at home.
    """
    own = max(sum(cell is not None for cell in block) / len(block) for block in held)  # of the rank that holds most
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
    join = _JOINS.get(move.kind)
    before = _joined_blocks(mesh, held, move.axis, join) if join else held
    if move.kind in (MoveKind.ALL_GATHER, MoveKind.ALL_REDUCE):
        return before
    return keep_part(mesh, before, move.axis, dims.index(move.along), len(dims))


Sent = Mapping[str, float]  # what each rank sends, as parts of each array


@dataclass(frozen=True)
class Resharding:
    """Arrays that ranks *have*, by name, and the one that they *want*.

    The target is one of them, or the product of two matrices, which share the dimension that is summed.
    """

    mesh: RankMesh
    have: tuple[tuple[str, ShardedLayout], ...]
    want: tuple[str, ShardedLayout]

    @property
    def has_product(self) -> bool:
        """Whether the target is a product."""
        return self.want[0] not in dict(self.have)

    @cached_property
    def dims(self) -> Mapping[str, tuple[str, ...]]:
        """The dimensions of each array."""
        return {name: layout.dims for name, layout in (*self.have, self.want)}

    @cached_property
    def numbers(self) -> Mapping[str, tuple[int, ...]]:
        """The numbers of each array, row by row; those of a product multiplied one by one."""
        small = self.mesh.small
        found = {name: numbers_of(at, len(layout.dims), small) for at, (name, layout) in enumerate(self.have)}
        if self.has_product:
            left, right = found.values()
            found[self.want[0]] = tuple(
                sum(left[i * small + j] * right[j * small + k] for j in range(small))
                for i in range(small)
                for k in range(small)
            )
        return found

    @cached_property
    def start(self) -> Mapping[str, Blocks]:
        """What the ranks hold at first."""
        return {name: place_array(self.mesh, cut, self.numbers[name]) for name, cut in self.have}

    @cached_property
    def goal(self) -> Blocks:
        """What the ranks must hold at last."""
        name, layout = self.want
        return place_array(self.mesh, layout, self.numbers[name])

    def menu(self, name: str) -> Iterator[Move]:
        """Every move of the array called *name*; only a product can have partial sums."""
        has_sums = self.has_product and name == self.want[0]
        kinds = [MoveKind.ALL_GATHER, *([MoveKind.ALL_REDUCE] if has_sums else [])]
        splits = [MoveKind.REDUCE_SCATTER] if has_sums else []
        for axis in self.mesh.axes:
            yield from (Move(kind, name, axis) for kind in kinds)
            for kind in (*splits, MoveKind.ALL_TO_ALL, MoveKind.KEEP):
                yield from (Move(kind, name, axis, along) for along in self.dims[name])

    @property
    def moves(self) -> list[Move]:
        """Every move that a plan may have."""
        product = [MULTIPLY] if self.has_product else []
        late = [*self.menu(self.want[0])] if self.has_product else []
        return [*(move for name, _ in self.have for move in self.menu(name)), *product, *late]


@dataclass(frozen=True, slots=True)
class PlanStep:
    """A move that was made: what each rank sent, as a part of the array, and what all hold then."""

    move: Move
    sent: float
    arrays: Mapping[str, Blocks]


@dataclass(frozen=True, slots=True)
class PlayedPlan:
    """A plan that was played; *problem* says why the move after the last step is illegal."""

    task: Resharding
    steps: tuple[PlanStep, ...]
    arrays: Mapping[str, Blocks]
    is_right: bool
    problem: str = ""

    @property
    def sent(self) -> Sent:
        """What each rank sent, as parts of each array."""
        total: dict[str, float] = {}
        for step in self.steps:
            if step.sent:
                total[step.move.array] = total.get(step.move.array, 0.0) + step.sent
        return total

    @property
    def difference(self) -> "BlockDifference | None":
        """How the first rank whose block is not that of the target differs."""
        held = self.arrays.get(self.task.want[0])
        if held is None:
            return None
        ranks = self.task.mesh.ranks
        wrong = (at for at in range(len(ranks)) if held[at] != self.task.goal[at])
        at = next(wrong, None)
        return None if at is None else _difference(self.task, at, held[at])


@dataclass(frozen=True, slots=True)
class BlockDifference:
    """How the block of a *rank* differs from that of the target, in cells.

    *lacks* and *extra* are parts of the whole array; *wrong* are numbers that are not those of the
    array, all of them the right one *times* a whole number, if that is not 0.
    """

    rank: tuple[int, ...]
    lacks: float
    extra: float
    wrong: bool
    times: int


def _difference(task: Resharding, at: int, block: Block) -> BlockDifference:
    whole, goal = task.numbers[task.want[0]], task.goal[at]
    there = [(cell, right) for cell, right in zip(block, whole, strict=True) if cell is not None]
    pairs = list(zip(block, goal, strict=True))
    ratios = {cell / right for cell, right in there if right}
    ratio = ratios.pop() if len(ratios) == 1 else 0
    return BlockDifference(
        rank=task.mesh.ranks[at],
        lacks=sum(cell is None and right is not None for cell, right in pairs) / len(pairs),
        extra=sum(cell is not None and right is None for cell, right in pairs) / len(pairs),
        wrong=any(cell != right for cell, right in there),
        times=int(ratio) if ratio > 1 and ratio == int(ratio) else 0,
    )


def play_plan(task: Resharding, plan: Sequence[Move]) -> PlayedPlan:
    """What the ranks hold after each move of *plan*, up to the first that is illegal."""
    arrays = dict(task.start)
    steps: list[PlanStep] = []
    for move in plan:
        try:
            part = _make(task, arrays, move)
        except IllegalMoveError as error:
            return PlayedPlan(task, tuple(steps), arrays, False, str(error))
        steps.append(PlanStep(move, part, dict(arrays)))
    return PlayedPlan(task, tuple(steps), arrays, arrays.get(task.want[0]) == task.goal)


def _make(task: Resharding, arrays: dict[str, Blocks], move: Move) -> float:
    """Make *move* on *arrays*; what each rank sends.

    Raises:
        IllegalMoveError: it cannot be made.
    """
    if move.kind is MoveKind.MULTIPLY:
        if task.want[0] in arrays:
            raise IllegalMoveError(say("the product is there already"))
        left, right = (arrays[name] for name, _ in task.have)
        arrays[task.want[0]] = multiply_blocks(left, right, task.mesh.small)
        return 0.0
    if move.array not in arrays:
        raise IllegalMoveError(say("{array} is not there yet: multiply first", array=move.array))
    before = arrays[move.array]
    arrays[move.array] = apply_move(task.mesh, before, move, task.dims[move.array])
    return sent_parts(move.kind, before, task.mesh.along(move.axis))


LONGEST = 3  # moves of the plans that are searched, beside the product
_MOST = 2000  # ways to one state that are followed
Path = tuple[Move, ...]


@dataclass(frozen=True, slots=True)
class WorkingPlan:
    """A plan that works, and what each rank sends, as parts of each array."""

    moves: Path
    sent: tuple[tuple[str, float], ...]

    def bytes(self, sizes: Mapping[str, float]) -> float:
        """What each rank sends when the arrays have these *sizes* in bytes."""
        return sum(part * sizes[name] for name, part in self.sent)


@dataclass(frozen=True, slots=True)
class _Way:
    moves: Path
    sent: float


@lru_cache(maxsize=256)
def working_plans(task: Resharding, longest: int = LONGEST) -> tuple[WorkingPlan, ...]:
    """Every plan of at most *longest* moves, beside the product, that reaches the target.

    Moves without an effect are left out, and moves of different arrays are in one order only.
    """
    if task.has_product:
        return tuple(_with_product(task, longest))
    name = task.want[0]
    ways = _reached(task, name, task.start[name], longest).get(task.goal, [])
    return tuple(WorkingPlan(way.moves, _sent_shares({name: way.sent})) for way in ways)


def _with_product(task: Resharding, longest: int) -> Iterator[WorkingPlan]:
    (first, _), (second, _) = task.have
    name = task.want[0]
    lefts = _reached(task, first, task.start[first], longest)
    rights = _reached(task, second, task.start[second], longest)
    shortest = {held: min(len(way.moves) for way in ways) for held, ways in rights.items()}
    later: dict[tuple[Blocks, int], Sequence[_Way]] = {}
    for left, left_ways in lefts.items():
        least = min(len(way.moves) for way in left_ways)
        for right, right_ways in rights.items():
            room = longest - least - shortest[right]
            if room < 0:
                continue
            made = multiply_blocks(left, right, task.mesh.small)
            if (made, room) not in later:
                ends = {} if is_lost(made) else _reached(task, name, made, room)
                later[made, room] = ends.get(task.goal, [])
            for end in later[made, room]:
                yield from _joined(task, left_ways, right_ways, end, longest)


def _joined(
    task: Resharding, lefts: Sequence[_Way], rights: Sequence[_Way], end: _Way, longest: int
) -> Iterator[WorkingPlan]:
    names = [name for name, _ in (*task.have, task.want)]
    for left in lefts:
        for right in rights:
            if len(left.moves) + len(right.moves) + len(end.moves) <= longest:
                moves = (*left.moves, *right.moves, MULTIPLY, *end.moves)
                parts = (left.sent, right.sent, end.sent)
                yield WorkingPlan(moves, _sent_shares(dict(zip(names, parts, strict=True))))


def _sent_shares(sent: Mapping[str, float]) -> tuple[tuple[str, float], ...]:
    return tuple((name, part) for name, part in sent.items() if part)


def _reached(task: Resharding, name: str, start: Blocks, longest: int) -> Mapping[Blocks, list[_Way]]:
    """Every state of an array within *longest* moves of *start*, with the ways to it.

    A state is followed no further when a cell is held by no rank: it can never come back.
    """
    found: dict[Blocks, list[_Way]] = {start: [_Way((), 0.0)]}
    edge = {start}
    after: dict[Blocks, list[tuple[Move, float, Blocks]]] = {}
    for _ in range(longest):
        reached: dict[Blocks, list[_Way]] = {}
        for held in edge:
            depth = max(len(way.moves) for way in found[held])
            if held not in after:
                after[held] = list(_after(task, name, held))
            for move, part, new in after[held]:
                ways = [_Way((*w.moves, move), w.sent + part) for w in found[held] if len(w.moves) == depth]
                reached.setdefault(new, []).extend(ways[:_MOST])
        edge = set(reached)
        for held, ways in reached.items():
            found.setdefault(held, []).extend(ways)
    return found


def _after(task: Resharding, name: str, held: Blocks) -> Iterator[tuple[Move, float, Blocks]]:
    for move in task.menu(name):
        try:
            new = apply_move(task.mesh, held, move, task.dims[name])
        except IllegalMoveError:
            continue
        if new != held and not is_lost(new):
            yield move, sent_parts(move.kind, held, task.mesh.along(move.axis)), new


@dataclass(slots=True)
class RoutingOutcome:
    """Copies that each expert accepted, copies dropped, and copies sent by each rank."""

    loads: list[int]
    dropped: int
    sent: list[int]


def route(choices: list[list[list[int]]], experts: int, room: int | None = None) -> RoutingOutcome:
    """Send each token of each rank to its chosen experts, spread evenly over ranks."""
    ranks = len(choices)
    routed = RoutingOutcome([0] * experts, 0, [0] * ranks)
    for rank, tokens in enumerate(choices):
        for chosen in tokens:
            for expert in chosen:
                if room is not None and routed.loads[expert] >= room:
                    routed.dropped += 1
                    continue
                routed.loads[expert] += 1
                if expert * ranks // experts != rank:
                    routed.sent[rank] += 1
    return routed
