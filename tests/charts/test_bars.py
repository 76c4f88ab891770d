"""Bars to scale: parts end to end, names where there is room, a limit that shows what crosses it."""

from dataclasses import replace
from itertools import pairwise

import pytest

from app.core.charts.axes import NARROW, WIDE, Axis, Color, Paper, text_width
from app.core.charts.bars import Bar, Bars, BarsPicture, Part, bars_picture
from app.core.units import BYTE
from tests.each import each

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


@pytest.fixture(params=[WIDE, NARROW], ids=lambda paper: paper.name)
def picture(request: pytest.FixtureRequest) -> BarsPicture:
    return bars_picture(CHART, request.param)


def test_parts_lie_end_to_end_and_are_as_long_as_their_values(picture: BarsPicture) -> None:
    own = [box for box in picture.boxes if box.y == picture.boxes[0].y]
    assert len(own) == 3
    for before, after in pairwise(own):
        assert after.x == pytest.approx(before.x + before.width, abs=0.02)
    assert own[2].width / own[0].width == pytest.approx(84 / 14, rel=2e-3)


def test_bars_share_one_scale_and_stand_below_one_another(picture: BarsPicture) -> None:
    first, second = picture.boxes[2], picture.boxes[5]
    assert first.width / second.width == pytest.approx(4, rel=2e-3)
    assert second.y >= first.y + picture.row


def test_the_limit_is_crossed_by_what_is_longer(picture: BarsPicture) -> None:
    assert picture.limit is not None
    ends = [box.x + box.width for box in picture.boxes]
    assert ends[5] < picture.limit < ends[2]


@each("paper", [WIDE, NARROW], ids=lambda paper: paper.name)
@each("short", [0.2, 0.93, 0.999])
def test_the_line_of_the_limit_goes_through_no_number(paper: Paper, short: float) -> None:
    part = replace(PARTS[0], value=short * 80e9)
    drawn = bars_picture(replace(CHART, bars=(Bar(name="one GPU", parts=(part,)),)), paper)
    assert drawn.notes == ()
    (name,) = drawn.names
    assert drawn.limit is not None
    assert name.text.startswith("one GPU, ")
    left = name.x - text_width(name.text) * (name.anchor == "end")
    assert not left <= drawn.limit <= left + text_width(name.text)
    assert 0 <= left <= paper.width - text_width(name.text)


def test_without_a_limit_there_is_no_line() -> None:
    picture = bars_picture(replace(CHART, limit=None))
    assert picture.limit is None
    assert picture.limit_says is None


def test_everything_is_inside_the_picture(picture: BarsPicture) -> None:
    wide = picture.paper.width
    assert all(box.x >= 0 and box.x + box.width <= wide for box in picture.boxes)
    assert picture.limit_says
    for text in (*picture.names, *picture.notes, picture.limit_says):
        reach = text_width(text.text)
        low = text.x - reach if text.anchor == "end" else text.x
        assert low >= 0, text
        assert low + reach <= wide, text
        assert 0 < text.y < picture.height
    entries = picture.legend.entries
    assert all(entry.x + 17 + text_width(entry.name) <= wide for entry in entries)
    assert all(picture.boxes[0].x <= tick.at <= wide for tick in picture.ticks)


def test_a_name_stands_above_its_bar_where_the_paper_is_narrow() -> None:
    beside, above = bars_picture(CHART, WIDE), bars_picture(CHART, NARROW)
    assert all(name.x < beside.boxes[0].x for name in beside.names)
    assert beside.names[0].y > beside.boxes[0].y
    assert above.names[0].x == above.boxes[0].x
    assert above.names[0].y < above.boxes[0].y
    assert above.boxes[-1].y < above.foot


def test_a_name_is_written_where_it_fits_and_in_the_legend_where_not(picture: BarsPicture) -> None:
    labels = [box.label for box in picture.boxes]
    assert "optimizer" in labels
    if picture.paper is WIDE:
        assert set(labels) == {"", "weights", "gradients", "optimizer"}
        return  # each is named in some bar
    assert "weights" not in labels
    assert [one.name for one in picture.legend.entries] == ["weights", "gradients", "optimizer"]
    wide = Bars(title="", summary="", axis=CHART.axis, bars=(Bar(name="", parts=PARTS[2:]),))
    assert bars_picture(wide, picture.paper).legend.entries == ()


def test_the_table_has_every_part_and_what_they_are_together() -> None:
    table = CHART.table
    assert len(table) == 1 + 2 * (3 + 1)
    assert [row[2] for row in table[1:5]] == ["14 GB", "14 GB", "84 GB", "112 GB"]


@each("paper", [WIDE, NARROW], ids=lambda paper: paper.name)
def test_a_chart_without_bars_is_empty_and_not_a_fault(paper: Paper) -> None:
    picture = bars_picture(replace(CHART, bars=(), limit=None), paper)
    assert not picture.boxes
    assert not picture.names


def test_a_number_stands_before_its_bar_where_there_is_a_line_to_mistake_it_for() -> None:
    """76.93 GB right of a line at 80 GB would look as if it were more."""
    for size, text in ((20e9, "20 GB"), (76.93e9, "76.93 GB"), (80.01e9, "80.01 GB")):
        chart = replace(CHART, bars=(Bar("one", (Part(Color.PURPLE, "weights", size),)),))
        picture = bars_picture(chart)
        assert picture.names[0].text == f"one, {text}"
        assert picture.names[0].x < picture.boxes[0].x
        free = bars_picture(replace(chart, limit=None))
        assert (free.names[0].text, free.notes[0].text) == ("one", text)


def test_a_bar_beyond_the_end_of_the_axis_is_torn_off_there() -> None:
    alone = replace(CHART, limit=None, limit_says="", bars=CHART.bars[:1])
    for end, count in ((None, 0), (112e9, 0), (111e9, 1)):
        picture = bars_picture(replace(alone, end=end))
        assert len(picture.torn) == count
        assert max(box.x + box.width for box in picture.boxes) <= picture.paper.width


def test_the_text_of_the_limit_is_on_the_side_that_has_room() -> None:
    for size, anchor in ((10e9, "end"), (400e9, "")):
        bar = Bar("one", (Part(Color.PURPLE, "weights", size),))
        says = bars_picture(replace(CHART, bars=(bar,), limit=80e9)).limit_says
        assert says
        assert says.anchor == anchor
        limit = bars_picture(replace(CHART, bars=(bar,), limit=80e9)).limit
        assert limit
        assert says.x == pytest.approx(limit - 5 if anchor else limit + 5)


def test_a_bar_of_one_part_has_no_total_and_its_note_where_it_is_given() -> None:
    bar = Bar("one", PARTS[:1], note="as measured")
    chart = replace(CHART, limit=None, bars=(bar,))
    assert [row[1] for row in chart.table[1:]] == ["weights"]
    (note,) = bars_picture(chart).notes
    assert note.text == "as measured"
    assert note.x + text_width(note.text) <= WIDE.width - 8  # and something is left at its side
