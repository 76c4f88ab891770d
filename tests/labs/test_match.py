from dataclasses import replace

import numpy as np
import pytest

from app.labs.results.analysis import shipped_runs
from app.labs.spec import lab_called, read_job
from app.site.labs.match import find_result, is_of
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
