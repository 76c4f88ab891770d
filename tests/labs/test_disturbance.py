"""A disturbed run says so, and nothing is concluded from it."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest

from app.core.errors import InputError
from app.core.translation import speaking
from app.course.content.catalog import Catalog
from app.course.kinds.choice import LabExercise
from app.labs.machines.machine import MachineFacts
from app.labs.results.analysis import analyze_report, read_report, report_of, shipped_runs
from app.labs.results.report import DOUBTS, WHAT_TO_DO, Measure, Report, disturbances_in, doubts_about
from app.labs.run import JobRecord, LabRun, RunOutcome
from app.labs.runner.events import ClocksEvent, GpuReading, WaitEvent
from app.labs.spec import lab_called, read_job
from app.server.db.run_state import RunState
from app.site.labs.match import find_result, is_of
from app.site.labs.upload import read_sent, read_sent_file
from app.site.labs.words import localized_note
from tests.each import each

QUIET = MachineFacts(processor="x", cores=16, load=0.5)
KIB = 1024.0
Point = tuple[str, dict[str, float], Sequence[float]]


def report(lab: str, *points: Point, backend: str = "gloo", machine: MachineFacts = QUIET) -> Report:
    """A finished run of *lab* with its usual parameters, and these samples."""
    job = read_job(lab_called(lab).run_over(backend), {})
    measures = tuple(
        Measure(
            name=name,
            where=where,
            count=len(samples),
            least=0.0,
            median=0.0,
            p90=0.0,
            samples=tuple(samples),
            predicted=None,
            ratio=None,
            right=None,
            derived={},
        )
        for name, where, samples in points
    )
    plain = Report(
        id="20260101-000000-x-000000",
        lab=lab,
        state=RunState.DONE,
        cause="",
        seconds=1.0,
        at="2026-01-01T00:00:00+00:00",
        command=job.command,
        ranks=job.ranks,
        world=job.ranks,
        backend=backend,
        links=job.lab.links,
        machine=machine,
        versions={},
        checks={"sum": True},
        measures=measures,
        line=None,
        notes=(),
        given=job.given,
    )
    return analyze_report(plain, job.ranks, job.values)


def timed(*times: tuple[float, float], spread: float = 1.0) -> tuple[Point, ...]:
    """Ten samples for each size and time, in steps up to *spread* from the fastest to the median."""
    return tuple(("time", {"size": size}, [time, *[time * spread] * 9]) for size, time in times)


SIZES = [4 * KIB * 4**n for n in range(8)]
LINE = [(size, 1e-4 + size / 1e9) for size in SIZES]


def test_a_quiet_run_has_no_doubts_and_a_fit() -> None:
    found = report("all-reduce", *timed(*LINE))
    assert found.doubts == ()
    assert found.line is not None


@each("spread", [1.6, 3.0])
def test_a_median_far_above_the_fastest_sample_is_doubted(spread: float) -> None:
    found = report("all-reduce", *timed(*LINE, spread=spread))
    (doubt,) = found.doubts
    assert "8 of 8 points" in doubt
    assert f"up to {spread:.2g} times" in doubt
    assert report("all-reduce", *timed(*LINE, spread=1.4)).doubts == ()


def test_a_disturbed_run_has_no_fit_whatever_its_error_would_be() -> None:
    found = report("all-reduce", *timed(*LINE, spread=1.6))  # a perfect line through the medians
    assert (found.line, found.lines) == (None, ())
    assert not any("best fit" in note for note in found.notes)
    assert find_result(found, "time/fitted latency", {}, {}) is None


def test_one_of_a_few_samples_that_took_far_longer_is_doubted() -> None:
    slow = report("checkpoint", ("write", {}, [0.6, 0.61, 1.5]))
    assert slow.doubts == ("write: the slowest of 3 samples took 2.5 times the median.",)
    many = report("checkpoint", ("write", {}, [*[0.6] * 30, 1.5]))
    assert many.doubts == ()


@each(("count", "is_told"), [(2, False), (3, True), (9, True), (10, False)])
def test_an_outlier_decides_among_three_to_nine_samples(count: int, is_told: bool) -> None:
    found = report("checkpoint", ("write", {}, [*[0.6] * (count - 1), 1.5]))
    assert any("slowest" in doubt for doubt in found.doubts) is is_told


def test_two_samples_have_no_spread_and_three_have_one() -> None:
    assert report("checkpoint", ("write", {}, [0.3, 1.0])).doubts == ()
    (doubt, *_) = report("checkpoint", ("write", {}, [0.3, 1.0, 1.0])).doubts
    assert "at 1 of 1 points" in doubt


def test_a_run_that_goes_on_and_what_is_only_counted_are_not_judged() -> None:
    disturbed = report("all-reduce", *timed(*LINE, spread=3.0))
    lab = lab_called("all-reduce")
    assert doubts_about(disturbed, lab)
    assert doubts_about(replace(disturbed, state=RunState.RUNNING), lab) == ()


def streams(product: float, reduce: float, both: float) -> Report:
    names = {"product": product, "reduce": reduce, "both": both}
    return report("two-streams", *((name, {}, [time] * 9) for name, time in names.items()))


def test_two_at_once_that_are_faster_than_one_are_doubted() -> None:
    assert streams(67.6e-3, 12e-3, 47.5e-3).doubts == ("both took less time than product, which is a part of it.",)
    assert streams(40e-3, 67e-3, 50e-3).doubts == ("both took less time than reduce, which is a part of it.",)
    assert streams(164e-3, 40e-3, 297e-3).doubts == ("both took 1.5 times as long as its parts one after the other.",)
    assert streams(164e-3, 40e-3, 164e-3).doubts == ()
    assert streams(100e-3, 40e-3, 96e-3).doubts == ()  # 5 % is within what a clock is off
    assert streams(100e-3, 40e-3, 174e-3).doubts == ()  # and a quarter within what two cost each other
    assert len(streams(100e-3, 40e-3, 94e-3).doubts) == len(streams(100e-3, 40e-3, 176e-3).doubts) == 1
    assert streams(164e-3, 40e-3, 204e-3).doubts == ()


def roofline(factor: float) -> Report:
    """A product with 512 columns that takes *factor* times what its own rates allow."""
    wide = 0.8
    points: list[Point] = [
        ("read", {}, [1.5e-3] * 5),
        ("product", {}, [wide] * 3),
        ("time", {"columns": 512.0}, [factor * wide / 2] * 3),
    ]
    return report("free-batch", *points)


def test_a_product_below_its_roofline_is_doubted() -> None:
    assert roofline(0.89).doubts == ("time took 0.89 times the least time that is possible.",)
    assert roofline(1.0).doubts == roofline(1.6).doubts == ()


def emulated(factor: float) -> Report:
    plain = report("straggler", ("step", {}, [0.11] * 5))
    predicted = plain.measures[0].predicted
    assert predicted
    return report("straggler", ("step", {}, [factor * predicted] * 5))


def test_an_emulated_time_that_cannot_be_is_doubted() -> None:
    assert emulated(1.25).doubts == ("step took 1.25 times as long as the emulated link and the layers take.",)
    assert emulated(0.9).doubts == ("step took 0.9 times the least time that is possible.",)
    assert emulated(1.05).doubts == ()


def test_an_emulated_link_is_compared_by_its_fastest_sample_and_a_real_one_by_its_median() -> None:
    predicted = emulated(1.0).measures[0].predicted
    assert predicted
    (late,) = report("straggler", ("step", {}, [predicted, *[1.3 * predicted] * 4])).measures
    assert late.held == predicted
    assert late.ratio == pytest.approx(1.0)
    (real,) = report("all-reduce", ("time", {"size": 4 * KIB}, [1.0, *[1.3] * 4])).measures
    assert (real.least, real.held) == (1.0, 1.3)


def test_a_rate_above_the_datasheet_is_doubted() -> None:
    gpus = replace(QUIET, gpus=("NVIDIA H100 80GB HBM3",))
    side, rate = 4096.0, 1.5e15
    samples = [2 * side**3 / rate] * 10
    found = report("matrix-product", ("time", {"side": side}, samples), backend="nccl", machine=gpus)
    assert found.doubts == ("time: a share of the peak of 1.5 is more than the datasheet allows.",)


def test_a_load_above_the_cores_is_doubted_where_nothing_was_counted() -> None:
    busy = replace(QUIET, load=17.0)
    found = report("all-reduce", *timed(*LINE), machine=busy)
    assert found.doubts == ("The load before the run was 17, on 16 cores.",)
    assert report("all-reduce", *timed(*LINE), machine=replace(QUIET, load=16.0)).doubts == ()
    assert report("all-reduce", *timed(*LINE), machine=busy, backend="nccl").doubts == ()
    described = replace(QUIET, load="high", cores="many")
    assert report("all-reduce", *timed(*LINE), machine=described).doubts == ()
    counted = report("ring-bytes", ("bytes", {"size": KIB}, [4.0, 9.0]), machine=busy)
    assert counted.doubts == ()


def waits(*waiting: float | None, seconds: float = 2.0) -> WaitEvent:
    """Each rank's samples took *seconds*, of which a thread of it was *waiting* for a core."""
    return WaitEvent(at=1.0, seconds=(seconds,) * len(waiting), waiting=waiting)


