"""Where values go on an axis: at their place, in order, beside round numbers."""

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.charts.axes import WIDE, Axis, even_ticks, legend, percent_text, scale, text_width, widest, wrap_text
from app.core.units import BYTE, BYTE_PER_SECOND, DOLLAR, RATIO, SECOND, Unit
from tests.each import each

BYTES = Axis(label="Bytes", unit=BYTE)
LOG = Axis(label="Bytes", unit=BYTE, log=True)
TIME = Axis(label="Time", unit=SECOND, log=True)
DOUBLES = Axis(label="Scale", unit=RATIO, log=True, base=2)
CLOCK = Axis(label="Time", unit=SECOND)
SHARE = Axis(label="Share", unit=RATIO, percent=True)


def test_even_marks_are_round_and_reach_both_ends() -> None:
    assert even_ticks(0, 10, 6) == [0, 2, 4, 6, 8, 10]
    assert even_ticks(0, 6, 6) == [0, 1, 2, 3, 4, 5, 6]
    assert even_ticks(-3, 3, 3) == [-2, 0, 2]


@given(st.floats(-1e9, 1e9), st.floats(1e-3, 1e9))
def test_even_marks_are_equally_far_apart_and_about_as_many_as_asked(low: float, wide: float) -> None:
    found = even_ticks(low, low + wide, 6)
    assert 2 <= len(found) <= 7
    steps = [after - before for before, after in zip(found, found[1:], strict=False)]
    first = f"{steps[0]:.3g}".replace(".", "").strip("0") if wide > 1e-6 * abs(low) else "1"
    assert steps == pytest.approx([steps[0]] * len(steps), rel=1e-3)
    assert first.partition("e")[0] in {"1", "2", "5"}
    assert all(low - 1e-6 * wide <= value <= low + (1 + 1e-6) * wide for value in found)


def test_a_linear_scale_begins_at_zero_and_ends_at_the_largest() -> None:
    across = scale(BYTES, [30.0, 120.0], start=100, end=700)
    assert [across.at(value) for value in (0, 30, 60, 120)] == [100, 250, 400, 700]


def test_an_axis_may_run_upward() -> None:
    up = scale(BYTES, [4.0], start=300, end=20)
    assert [up.at(value) for value in (0, 1, 4)] == [300, 230, 20]


def test_what_lies_beyond_is_at_the_edge() -> None:
    assert scale(BYTES, [10.0], 0, 100).at(25) == 100
    assert scale(BYTES, [10.0], 0, 100).at(-5) == 0
    assert scale(LOG, [10.0, 1000.0], 0, 100).at(1) == 0


def test_on_a_logarithmic_scale_each_decade_is_as_wide_as_the_next() -> None:
    across = scale(LOG, [1.0, 1e4], 0, 400)
    assert [across.at(10.0**power) for power in range(5)] == [0, 100, 200, 300, 400]


@each("axis", [BYTES, LOG])
@each("values", [[], [0.0], [7.0], [math.inf, 3.0], [0.0, -1.0]])
def test_a_scale_is_made_of_whatever_there_is(axis: Axis, values: list[float]) -> None:
    made = scale(axis, values, 0, 100)
    assert made.low < made.high
    assert all(0 <= tick.at <= 100 for tick in made.ticks())
    assert all(0 <= made.at(value) <= 100 for value in (0.0, 1.0, 7.0, 1e12))


@each(
    ("axis", "values", "labels"),
    [
        (BYTES, [1e9], ["0 B", "200 MB", "400 MB", "600 MB", "800 MB", "1 GB"]),
        (LOG, [28.0, 150.0], ["50 B", "100 B", "150 B"]),
        (LOG, [2.0, 60.0], ["2 B", "5 B", "10 B", "20 B", "50 B"]),
        (DOUBLES, [65536.0], ["32,768", "65,536", "131,072", "262,144", "524,288", "1,048,576"]),
        (DOUBLES, [65536.0, 131072.0], ["32,768", "65,536", "131,072", "262,144"]),
        (TIME, [40 * 86400.0, 180 * 86400.0], ["40 days", "50 days", "60 days", "80 days", "100 days", "150 days"]),
        (CLOCK, [4 * 3600.0], ["0 h", "1 h", "2 h", "3 h", "4 h"]),
        (LOG, [1e3, 1e6], ["1 kB", "10 kB", "100 kB", "1 MB"]),
        (SHARE, [0.25], ["0 %", "5 %", "10 %", "15 %", "20 %", "25 %"]),
        (TIME, [1.0, 7200.0], ["1 s", "10 s", "60 s", "10 min", "60 min"]),
    ],
)
def test_marks_are_written_in_the_unit_of_the_axis(axis: Axis, values: list[float], labels: list[str]) -> None:
    assert [tick.label for tick in scale(axis, values, 0, 500).ticks()] == labels


def test_marks_stand_where_their_values_are() -> None:
    across = scale(BYTES, [1e9], 0, 500)
    assert [tick.at for tick in across.ticks()] == [0, 100, 200, 300, 400, 500]


