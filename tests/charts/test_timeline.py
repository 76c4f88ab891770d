import math
import xml.etree.ElementTree as ET
from dataclasses import replace

from app.core.charts.axes import NARROW, WIDE, Paper, text_width
from app.core.charts.svg import to_svg
from app.core.charts.timeline import Lane, TimeBar, Timeline, gantt, moment_when, schedule_timeline, timeline_picture
from app.core.simulators.pipeline import SCHEDULES, Times, build, simulate_schedule
from tests.each import each

EQUAL = Times(1, 1, 1)
FOUR = schedule_timeline(simulate_schedule(build("1f1b", 4, 8), EQUAL))


def test_the_text_shows_who_does_what_when() -> None:
    first, second = gantt(FOUR, 500).splitlines()[:2]
    assert first.startswith("GPU 0  F0 F1 F2 F3 ..................B0--- F4 B1---")
    assert second.startswith("GPU 1  ...F0 F1 F2 ............B0--- F3 B1---")
    assert first.endswith("4 held")


@each("name", SCHEDULES)
@each("width", [40, 80, 200])
def test_the_text_is_to_scale_and_no_wider_than_asked_for(name: str, width: int) -> None:
    timeline = schedule_timeline(simulate_schedule(build(name, 4, 8), Times(1.1, 1.3, 0.7, 0.2)))
    lines = gantt(timeline, width).splitlines()[:4]
    assert len({len(line.partition("  ")[2].rpartition("  ")[0]) for line in lines}) == 1
    assert all(len(line) <= width for line in lines)


def test_color_adds_no_column() -> None:
    plain, colored = gantt(FOUR, 100), gantt(FOUR, 100, color=True)
    assert plain != colored
    for code in ("34", "33", "35", "0"):
        colored = colored.replace(f"\x1b[{code}m", "")
    assert colored == plain


def test_chunks_on_one_device_are_told_apart() -> None:
    timeline = schedule_timeline(simulate_schedule(build("interleaved", 2, 2, 2), EQUAL))
    assert "F0a" in gantt(timeline, 500)
    assert "F0b" in gantt(timeline, 500)


@each("name", ["zb_h2", "zb_v"])
def test_what_is_gray_at_the_ends_of_a_row_is_explained(name: str) -> None:
    played = simulate_schedule(build(name, 4, 8), EQUAL)
    assert played.bubble_fraction == 0
    timeline = schedule_timeline(played)
    spans = [(row.bars[0].start, row.bars[-1].end) for row in timeline.rows]
    assert all(end - start <= 24 for start, end in spans)  # eight micro-batches of 3 s
    assert f"First pass to last: {max(end for _, end in spans):g} s" in timeline.note
    for alone in (True, False):
        picture = to_svg(timeline, alone=alone)
        assert timeline.note in " ".join(ET.fromstring(picture).itertext())


def test_a_schedule_that_begins_and_ends_together_needs_no_note() -> None:
    assert FOUR.note == ""
    assert "First pass" not in to_svg(FOUR, alone=True)


def test_the_picture_is_well_formed_and_every_bar_says_what_it_is() -> None:
    root = ET.fromstring(to_svg(FOUR, alone=True))
    titles = [e.text for e in root.iter("{http://www.w3.org/2000/svg}title")]
    assert titles[0] == "1F1B, 4 stages, 8 micro-batches"
    assert "backward of micro-batch 0, 10 s to 12 s" in titles
    assert len(titles) == 1 + 4 * 8 * 2


@each("paper", [WIDE, NARROW], ids=lambda paper: paper.name)
def test_bars_in_the_picture_lie_inside_and_do_not_overlap(paper: Paper) -> None:
    placed = timeline_picture(FOUR, paper)
    assert text_width("4 held") <= paper.width - placed.right
    assert text_width("GPU 3") <= placed.left
    by_row: dict[float, list[tuple[float, float]]] = {}
    for box in placed.boxes:
        by_row.setdefault(box.y, []).append((box.x, box.x + box.width))
    for spans in by_row.values():
        assert spans == sorted(spans)
        assert all(end <= start for (_, end), (start, _) in zip(spans, spans[1:], strict=False))
        assert spans[0][0] >= placed.left
        assert spans[-1][1] <= placed.right


