"""Where values go on an axis: at their place, in order, beside round numbers."""

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.charts.axes import Axis, even_ticks, percent_text, scale, text_width
from app.core.units import BYTE, RATIO, SECOND
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
