"""Every label belongs to its mark: in every plot of every explorer, in every state that is tried."""

import re
from collections.abc import Iterator, Sequence

from app.charts.axes import Axis
from app.charts.labels import Box, PlacedLabel, distance
from app.charts.paper import NARROW, WIDE, text_width
from app.charts.plot import Curve, Plot, PlotPicture, plot_picture
from app.explorers import EXPLORERS, Values, read_controls
from app.units import RATIO
from tests.each import each
from tests.explorers.test_noise import States, over_states

CLOSE = 14  # pixels from a mark within which a text is read as its name
CLEARLY = 1.4  # times as far as its own mark is every other one from a name without a line
BOLD = 1.07


def plots(which: States, name: str) -> Iterator[tuple[Plot, str]]:
    explorer = EXPLORERS[name]
    for state in which(explorer):
        values, _ = read_controls(explorer.controls, state)
        try:
            figures = explorer.explore(Values(values)).figures
        except ValueError:
            continue  # they do not go together
        yield from ((figure, str(state)) for figure in figures if isinstance(figure, Plot))


def box_of(mark: PlacedLabel) -> Box:
    width = BOLD * text_width(mark.says)
    left = mark.text_x - width if mark.left else mark.text_x
    return left, mark.text_y - 11, left + width, mark.text_y + 4


def starts_at(path: str, x: float, y: float) -> bool:
    found = [float(number) for number in re.findall(r"-?[\d.]+", path)[:2]]
    return abs(found[0] - x) < 1 and abs(found[1] - y) < 1


def assert_marks_are_named(picture: PlotPicture, state: str) -> None:
    """A name is close to its own mark, and far from any other; or a line leads to it."""
    boxes = [box_of(mark) for mark in picture.marks]
    for at, (mark, box) in enumerate(zip(picture.marks, boxes, strict=True)):
        own = distance(box, (mark.x, mark.y))
        rest = [(m.x, m.y) for place, m in enumerate(picture.marks) if place != at]
        if own > CLOSE or any(distance(box, other) <= CLEARLY * own for other in rest):
            assert mark.leader, (mark.says, state)
            assert starts_at(mark.leader, mark.x, mark.y), (mark.says, state)
        assert box[0] >= 0, (mark.says, state)
        assert box[2] <= picture.paper.width + 1, (mark.says, state)
        assert 0 <= box[1] < box[3] <= picture.height, (mark.says, state)


def spots(curve: Curve) -> list[tuple[float, float]]:
    found = [spot.split() for spot in curve.points.split(",")]
    return [(float(x), float(y)) for x, y in found]


def assert_curves_are_named(picture: PlotPicture, state: str) -> None:
    """A name is inside, at its own curve and far from others, or a line leads to it."""
    for curve in picture.curves:
        others = [spot for other in picture.curves if other is not curve for spot in spots(other)]
        if not curve.name:
            continue
        assert curve.label_x + text_width(curve.name) <= picture.paper.width + 1, (
            curve.name,
            state,
        )
        box = (
            curve.label_x,
            curve.label_y - 11,
            curve.label_x + text_width(curve.name),
            curve.label_y + 4,
        )
        near = min(distance(box, spot) for spot in spots(curve))
        other = min((distance(box, spot) for spot in others), default=CLOSE)
        assert curve.leader or near <= CLOSE, (curve.name, state)
        assert curve.leader or near <= other, (curve.name, state)


def assert_counts_are_whole(axis: Axis, values: Sequence[float], labels: Sequence[str]) -> None:
    if axis.unit is RATIO and not axis.percent and all(value == round(value) for value in values):
        assert not [one for one in labels if "." in one and "e" not in one], (axis.label, labels)


@over_states(250)
@each("name", sorted(EXPLORERS))
def test_every_label_belongs_to_its_mark(which: States, name: str) -> None:
    for chart, state in plots(which, name):
        for paper in (WIDE, NARROW):
            picture = plot_picture(chart, paper)
            assert_marks_are_named(picture, state)
            assert_curves_are_named(picture, state)
            points = [point for series in chart.series for point in series.points]
            points += [(mark.x, mark.y) for mark in chart.marks]
            across, up = picture.x_ticks, picture.y_ticks
            assert_counts_are_whole(chart.x, [x for x, _ in points], [t.label for t in across])
            assert_counts_are_whole(chart.y, [y for _, y in points], [t.label for t in up])
