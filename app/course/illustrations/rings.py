"""Ranks that pass messages: in a ring, up a tree, and through one of them."""

import math

from app.core import units
from app.core.charts.axes import NARROW, Arrow, Color, Paper, Rect, Sheet, Words
from app.core.formulas.checks import whole
from app.core.translation import translate
from app.course.illustrations.base import GAP, Illustration, Sketch, box, first_numbers, note_lines, sketch

_MOST = 12  # ranks in a circle
_SHOWN = 9  # of more
_RADIUS, _HALF = 88, 13  # pixels: of the circle upward, of the height of a box
_LEVEL = 58  # pixels from one level of a tree to the next
_LEVELS = 4


def _ring(
    ranks: units.Count,
    size: units.Bytes | None = None,
    bandwidth: units.BytesPerSecond | None = None,
    latency: units.Seconds | None = None,
) -> Sketch:
    whole("ranks", ranks, 2)
    notes = [
        translate("{size} on each", size=_size_as_given(size)) if size else "",
        translate("{bandwidth} per link", bandwidth=units.show(bandwidth, units.BYTE_PER_SECOND)) if bandwidth else "",
        translate("{latency} per step", latency=units.show(latency, units.SECOND)) if latency else "",
    ]
    says = translate("each sends to its neighbor on the right and receives from the one on the left")
    return sketch(
        translate("{ranks:,} ranks in a ring", ranks=ranks),
        note_lines([says, *notes]),
        lambda paper: _circle(ranks, [note for note in notes if note], paper),
    )


def _size_as_given(size: float) -> str:
    """*size* in KiB, MiB or GiB if it was given so: it is whole in KiB, and not in kB."""
    return units.show_size(size) if size % 2**10 == 0 and size % 1e3 else units.show(size, units.BYTE)


def _circle(ranks: int, notes: list[str], paper: Paper) -> Sheet:
    shown = first_numbers(ranks, _MOST if ranks <= _MOST else _SHOWN)
    middle, center = paper.width / 2, _RADIUS + _HALF + 2
    across = min(250.0, middle - 40)
    places = [
        (
            round(middle + across * math.sin(2 * math.pi * at / len(shown)), 2),
            round(center - _RADIUS * math.cos(2 * math.pi * at / len(shown)), 2),
        )
        for at in range(len(shown))
    ]
    names = [_name(rank, paper) for rank in shown]
    rects = [_node(place, name) for place, name in zip(places, names, strict=True) if name != GAP]
    dots = [Words(x, y + 4, GAP, anchor="middle") for (x, y), name in zip(places, names, strict=True) if name == GAP]
    beside = 24 if paper is NARROW else 34
    arrows = [_between(places[at], places[(at + 1) % len(places)], beside=beside) for at in range(len(places))]
    first = center + 4 - 9 * (len(notes) - 1)
    words = [
        Words(middle, first + 18 * line, note, anchor="middle", strong=not line) for line, note in enumerate(notes)
    ]
    return Sheet(height=2 * center, rects=tuple(rects), arrows=tuple(arrows), words=(*words, *dots))


def _name(rank: int | None, paper: Paper) -> str:
    if rank is None:
        return GAP
    return f"{units.figures(rank)}" if paper is NARROW else translate("rank {rank:,}", rank=rank)


def _node(place: tuple[float, float], name: str, *, marked: bool = False) -> Rect:
    half = 20 + 3.2 * len(name) - 6
    return box(place[0] - half, place[1] - _HALF, 2 * half, 2 * _HALF, name, Color.GRAY, outlined=True, marked=marked)


def _between(
    one: tuple[float, float],
    other: tuple[float, float],
    *,
    beside: float = 34,
    color: Color = Color.GREEN,
    dashed: bool = False,
) -> Arrow:
    """An arrow from near *one* place to near the *other*, clear of the boxes there."""
    (x1, y1), (x2, y2) = one, other
    length = math.hypot(x2 - x1, y2 - y1) or 1.0
    x, y = (x2 - x1) / length, (y2 - y1) / length
    room = min(min(beside / max(abs(x), 1e-9), (_HALF + 2) / max(abs(y), 1e-9)), length * 0.36)
    ends = (x1 + room * x, y1 + room * y, x2 - room * x, y2 - room * y)
    return Arrow(*(round(end, 2) for end in ends), color=color, dashed=dashed)


def _tree(ranks: units.Count) -> Sketch:
    whole("ranks", ranks, 2)
    cut = ranks >= 2**_LEVELS
    says = translate("sums go up to the root, rank 0; then the total goes down the same way")
    return sketch(
        translate("{ranks:,} ranks in a binary tree", ranks=ranks) + (translate(", the upper levels") if cut else ""),
        says,
        lambda paper: _levels(ranks, paper),
    )


def _levels(ranks: int, paper: Paper) -> Sheet:
    shown = min(ranks, 2**_LEVELS - 1)
    places = [_leaf(rank, paper) for rank in range(shown)]
    rects = [_node(place, f"{rank}") for rank, place in enumerate(places)]
    arrows = [_between(places[rank], places[(rank - 1) // 2]) for rank in range(1, shown)]
    height = places[-1][1] + _HALF + 2
    words: list[Words] = []
    if ranks > shown:
        height += 22
        words.append(Words(paper.width / 2, height - 6, GAP, anchor="middle", strong=True))
    return Sheet(height=height, rects=tuple(rects), arrows=tuple(arrows), words=tuple(words))


def _leaf(rank: int, paper: Paper) -> tuple[float, float]:
    """The place of *rank*: each level has twice as many places as the one above."""
    level = (rank + 1).bit_length() - 1
    across = (rank + 1 - 2**level + 0.5) / 2**level * paper.width
    return round(across, 2), _HALF + 2 + _LEVEL * level


def _root(ranks: units.Count, size: units.Bytes | None = None) -> Sketch:
    whole("ranks", ranks, 2)
    note = translate("{size} each way, per rank", size=_size_as_given(size)) if size else ""
    says = translate("every other rank sends its array to rank 0 and receives the sum")
    return sketch(
        translate("{ranks:,} ranks around rank 0", ranks=ranks),
        note_lines([says, note]),
        lambda paper: _spokes(ranks, note, paper),
    )


def _spokes(ranks: int, note: str, paper: Paper) -> Sheet:
    others = [None if n is None else n + 1 for n in first_numbers(ranks - 1, 7 if paper is NARROW else 11)]
    step = paper.width / len(others)
    top, bottom = (paper.width / 2, _HALF + 2.0), 120.0
    rects, arrows, words = [_node(top, translate("rank 0"), marked=True)], [], []
    for at, rank in enumerate(others):
        place = (round((at + 0.5) * step, 2), bottom)
        if rank is None:
            words.append(Words(*place, GAP, anchor="middle"))
            continue
        rects.append(_node(place, f"{units.figures(rank)}"))
        for shift, dashed, ends in ((-5, False, (place, top)), (5, True, (top, place))):
            (x1, y1), (x2, y2) = ends
            pair = ((x1 + shift, y1), (x2 + shift, y2))
            color = Color.BLUE if dashed else Color.GREEN
            arrows.append(_between(*pair, color=color, dashed=dashed))
    if note:
        words.append(Words(paper.width / 2, bottom + 36, note, anchor="middle", quiet=True))
    return Sheet(height=162, rects=tuple(rects), arrows=tuple(arrows), words=tuple(words))


RING = Illustration("ring", "ranks in a ring, and what their links carry", _ring)
TREE = Illustration("tree", "ranks in a binary tree", _tree)
ROOT = Illustration("root", "an all-reduce by way of rank 0", _root)
