"""A ring and a tree that add up arrays: the color of each rank is in the sums that have its values."""

import math
from collections.abc import Callable, Iterator, Sequence

from app.core.charts.axes import NARROW, Arrow, Color, Paper, Rect, Sheet, Words
from app.core.charts.motion import Motion, MotionFrame, MovingPiece, Place, Scene
from app.core.motions.ranks import rank_bits
from app.core.simulators.links import play_ring_all_reduce
from app.core.translation import translate

MOST_RANKS = 16  # that have a color of their own
_DEEP = 32.0  # pixels, of the array of a rank
_MANY = 8  # ranks, above which the circle is larger
_RADII = (92.0, 168.0)  # pixels, of the circle upward
_LEVEL = 66.0  # pixels, from one row of a tree to the next


def ring_motion(ranks: int, notes: Sequence[str] = (), *, runs: bool = False) -> Motion:
    """A ring all-reduce of *ranks* ranks, chunk by chunk; *notes* stand in its middle."""
    return Motion(
        title=translate("{ranks:,} ranks in a ring", ranks=ranks),
        summary=translate("each sends to its neighbor on the right and receives from the one on the left"),
        frames=ring_frames(ranks),
        on=lambda paper: _ring_scene(ranks, notes, paper),
        ranks=ranks,
        runs=runs,
    )


def ring_frames(ranks: int) -> tuple[MotionFrame, ...]:
    """The frames of a ring: the cells are the chunks of each rank, the pieces those on the way."""
    return tuple(
        MotionFrame(
            ring_state_text(step, ranks),
            tuple(rank_bits(share) for chunks in now.held for share in chunks),
            # After each step, a chunk is one rank further to the right.
            tuple(
                MovingPiece(rank * ranks + chunk, rank_bits(now.held[rank][chunk]))
                for chunk in range(ranks)
                for rank in [(chunk + step) % ranks]
            ),
        )
        for step, now in enumerate(play_ring_all_reduce(1.0, ranks, 1.0))
    )


def ring_state_text(step: int, ranks: int) -> str:
    """What each rank has after *step* steps of a ring."""
    if step == 0:
        return translate("Each rank has its own values: {ranks} chunks of one color.", ranks=ranks)
    sent = translate("Chunks sent by each rank: {step}.", step=step)
    if step < ranks:
        return sent + " " + translate("It holds one sum of {some} of {ranks} ranks.", some=step + 1, ranks=ranks)
    full = translate("It holds the whole sum of {some} of {ranks} chunks.", some=step - ranks + 2, ranks=ranks)
    return f"{sent} {full}"


def _ring_scene(ranks: int, notes: Sequence[str], paper: Paper) -> Scene:
    height = 2 * _radius(ranks) + _DEEP + 40
    middle = (paper.width / 2, height / 2)
    first = middle[1] + 4 - 9 * (len(notes) - 1)
    words = tuple(
        Words(middle[0], first + 18 * line, note, anchor="middle", strong=not line) for line, note in enumerate(notes)
    )
    return _circle(ranks, middle, min(252.0, middle[0] - 48), height, words)


def _radius(ranks: int) -> float:
    return _RADII[ranks > _MANY]


def _circle(
    ranks: int, middle: tuple[float, float], across: float, height: float, words: tuple[Words, ...] = ()
) -> Scene:
    """The ranks of a ring around *middle*: a column for each chunk."""
    wide = min(9.0, 2 * math.pi * across / ranks**2 * 0.62) * ranks
    centers = [
        (
            middle[0] + across * math.sin(2 * math.pi * rank / ranks),
            middle[1] - _radius(ranks) * math.cos(2 * math.pi * rank / ranks),
        )
        for rank in range(ranks)
    ]
    neighbors = [*centers[1:], centers[0]]
    arrays = [Place(x - wide / 2, y - _DEEP / 2, wide, _DEEP) for x, y in centers]
    cells = tuple(
        Place(array.x + chunk * wide / ranks, array.y, wide / ranks - 0.6, _DEEP)
        for array in arrays
        for chunk in range(ranks)
    )
    return Scene(
        Sheet(
            height=height,
            rects=tuple(_array_box(array, translate("rank {rank:,}", rank=rank)) for rank, array in enumerate(arrays)),
            arrows=tuple(_between(one, other, wide / 2 + 7) for one, other in zip(centers, neighbors, strict=True)),
            words=(*words, *(_outside(rank, at, middle) for rank, at in enumerate(centers))),
        ),
        cells,
        cells,
    )


def _array_box(array: Place, says: str) -> Rect:
    x, y, width, height = array
    return Rect(
        round(x - 3, 2),
        round(y - 3, 2),
        round(width + 6, 2),
        height + 6,
        color=Color.GRAY,
        label="",
        says=says,
        outlined=True,
    )


def _outside(rank: int, at: tuple[float, float], middle: tuple[float, float]) -> Words:
    """The number of a rank, above the upper half of the ring and below the lower one."""
    y = at[1] - _DEEP / 2 - 8 if at[1] <= middle[1] + 1 else at[1] + _DEEP / 2 + 16
    return Words(round(at[0], 2), round(y, 2), f"{rank}", anchor="middle")


def _between(one: tuple[float, float], other: tuple[float, float], beside: float) -> Arrow:
    (x1, y1), (x2, y2) = one, other
    length = math.hypot(x2 - x1, y2 - y1) or 1.0
    x, y = (x2 - x1) / length, (y2 - y1) / length
    room = min(beside / max(abs(x), 1e-9), (_DEEP / 2 + 7) / max(abs(y), 1e-9), length * 0.42)
    ends = (x1 + room * x, y1 + room * y, x2 - room * x, y2 - room * y)
    return Arrow(*(round(end, 2) for end in ends), color=Color.GRAY)


