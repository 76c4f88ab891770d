"""Panels: bars as long as their values, apart from each other, and inside of the paper."""

from itertools import combinations

from app.core.charts.axes import NARROW, WIDE, Paper, text_width
from app.core.charts.bars import PanelRow, Panels, panels_drawing
from tests.each import each

ROWS = (
    PanelRow("Yours", (27.0, 0.111, 5.0), ("27", "11.1 %", "5"), is_own=True),
    PanelRow("GPipe", (30.0, 0.2, 9.0), ("30", "20 %", "9")),
    PanelRow("Interleaved 1F1B", (54.0, 0.0, None), ("54", "0 %", "–")),
)
LABELS = ("Time, in units", "Bubble", "Memory of the fullest rank, in units")
PANELS = Panels(title="Compared", summary="", what="Schedule", labels=LABELS, rows=ROWS)


def test_a_bar_is_as_long_as_its_value_in_its_panel() -> None:
    rects = panels_drawing(PANELS).on(WIDE).rects
    width = {one.says: one.width for one in rects}
    assert abs(width["Interleaved 1F1B: 54"] - 2 * width["Yours: 27"]) < 0.02
    assert abs(width["Yours: 5"] / width["GPipe: 9"] - 5 / 9) < 1e-3
    assert width["Interleaved 1F1B: 0 %"] == 1
    assert len(rects) == 8
    assert [one.says for one in rects if one.marked] == ["Yours: 27", "Yours: 11.1 %", "Yours: 5"]


@each("paper", [WIDE, NARROW])
def test_bars_and_words_are_apart_and_inside(paper: Paper) -> None:
    sheet = panels_drawing(PANELS).on(paper)
    boxes = [(one.x, one.y, one.x + one.width, one.y + one.height) for one in sheet.rects]
    boxes += [(one.x, one.y - 10, one.x + 0.97 * text_width(one.text), one.y + 3) for one in sheet.words]
    assert len(boxes) > 20
    for left, top, right, bottom in boxes:
        assert 0 <= left < right <= paper.width
        assert 0 <= top < bottom <= sheet.height
    for one, other in combinations(boxes, 2):
        is_beside = one[2] <= other[0] or other[2] <= one[0]
        assert is_beside or one[3] <= other[1] or other[3] <= one[1], (one, other)


def test_the_table_says_what_is_drawn() -> None:
    head, *rows = panels_drawing(PANELS).table
    assert head == ("Schedule", *LABELS)
    assert rows[2] == ("Interleaved 1F1B", "54", "0 %", "–")
