"""Tables of nccl-tests and rccl-tests, as their versions and many launchers print them."""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from app.core.measurements.file_reader import read_files
from app.core.measurements.number_checks import Counter, highest_peak
from app.core.measurements.plausibility import checked_rows
from app.core.measurements.reports import CollectiveTest, SizeRow, UnreadFile
from app.core.measurements.table import CollectiveTable
from tests.each import each
from tests.measurements.printing import ALPHA, BANDWIDTH, FACTORS, SIZES, in_2016, in_2020, rows, time_of, today


def read(tmp_path: Path, text: str | bytes) -> list[CollectiveTest]:
    path = tmp_path / "pasted"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    found = read_files([path])
    assert all(isinstance(one, CollectiveTest) for one in found), found
    return [one for one in found if isinstance(one, CollectiveTest)]


def check(test: CollectiveTest, collective: str, ranks: int, count: int = len(SIZES), near: float = 2e-3) -> None:
    """The numbers are those that were printed, and what is fitted is what made them."""
    assert (test.collective, test.ranks) == (collective, ranks)
    assert len(test.rows) == count
    for row in test.rows:
        assert row.time == pytest.approx(time_of(int(row.size)), rel=near)
        assert row.algbw == pytest.approx(row.size / time_of(int(row.size)), abs=0.006e9)
        assert row.busbw == pytest.approx(FACTORS[collective](ranks) * row.algbw, abs=0.016e9)
    (line,) = test.pieces
    assert line.alpha == pytest.approx(ALPHA, rel=5 * near)
    assert line.bandwidth == pytest.approx(BANDWIDTH, rel=near)
    assert test.doubts == ()


