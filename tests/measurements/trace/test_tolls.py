"""The tolls of a trace, against made traces, a clock that ticks, and HolisticTraceAnalysis."""

import random
from dataclasses import astuple, replace

import pytest

from app.commands.measured import trace_lines
from app.core.measurements.published import SAMPLES, TraceSample
from app.core.measurements.trace.activity import Tolls
from app.core.measurements.trace.communication import NCCL_ALONE
from app.core.measurements.trace.reader import read_rank
from app.core.measurements.trace.report import levers
from tests.each import each
from tests.measurements.trace.made import ALL_REDUCE, Event, flat, report_of, report_of_events, step, trace, work

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
        longest_gap=30 * MICRO,
        gap_begin=100 * MICRO,
    )
    assert astuple(found) == pytest.approx(astuple(expected))
    assert found.waiting == pytest.approx(18 * MICRO)


def called(name: str, begin: float, end: float, *starts: float) -> list[Event]:
    """A call, and the kernels of 5 µs that it launches."""
    args = {"correlation": 9}
    call = {"ph": "X", "cat": "cuda_runtime", "name": name, "ts": begin, "dur": end - begin, "args": args}
    kernels = (
        {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": start, "dur": 5, "args": args}
        for start in starts
    )
    return [call, *kernels]


@each(
    ("name", "begin", "end", "start", "host"),
    [
        ("cudaLaunchKernel", 20, 500, 508, 490),  # the call loads a module until 500
        ("hipExtModuleLaunchKernel", 20, 500, 508, 490),
        ("urEnqueueKernelLaunch", 20, 500, 508, 490),
        ("cudaMemcpy", 20, 900, 508, 498),  # the call ends after the copy began
        ("cudaGraphLaunch", 300, 500, 508, 290),  # a graph is launched from the beginning
        ("hipGraphLaunch", 300, 500, 508, 290),
        ("cudaLaunchKernel", 2, 8, 508, 0),
    ],
)
def test_a_launch_counts_from_the_end_of_its_call(
    name: str, begin: float, end: float, start: float, host: float
) -> None:
    found = report_of_events(work(0, 10, launched=-5), called(name, begin, end, start)).tolls
    assert found.host == pytest.approx(host * MICRO)
    assert found.waiting == pytest.approx((start - 10 - host) * MICRO)


def test_gaps_inside_of_a_graph_are_not_the_hosts() -> None:
    found = report_of_events(called("cudaGraphLaunch", 0, 400, 50, 155, 260)).tolls
    assert found.idle == pytest.approx(200 * MICRO)
    assert found.host == 0


def test_the_idle_time_before_a_kernel_without_a_launch_has_no_cause() -> None:
    found = report_of_events(work(0, 10, launched=-5), work(100, 110), work(130, 140, launched=125))
    assert found.tolls.unexplained == pytest.approx(90 * MICRO)
    assert found.tolls.host == pytest.approx(15 * MICRO)
    assert found.tolls.waiting == pytest.approx(5 * MICRO)
    assert found.record()["unexplained"] == found.tolls.unexplained
    assert any("of 3 events of the GPU, 1 are tied to no launch" in one for one in found.doubts)


def test_with_most_launches_missing_kernels_belong_to_the_step_in_which_they_begin() -> None:
    marks = [step(number, 1000 * number, 1000 * number + 900) for number in range(3)]
    kernels = [work(1000 * number + at, 1000 * number + at + 50, f"k{at}") for number in range(3) for at in (10, 700)]
    launched = work(20, 24, "copy", launched=5)
    found = report_of_events(*marks, *kernels, launched)
    assert found.steps == 2
    assert found.tolls.wall == pytest.approx(1740 * MICRO)
    assert any("belong to the step in which they begin" in one for one in found.doubts)
    assert any("6 are tied to no launch" in one and "k10 (100 µs)" in one for one in found.doubts)


def test_a_gap_over_half_of_the_time_raises_a_doubt_with_the_largest_kernels() -> None:
    found = report_of_events(work(0, 100, "big"), work(600, 700), work(705, 706))
    assert any("500 µs from 100 µs after the first kernel, is 70.8 %" in one and "big" in one for one in found.doubts)
    even = report_of_events(*(work(100 * at, 100 * at + 60) for at in range(5)))
    assert not any("one gap" in one for one in even.doubts)


def test_work_in_the_last_step_alone_counts_as_a_whole() -> None:
    found = report_of_events(step(0, 0, 100), step(1, 100, 200), work(120, 130, launched=110))
    assert found.tolls.compute == pytest.approx(10 * MICRO)
    assert any("no whole step has work" in one for one in found.doubts)


def test_the_pipeline_is_not_blamed_on_one_rank() -> None:
    events = flat([work(0, 10, launched=-5), work(100, 110, launched=5)])
    alone, many = (report_of(trace(events, rank=0, world_size=world)) for world in (1, 8))
    assert "pipeline" not in levers(alone)[0].says
    assert "pipeline" in levers(many)[0].says
    assert "pipeline" not in levers(report_of(trace(events)))[0].says
    assert "bubble" not in "\n".join(trace_lines(alone))
    assert "bubble" in "\n".join(trace_lines(many))


def ticked(drawn: list[tuple[int, int, str, int]]) -> Tolls:
    """The tolls, microsecond by microsecond."""
    first, last = min(one[0] for one in drawn), max(one[1] for one in drawn)
    ordered = sorted(drawn, key=lambda one: one[0])
    count = dict.fromkeys(("compute", "exposed", "overlapped", "copies", "idle", "host"), 0)
    gaps = [0]
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
            gaps[-1] += 1
            continue
        gaps.append(0)
    order = ("compute", "exposed", "overlapped", "copies", "idle", "host")
    return Tolls(
        *(),
        **dict(
            zip(
                (
                    "wall",
                    "compute",
                    "exposed_communication",
                    "overlapped_communication",
                    "exposed_copies",
                    "idle",
                    "host",
                    "longest_gap",
                ),
                (value * MICRO for value in (last - first, *(count[name] for name in order), max(gaps))),
                strict=True,
            )
        ),
    )


def drawn_work(source: random.Random) -> list[tuple[int, int, str, int]]:
    """Begin, end, sort and launch of some work; no two begin at once."""
    begins = source.sample(range(1000, 1400), source.randint(1, 25))
    return [(at, at + source.randint(1, 40), source.choice("CMK"), at - source.randint(1, 30)) for at in begins]


def as_events(drawn: list[tuple[int, int, str, int]]) -> list[Event]:
    named = {"C": ("gemm", "kernel"), "M": (ALL_REDUCE, "kernel"), "K": ("Memcpy", "gpu_memcpy")}
    return flat(
        work(begin, end, named[sort][0], cat=named[sort][1], launched=launched) for begin, end, sort, launched in drawn
    )


def test_drawn_traces_agree_with_a_clock_that_ticks() -> None:
    source = random.Random(19)
    for _ in range(150):
        drawn = drawn_work(source)
        events = as_events(drawn)
        source.shuffle(events)  # a file is in no order
        found = report_of(trace(events)).tolls
        ticking = replace(ticked(drawn), gap_begin=found.gap_begin)
        assert astuple(found) == pytest.approx(astuple(ticking), abs=1e-12)


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
