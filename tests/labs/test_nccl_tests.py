"""Tests of nccl-tests as runs of the lab of collectives, and beside one of its runs."""

from dataclasses import replace
from typing import Any

import pytest

from app.core.errors import InputError
from app.core.measurements.reports import CollectiveTest, SizeRow
from app.labs.results.report import Report
from app.site.labs.nccl_tests import SizePair, borrow_run, compare_sizes, difference_text, is_same_test, nccl_tests_runs
from tests.each import each

H100 = "NVIDIA H100 80GB HBM3"


def table(times: dict[int, float] | None = None, **changes: Any) -> CollectiveTest:
    """A test of nccl-tests on 4 GPUs."""
    times = {1 << 20: 1e-4, 4 << 20: 4e-4, 16 << 20: 16e-4} if times is None else times
    rows = tuple(SizeRow(size=size, time=time, algbw=0.0, busbw=0.0, rounding=0.0) for size, time in times.items())
    given = {"collective": "all_reduce", "ranks": 4, "hosts": None, "hardware": H100, "rows": rows}
    return CollectiveTest(**{**given, "pieces": (), "doubts": (), **changes})


def lab_run(times: dict[int, float] | None = None, **changes: Any) -> Report:
    report = borrow_run(table(times), "ours")
    assert report
    return replace(report, **changes)


@each(
    ("collective", "operation", "share"),
    [
        ("all_reduce", "all_reduce", 1.5),
        ("all_gather", "all_gather", 0.75),
        ("reduce_scatter", "reduce_scatter", 0.75),
        ("alltoall", "all_to_all", 0.75),
        ("broadcast", "broadcast", 1.0),
    ],
)
def test_a_test_is_a_run_of_the_same_collective(collective: str, operation: str, share: float) -> None:
    """The bus bandwidth is that of doc/PERFORMANCE.md of nccl-tests, for 4 ranks."""
    run = borrow_run(table({1 << 20: 1e-4}, collective=collective, hosts=2), "name")
    assert run
    assert (run.id, run.lab, run.state, run.backend, run.links) == ("name", "all-reduce", "done", "nccl", "real")
    assert (run.ranks, run.world, run.nodes, run.machine.nodes, run.machine.gpus) == (4, 4, 2, 2, (H100,))
    assert run.given == {"ranks": "4", "operation": operation}
    (one,) = run.measures
    assert (one.where, one.samples) == ({"size": 1 << 20}, (1e-4,))
    assert one.derived["bus bandwidth"].value == pytest.approx(share * 2**20 / 1e-4)


@each("changes", [{"collective": "sendrecv"}, {"collective": None}, {"ranks": None}, {"ranks": 0}, {"rows": ()}])
def test_a_test_of_something_else_is_no_run(changes: dict[str, Any]) -> None:
    assert borrow_run(table(**changes), "") is None
    assert not is_same_test(lab_run(), table(**changes))
    with pytest.raises(InputError, match="only runs of the lab all-reduce"):
        compare_sizes(lab_run(), table(**changes))


def test_hardware_that_is_given_is_preferred_to_what_is_printed() -> None:
    found = [borrow_run(table(), "", given) for given in ("", "8 × B200")]
    assert [run.machine.gpus for run in found if run] == [(H100,), ("8 × B200",)]
    assert [run.nodes for run in found if run] == [1, 1]


def test_published_tests_are_runs_by_the_names_of_their_pages() -> None:
    runs = nccl_tests_runs()
    assert len(runs) >= 3
    assert all(run.id == name and run.measures for name, run in runs.items())


def test_sizes_in_common_are_paired_from_the_smallest_within_one_percent() -> None:
    ours = lab_run({32_000_000: 3.0, 1_000_000: 1.0, 2_000_000: 2.0, 64: 1.0})
    theirs = table({1_009_000: 2.0, 1_011_000: 1.0, 31_700_000: 4.0, 2_000_000: 5.0, 2_000_001: 4.0})
    pairs = compare_sizes(ours, theirs)
    assert [(one.size, one.theirs.median, one.ratio) for one in pairs] == [
        (1_000_000, 2.0, 0.5), (2_000_000, 4.0, 0.5), (32_000_000, 4.0, 0.75),
    ]  # fmt: skip
    assert [cell for cell in pairs[2].cells() if cell.endswith("%")] == ["-25.0 %"]


@each(
    ("report", "says"),
    [
        (lab_run(lab="point-to-point"), "only runs of the lab all-reduce"),
        (lab_run(ranks=2), "the run is of all_reduce, 2 ranks, and nccl-tests of all_reduce, 4 ranks"),
        (lab_run(given={"operation": "all_gather"}), "the run is of all_gather, 4 ranks"),
        (lab_run({64: 1.0}), "no size in common"),
    ],
)
def test_what_cannot_be_compared_is_refused(report: Report, says: str) -> None:
    with pytest.raises(InputError, match=says):
        compare_sizes(report, table())
    assert is_same_test(report, table()) == (says == "no size in common")


def test_how_far_two_are_apart_is_told_in_figures_and_where_by_more_than_a_tenth() -> None:
    def pairs(*ratios: float) -> list[SizePair]:
        measures = [lab_run({1 << 20: time}).measures[0] for time in (*ratios, 1.0)]
        return [SizePair(float(1 << 10 + at), one, measures[-1]) for at, one in enumerate(measures[:-1])]

    far = difference_text(pairs(0.85, 1.05, 1.2))
    assert far == (
        "At 3 sizes, the lab took 0.85 to 1.2 times as long as nccl-tests, and 1.05 times at the median. "
        "More than 10 % apart at 1 KiB, 4 KiB."
    )
    assert "apart" not in difference_text(pairs(0.91, 1.09))
