"""Pairs of values at their places: one scale on both axes, a line of equals, a band around it."""

import math
import re

import pytest

from app.core.charts.axes import NARROW, WIDE, Axis, Color, Paper
from app.core.charts.scatter import Dot, DotGroup, Scatter, scatter_picture
from app.core.units import SECOND
from tests.each import each

DOTS = (
    Dot(1.0, 1.0, 1.0, 1.0, "equal", "equal: 1 s"),
    Dot(4.0, 8.0, 5.0, 16.0, "interval", "interval: 5 s to 16 s"),
    Dot(100.0, 110.0, 110.0, 110.0, "edge", "edge: a tenth more"),
)
CHART = Scatter(
    title="Predicted and measured",
    summary="three",
    x=Axis("measured", SECOND, log=True),
    y=Axis("predicted", SECOND, log=True),
    groups=(DotGroup(Color.BLUE, "circle", "ours", DOTS), DotGroup(Color.ORANGE, "diamond", "theirs", ())),
    band=0.1,
)


def numbers(text: str) -> list[float]:
    return [float(found) for found in re.findall(r"-?\d+(?:\.\d+)?", text)]


@each("paper", [WIDE, NARROW], ids=lambda paper: paper.name)
def test_equal_values_are_on_the_line_and_others_as_far_as_their_ratio(paper: Paper) -> None:
    picture = scatter_picture(CHART, paper)
    x0, y0, x1, y1 = numbers(picture.diagonal)
    places = [tuple(numbers(spot)) for spot in picture.groups[0].points.split(",")]

    def over(x: float, y: float) -> float:
        """How far a place is over the line, as a share of the axis."""
        return (y0 - y) / (y0 - y1) - (x - x0) / (x1 - x0)

    equal, interval, edge = (over(*place) for place in places)
    assert equal == pytest.approx(0, abs=1e-3)
    assert interval > 5 * edge > 0
    # The band's corners: a tenth over and under the line.
    corners = list(zip(*[iter(numbers(picture.band))] * 2, strict=True))
    assert over(*corners[0]) == pytest.approx(edge, abs=1e-3)
    below = min(over(*corner) for corner in corners)
    assert below / edge == pytest.approx(math.log(0.9) / math.log(1.1), rel=0.02)


def test_an_interval_is_a_line_and_a_point_is_none() -> None:
    (ours, theirs) = scatter_picture(CHART, WIDE).groups
    assert ours.intervals.count("V") == 1
    assert len(ours.marks) == 3
    assert (theirs.marks, theirs.intervals) == ((), "")


def test_the_table_has_a_row_per_dot() -> None:
    assert CHART.table == (
        ("Group", "What", "measured", "predicted", "predicted, low", "predicted, high"),
        ("ours", "equal", "1 s", "1 s", "1 s", "1 s"),
        ("ours", "interval", "4 s", "8 s", "5 s", "16 s"),
        ("ours", "edge", "100 s", "110 s", "110 s", "110 s"),
    )
