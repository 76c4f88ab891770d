from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from app.labs.launch.base import write_run
from app.labs.results.analysis import shipped_runs
from app.labs.run import RunOutcome
from app.labs.spec import lab_called, read_job
from app.server.db.run_state import RunState
from app.site.labs.match import find_result, is_of, is_same_job, own_runs
from app.site.labs.nccl_tests import nccl_tests_runs
from tests.each import each
from tests.labs.quiet_runs import quiet_run

GATHER = quiet_run("all-reduce", "=all_gather")


@each("name", ["recomputation", "pipeline", "ring-attention"])
def test_a_run_on_gpus_does_not_answer_for_a_lab_on_processors(name: str) -> None:
    report = next(one for one in shipped_runs() if one.lab == name)
    job = read_job(lab_called(name), report.given)
    assert is_of(report, job)
    assert not is_of(replace(report, backend="nccl", links="real"), job)


def test_a_run_on_gpus_answers_for_a_lab_that_is_real_on_both() -> None:
    report = next(one for one in shipped_runs() if one.lab == "all-reduce")
    job = read_job(lab_called("all-reduce"), report.given)
    assert is_of(replace(report, backend="nccl"), job)


def test_the_line_through_all_sizes_can_be_predicted() -> None:
    """NumPy's least squares of relative errors, from the samples of the run."""
    sizes = np.array([float(one.where["size"]) for one in GATHER.measures])
    times = np.array([float(np.median(one.samples)) for one in GATHER.measures])
    rows = np.array([1 / times, sizes / times]).T
    (latency, slope), *_ = np.linalg.lstsq(rows, np.ones(len(times)))
    found = [find_result(GATHER, f"time/fitted {what}", {}, {}) for what in ("latency", "bandwidth")]
    assert [one.value for one in found if one] == pytest.approx([latency, 1 / slope])
    assert [one.count for one in found if one] == [8, 8]


def test_without_a_single_line_there_is_none_to_predict() -> None:
    assert find_result(replace(GATHER, line=None), "time/fitted latency", {}, {}) is None
    copied = next(one for one in shipped_runs() if one.lab == "memory-copy")
    assert find_result(replace(copied, line=GATHER.line), "time/fitted latency", {}, {}) is None
    assert find_result(GATHER, "time/fitted latencies", {}, {}) is None


def test_a_ratio_of_two_places_is_as_uncertain_as_both() -> None:
    large, small = GATHER.measures[-1], GATHER.measures[0]
    below, above = replace(small, least=1.0, held=2.0, p90=4.0), replace(large, least=10.0, held=12.0, p90=20.0)
    report = replace(GATHER, measures=(below, above))
    at, over = ({"size": f"{one.where['size']:.0f} B"} for one in (large, small))
    found = find_result(report, "time", at, over)
    assert found
    assert (found.value, found.least, found.p90) == (6.0, 2.5, 20.0)
    assert find_result(report, "time", at, {"size": "96 B"}) is None
    assert find_result(report, "time", {"size": "96 B"}, over) is None


def test_a_run_answers_for_as_many_ranks_and_for_any_number_of_nodes_unless_one_is_named() -> None:
    report = next(one for one in shipped_runs() if one.lab == "all-reduce")
    job = read_job(lab_called("all-reduce"), report.given)
    assert not is_of(replace(report, ranks=report.ranks + 1), job)
    assert not is_of(replace(report, lab="point-to-point"), job)
    free, named = replace(job, nodes=None), replace(job, nodes=2)
    spread = replace(report, nodes=2)
    assert [is_of(one, which) for which in (free, named) for one in (report, spread)] == [True, True, False, True]


def test_parameters_of_one_value_must_agree_and_those_of_several_need_not() -> None:
    report = next(one for one in shipped_runs() if one.lab == "all-reduce")
    job = read_job(lab_called("all-reduce"), {**report.given, "sizes": "4KiB"})
    assert is_of(report, job)
    assert not is_of(replace(report, given={**report.given, "operation": "broadcast"}), job)
    assert not is_of(replace(report, given={**report.given, "operation": "of another version"}), job)
    start = {name: text for name, text in report.given.items() if name != "operation"}
    assert is_of(replace(report, given=start), job), "what is not given is what the lab starts with"


def test_a_published_test_answers_for_its_collective_on_as_many_ranks_or_on_any() -> None:
    report = next(one for one in nccl_tests_runs().values() if one.given["operation"] == "all_reduce")
    form = lab_called("all-reduce").on("nccl")
    job = read_job(form, {"ranks": str(report.ranks), "operation": "all_reduce", "sizes": "1 MiB"})
    other = replace(job, ranks=report.ranks + 1)
    assert [is_same_job(report, one, any_ranks=any_ranks) for one in (job, other) for any_ranks in (True, False)] == [
        True, True, True, False,
    ]  # fmt: skip
    gather = read_job(form, {"ranks": str(report.ranks), "operation": "all_gather", "sizes": "1 MiB"})
    assert not is_same_job(report, gather, any_ranks=True)
    assert not is_same_job(replace(report, lab="point-to-point"), job, any_ranks=True)
    assert not is_same_job(replace(report, links="emulated"), job, any_ranks=True)


def test_a_result_is_of_its_measure_and_its_place_and_nothing_is_divided_by_nothing() -> None:
    last, first = GATHER.measures[-1], GATHER.measures[0]
    at, over = ({"size": f"{one.where['size']:.0f} B"} for one in (last, first))
    plain = find_result(GATHER, "time", at, {})
    assert plain
    assert (plain.value, plain.least, plain.p90, plain.count) == (last.held, last.least, last.p90, last.count)
    derived = find_result(GATHER, "time/bus bandwidth", at, {})
    assert derived
    assert derived.value == last.derived["bus bandwidth"].value
    assert (derived.least, derived.p90) == (derived.value, derived.value)
    assert find_result(GATHER, "time/heat", at, {}) is find_result(GATHER, "heat", at, {}) is None
    twice = replace(GATHER, measures=(replace(last, held=9.0), last))
    again = find_result(twice, "time", at, {})
    assert again
    assert again.value == last.held, "the last one that was measured there"
    stopped = replace(GATHER, measures=(replace(first, least=0.0), last))
    assert find_result(stopped, "time", at, over) is None


def test_the_runs_of_a_folder_are_the_finished_ones_of_known_labs_the_newest_first(tmp_path: Path) -> None:
    job = read_job(lab_called("ring-bytes"), {})

    def made(name: str, state: RunState | None = RunState.DONE) -> None:
        run = write_run(tmp_path, job, "gloo", name, launcher="by hand")
        (run.folder / "events.jsonl").touch()
        if state:
            run.write_outcome(RunOutcome(state))

    made("20260101-000000-ring-bytes-0a")
    made("20260103-000000-ring-bytes-0b")
    made("20260102-000000-ring-bytes-0c")
    made("20260104-000000-ring-bytes-0d", RunState.FAILED)
    made("20260105-000000-ring-bytes-0e", None)
    made("20260106-000000-of-yesterday-0f")
    made("notes")
    assert [one.id[-2:] for one in own_runs(tmp_path)] == ["0b", "0c", "0a"]
    assert own_runs(tmp_path / "missing") == []
    for number in range(195):
        folder = tmp_path / f"20270101-000000-gone-{number:02x}"
        folder.mkdir()
        if number == 194:
            assert [one.id[-2:] for one in own_runs(tmp_path)] == ["0b", "0c", "0a"]
        (folder / "outcome.json").touch()
    assert [one.id[-2:] for one in own_runs(tmp_path)] == ["0b", "0c"], "of the newest 200"