def job(lab: str = "all-reduce", backend: str = "gloo", ranks: int = 2) -> JobRecord:
    return JobRecord(lab=lab, ranks=ranks, values={}, backend=backend, command="", at="", machine=QUIET)


def seen(*events: WaitEvent | ClocksEvent, of: JobRecord | None = None, machine: MachineFacts = QUIET) -> str:
    of = of or job()
    lab = lab_called(of.lab).run_over(of.backend)
    return disturbances_in(events, of, lab, machine).get("disturbed", "")


def test_a_rank_that_waited_for_a_core_is_doubted() -> None:
    assert seen(waits(0.02, 0.1)) == ""
    assert seen(waits(0.02, 1.0)) == "Rank 1 was ready to run and had no core for 50 % of its samples."
    assert seen(waits(0.3, 0.0)) == ""  # 15 %, and no more
    assert "rank 0" in seen(waits(0.31, 0.0)).lower()
    assert seen(waits(0.9), of=job("checkpoint", ranks=1)).startswith("Rank 0 was ready")  # no wait for a disk
    assert "for 100 %" in seen(waits(3.0, 0.0))


def test_where_nobody_counts_the_waits_nothing_is_said() -> None:
    assert seen(waits(None, None)) == seen(waits(1.0, seconds=0.0)) == ""
    assert "Rank 1" in seen(waits(None, 1.0))