@pytest.mark.parametrize("collective", FACTORS)
@pytest.mark.parametrize("ranks", [3, 16])
def test_every_collective_is_read(tmp_path: Path, collective: str, ranks: int) -> None:
    (test,) = read(tmp_path, today(collective, ranks))
    check(test, collective, ranks)
    assert test.hardware == "NVIDIA H100 80GB HBM3"
    assert test.hosts == -(-ranks // 8)


@pytest.mark.parametrize(
    ("collective", "middle", "columns"),
    [
        ("all_reduce", "     sum ", "redop"),
        ("all_gather", " ", ""),
        ("alltoall", "         ", "redop"),
        ("sendrecv", "         ", "redop"),
        ("reduce_scatter", "     sum ", "redop"),
        ("broadcast", "       0 ", "root"),
        ("reduce", "     sum       0 ", "redop    root"),
    ],
)
def test_old_layouts_are_read(tmp_path: Path, collective: str, middle: str, columns: str) -> None:
    (test,) = read(tmp_path, in_2020(collective, 8, middle, columns))
    check(test, collective, 8)
    assert test.hardware == "A100-SXM4-40GB"


def test_the_first_version_prints_milliseconds(tmp_path: Path) -> None:
    (test,) = read(tmp_path, in_2016("all_reduce", 4))
    check(test, "all_reduce", 4, len(SIZES) - 8, near=0.01)


def tagged_inside(text: str) -> str:
    """As mpirun --tag-output does with the parts in which nccl-tests prints a row."""
    return re.sub(r"(float +\w+ +-?\d+)", r"\1[1,0]<stdout>:", text)


def broken(text: str) -> str:
    """A row in two lines, with a line of another program between."""
    return re.sub(r"(float +\w+ +-?\d+)", "\\1\n[1,0]<stdout>:", text)


LAUNCHERS: dict[str, Callable[[str], str]] = {
    "srun -l": lambda text: re.sub("^", "0: ", text, flags=re.M),
    "srun -l, many": lambda text: re.sub("^", "  12: ", text, flags=re.M),
    "mpirun --tag-output": lambda text: re.sub("^", "[1,0]<stdout>:", text, flags=re.M),
    "Open MPI 5": lambda text: re.sub("^", "[prterun-n1-77@1,0]<stdout>: ", text, flags=re.M),
    "Intel MPI": lambda text: re.sub("^", "[0] ", text, flags=re.M),
    "torchrun": lambda text: re.sub("^", "[default0]:", text, flags=re.M),
    "kubectl --prefix": lambda text: re.sub("^", "[pod/nccl-launcher/main] ", text, flags=re.M),
    "a log with times": lambda text: re.sub("^", "2024-05-01T07:03:11.123Z ", text, flags=re.M),
    "a page": lambda text: re.sub("^", "> ", text, flags=re.M),
    "tags inside": tagged_inside,
    "tags everywhere": lambda text: re.sub("^", "[1,0]<stdout>:", tagged_inside(text), flags=re.M),
    "rows in parts": broken,
    "Windows": lambda text: text.replace("\n", "\r\n"),
    "colors": lambda text: text.replace("float", "\x1b[32mfloat\x1b[0m"),
    "columns of a table": lambda text: re.sub(r"(?<=\d)  +", " | ", text),
    "comments": lambda text: re.sub("^ ", "# ", text, flags=re.M),
    "noise": lambda text: text.replace(
        "\n", "\nnode0:7:9 [0] NCCL INFO Channel 00/16 : 0 1 2 3 via P2P/CUMEM/read\n...\n"
    ),
}


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_launchers_write_into_lines(tmp_path: Path, launcher: str) -> None:
    (test,) = read(tmp_path, LAUNCHERS[launcher](today("all_reduce", 16)))
    check(test, "all_reduce", 16)


def test_a_redirected_file_of_powershell_is_read(tmp_path: Path) -> None:
    (test,) = read(tmp_path, today("broadcast", 16).encode("utf-16"))
    check(test, "broadcast", 16)


def test_rows_of_which_some_stand_behind_something_are_of_several_outputs(tmp_path: Path) -> None:
    lines = today("all_reduce", 16).splitlines()
    numbers = [number for number, line in enumerate(lines) if re.match(r" +\d", line)]
    lines[numbers[-1]] = f"0: {lines[numbers[-1]]}"
    (test,) = read(tmp_path, "\n".join(lines))
    assert any("not before others: mixed lines" in doubt for doubt in test.doubts)


def test_several_tests_in_one_paste_are_several(tmp_path: Path) -> None:
    text = "\n".join([today("all_reduce", 16), today("all_gather", 8), today("sendrecv", 3)])
    tests = read(tmp_path, text)
    assert [(one.collective, one.ranks) for one in tests] == [("all_reduce", 16), ("all_gather", 8), ("sendrecv", 3)]
    for test in tests:
        check(test, str(test.collective), test.ranks or 0)


def test_without_a_name_the_columns_tell(tmp_path: Path) -> None:
    for collective in FACTORS:
        (test,) = read(tmp_path, today(collective, 16, named=False))
        if collective in {"all_gather", "alltoall"}:
            (doubt,) = test.doubts
            assert doubt.endswith("its columns are those of all_gather or alltoall")
        else:
            check(test, collective, 16)


def test_without_a_name_the_title_tells_an_old_all_to_all_from_an_all_gather(tmp_path: Path) -> None:
    for collective, columns in (("all_gather", ""), ("alltoall", "redop")):
        text = in_2020(collective, 8, " ", columns).partition("\n")[2]
        (test,) = read(tmp_path, text)
        check(test, collective, 8)


@pytest.mark.parametrize(
    "kind", ["float", "half", "double", "bfloat16", "bf16", "fp8_e4m3", "f8e5m2", "int", "uint8", "char"]
)
def test_a_row_of_every_type_is_read(tmp_path: Path, kind: str) -> None:
    row = f"8388608 2097152 {kind} sum -1 301.7 27.80 48.65 0 300.1 27.95 48.91 0"
    (test,) = read(tmp_path, f"{row}\n")
    assert [one.size for one in test.rows] == [8388608]


def test_bare_rows_tell_the_ranks(tmp_path: Path) -> None:
    lines = rows("all_reduce", 48, middle="     sum      -1 ")
    (test,) = read(tmp_path, "\n".join(lines))
    assert (test.collective, test.ranks) == ("all_reduce", 48)
    assert len(test.rows) == len(SIZES)


def place(collective: str, ranks: int, size: int) -> dict[str, float]:
    algbw = size / time_of(size) / 1e9
    return {"time": time_of(size) * 1e6, "alg_bw": algbw, "bus_bw": algbw * FACTORS[collective](ranks), "nwrong": 0.0}


def as_json(collective: str, ranks: int) -> dict[str, object]:
    return {
        "version": 1,
        "args": [f"/opt/{collective}_perf", "-b", "4K"],
        "nccl_version": 22703,
        "config": {
            "nthreads": 1,
            "ngpus": 1,
            "devices": [
                {"rank": rank, "hostname": f"n{rank // 8}", "device_info": "NVIDIA B200"} for rank in range(ranks)
            ],
        },
        "results": [
            {"size": size, "count": size // 4, "type": "float", "redop": "sum", "root": "    -1"}
            | {"out_of_place": place(collective, ranks, size), "in_place": None}
            for size in SIZES
        ],
        "out_of_bounds": {"count": 0, "okay": "true"},
    }


def test_json_of_nccl_tests_is_read(tmp_path: Path) -> None:
    (test,) = read(tmp_path, json.dumps(as_json("all_reduce", 16)))
    check(test, "all_reduce", 16)
    assert (test.hardware, test.hosts) == ("NVIDIA B200", 2)


def test_json_in_which_a_process_with_8_gpus_is_one_device(tmp_path: Path) -> None:
    found = as_json("all_reduce", 16)
    found["config"] = {"nthreads": 1, "ngpus": 8, "devices": [{"rank": 0}, {"rank": 8}]}
    (test,) = read(tmp_path, json.dumps(found))
    check(test, "all_reduce", 16)


def rccl(collective: str, ranks: int, size: int, inside: int) -> dict[str, object]:
    found = place(collective, ranks, size)
    return {
        "numCycle": 0,
        "name": "AllReduce",
        "nodes": 2,
        "ranks": ranks,
        "ranksPerNode": 8,
        "gpusPerRank": 1,
        "size": size,
        "type": "float",
        "redop": "sum",
        "inPlace": inside,
        "time": found["time"],
        "algBw": found["alg_bw"],
        "busBw": found["bus_bw"],
        "wrong": "0",
    }


@pytest.mark.parametrize("one_a_line", [True, False])
def test_json_of_rccl_tests_is_read(tmp_path: Path, one_a_line: bool) -> None:
    records = [rccl("all_reduce", 16, size, inside) for size in SIZES for inside in (0, 1)]
    text = "\n".join(map(json.dumps, records)) if one_a_line else json.dumps(records)
    (test,) = read(tmp_path, text)
    check(test, "all_reduce", 16)


def test_cycles_of_rccl_tests_are_several_tests(tmp_path: Path) -> None:
    records = [rccl("all_reduce", 16, size, 0) for size in SIZES]
    slow = [one | {"time": 2 * float(str(one["time"])), "algBw": 0.0, "busBw": 0.0} for one in records]
    one, two = read(tmp_path, "\n".join(map(json.dumps, [*records, *slow])))
    assert two.rows[-1].time == pytest.approx(2 * one.rows[-1].time)
    assert "repetition 2 of its sizes" in two.doubts[0]


def test_csv_of_rccl_tests_is_read(tmp_path: Path) -> None:
    lines = ["collective, ranks, rankspernode, gpusperrank, size, type, redop, inplace, time, algbw"]
    for size in SIZES:
        one = rccl("all_reduce", 16, size, 0)
        del one["numCycle"]
        lines.append(", ".join(map(str, one.values())))
    (test,) = read(tmp_path, "\n".join(lines))
    check(test, "all_reduce", 16)


def test_what_is_neither_says_what_is_expected(tmp_path: Path) -> None:
    path = tmp_path / "notes"
    path.write_text("size matters\n8 2\n")
    (found,) = read_files([path])
    assert isinstance(found, UnreadFile)
    assert found.error.startswith("notes has no table of nccl-tests")


@pytest.mark.parametrize(
    ("call", "ranks"),
    [
        ("mpirun -np 32 -N 8 ./broadcast_perf -b 8 -e 1G -f 2 -g 1", 32),
        ("mpirun -n 4 -x A=1 build/broadcast_perf -b 8 -e 1G -g 8", 32),
        ("srun -N 4 --ntasks-per-node=8 --mpi=pmix ./broadcast_perf -b 8", 32),
        ("srun --ntasks=32 ./broadcast_perf -b 8", 32),
        ("./broadcast_perf -b 8 -e 1G -g 8 -t 4", 32),
        ("./broadcast_perf -b 8", None),
    ],
)
def test_a_call_tells_the_ranks_where_nothing_else_does(tmp_path: Path, call: str, ranks: int | None) -> None:
    text = "\n".join([f"$ {call}", *rows("broadcast", 32, middle="  none  0 ")])
    (test,) = read(tmp_path, text)
    assert (test.collective, test.ranks) == ("broadcast", ranks)


SOUND = [SizeRow(2.0**power, 2.0**power / 100e9, 100e9, 175e9, 0.0) for power in range(20, 30)]


@each(("bad", "left"), [(1, 9), (2, 8), (3, 0)])
@each(
    ("hardware", "algbw", "busbw", "says"),
    [
        ("NVIDIA H100 80GB HBM3", 130e9, 175e9, "1048576 bytes in 10.49 us are 100 GB/s, not 130 GB/s"),
        ("NVIDIA H100 80GB HBM3", 100e9, 950e9, "more than the links of NVIDIA H100 80GB HBM3 carry, 900 GB/s"),
        ("GPU of tomorrow", 100e9, 9e12, "more than any link that is known here carries"),
    ],
)
def test_wrong_rows_are_left_out_and_with_more_than_a_fifth_all_of_them(
    bad: int, left: int, hardware: str, algbw: float, busbw: float, says: str
) -> None:
    rows = [replace(row, algbw=algbw, busbw=busbw) if place < bad else row for place, row in enumerate(SOUND)]
    found = checked_rows(CollectiveTable(), rows, 8, hardware)
    assert len(found.rows) == left
    (doubt,) = found.doubts
    assert doubt.startswith(
        {1: "1 row is left out: ", 2: "2 rows are left out: ", 3: "3 of 10 rows are wrong, so all are left out: "}[bad]
    )
    assert says in doubt.replace("\N{MICRO SIGN}", "u")


def test_rows_that_contradict_themselves_and_rows_that_are_too_fast_are_counted_apart() -> None:
    bad = [replace(row, algbw=130e9) for row in SOUND[:2]] + [replace(row, busbw=950e9) for row in SOUND[2:3]]
    for these, begins in (
        ([*bad, *SOUND[3:]], ("2 of 10 rows are wrong, so all", "1 of 10 rows is wrong, so all")),
        ([replace(row, busbw=950e9) for row in SOUND], ("10 rows are left out: ",)),
    ):
        found = checked_rows(CollectiveTable(), these, 8, "NVIDIA H100 80GB HBM3")
        assert not found.rows
        for doubt, begin in zip(found.doubts, begins, strict=True):
            assert doubt.startswith(begin)


def named(collective: str, of: str) -> str:
    """The table of one collective under the name of another."""
    return today(of, 16).replace(f"{of}_perf", f"{collective}_perf")


def of_parts(text: str) -> str:
    """With the size of one rank's part, as some tools print it."""
    return re.sub(r"^ +(\d+)", lambda size: f"  {int(size[1]) // 16}", text, flags=re.MULTILINE)


def without(pattern: str, text: str, count: int = 0) -> str:
    return re.sub(pattern, "", text, count=count, flags=re.MULTILINE)


FULL = today("all_reduce", 16)
CUT = r"(?<=float     sum      -1 ) .*$"  # a row without its values


@each(
    ("text", "ranks", "doubt"),
    [
        (without(r"^#  Rank (?: [89]|1\d).*\n", FULL), 16, "said to be 8 ranks, but the bandwidths say 16"),
        (named("all_reduce", "all_gather"), 16, "below the algorithm bandwidth, which no all-reduce has"),
        (named("all_reduce", "all_gather"), 16, "named all_reduce, but the rows reduce by none"),
        (named("all_gather", "all_reduce"), 16, "named all_gather, but the rows reduce by sum"),
        (named("all_gather", "all_reduce"), 16, "is higher than all_gather can have on any number of ranks"),
        (named("sendrecv", "all_gather"), 16, "differ, which they do not in a sendrecv"),
        (f"{FULL}\n# Avg bus bandwidth    : 40.0\n", 16, "is printed as 40 GB/s, and that of these rows is"),
        (f"{FULL}\n# Avg bus bandwidth    : 300.0\n", 16, "is printed as 300 GB/s, and that of these rows is"),
        (f"{FULL}\n# Out of bounds values : 3 FAILED\n", 16, "3 values arrived wrong (#wrong)"),
        (f"{FULL}\nnode1: Test NCCL failure all_reduce.cu:53\n", 16, "the test ended with an error"),
        (without(CUT, FULL, 1), 16, "1 row does not fit the title"),
        (without(CUT, FULL, 2), 16, "2 rows do not fit the title"),
        (
            "\n".join(line for line in FULL.splitlines() for _ in range(2) if not re.match(r" +\d{5}", line)),
            16,
            "too few sizes",
        ),
        (of_parts(today("all_gather", 16)), 16, "they are multiplied by 16 here"),
    ],
)
def test_what_does_not_agree_is_doubted(tmp_path: Path, text: str, ranks: int, doubt: str) -> None:
    (test,) = read(tmp_path, text)
    assert test.ranks == ranks
    assert any(doubt in one for one in test.doubts), test.doubts
    if "multiplied" in doubt:
        assert [row.size for row in test.rows] == list(SIZES)


@each(("slower", "at", "count"), [(4.0, 1 << 28, 1), (2.0, 1 << 28, 0), (4.0, 1 << 20, 0)])
def test_a_time_that_jumps_is_doubted_unless_it_is_short(tmp_path: Path, slower: float, at: int, count: int) -> None:
    lines = ["# collective: all_reduce", "# ranks: 16", "# hardware: NVIDIA H100 80GB HBM3"]
    for size in SIZES:
        time = time_of(size) * (slower if size >= at else 1.0)
        bandwidth = size / time / 1e9
        lines.append(f"{size} {size // 4} float sum -1 {1e6 * time:.3f} {bandwidth:.3f} {1.875 * bandwidth:.3f} 0")
    (test,) = read(tmp_path, "\n".join(lines))
    assert sum("another algorithm, protocol or path" in doubt for doubt in test.doubts) == count


def test_a_rank_that_is_one_step_late_does_not_begin_again() -> None:
    for number, known, again in ((8, True, False), (7, True, True), (8, False, True), (9, False, False)):
        counter = Counter()
        assert not counter.began_again("", 9, known=False)
        assert counter.began_again("", number, known=known) is again
    assert highest_peak() > 1.9e15  # of an H100 in 8 bits: not of 16


def plain_rows(times: Callable[[int], float], factor: float = 1.875, sizes: Sequence[int] = SIZES) -> str:
    """The rows of an all-reduce without a title: nine digits of each number."""
    lines = ["# collective: all_reduce"]
    for size in sizes:
        algbw = size / times(size) / 1e9
        lines.append(f"{size} {size // 4} float sum -1 {1e6 * times(size):.6f} {algbw:.6f} {factor * algbw:.6f} 0")
    return "\n".join(lines)


def doubts_of(tmp_path: Path, text: str) -> str:
    (test,) = read(tmp_path, text)
    return "\n".join(test.doubts)


@each(("off", "doubted"), [(0.1, False), (0.5, True)])
def test_rows_off_their_line_by_more_than_noise_are_doubted(tmp_path: Path, off: float, doubted: bool) -> None:
    noisy = plain_rows(lambda size: time_of(size) * (1 + off * (-1) ** size.bit_length()))
    assert ("% and more off the line" in doubts_of(tmp_path, noisy)) is doubted


@each(
    ("ranks", "says"),
    [(4, ""), (5000, "no line says how many ranks there are; the bandwidths say 4"), (1, "one rank sends nothing")],
)
def test_bandwidths_tell_few_ranks_exactly_and_many_within_bounds(tmp_path: Path, ranks: int, says: str) -> None:
    (test,) = read(tmp_path, plain_rows(time_of, FACTORS["all_reduce"](ranks)))
    assert test.ranks == pytest.approx(ranks, rel=0.5)
    assert [says in doubt for doubt in test.doubts] == [True] * bool(says)


@each(("printed", "doubted"), [(1.01, False), (1.05, True), (0.95, True)])
def test_an_average_near_that_of_the_rows_is_not_doubted(tmp_path: Path, printed: float, doubted: bool) -> None:
    mean = sum(1.875 * size / time_of(size) / 1e9 for size in SIZES) / len(SIZES)
    text = f"{plain_rows(time_of)}\n# Avg bus bandwidth    : {printed * mean:.4f}\n"
    assert ("rows are missing" in doubts_of(tmp_path, text)) is doubted


def test_a_ratio_of_bandwidths_that_differs_is_said_with_its_least_and_most(tmp_path: Path) -> None:
    rows = plain_rows(time_of).splitlines() + plain_rows(time_of, 1.5, [3 << 28]).splitlines()[1:]
    assert "differs between rows (1.500 to 1.875)" in doubts_of(tmp_path, "\n".join(rows))


def test_one_size_that_falls_is_doubted_and_the_fastest_row_is_named() -> None:
    def about(rows: list[SizeRow]) -> str:
        return "\n".join(checked_rows(CollectiveTable(), rows, 8, "NVIDIA H100 80GB HBM3").doubts)

    assert about(SOUND) == ""
    assert about([*SOUND[:8], SOUND[9], SOUND[8]]).startswith("the sizes do not rise")
    fast = [replace(row, busbw=busbw) for row, busbw in zip(SOUND, (950e9, 990e9, 960e9), strict=False)]
    assert "990 GB/s of bus bandwidth" in about([*fast, *SOUND[3:]])