@each("paper", [WIDE, NARROW], ids=lambda paper: paper.name)
def test_names_and_notes_are_on_the_paper(paper: Paper) -> None:
    timeline = schedule_timeline(simulate_schedule(build("zb_h2", 4, 8), EQUAL))
    placed = timeline_picture(timeline, paper)
    assert " ".join(placed.note) == timeline.note
    assert max(map(text_width, placed.note)) <= paper.width
    names = [entry.x + 17 + text_width(entry.name) for entry in placed.legend.entries]
    assert len(names) == 3
    assert max(names) <= paper.width
    assert len({entry.y for entry in placed.legend.entries}) == (1 if paper is WIDE else 2)
    assert placed.foot + placed.legend.height + 16 * len(placed.note) < placed.height


def test_many_rows_are_lower_than_a_few() -> None:
    sixteen = timeline_picture(schedule_timeline(simulate_schedule(build("1f1b", 16, 16), EQUAL)))
    assert sixteen.row < timeline_picture(FOUR).row
    assert sixteen.height < 450


def test_the_axis_has_round_times() -> None:
    assert [tick.label for tick in timeline_picture(FOUR).ticks][:3] == ["0 s", "10 s", "20 s"]


def test_a_long_schedule_is_drawn_until_a_moment_and_says_so() -> None:
    played = simulate_schedule(build("1f1b", 4, 8), EQUAL)
    cut = schedule_timeline(played, until=10.0)
    bars = [bar for row in cut.rows for bar in row.bars]
    assert max(bar.start for bar in bars) < 10.0
    assert max(bar.end for bar in bars) == cut.end == 10.0
    assert cut.note == "Only the beginning is drawn: there are too many passes."
    assert schedule_timeline(played, until=played.makespan).note == ""
    starts = sorted(bar.start for row in FOUR.rows for bar in row.bars)
    assert moment_when([played], 5) == starts[5]
    assert moment_when([played, played], 5) == starts[2]
    assert moment_when([played], len(starts) - 1) == starts[-1]
    assert moment_when([played], len(starts)) == math.inf


LANE = Lane(
    "a", "", (TimeBar(0, 2, "F", "0", "one"), TimeBar(2, 5, "B", "10", "two"), TimeBar(5, 5, "W", "1", "three"))
)
SMALL = Timeline(title="", summary="", rows=(LANE,), end=6, kinds=(("F", "forward"),))


def test_a_cell_has_its_label_where_it_fits_and_else_the_letter_of_its_kind() -> None:
    assert (
        gantt(SMALL, 500).splitlines()[0] == "a  F0- B10-- ..  "
    )  # two columns a second: the shortest has room for B10
    assert gantt(replace(SMALL, end=30), 27).splitlines()[0] == "a  FB10..................  "
    exact = Lane(
        "a", "", (TimeBar(0, 10, "F", "0", ""), TimeBar(10, 25, "B", "1000", ""), TimeBar(25, 30, "W", "1", ""))
    )
    assert gantt(replace(SMALL, rows=(exact,), end=100), 27).splitlines()[0].startswith("a  F0BBBBW")
    assert gantt(SMALL, 500).splitlines()[-1] == "F forward   . idle"


def test_bars_that_are_followed_are_drawn_twice_and_a_chart_without_times_has_no_axis() -> None:
    rows = (Lane("a", "", (TimeBar(0, 3, "F", "1a", ""), TimeBar(3, 6, "F", "11", ""), TimeBar(6, 9, "B", "1", ""))),)
    (track,) = timeline_picture(replace(SMALL, rows=rows, end=9, traced="1")).tracks
    (_, forward), (_, backward) = track.paths
    assert (forward.count("M"), backward.count("M"), track.traced.count("M")) == (2, 1, 2)
    assert [text for _, _, text in track.labels] == ["1a", "11", "1"]
    assert (track.names, track.kinds) == ("1a 11 1", "FFB")
    (none,) = timeline_picture(replace(SMALL, rows=rows, end=9)).tracks
    assert none.traced == ""
    (tight,) = timeline_picture(replace(SMALL, rows=rows, end=900)).tracks
    assert tight.labels == ()
    assert timeline_picture(SMALL).ticks
    assert timeline_picture(replace(SMALL, untimed=True)).ticks == ()
    assert timeline_picture(replace(SMALL, rows=(), end=0)).scale == 0