def test_ranks_beside_gpus_and_on_emulated_links_may_wait() -> None:
    assert seen(waits(1.0, 1.0), of=job(backend="nccl")) == ""  # times by events do not need a core
    assert seen(waits(1.0, 1.0), of=job("straggler")) == ""  # it shows itself how late it was


def looks(first: Sequence[GpuReading | None], last: Sequence[GpuReading | None]) -> tuple[ClocksEvent, ClocksEvent]:
    def look(at: float, when: Literal["before", "after"], readings: Sequence[GpuReading | None]) -> ClocksEvent:
        one = readings[0] or GpuReading()
        return ClocksEvent(at=at, when=when, reading=one, readings=tuple(readings))

    return look(100.0, "before", first), look(150.0, "after", last)


def test_what_else_uses_the_gpu_of_any_rank_is_doubted() -> None:
    quiet, gpus = GpuReading(memory_used=6e8, utilization=0.0), job(backend="nccl")
    assert seen(*looks([quiet] * 3, [quiet] * 3), of=gpus) == ""
    full = GpuReading(memory_used=51 * 2**30)
    assert seen(*looks([quiet, None, full], [quiet] * 3), of=gpus) == (
        "The GPU of rank 2 had 51 GiB in use before the run."
    )
    busy = GpuReading(memory_used=1.0, utilization=0.9)
    assert seen(*looks([quiet, busy], [quiet] * 2), of=gpus) == (
        "The GPU of rank 1 was at work for 90 % of the time before the run."
    )
    allowed = GpuReading(memory_used=2.0**31, utilization=0.1)
    assert seen(*looks([allowed], [quiet]), of=gpus) == ""
    assert "had 2.0" in seen(*looks([replace(allowed, memory_used=2.01 * 2**30)], [quiet]), of=gpus)
    assert "for 11 %" in seen(*looks([replace(allowed, utilization=0.11)], [quiet]), of=gpus)


def test_a_hot_gpu_of_any_rank_is_doubted_and_one_at_its_power_limit_is_not() -> None:
    none = GpuReading(slowed={"the temperature": 5.0, "the power limit": 5.0})
    hot = GpuReading(slowed={"the temperature": 15.0, "the power limit": 5.0})
    full = GpuReading(slowed={"the temperature": 5.0, "the power limit": 50.0})
    gpus = job(backend="nccl")
    assert seen(*looks([none] * 2, [none, hot]), of=gpus) == (
        "The clock of the GPU of rank 1 was held down by the temperature for 20 %."
    )
    assert seen(*looks([none] * 2, [full, none]), of=gpus) == ""
    for seconds, says in ((2.5, ""), (2.6, "The clock of the GPU of rank 0 was held down by the temperature for 5 %.")):
        warm = replace(none, slowed={"the temperature": 5.0 + seconds})  # of the 50 s between the looks
        assert seen(*looks([none], [warm]), of=gpus) == says


def test_other_processes_on_all_gpus_of_a_run_are_doubted() -> None:
    machine = MachineFacts(gpus=("H100", "H100"), others="2 processes, 51 GB")
    gpus = job(backend="nccl")
    assert "2 processes, 51 GB" in seen(of=gpus, machine=machine)
    assert seen(of=replace(gpus, launcher="slurm"), machine=machine) == ""  # those may be ours
    assert seen(of=replace(gpus, ranks=1), machine=machine) == ""  # they may be on the other one


