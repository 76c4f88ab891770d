"""What the page of a run says while it runs, and once it is done."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from app.commands.lab_launch import prepare_run
from app.core.charts.bars import Bars
from app.core.charts.plot import Plot
from app.labs.machines.machine import MachineFacts
from app.labs.results.analysis import measure_statistics, read_report, report_of
from app.labs.results.report import Measure, Report, RunProgress
from app.labs.run import RunOutcome
from app.labs.runner.events import MeasureEvent, RankEvent, ReadyEvent, TimingEvent, as_line
from app.labs.runner.timer import Sampling, Timer
from app.labs.spec import LabJob, lab_called, read_job
from app.server.db.run_state import RunState
from app.site.web.labs.predictions import gap, guess_verdict
from app.site.web.labs.tables import LabGuess, lab_figures, underway_view
from tests.each import each
from tests.labs.scripted import ScriptedGpu

BEGUN = 1000.0
ALGORITHMS = {"algorithm": "ring", "sizes": "1MiB,4MiB,16MiB", "ranks": "2"}
MIB = 2.0**20


def report(lab: str, job: LabJob, taken: Sequence[Measure], underway: RunProgress | None) -> Report:
    return Report(
        id="x",
        lab=lab,
        state="running",  # type: ignore[arg-type]
        cause="",
        seconds=None,
        at="2026-01-01",
        command="",
        ranks=job.ranks,
        world=job.ranks,
        backend="gloo",
        links=job.lab.links,
        machine=MachineFacts(),
        versions={},
        checks={},
        measures=measure_statistics(job.lab, job.ranks, job.values, taken),
        line=None,
        notes=(),
        given=job.given,
        underway=underway,
    )


def at(size: float, *samples: float, name: str = "time") -> Measure:
    return Measure(name=name, where={"size": size}, samples=samples)


def job(lab: str = "algorithms", **given: str) -> LabJob:
    return read_job(lab_called(lab), ALGORITHMS if lab == "algorithms" else given)


def test_before_the_ranks_have_met_nothing_is_promised() -> None:
    found = underway_view(job(), None, BEGUN)
    assert (found.says, found.left, found.share) == ("Its processes are starting.", "", None)


@each(
    ("taken", "says", "share"),
    [
        ([], "Measuring 1 MiB, number 1 of 3 sizes.", None),
        ([MIB], "Measuring 4 MiB, number 2 of 3 sizes.", 1 / 3),
        ([MIB, 4 * MIB], "Measuring 16 MiB, number 3 of 3 sizes.", 2 / 3),
        ([MIB, 4 * MIB, 16 * MIB], "Measuring 16 MiB, number 3 of 3 sizes.", 2 / 3),
    ],
)
def test_places_are_counted_until_the_last_one(taken: Sequence[float], says: str, share: float | None) -> None:
    running = report("algorithms", job(), [at(size, 0.1) for size in taken], RunProgress(begun=BEGUN))
    found = underway_view(job(), running, BEGUN + 2)
    assert (found.says, found.share) == (says, share)
    assert found.left == "It will be stopped within 118 s."
    assert underway_view(job(), running, BEGUN + 500).left == "It will be stopped within 0 s."


def test_a_place_with_two_measures_is_done_when_it_has_both() -> None:
    asked = job("attention", lengths="256,1024", heads="1")
    taken = [
        Measure(name="fused", where={"length": 256.0}, samples=(1e-3,)),
        Measure(name="separate", where={"length": 256.0}, samples=(2e-3,)),
        Measure(name="fused", where={"length": 1024.0}, samples=(5e-3,)),
    ]
    found = underway_view(asked, report("attention", asked, taken, RunProgress(begun=BEGUN)), BEGUN + 3)
    assert found.says == "Measuring 1024, number 2 of 2 lengths."


def test_a_lab_that_varies_nothing_says_when_it_is_stopped() -> None:
    asked = job("pipeline")
    found = underway_view(asked, report("pipeline", asked, [], RunProgress(begun=BEGUN)), BEGUN + 16)
    assert (found.says, found.share) == ("", None)
    assert found.left == f"It will be stopped within {asked.lab.seconds - 16:.0f} s."


def one_of(lab: str, samples: Sequence[float], predicted: float | None = None) -> Measure:
    asked = job(lab, size="1MiB") if lab == "ring-bytes" else job()
    (found,) = measure_statistics(
        asked.lab, asked.ranks, asked.values, [at(MIB, *samples, name="bytes" if lab == "ring-bytes" else "time")]
    )
    return found if predicted is None else replace(found, predicted=predicted, ratio=found.held / predicted)


@each(
    ("predicted", "says"),
    [(0.1, "1.8× slower than the formula"), (0.36, "2× faster than the formula"), (0.175, "within 5 % of the formula")],
)
def test_the_gap_to_the_formula_is_named(predicted: float, says: str) -> None:
    assert gap(lab_called("algorithms"), one_of("algorithms", [0.18], predicted)) == says


def test_what_is_counted_is_exact_or_a_multiple() -> None:
    lab = lab_called("ring-bytes")
    exact = one_of("ring-bytes", [1.5 * MIB] * 4)
    assert gap(lab, exact) == "exactly the formula"
    twice = replace(exact, right=False, ratio=2.0)
    assert gap(lab, twice) == "2× what the formula says"
    assert gap(lab, replace(exact, ratio=None)) == ""


@each(
    ("guess", "says"),
    [
        (10.0, "Spot on: your prediction is exactly what was measured."),
        (10.4, "Well predicted: within 5 % of what was measured."),
        (12.0, "Your prediction was 20 % too high."),
        (7.0, "Your prediction was 30 % too low."),
        (25.0, "Your prediction was 2.5× too high."),
        (1.0, "Your prediction was 10× too low."),
        (0.0, ""),
        (-3.0, ""),
    ],
)
def test_a_guess_is_judged_and_a_good_one_congratulated(guess: float, says: str) -> None:
    assert guess_verdict(guess, 10.0) == says


def test_one_chart_has_the_guess_the_formula_and_the_spread() -> None:
    asked = job()
    taken = [at(MIB, 0.1, 0.12, 0.3), at(4 * MIB, 0.4, 0.5, 0.9)]
    (figure,) = lab_figures(asked.lab, report("algorithms", asked, taken, None), LabGuess("time", 2.0))
    assert isinstance(figure, Plot)
    assert [one.name for one in figure.series] == ["median", "min", "p90", "formula"]
    assert [mark.says for mark in figure.marks][1:] == ["your prediction"]
    assert figure.marks[0].says.endswith("than the formula")
    assert (figure.marks[1].x, figure.marks[1].y) == (4 * MIB, 2.0)
    counted = job("ring-bytes", size="1MiB")
    taken = [at(MIB, *[1.5 * MIB] * 4, name="bytes")]
    (bars,) = lab_figures(counted.lab, report("ring-bytes", counted, taken, None), LabGuess("bytes", MIB))
    assert isinstance(bars, Bars)
    assert [bar.name for bar in bars.bars] == ["formula", "measured", "yours"]
    assert bars.bars[1].note == "1.5 MiB, exactly the formula"


def test_what_rank_0_reports_is_how_far_a_run_is(tmp_path: Path) -> None:
    run = prepare_run(job(), tmp_path, "gloo")
    assert report_of(run).underway is None
    events: tuple[RankEvent, ...] = (
        ReadyEvent(at=BEGUN, world=2, versions={}),
        TimingEvent(at=BEGUN + 1, samples=9, each=0.1),
        MeasureEvent(at=BEGUN + 2, name="time", samples=(0.1,), where={"size": MIB}),
    )
    (run.folder / "events.jsonl").write_text("".join(map(as_line, events)))
    running = report_of(run)
    assert running.underway == read_report(running.as_json()).underway == RunProgress(begun=BEGUN)
    assert [one.name for one in running.measures] == ["time"]
    stored = running.as_json().replace('"underway": {', '"underway": {"measured": [1002.0], "timing": 1001.0, ')
    assert read_report(stored).underway == RunProgress(begun=BEGUN)
    run.write_outcome(RunOutcome(RunState.DONE))
    assert report_of(run).underway is None
    assert "underway" not in report_of(run).as_json()


def test_a_timer_tells_how_many_samples_begin() -> None:
    machine, told = ScriptedGpu(launch=0.0), list[tuple[int, float]]()
    timer = Timer(machine, machine, None, lambda samples, each: told.append((samples, each)))
    samples = timer.by_host(lambda: machine.sleep(0.5), Sampling(seconds=3.0))
    ((count, each),) = told
    assert count == 6
    assert each == pytest.approx(0.5)
    assert len(samples) == 6
