"""Names of points, placed where they cover neither one another nor a curve."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import itemgetter

from app.charts.paper import text_width

_APART = 15  # pixels between two lines of text
_SIDE = 9  # pixels between a point and its name
_UP, _DOWN = 11, 4  # pixels that a text takes over and under its line
_BOLD = 1.07  # times the width of a regular letter
_RISES = (-9, 19, 4, -24, 34, -39, 49, -54, 64)  # of a name over its point
_STEP = 12  # pixels between the places of a curve that are looked at
_OVER_A_CURVE, _FARTHER = 1.0, 0.3  # how bad each is
Point = tuple[float, float]
Box = tuple[float, float, float, float]  # left, top, right, bottom


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedLabel:
    """A labeled point in pixels; its text begins (or ends, if *left*) at *text_x*."""

    x: float
    y: float
    says: str
    text_x: float
    text_y: float
    left: bool


def placed_labels(
    marks: Sequence[tuple[float, float, str]],
    *,
    curves: Sequence[Sequence[Point]],
    names: Iterable[tuple[float, float, str]],
    bounds: Box,
) -> tuple[PlacedLabel, ...]:
    """*marks* with their texts inside *bounds*, apart, and beside the *curves* where that works.

    *names* are the texts that are there already, each where it begins.
    """
    lines = sorted(spot for curve in curves for spot in _along(curve))
    taken: list[Box] = [(x - 6, y - 6, x + 6, y + 6) for x, y, _ in marks]
    taken += [(x, y - _UP, x + _BOLD * text_width(text), y + _DOWN) for x, y, text in names]
    found = []
    for x, y, says in marks:
        all_spots = list(_spots(x, y, _BOLD * text_width(says), bounds))
        near = _near([spot[2] for spot in all_spots], lines)
        left, height, box = min(
            [spot for spot in all_spots if _free(spot[2], taken)] or all_spots,
            key=lambda spot: _cost(spot[2], abs(spot[1] - y), near),
        )
        taken.append(box)
        found.append(
            PlacedLabel(
                x=x,
                y=y,
                says=says,
                text_x=round(box[2] if left else box[0], 2),
                text_y=round(height, 2),
                left=left,
            )
        )
    return tuple(found)


def _spots(x: float, y: float, width: float, bounds: Box) -> Iterator[tuple[bool, float, Box]]:
    """Places for a name: whether it ends there, its height, and its box, which is in *bounds*."""
    low, top, high, bottom = bounds
    for rise in _RISES:
        height = min(max(y + rise, top + _UP), bottom)
        for start in (x + _SIDE, x - _SIDE - width, x - width / 2):
            at = min(max(start, low), high - width)
            box = (at, height - _UP, at + width, height + _DOWN)
            yield start < x - width / 2, height, box


def _free(box: Box, taken: Sequence[Box]) -> bool:
    left, top, right, bottom = box
    return all(right + 3 <= a or left - 3 >= c or bottom <= b or top >= d for a, b, c, d in taken)


def _near(boxes: Sequence[Box], lines: Sequence[Point]) -> list[Point]:
    """Those of *lines*, which are sorted, that a box may cover."""
    left, top = min(box[0] for box in boxes), min(box[1] for box in boxes)
    right, bottom = max(box[2] for box in boxes), max(box[3] for box in boxes)
    first = bisect_left(lines, left, key=itemgetter(0))
    last = bisect_right(lines, right, key=itemgetter(0))
    return [point for point in lines[first:last] if top <= point[1] <= bottom]


def _cost(box: Box, far: float, lines: Sequence[Point]) -> float:
    left, top, right, bottom = box
    covered = sum(left <= x <= right and top <= y <= bottom for x, y in lines)
    return _OVER_A_CURVE * covered + _FARTHER * far / _APART


def _along(curve: Sequence[Point]) -> Iterator[Point]:
    """Places along *curve*, close enough together that no name fits between them."""
    for (x1, y1), (x2, y2) in pairwise(curve):
        pieces = max(1, round(max(abs(x2 - x1), abs(y2 - y1)) / _STEP))
        for piece in range(pieces + 1):
            share = piece / pieces
            yield x1 + share * (x2 - x1), y1 + share * (y2 - y1)


def clear_height(y: float, taken: Sequence[float]) -> float:
    """A height near *y* that no other name takes."""
    for step in range(2 * len(taken) + 1):
        tried = y + (1 if step % 2 else -1) * ((step + 1) // 2) * _APART
        if all(abs(tried - other) >= _APART for other in taken):
            return tried
    return y