def tree_parent(rank: int) -> int:
    """The rank that *rank* sends its sum to, in a tree of pairs."""
    return rank & (rank - 1)


def tree_step(rank: int) -> int:
    """The step in which *rank* sends its sum, from 0: ranks 1, 3, 5 ... are the first."""
    return (rank & -rank).bit_length() - 1


def tree_frames(ranks: int) -> tuple[MotionFrame, ...]:
    """The frames of a tree: sums of pairs go up step by step, and the total comes down."""
    steps = range((ranks - 1).bit_length())
    held, places = [1 << rank for rank in range(ranks)], list(range(ranks))
    frames = [_tree_frame(places, held)]
    for step in steps:
        for rank in _senders(ranks, step):
            held[tree_parent(rank)] |= held[rank]
            places[rank] = tree_parent(rank)
        frames.append(_tree_frame(places, held))
    for step in reversed(steps):
        for rank in _senders(ranks, step):
            held[rank] = held[0]
            places[rank] = rank
        frames.append(_tree_frame(places, held))
    return tuple(frames)


def _senders(ranks: int, step: int) -> Iterator[int]:
    return (rank for rank in range(1, ranks) if tree_step(rank) == step)


def _tree_frame(places: Sequence[int], held: Sequence[int]) -> MotionFrame:
    pieces = tuple(MovingPiece(places[rank], held[places[rank]]) for rank in range(1, len(places)))
    return MotionFrame("", tuple(held), pieces)


def _tree_scene(ranks: int, left: float, width: float, top: float, wide: float) -> Scene:
    """The tree between *left* and its *width*: those that send together stand side by side."""
    deep = (ranks - 1).bit_length()
    centers = [
        (left + (rank + 0.5) / ranks * width, top + _DEEP / 2 + (deep - tree_step(rank) if rank else 0) * _LEVEL)
        for rank in range(ranks)
    ]
    arrays = tuple(Place(x - wide / 2, y - _DEEP / 2, wide, _DEEP) for x, y in centers)
    return Scene(
        Sheet(
            height=top + _DEEP + deep * _LEVEL + 20,
            rects=tuple(_array_box(one, translate("rank {rank:,}", rank=rank)) for rank, one in enumerate(arrays)),
            arrows=tuple(_between(centers[rank], centers[tree_parent(rank)], wide / 2 + 7) for rank in range(1, ranks)),
            words=tuple(
                Words(round(x + wide / 2 + 6, 2), round(y + 4, 2), f"{rank}") for rank, (x, y) in enumerate(centers)
            ),
        ),
        arrays,
        arrays,
    )


def ring_beside_tree(ranks: int, ring_step: float, tree_step: float, told: Callable[[float], str]) -> Motion:
    """A ring and a tree of *ranks* ranks over the same time, with steps of these seconds; *told* says one in words."""
    ring, tree = ring_frames(ranks), tree_frames(ranks)
    ends = [(len(ring) - 1) * ring_step, (len(tree) - 1) * tree_step]
    moments = {step * ring_step for step in range(len(ring))} | {step * tree_step for step in range(len(tree))}
    frames = []
    for moment in sorted(moments):
        steps = [min(int(moment / each + 1e-9), len(of) - 1) for of, each in ((ring, ring_step), (tree, tree_step))]
        one, other = ring[steps[0]], tree[steps[1]]
        says = translate(
            "After {time}: step {step} of {steps} of the ring, {step_2} of {steps_2} of the tree.",
            time=told(moment),
            step=steps[0],
            steps=len(ring) - 1,
            step_2=steps[1],
            steps_2=len(tree) - 1,
        )
        moved = tuple(piece._replace(place=(piece.place or 0) + ranks * ranks) for piece in other.pieces)
        frames.append(MotionFrame(says, one.cells + other.cells, one.pieces + moved))
    return Motion(
        title=translate("A ring and a tree of {ranks} ranks", ranks=ranks),
        summary=translate("ring {time}, tree {time_2}", time=told(ends[0]), time_2=told(ends[1])),
        frames=tuple(frames),
        on=lambda paper: _side_by_side(ranks, paper),
        ranks=ranks,
        still=min(len(frames) - 1, ranks // 2),
    )


def _side_by_side(ranks: int, paper: Paper) -> Scene:
    """The ring at the left, the tree at the right; on narrow paper, the tree is below."""
    below = 2 * _radius(ranks) + _DEEP + 62
    title = translate("ring: chunks")
    if paper is NARROW:
        ring = _circle(ranks, (170, below / 2 + 11), 124, below)
        tree = _tree_scene(ranks, 0, 340, below + 24, 18)
        height, at = tree.sheet.height, (0.0, below + 12)
    else:
        ring = _circle(ranks, (206, below / 2 + 11), 158, below)
        tree = _tree_scene(ranks, 420, 330, 26, 26)
        height, at = max(below, tree.sheet.height), (420.0, 14.0)
    named = (Words(0, 14, title, strong=True), Words(*at, translate("tree: whole arrays"), strong=True))
    return Scene(
        Sheet(
            height=height,
            rects=ring.sheet.rects + tree.sheet.rects,
            arrows=ring.sheet.arrows + tree.sheet.arrows,
            words=(*named, *ring.sheet.words, *tree.sheet.words),
        ),
        ring.cells + tree.cells,
        ring.places + tree.places,
    )
