"""Tables of nccl-tests by the titles of their columns, and tables with rows of several tests."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from app.core.measurements.file_reader import read_files
from app.core.measurements.json_output import read_json
from app.core.measurements.reports import CollectiveTest
from tests.each import each
from tests.measurements.printing import FACTORS, SIZES, time_of, today
from tests.measurements.test_tables import check


def read(tmp_path: Path, text: str) -> list[CollectiveTest]:
    path = tmp_path / "pasted"
    path.write_text(text)
    found = read_files([path])
    assert all(isinstance(one, CollectiveTest) for one in found), found
    return [one for one in found if isinstance(one, CollectiveTest)]


Line = Callable[[list[str]], str]


def rewritten(text: str, title: str, line: Line) -> str:
    """*text* with another title, and its rows as *line* makes them of their words."""
    found = []
    for one in text.splitlines():
        words = one.split()
        if "redop    root" in one:
            found.append(f"#       size         count      type   redop    root     {title}")
        else:
            found.append(line(words) if words and words[0].isdigit() else one)
    return "\n".join(found) + "\n"


def wider(text: str, titles: str, values: str, *, behind: tuple[str, str] = ("", "")) -> str:
    """*text* with further columns in each place, and one behind both."""
    place = f"time algbw busbw #wrong {titles}"

    def line(words: list[str]) -> str:
        before, out, inside = words[:5], words[5:9], words[9:13]
        return " ".join([*before, *out, values, *inside, values, behind[1]])

    return rewritten(text, f"{place} {place} {behind[0]}", line)


OPTIONS = {
    "-I 1": ("i_min i_max i_p99 i_cv%", "18.9 22.1 21.9 2.41", ("", "")),
    "-S 1": ("", "", ("timestamp", "2026-06-01T10:00:00")),
    "-S 1, of two words": ("", "", ("timestamp", "2026-06-01 10:00:00")),
    "-U 1": ("impl algo proto #channels #warps", "NCCL RING LL128 16 8", ("", "")),
    "bit differences": ("#bitdiff", "0", ("", "")),
}


@each("option", OPTIONS)
@each("collective", ["all_reduce", "broadcast", "alltoall"])
def test_columns_of_options_are_no_bandwidths(option: str, collective: str, tmp_path: Path) -> None:
    titles, values, behind = OPTIONS[option]
    (test,) = read(tmp_path, wider(today(collective, 16), titles, values, behind=behind))
    check(test, collective, 16)


def test_a_column_that_is_not_known_is_named(tmp_path: Path) -> None:
    (test,) = read(tmp_path, wider(today("all_reduce", 8), "i_min jitter", "18.9 2.41"))
    assert test.doubts == ("columns whose titles are not known are left out: jitter",)
    assert len(test.rows) == len(SIZES)


def test_a_title_and_rows_in_two_lines_are_read(tmp_path: Path) -> None:
    text = today("all_reduce", 8).replace("#wrong     time", "#wrong\n#     time")
    (test,) = read(tmp_path, text)
    check(test, "all_reduce", 8)


def test_a_row_that_is_cut_off_has_its_first_place_or_is_left_out(tmp_path: Path) -> None:
    lines = today("all_reduce", 8).splitlines()
    last = next(n for n, line in enumerate(lines) if line.split()[:1] == [str(SIZES[-1])])
    for words, rows in ((12, len(SIZES)), (9, len(SIZES)), (8, len(SIZES) - 1), (6, len(SIZES) - 1)):
        cut = " ".join(lines[last].split()[:words])
        (test,) = read(tmp_path, "\n".join([*lines[:last], cut]))
        assert len(test.rows) == rows, words
        assert bool(test.doubts) == (rows < len(SIZES))


@each("title", ["time", "cputime"])
def test_the_time_of_a_call_is_not_that_of_a_transfer(title: str, tmp_path: Path) -> None:
    place = f"{title} algbw busbw #wrong"
    text = rewritten(today("all_reduce", 8), f"{place} {place}", " ".join)
    (test,) = read(tmp_path, text)
    assert bool(test.rows) == (title == "time")
    assert ("times are those of the CPU (-C 1)" in "".join(test.doubts)) == (title == "cputime")


def test_bandwidths_beside_a_cpu_time_that_are_not_made_of_it_are_none_either(tmp_path: Path) -> None:
    place = "cputime algbw busbw #wrong"

    def line(words: list[str]) -> str:
        return " ".join([*words[:5], "8.60", *words[6:9], "8.61", *words[10:13]])

    (test,) = read(tmp_path, rewritten(today("all_reduce", 8), f"{place} {place}", line))
    assert not test.rows
    assert "of the CPU (-C 1)" in test.doubts[0]


def test_a_deviation_is_no_count_of_wrong_values(tmp_path: Path) -> None:
    place = "time algbw busbw error"

    def line(words: list[str]) -> str:
        return " ".join([*words[:8], "3e+02", *words[9:12], "2e+00"])

    (test,) = read(tmp_path, rewritten(today("all_reduce", 8), f"{place} {place}", line))
    check(test, "all_reduce", 8)


def times(text: str, factor: float) -> list[str]:
    """The rows of an all-reduce of 8 ranks, *factor* as slow."""
    found = []
    for line in text.splitlines():
        words = line.split()
        if words and words[0].isdigit():
            time = time_of(int(words[0])) * factor
            algbw = int(words[0]) / time / 1e9
            value = f"{1e6 * time:.2f} {algbw:.3f} {algbw * FACTORS['all_reduce'](8):.3f} 0"
            found.append(" ".join([*words[:5], value, value]))
    return found


def around(text: str, rows: list[str]) -> str:
    lines = text.splitlines()
    first = next(n for n, line in enumerate(lines) if line.split()[:1] == [str(SIZES[0])])
    return "\n".join([*lines[:first], *rows, "# Out of bounds values : 0 OK", ""])


SEVERAL: dict[str, tuple[list[str], str]] = {
    "-N 2": ([*times(today("all_reduce", 8), 1), *times(today("all_reduce", 8), 1.5)], "repetition 2 of its sizes"),
    "side by side": (
        [
            row
            for pair in zip(times(today("all_reduce", 8), 1), times(today("all_reduce", 8), 1.5), strict=True)
            for row in pair
        ],
        "repetition 2 of its sizes",
    ),
    "-d all": (
        [
            *times(today("all_reduce", 8), 1),
            *(row.replace("float", "half") for row in times(today("all_reduce", 8), 1.5)),
        ],
        "half",
    ),
    "-o all": (
        [*times(today("all_reduce", 8), 1), *(row.replace("sum", "max") for row in times(today("all_reduce", 8), 1.5))],
        "max",
    ),
}


@each("how", SEVERAL)
def test_rows_of_several_tests_are_several_tests(how: str, tmp_path: Path) -> None:
    rows, says = SEVERAL[how]
    one, two = read(tmp_path, around(today("all_reduce", 8), rows))
    for test, factor in ((one, 1.0), (two, 1.5)):
        assert [row.size for row in test.rows] == list(SIZES)
        assert test.rows[-1].time == pytest.approx(time_of(SIZES[-1]) * factor, rel=1e-3)
        assert (test.collective, test.ranks) == ("all_reduce", 8)
    assert f"test 2 of 2 in one table, told by its rows: {says}" in two.doubts[0]


def test_a_row_that_is_printed_twice_is_one(tmp_path: Path) -> None:
    rows = times(today("all_reduce", 8), 1)
    (test,) = read(tmp_path, around(today("all_reduce", 8), [*rows[:5], *rows[3:]]))
    assert len(test.rows) == len(SIZES)


@each("collective", FACTORS)
def test_one_rank_sends_nothing(collective: str, tmp_path: Path) -> None:
    (test,) = read(tmp_path, today(collective, 1))
    assert (test.ranks, test.rows) == (1, ())
    assert "one rank sends nothing" in test.doubts[0]


def test_more_than_twice_the_wire_is_not_shown(tmp_path: Path) -> None:
    def line(words: list[str]) -> str:
        size, time = int(words[0]), 10e-6 + int(words[0]) / 3e12
        algbw = size / time / 1e9
        value = f"{1e6 * time:.2f} {algbw:.2f} {algbw * 1.75:.2f} 0"
        return " ".join([*words[:5], value, value])

    place = "time algbw busbw #wrong"
    (test,) = read(tmp_path, rewritten(today("all_reduce", 8), f"{place} {place}", line))
    assert not test.rows
    assert "900 GB/s even with sums in the switch" in test.doubts[0]


def test_a_row_whose_size_and_time_say_another_bandwidth_is_left_out(tmp_path: Path) -> None:
    rows = times(today("all_reduce", 8), 1)
    words = rows[-1].split()
    rows[-1] = " ".join([*words[:5], "1.0", *words[6:]])
    (test,) = read(tmp_path, around(today("all_reduce", 8), rows))
    assert len(test.rows) == len(SIZES) - 1
    assert "1 row is left out" in test.doubts[0]


@each("end", range(1, 200))
def test_json_that_is_cut_off_is_read_as_far_as_it_goes(end: int) -> None:
    whole = {"a": [{"b": 1, "c": 'x,]}\\"'}, {"b": 22, "d": None}], "e": {"f": [1, 2, []]}}
    text = json.dumps(whole)
    found = read_json(text[:end])
    assert (found.ends_at == 0) == (end >= len(text))
    for value in found.values:
        assert isinstance(value, dict)
        assert [one for one in value.get("a", []) if one in whole["a"]] == value.get("a", [])[
            : len([one for one in value.get("a", []) if one in whole["a"]])
        ]


@each("width", [60, 80, 100, 120])
def test_a_table_that_a_terminal_has_broken_anywhere_is_read(width: int, tmp_path: Path) -> None:
    lines = today("all_reduce", 8).splitlines()
    pieces = [line[i : i + width] for line in lines for i in range(0, len(line) or 1, width)]
    (test,) = read(tmp_path, "\n".join(pieces) + "\n")
    assert [row.size for row in test.rows] == list(SIZES)
    assert (test.collective, test.ranks) == ("all_reduce", 8)
    for row in test.rows:
        assert row.time == pytest.approx(time_of(int(row.size)), rel=2e-3)
