import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.expressions import PAD_LIMIT, worked_pad
from app.course.kinds.answer_key import AskedQuantity
from tests.each import each


def results(*lines: str) -> list[str]:
    return [line.result or line.problem for line in worked_pad("\n".join(lines))]


@each(
    ("line", "result"),
    [
        ("2*(8-1)/8 * 2 GB / 50 GB/s", "70 ms"),
        ("2*2*7/8/50 s", "70 ms"),
        ("3,5 GB", "3.5 GB"),
        ("1,750 GB", "1.75 TB"),
        ("989 TFLOP/s / (3352 GB/s)", "295 FLOP/B"),
        ("1 + 3 %", "1.03"),
        ("70 ms + 70 µs", "70.07 ms"),
        ("2^10", "1,024"),
        ("4k * 2", "8,000"),
        ("2 GB * 3 GB", "6e18 B^2"),
        ("sqrt(16) s", "4 s"),
        ("size = 2 TB", "2 TB"),
        ("2 × 16 B × 7e9", "224 GB"),
    ],
)
def test_a_line_is_worked_out_with_units(line: str, result: str) -> None:
    assert results(line) == [result]


def test_a_line_may_use_the_results_above_it() -> None:
    assert results("S = 2 GB", "N = 8", "V = 2 S (N - 1)/N", "V / (50 GB/s)", "last * 2") == [
        "2 GB",
        "8",
        "3.5 GB",
        "70 ms",
        "140 ms",
    ]
    assert results("V + 3 s", "V = 1 s", "V + 3 s")[1:] == ["1 s", "4 s"]


def test_words_alone_are_a_note() -> None:
    (line,) = worked_pad("first the volume")
    assert (line.result, line.problem) == ("", "")


@each(
    ("line", "says"),
    [
        ("70 ms + 5 GB", "70 ms and 5 GB are of different kinds"),
        ("1/0", "not a finite number"),
        ("B = 50 GB/s", "B is a unit: choose another name"),
        ("2 * (3", "')' is missing"),
        ("2 parsec", "'parsec' is neither a unit nor the name of a line above"),
        ("U = 2 * V", "'V' is neither"),
        ("__import__('os') + 1", "'__import__' is neither"),
    ],
)
def test_a_line_that_has_no_value_says_why(line: str, says: str) -> None:
    assert says in results("S = 1", line)[1]


@each("text", ["9^9^9", "(" * 5000, "1+" * 3000 + "1", "a = 2\n" * 900, "last*last\n" * 900, "\0", "x" * 9000])
def test_a_hostile_pad_takes_little_time(text: str) -> None:
    begun = time.process_time()
    lines = worked_pad(text)
    assert time.process_time() - begun < 0.5
    assert len(lines) <= 41
    assert sum(len(line.text) for line in lines) <= PAD_LIMIT + 100


@given(st.text(max_size=300))
def test_any_text_is_a_pad(text: str) -> None:
    for line in worked_pad(text):
        assert not (line.result and line.problem)


@each("text", ["2*2*7/8/50 s", "2*(8-1)/8 * 2 GB / 50 GB/s", "1 GB / 400 Gbit per second", "35 + 35 ms"])
def test_the_pad_reads_what_the_answer_field_reads(text: str) -> None:
    read = AskedQuantity(answer="1", unit="s").read
    assert read(results(text)[0]).value == pytest.approx(read(text).value, rel=1e-3)
