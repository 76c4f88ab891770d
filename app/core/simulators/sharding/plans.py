"""Every plan of a few moves that works, found by playing all of them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from app.core.simulators.sharding.blocks import (
    MULTIPLY,
    Blocks,
    IllegalMoveError,
    Move,
    apply_move,
    is_lost,
    multiplied,
    sent,
)
from app.core.simulators.sharding.player import Resharding

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
    return tuple(WorkingPlan(way.moves, _parts({name: way.sent})) for way in ways)


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
            made = multiplied(left, right, task.mesh.small)
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
                yield WorkingPlan(moves, _parts(dict(zip(names, parts, strict=True))))


def _parts(sent: Mapping[str, float]) -> tuple[tuple[str, float], ...]:
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
            yield move, sent(move.kind, held, task.mesh.along(move.axis)), new