@each("end", [120, 300, 700])
@each("values", [[1e3, 1e11], [28.0, 150.0], [7e9, 7.2e9]])
def test_no_tick_stands_on_another(end: float, values: list[float]) -> None:
    for axis in (BYTES, LOG):
        ticks = scale(axis, values, 0, end).ticks()
        assert len(ticks) >= (3 if end == 700 else 1)
        for before, after in pairwise(ticks):
            widths = text_width(before.label) + text_width(after.label)
            assert after.at - before.at >= widths / 2 + 8
    up = scale(LOG, values, end, 0).ticks()
    assert all(before.at - after.at >= 14 for before, after in pairwise(up))


def test_many_decades_are_not_all_marked() -> None:
    assert len(scale(LOG, [1.0, 1e15], 0, 500).ticks()) <= 9


def test_the_noise_of_a_sum_is_nothing() -> None:
    assert percent_text(0.1 + 0.2 - 0.3) == "0 %"
    assert percent_text(3 / 11) == "27.3 %"


@each(
    ("axis", "value", "text"),
    [
        (Axis("Time", SECOND), 7200.0, "2 h"),
        (Axis("Year", RATIO, year=True), 2024.0, "2024"),
        (Axis("Size", BYTE, base=2), 2.0**20, "1 MiB"),
        (Axis("Size", BYTE), 2e20, "200 EB"),
        (Axis("Rate", BYTE_PER_SECOND, base=2), 2e9, "2 GB/s"),
        (Axis("Cost", DOLLAR), 53_235_591.0, "$53.2 million"),
        (Axis("Share", RATIO, percent=True), 0.125, "12.5 %"),
        (Axis("Number", RATIO), 16_384.0, "16,384"),
    ],
)
def test_a_value_has_the_text_of_its_axis(axis: Axis, value: float, text: str) -> None:
    assert axis.text(value) == text


@each(
    ("seconds", "unit"),
    [(119.0, "s"), (120.0, "min"), (7199.0, "min"), (7200.0, "h"), (172_799.0, "h"), (172_800.0, "days"), (0.5, "ms")],
)
def test_times_on_an_axis_are_in_the_largest_unit_that_is_there_twice(seconds: float, unit: str) -> None:
    assert scale(CLOCK, [seconds], 0, 500).ticks()[-1].label.endswith(f" {unit}")


@each(
    ("unit", "percent", "values", "counts"),
    [
        (RATIO, False, [1.0, 3.0], True), (RATIO, False, [1.0, 2.5], False), (RATIO, False, [], False),
        (RATIO, True, [1.0], False), (BYTE, False, [1.0], False),
    ],
)  # fmt: skip
def test_an_axis_of_whole_plain_numbers_counts(unit: Unit, percent: bool, values: list[float], counts: bool) -> None:
    assert scale(Axis("N", unit, percent=percent), values, 0, 500).whole is counts


def test_between_whole_numbers_there_is_no_mark() -> None:
    plain = Axis("N", RATIO)
    assert [tick.label for tick in scale(plain, [2.0], 0, 500).ticks()] == ["0", "1", "2"]
    assert len(scale(plain, [2.0, 0.5], 0, 500).ticks()) > 3


def test_a_binary_axis_has_whole_numbers_of_its_unit() -> None:
    labels = [tick.label for tick in scale(Axis("Size", BYTE, base=2), [6 * 2.0**30], 0, 500).ticks()]
    assert labels == ["0 B", "1 GiB", "2 GiB", "3 GiB", "4 GiB", "5 GiB", "6 GiB"]


def test_names_of_a_legend_are_in_one_line_as_long_as_they_fit() -> None:
    names = [("f", "forward"), ("b", "backward")]
    whole = 2 * 17 + 16 + text_width("forward") + text_width("backward")
    one, two = (legend(names, 10, 10 + whole - less) for less in (0, 0.01))
    assert ([entry.y for entry in one.entries], one.height) == ([0, 0], 18)
    assert one.entries[1].x == pytest.approx(10 + 17 + 16 + text_width("forward"), abs=0.01)
    assert ([(entry.x, entry.y) for entry in two.entries], two.height) == ([(10, 0), (10, 18)], 36)
    assert (legend([], 0, 100).entries, legend([], 0, 100).height) == ((), 0)
    assert len(legend(names, 0, 1).entries) == 2  # wider than the paper: a line each


def test_a_line_takes_words_up_to_its_width() -> None:
    wide = text_width("one two")
    assert wrap_text("one two", wide) == ("one two",)
    assert wrap_text("one two", wide - 0.01) == ("one", "two")
    assert wrap_text("immeasurable", 10) == ("immeasurable",)
    assert wrap_text("带宽，延迟", text_width("带宽，")) == ("带宽，", "延迟")
    assert wrap_text("", 10) == ()
    assert (widest([]), widest(["i", "mm", "m"])) == (0, text_width("mm"))


def test_a_text_stays_on_its_paper() -> None:
    half = text_width("text") / 2
    places = [WIDE.inside(x, "text") for x in (0, half, 100, 760 - half, 760)]
    assert places == pytest.approx([half, half, 100, 760 - half, 760 - half], abs=0.01)
