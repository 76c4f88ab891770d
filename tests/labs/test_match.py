from dataclasses import replace

import pytest

from app.labs.results.archive import recorded
from app.labs.results.match import is_of
from app.labs.spec import lab_called, read_job


@pytest.mark.parametrize("name", ["recomputation", "pipeline", "ring-attention"])
def test_a_run_on_gpus_does_not_answer_for_a_lab_on_processors(name: str) -> None:
    report = next(one for one in recorded() if one.lab == name)
    job = read_job(lab_called(name), report.given)
    assert is_of(report, job)
    assert not is_of(replace(report, backend="nccl", links="real"), job)


def test_a_run_on_gpus_answers_for_a_lab_that_is_real_on_both() -> None:
    report = next(one for one in recorded() if one.lab == "all-reduce")
    job = read_job(lab_called("all-reduce"), report.given)
    assert is_of(replace(report, backend="nccl"), job)
