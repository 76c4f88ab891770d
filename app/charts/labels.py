"""Names of points, placed where they cover neither one another nor a curve."""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from operator import itemgetter

from app.charts.paper import text_width

_APART = 15  # pixels between two lines of text
_SIDE = 9  # pixels between a point and its name
_UP, _DOWN = 11, 4  # pixels that a text takes over and under its line
_BOLD = 1.07  # times the width of a regular letter
_RISES = (-9, 19, 4, -24, 34, -39, 49, -54, 64)  # of a name over its point
_STEP = 12  # pixels between the places of a curve that are looked at
_OVER_A_CURVE, _FARTHER, _LED, _PASSED = 1.0, 0.3, 1.5, 3.0  # how bad each is
_ASIDE = (0, 30, 70)  # pixels that a name is moved to a side
_ALONG = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)  # of the way from a point to its name
_CLOSE = 13  # pixels from a point within which its name needs no leader
_CLEARLY = 1.5  # times as far as its own point is every other one from a name without a leader
Point = tuple[float, float]
Box = tuple[float, float, float, float]  # left, top, right, bottom


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedLabel:
    """A labeled point in pixels; its text begins (or ends, if *left*) at *text_x*.

    *leader* is the path of a line from the point to the text, where one could mistake it.
    """

    x: float
    y: float
    says: str
    text_x: float
    text_y: float
    left: bool
    leader: str = ""


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
    taken += [text_box(text, x, y) for x, y, text in names]
    found = []
    for place, (x, y, says) in enumerate(marks):
        others = [(a, b) for at, (a, b, _) in enumerate(marks) if at != place]
        all_spots = list(_spots(x, y, _BOLD * text_width(says), bounds))
        near = _near([spot[2] for spot in all_spots], lines)
        left, height, box = min(
            [spot for spot in all_spots if _free(spot[2], taken)] or all_spots,
            key=lambda spot: (
                _cost(spot[2], distance(spot[2], (x, y)), near)
                + _led(spot[2], (x, y), others, taken)
            ),
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
                leader=leader((x, y), box) if _is_mistaken(box, (x, y), others) else "",
            )
        )
    return tuple(found)


def text_box(text: str, x: float, y: float) -> Box:
    """What a name takes that begins at *x*, on the line *y*."""
    return x, y - _UP, x + _BOLD * text_width(text), y + _DOWN


def distance(box: Box, point: Point) -> float:
    """Pixels from a text to a point; 0 where it covers it."""
    return math.dist(point, _nearest(point, box))


def leader(point: Point, box: Box) -> str:
    """The path from a point to the nearest place of a text."""
    x, y = _nearest(point, box)
    return f"M{point[0]:.4g} {point[1]:.4g}L{x:.4g} {y:.4g}"


def _is_mistaken(box: Box, own: Point, others: Sequence[Point]) -> bool:
    """Whether a name could be that of another point, or of none."""
    far = distance(box, own)
    nearest = min((distance(box, other) for other in others), default=math.inf)
    return far > _CLOSE or nearest <= _CLEARLY * far


def _spots(x: float, y: float, width: float, bounds: Box) -> Iterator[tuple[bool, float, Box]]:
    """Places for a name: whether it ends there, its height, and its box, which is in *bounds*."""
    low, top, high, bottom = bounds
    for rise in _RISES:
        height = min(max(y + rise, top + _UP), bottom)
        sides = [(x + _SIDE + far, x - _SIDE - width - far) for far in _ASIDE]
        for start in (*chain(*sides), x - width / 2):
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


def _led(box: Box, own: Point, others: Sequence[Point], taken: Sequence[Box]) -> float:
    """How bad it is that a name needs a leader: more so if that passes other points or names."""
    if not _is_mistaken(box, own, others):
        return 0.0
    end = _nearest(own, box)
    passed = {
        other for share in _ALONG for other in taken if _covers(other, _between(own, end, share))
    }
    return _LED + _PASSED * len(passed)


def _between(one: Point, other: Point, share: float) -> Point:
    return one[0] + share * (other[0] - one[0]), one[1] + share * (other[1] - one[1])


def _covers(box: Box, point: Point) -> bool:
    return box[0] <= point[0] <= box[2] and box[1] <= point[1] <= box[3]


def _nearest(point: Point, box: Box) -> Point:
    """The place of a text that is nearest to a point."""
    return min(max(point[0], box[0]), box[2]), min(max(point[1], box[1]), box[3])


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
