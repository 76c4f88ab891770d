"""The tolls of a trace, against made traces, a clock that ticks, and HolisticTraceAnalysis."""

import random
from dataclasses import astuple

import pytest

from app.measurements.trace.communication import NCCL_ALONE
from app.measurements.trace.reader import read_rank
from app.measurements.trace.samples import SAMPLES, TraceSample
from app.measurements.trace.tolls import Tolls
from tests.each import each
from tests.measurements.trace.made import (
    ALL_REDUCE,
    Event,
    flat,
    report_of,
    report_of_events,
    step,
    trace,
    work,
)

MICRO = 1e-6


def test_each_toll_of_a_made_trace_is_exact() -> None:
    found = report_of_events(
        work(100, 150, launched=90),
        work(120, 180, ALL_REDUCE, launched=91, stream=20),
        work(170, 200, "Memcpy HtoD", cat="gpu_memcpy", launched=92, stream=30),
        work(230, 240, launched=212),  # the GPU is idle from 200: 12 until the launch, 18 after
        work(240, 241, "Memset", cat="gpu_memset", launched=93),
    ).tolls
    expected = Tolls(
        wall=141 * MICRO,
        compute=60 * MICRO,
        exposed_communication=30 * MICRO,
        overlapped_communication=30 * MICRO,
        exposed_copies=21 * MICRO,
        idle=30 * MICRO,
        host=12 * MICRO,
    )
    assert astuple(found) == pytest.approx(astuple(expected))
    assert found.waiting == pytest.approx(18 * MICRO)


def ticked(drawn: list[tuple[int, int, str, int]]) -> Tolls:
    """The tolls, microsecond by microsecond."""
    first, last = min(one[0] for one in drawn), max(one[1] for one in drawn)
    ordered = sorted(drawn, key=lambda one: one[0])
    count = dict.fromkeys(("compute", "exposed", "overlapped", "copies", "idle", "host"), 0)
    for tick in range(first, last):
        doing = {sort for begin, end, sort, _ in drawn if begin <= tick < end}
        if "C" in doing:
            count["compute"] += 1
            count["overlapped"] += "M" in doing
        elif "M" in doing:
            count["exposed"] += 1
        elif "K" in doing:
            count["copies"] += 1
        else:
            count["idle"] += 1
            count["host"] += tick < next(one[3] for one in ordered if one[0] > tick)
    order = ("compute", "exposed", "overlapped", "copies", "idle", "host")
    return Tolls(*(), **dict(zip(
        ("wall", "compute", "exposed_communication", "overlapped_communication", "exposed_copies", "idle", "host"),
        (value * MICRO for value in (last - first, *(count[name] for name in order))), strict=True,
    )))  # fmt: skip


def drawn_work(source: random.Random) -> list[tuple[int, int, str, int]]:
    """Begin, end, sort and launch of some work; no two begin at once."""
    begins = source.sample(range(1000, 1400), source.randint(1, 25))
    return [
        (at, at + source.randint(1, 40), source.choice("CMK"), at - source.randint(1, 30))
        for at in begins
    ]


def as_events(drawn: list[tuple[int, int, str, int]]) -> list[Event]:
    named = {"C": ("gemm", "kernel"), "M": (ALL_REDUCE, "kernel"), "K": ("Memcpy", "gpu_memcpy")}
    return flat(
        work(begin, end, named[sort][0], cat=named[sort][1], launched=launched)
        for begin, end, sort, launched in drawn
    )


def test_drawn_traces_agree_with_a_clock_that_ticks() -> None:
    source = random.Random(19)
    for _ in range(150):
        drawn = drawn_work(source)
        events = as_events(drawn)
        source.shuffle(events)  # a file is in no order
        found = report_of(trace(events)).tolls
        assert astuple(found) == pytest.approx(astuple(ticked(drawn)), abs=1e-12)


def test_later_and_slower_traces_have_the_same_shares() -> None:
    drawn = drawn_work(random.Random(3))
    moved = [(5 * a + 10**9, 5 * b + 10**9, sort, 5 * c + 10**9) for a, b, sort, c in drawn]
    found, other = (report_of(trace(as_events(some))).tolls for some in (drawn, moved))
    assert [5 * value for value in astuple(found)] == pytest.approx(list(astuple(other)), rel=1e-9)


def test_the_last_step_is_left_out_and_late_kernels_stay() -> None:
    found = report_of_events(
        step(3, 0, 100),
        step(4, 100, 200),
        step(5, 200, 300),
        work(50, 60, launched=10),
        work(190, 260, launched=150),  # launched in a whole step, run in the last
        work(270, 290, launched=210),
        work(291, 295),  # its launch is unknown
    )
    assert found.steps == 2
    assert found.tolls.wall == pytest.approx(210 * MICRO)
    assert found.tolls.compute == pytest.approx(80 * MICRO)


def test_a_gpus_annotation_of_a_step_is_not_a_step() -> None:
    marks = [{**step(n, 100 * n, 100 * n + 90), "cat": "gpu_user_annotation"} for n in range(3)]
    found = report_of_events(*marks, work(10, 20, launched=5))
    assert found.steps == 0
    assert any("no step is marked" in doubt for doubt in found.doubts)


def test_without_launches_no_time_is_the_hosts_and_the_report_says_so() -> None:
    found = report_of_events(work(0, 10), work(50, 60))
    assert found.tolls.idle == pytest.approx(40 * MICRO)
    assert found.tolls.host == 0
    assert any("has no launches" in doubt for doubt in found.doubts)


@each("sample", SAMPLES, ids=lambda sample: sample.name)
def test_the_breakdown_is_that_of_holistic_trace_analysis(sample: TraceSample) -> None:
    with sample.path.open("rb") as file:
        communicates = lambda name: NCCL_ALONE.search(name) is not None  # noqa: E731
        tolls = read_rank(file, sample.name, communicates).tolls
    other = tolls.exposed_communication + tolls.exposed_copies
    assert tolls.compute + other + tolls.idle == pytest.approx(tolls.wall, rel=1e-9)
    assert 0 <= tolls.host <= tolls.idle
    shares = [100 * part / tolls.wall for part in (tolls.compute, tolls.idle, other)]
    expected = sample.expected
    assert shares == pytest.approx([expected.compute, expected.idle, expected.other], abs=0.003)
    if expected.hidden is not None:
        hidden = 100 * tolls.overlapped_communication / tolls.communication
        assert hidden == pytest.approx(expected.hidden, abs=0.006)
