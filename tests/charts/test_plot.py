"""Curves at their places, and names that do not run into one another."""

from dataclasses import replace
from itertools import pairwise

import pytest

from app.core.charts.axes import NARROW, WIDE, Arrow, Axis, Color, text_width
from app.core.charts.plot import LabeledPoint, PlacedLabel, Plot, Series, plot_picture
from app.core.units import BYTE, SECOND
from tests.each import each

LATENCY, BANDWIDTH = 10e-6, 50e9
SIZES = [4.0**power for power in range(4, 16)]
LINE = Series(color=Color.BLUE, name="ring", points=tuple((s, LATENCY + s / BANDWIDTH) for s in SIZES))
CHART = Plot(
    title="Time of a message",
    summary="latency, then bandwidth",
    x=Axis(label="Size", unit=BYTE, log=True),
    y=Axis(label="Time", unit=SECOND, log=True),
    series=(LINE,),
)


def places(path: str) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in (s.split() for s in path.removeprefix("M").split("L"))]


def test_a_curve_runs_from_the_first_point_to_the_last_and_up_where_values_grow() -> None:
    picture = plot_picture(CHART)
    (curve,) = picture.curves
    found = places(curve.path)
    assert len(found) == len(SIZES)
    assert found[0][0] == picture.left
    assert found[-1] == (picture.right, picture.top)
    assert found == sorted(found, key=lambda place: (place[0], -place[1]))


def test_every_point_says_its_values_in_order() -> None:
    (curve,) = plot_picture(CHART).curves
    says = curve.says.split("|")
    assert len(says) == len(SIZES) == len(curve.points.split(","))
    assert "256 B" in says[0]


def test_names_of_curves_that_end_at_one_place_are_apart() -> None:
    same = tuple(replace(LINE, name=f"curve {n}") for n in range(5))
    heights = sorted(c.label_y for c in plot_picture(replace(CHART, series=same)).curves)
    gaps = [after - before for before, after in zip(heights, heights[1:], strict=False)]
    assert min(gaps) >= 12


def test_a_name_may_stand_at_the_peak() -> None:
    hill = Series(color=Color.BLUE, name="hill", points=((1.0, 1e-3), (8.0, 1.0), (64.0, 1e-2)), at_peak=True)
    (curve,) = plot_picture(replace(CHART, series=(hill,))).curves
    peak = min(places(curve.path), key=lambda place: place[1])
    assert curve.label_x == pytest.approx(peak[0], abs=10)


def test_many_points_have_no_dots() -> None:
    many = Series(color=Color.BLUE, name="", points=tuple((1.0 + n, 1.0) for n in range(200)))
    assert plot_picture(replace(CHART, series=(many,))).curves[0].dots == ""
    assert plot_picture(CHART).curves[0].dots.count("M") == len(SIZES)


def test_a_linear_axis_begins_at_the_first_value_across() -> None:
    far = Series(color=Color.BLUE, name="far", points=((3000.0, 1.0), (4000.0, 2.0)))
    for one in (LINE, far):
        years = replace(CHART, x=Axis(label="Size", unit=BYTE), series=(one,))
        first, *_ = places(plot_picture(years).curves[0].path)
        assert first[0] == plot_picture(years).left


def test_names_of_marks_stay_inside_and_apart() -> None:
    marks = tuple(LabeledPoint(x=1e6 * (1 + n / 50), y=1e-4, says=f"model {n}") for n in range(6))
    for paper in (WIDE, NARROW):
        picture = plot_picture(replace(CHART, marks=marks), paper)
        boxes = [box_of(mark) for mark in picture.marks]
        for index, (left, top, right, bottom) in enumerate(boxes):
            assert picture.left <= left
            assert right <= paper.width
            assert top > 0
            assert bottom < picture.bottom + 2
            for a, b, c, d in boxes[:index]:
                assert right < a or left > c or bottom <= b + 1 or top >= d - 1


def box_of(mark: PlacedLabel) -> tuple[float, float, float, float]:
    width = text_width(mark.says)
    left = mark.text_x - width if mark.left else mark.text_x
    return left, mark.text_y - 10, left + width, mark.text_y + 3


def test_the_name_of_a_point_on_a_curve_stands_beside_the_curve() -> None:
    for paper in (WIDE, NARROW):
        mark = LabeledPoint(x=SIZES[6], y=LINE.points[6][1], says="where latency ends")
        picture = plot_picture(replace(CHART, marks=(mark,)), paper)
        left, top, right, bottom = box_of(picture.marks[0])
        for (x1, y1), (x2, y2) in pairwise(places(picture.curves[0].path)):
            for share in (0, 0.25, 0.5, 0.75):
                x, y = x1 + share * (x2 - x1), y1 + share * (y2 - y1)
                assert not (left < x < right and top < y < bottom)


def test_curves_are_named_in_a_legend_where_the_paper_is_narrow() -> None:
    two = replace(CHART, series=(LINE, replace(LINE, name="double tree")))
    wide, narrow = plot_picture(two, WIDE), plot_picture(two, NARROW)
    assert [curve.name for curve in wide.curves] == ["ring", "double tree"]
    assert wide.right + text_width("double tree") < 760
    assert wide.legend.entries == ()
    assert [curve.name for curve in narrow.curves] == ["", ""]
    assert [entry.name for entry in narrow.legend.entries] == ["ring", "double tree"]
    assert narrow.right - narrow.left > 250
    assert plot_picture(CHART, NARROW).legend.entries == ()


def test_the_table_has_a_row_for_each_value_across_and_gaps_where_a_curve_has_none() -> None:
    short = Series(color=Color.ORANGE, name="tree", points=((256.0, 1.0),))
    table = replace(CHART, series=(LINE, short)).table
    assert table[0] == ("Size", "ring", "tree")
    assert len(table) == 1 + len(SIZES)
    assert [row[2] for row in table[1:3]] == ["1 s", ""]


@each(("x2", "y2"), [(100.0, 0.0), (0.0, -40.0), (30.0, 40.0), (0.0, 0.0)])
def test_the_head_of_an_arrow_ends_where_the_arrow_does(x2: float, y2: float) -> None:
    arrow = Arrow(x1=0, y1=0, x2=x2, y2=y2, color=Color.BLUE)
    tip, one, other = places(arrow.tip.removesuffix("z"))
    assert tip == (x2, y2)
    far = [((x - x2) ** 2 + (y - y2) ** 2) ** 0.5 for x, y in (one, other)]
    assert far[0] == pytest.approx(far[1], abs=0.02)
