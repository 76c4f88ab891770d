"""Bars to scale: parts end to end, names where there is room, a limit that shows what crosses it."""

from dataclasses import replace

import pytest

from app.charts.axes import Axis
from app.charts.bars import Bar, Bars, Part, bars_picture
from app.charts.color import Color
from app.units import BYTE

PARTS = (
    Part(color=Color.PURPLE, name="weights", value=14e9),
    Part(color=Color.GREEN, name="gradients", value=14e9),
    Part(color=Color.ORANGE, name="optimizer", value=84e9),
)
CHART = Bars(
    title="Training state",
    summary="112 GB",
    axis=Axis(label="Bytes", unit=BYTE),
    bars=(
        Bar(name="one GPU", parts=PARTS),
        Bar(name="stage 3", parts=tuple(replace(p, value=p.value / 4) for p in PARTS)),
    ),
    limit=80e9,
    limit_says="80 GB",
)


def test_parts_lie_end_to_end_and_are_as_long_as_their_values() -> None:
    picture = bars_picture(CHART)
    own = [box for box in picture.boxes if box.y == picture.boxes[0].y]
    assert len(own) == 3
    for before, after in zip(own, own[1:], strict=False):
        assert after.x == pytest.approx(before.x + before.width, abs=0.02)
    assert own[2].width / own[0].width == pytest.approx(84 / 14, rel=1e-3)


def test_bars_share_one_scale_and_stand_below_one_another() -> None:
    whole, quarter = bars_picture(CHART).lines
    left = bars_picture(CHART).left
    assert (whole.end - left) / (quarter.end - left) == pytest.approx(4, rel=1e-3)
    assert quarter.y > whole.y


def test_the_limit_is_crossed_by_what_is_longer() -> None:
    picture = bars_picture(CHART)
    assert picture.limit is not None
    assert picture.lines[1].end < picture.limit < picture.lines[0].end


def test_without_a_limit_there_is_no_line() -> None:
    assert bars_picture(replace(CHART, limit=None)).limit is None


def test_everything_is_inside_the_picture() -> None:
    picture = bars_picture(CHART)
    assert all(box.x + box.width <= picture.width for box in picture.boxes)
    assert all(line.y < picture.foot <= picture.height for line in picture.lines)
    assert all(picture.left <= tick.at <= picture.width for tick in picture.ticks)


def test_a_name_is_written_where_it_fits_and_in_the_legend_where_not() -> None:
    picture = bars_picture(CHART)
    labels = {box.label for box in picture.boxes}
    assert "optimizer" in labels
    narrow = [box for box in picture.boxes if not box.label]
    assert narrow
    assert [name for _, _, name in picture.legend] == ["weights", "gradients", "optimizer"]
    wide = Bars(title="", summary="", axis=CHART.axis, bars=(Bar(name="", parts=PARTS[2:]),))
    assert bars_picture(wide).legend == ()


def test_the_table_has_every_part_and_what_they_are_together() -> None:
    table = CHART.table
    assert len(table) == 1 + 2 * (3 + 1)
    assert [row[2] for row in table[1:5]] == ["14 GB", "14 GB", "84 GB", "112 GB"]


def test_a_chart_without_bars_is_empty_and_not_a_fault() -> None:
    picture = bars_picture(replace(CHART, bars=(), limit=None))
    assert not picture.boxes
    assert not picture.lines
