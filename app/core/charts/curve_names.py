"""The name of a curve: at its end or its peak, or elsewhere along it where that is not free."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.core.charts.labels import Box, LabelRoom, LabelSpot, Point, spots_along, spots_around, spots_within, text_box

_MIDDLE, _BESIDE = 4, 10  # pixels from the end of a curve: down to the line of its name, and across
_MOVES = (0, 15, -15, 30, -30, 45, -45, 60, -60, 75, -75)  # pixels that it is moved up or down
_PLACES = 6  # of a curve that are tried
_LOOKED = 16  # pixels between the places of other curves that a name must not be taken for


@dataclass(frozen=True, slots=True)
class PlacedName:
    """Where the name of a curve begins; *leader* is a line that leads to it, if it needs one."""

    x: float
    y: float
    leader: str = ""


def placed_name(
    name: str, curve: Sequence[Point], *, at: Point, others: Sequence[Sequence[Point]], room: LabelRoom, bounds: Box
) -> PlacedName:
    """The *name* of a *curve*, best beside the point *at*, where there is *room* in *bounds*."""
    apart = [spot for other in others for spot in spots_along(other, _LOOKED)]
    beside = list(_beside(name, at, bounds))
    spot = room.best(beside, apart) if beside else None
    if spot is None or not room.is_clear(spot, apart):
        spot = room.best([*beside, *_along(name, curve, at, bounds)], apart)
    if not room.is_clear(spot, apart):  # near the curve, all is taken
        spot = room.best((spot, *spots_within(bounds, spot.own, spot.box[2] - spot.box[0])), apart)
    return PlacedName(round(spot.box[0], 2), round(spot.height, 2), room.take(spot, apart))


def _beside(name: str, at: Point, bounds: Box) -> Iterator[LabelSpot]:
    """Places at the right of a point, if the name fits there."""
    for move in _MOVES:
        box = text_box(name, at[0] + _BESIDE, at[1] + _MIDDLE + move)
        spot = LabelSpot(at, box)
        if bounds[1] <= box[1] and box[2] <= bounds[2] and spot.height <= bounds[3]:
            yield spot


def _along(name: str, curve: Sequence[Point], at: Point, bounds: Box) -> Iterator[LabelSpot]:
    """Places around some points of a curve."""
    left, _, right, _ = text_box(name, 0, 0)
    step = max(1, len(curve) // _PLACES)
    for point in (at, *curve[::-step]):
        yield from spots_around(point, right - left, bounds)