def finished(folder: Path, *events: str) -> LabRun:
    run = LabRun(folder / "20260101-000000-all-reduce-000000")
    plan = read_job(lab_called("all-reduce"), {"sizes": "4KiB"})
    run.write_job(
        JobRecord(
            lab="all-reduce",
            ranks=2,
            values=plan.values,
            backend="gloo",
            command=plan.command,
            given=plan.given,
            at="2026-01-01T00:00:00+00:00",
            machine=QUIET,
        )
    )
    (run.folder / "events.jsonl").write_text("".join(f"{line}\n" for line in events))
    run.write_outcome(RunOutcome(RunState.DONE))
    return run


MEASURED = '{"kind":"measure","at":1,"name":"time","samples":[1e-4,1e-4],"where":{"size":4096}}'
STRAINED = '{"kind":"strain","at":2,"seconds":[1,1],"waiting":[0.01,0.4]}'
EARLIER = '{"kind":"strain","at":2,"seconds":[1,1],"switches":[9,400],"processor":[1,1],"system":[0,0],"pressure":[null,null]}'


def test_what_an_earlier_version_counted_is_read_and_not_judged(tmp_path: Path) -> None:
    assert report_of(finished(tmp_path, MEASURED, EARLIER)).doubts == ()


def test_what_was_counted_is_in_the_report_that_is_stored_and_sent(tmp_path: Path) -> None:
    found = report_of(finished(tmp_path, MEASURED, STRAINED))
    says = "Rank 1 was ready to run and had no core for 40 % of its samples."
    assert found.doubts == (says,)
    assert not any(says in note for note in found.notes)  # it is told at the top, once
    assert read_report(found.as_json()).doubts == (says,)


def test_a_disturbed_run_is_not_taken_but_can_still_be_read(tmp_path: Path) -> None:
    checked = '{"kind":"check","at":1,"name":"sum","right":true}'
    text = report_of(finished(tmp_path, checked, MEASURED, STRAINED)).as_json()
    with pytest.raises(InputError, match=r"disturbed\. Rank 1 was ready to run and had no core for 40 %"):
        read_sent_file(text)
    assert read_sent(text).doubts  # one that was stored before
    quiet = report_of(finished(tmp_path / "quiet", checked, MEASURED)).as_json()
    assert read_sent_file(quiet)[0].doubts == ()


def test_a_run_that_an_earlier_version_stored_is_doubted_when_it_is_read() -> None:
    today = report("all-reduce", *timed(*LINE, spread=2.0))
    stored = replace(today, doubts=(), measures=today.without_samples().measures)
    assert "doubts" not in (plain := stored.as_json().replace('"doubts": []', '"x": []'))
    assert read_report(plain).doubts == today.doubts


DISTURBED = {"1386dd", "3b19ee", "910b8a", "9e122f", "15aa75", "16227b", "e378eb", "1b69d4", "f73075"}


def test_recorded_runs_of_a_busy_machine_are_marked() -> None:
    """The others have a load below the cores, medians near the fastest sample, and ratios near 1."""
    marked = {one.id.rpartition("-")[2] for one in shipped_runs() if one.doubts}
    assert marked == DISTURBED
    assert all(one.line is None and not one.lines for one in shipped_runs() if one.doubts)


def test_every_doubt_is_known_in_other_languages() -> None:
    found = [doubt for one in shipped_runs() for doubt in one.doubts]
    with speaking("de"):
        assert all(localized_note(doubt) != doubt for doubt in [*found, WHAT_TO_DO])
    assert len(DOUBTS) == len(set(DOUBTS))


def test_no_exercise_says_what_a_disturbed_run_measured(catalog: Catalog) -> None:
    """An exercise that speaks of a recorded run has one of the same parameters that was quiet."""
    for exercise in catalog.exercises:
        if not isinstance(exercise, LabExercise):
            continue
        for seed in range(4):
            if "record" not in exercise.cause.prompt:
                continue
            lab = lab_called(exercise.lab).on(exercise.backend)
            job = read_job(lab, exercise.parameters(seed))
            assert any(is_of(one, job) and not one.doubts for one in shipped_runs()), exercise.id


def test_a_fit_says_how_sure_it_is_and_what_it_leaves_out() -> None:
    bent = [(size, time * (1.6 if size == SIZES[3] else 1)) for size, time in LINE]
    found = report("all-reduce", *timed(*bent))
    assert found.line is not None
    assert found.line.left_out == SIZES[3]
    assert found.line.latency == pytest.approx(1e-4)
    assert found.line.latency_range == pytest.approx((1e-4, 1e-4))
    says = "The time for 256 KiB is far off all others, so it is left out of the fit."
    assert says in found.notes
    assert read_report(found.as_json()).notes.count(says) == 1
    assert read_report(found.as_json()).line == found.line
