"""Labels of a plot that could be taken for those of another mark, or that leave the paper."""

import re
from collections.abc import Iterator, Sequence

from app.core.charts.axes import Axis, Paper, text_width
from app.core.charts.plot import Box, Curve, PlacedLabel, Plot, PlotPicture, distance, plot_picture
from app.core.units import RATIO

CLOSE = 14  # pixels from a mark within which a text is read as its name
CLEARLY = 1.4  # times as far as its own mark is every other one from a name without a line
BOLD = 1.07


def misplaced(chart: Plot, paper: Paper) -> Iterator[str]:
    """What is wrong with each label of *chart* on *paper*."""
    picture = plot_picture(chart, paper)
    yield from _misplaced_marks(picture)
    yield from _misplaced_curves(picture)
    points = [point for series in chart.series for point in series.points]
    points += [(mark.x, mark.y) for mark in chart.marks]
    across, up = picture.x_ticks, picture.y_ticks
    yield from _broken_counts(chart.x, [x for x, _ in points], [tick.label for tick in across])
    yield from _broken_counts(chart.y, [y for _, y in points], [tick.label for tick in up])


def _misplaced_marks(picture: PlotPicture) -> Iterator[str]:
    """A name is close to its own mark, and far from any other; or a line leads to it."""
    boxes = [_box_of(mark) for mark in picture.marks]
    for at, (mark, box) in enumerate(zip(picture.marks, boxes, strict=True)):
        own = distance(box, (mark.x, mark.y))
        rest = [(m.x, m.y) for place, m in enumerate(picture.marks) if place != at]
        mistaken = own > CLOSE or any(distance(box, other) <= CLEARLY * own for other in rest)
        if mistaken and not _starts_at(mark.leader, mark.x, mark.y):
            yield f"{mark.says!r} has no line from its mark"
        if not (box[0] >= 0 and box[2] <= picture.paper.width + 1):
            yield f"{mark.says!r} leaves the paper at a side"
        if not 0 <= box[1] < box[3] <= picture.height:
            yield f"{mark.says!r} leaves the paper at the top or the bottom"


def _box_of(mark: PlacedLabel) -> Box:
    width = BOLD * text_width(mark.says)
    left = mark.text_x - width if mark.left else mark.text_x
    return left, mark.text_y - 11, left + width, mark.text_y + 4


def _starts_at(path: str, x: float, y: float) -> bool:
    found = [float(number) for number in re.findall(r"-?[\d.]+", path)[:2]]
    return len(found) == 2 and abs(found[0] - x) < 1 and abs(found[1] - y) < 1


def _misplaced_curves(picture: PlotPicture) -> Iterator[str]:
    """A name is inside, at its own curve and far from others, or a line leads to it."""
    for curve in (curve for curve in picture.curves if curve.name):
        left, right = curve.label_x, curve.label_x + text_width(curve.name)
        if right > picture.paper.width + 1:
            yield f"{curve.name!r} leaves the paper"
        box = (left, curve.label_y - 11, right, curve.label_y + 4)
        others = [spot for other in picture.curves if other is not curve for spot in _spots(other)]
        near = min(distance(box, spot) for spot in _spots(curve))
        other = min((distance(box, spot) for spot in others), default=CLOSE)
        if not curve.leader and near > min(CLOSE, other):
            yield f"{curve.name!r} is {near:.3g} pixels from its curve, {other:.3g} from another"


def _spots(curve: Curve) -> list[tuple[float, float]]:
    found = [spot.split() for spot in curve.points.split(",")]
    return [(float(x), float(y)) for x, y in found]


def _broken_counts(axis: Axis, values: Sequence[float], labels: Sequence[str]) -> Iterator[str]:
    """A count has no ticks between whole numbers."""
    if axis.unit is RATIO and not axis.percent and all(value == round(value) for value in values):
        yield from (f"{axis.label!r} counts {one}" for one in labels if "." in one and "e" not in one)
