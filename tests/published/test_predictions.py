"""How far the formulas are from the published rows."""

import math
from dataclasses import replace

import pytest

from app.core.formulas.layout import total_step_time
from app.core.formulas.transformer import model_parameters
from app.core.published import (
    Outcome,
    SourceTable,
    StepPrediction,
    accuracy,
    outcome,
    outcomes,
    published_run,
    published_runs,
)
from app.course.content.errata import erratum_called
from tests.each import each

RUN = published_run("llama-3 table row 2")


def within(low: float, high: float) -> Outcome:
    """A prediction from *low* to *high* measured steps."""
    ends = low * RUN.step_time, high * RUN.step_time
    return Outcome(RUN, StepPrediction(math.sqrt(ends[0] * ends[1]), *ends, 0.0))


def test_every_row_is_predicted_or_says_why_not() -> None:
    assert [one.run for one in outcomes()] == list(published_runs())
    for one in outcomes():
        assert (one.prediction is None) == bool(one.why), one.run.id
        assert one.run.step_time > 0
    assert [one.run.model for one in outcomes() if one.why] == ["Nemotron_3_Super"] * 8


def test_a_row_whose_time_or_memory_is_more_than_a_tenth_away_has_a_reason() -> None:
    for one in outcomes():
        apart = not one.holds and abs(one.error) > 0.10
        if one.prediction and (apart or abs(one.memory_error or 0) > 0.10):
            assert one.reason, one.run.id
        else:
            assert not one.reason


def test_a_prediction_is_the_step_of_the_formula() -> None:
    assert RUN.shape
    assert RUN.layout
    found = outcome(RUN)
    assert found.prediction
    seconds = total_step_time(RUN.shape, RUN.machine.cluster, RUN.layout)
    assert found.prediction.low <= seconds <= found.prediction.high
    # 400 TFLOP/s per GPU (arXiv:2407.21783, table 4) for 16.78M tokens of 2.54 TFLOP each.
    assert RUN.step_time == pytest.approx(16_777_216 * 2.536e12 / 16384 / 400e12, rel=2e-3)


def test_a_layout_that_the_formulas_refuse_says_which_rule() -> None:
    assert RUN.layout
    one = outcome(replace(RUN, layout=replace(RUN.layout, data=64)))
    assert one.prediction is None
    assert one.why.startswith("the formulas refuse its layout: ")


def test_the_accuracy_is_a_mean_of_deviations() -> None:
    found = accuracy([within(1.3, 1.3), within(0.9, 0.9), within(0.8, 1.25), within(2, 8)])
    assert (found.rows, found.predicted, found.held) == (4, 4, 1)
    assert found.error == pytest.approx((0.3 + 0.1 + 0 + 3) / 4)
    assert found.bias == pytest.approx((0.3 - 0.1 + 0 + 3) / 4)
    assert found.width == pytest.approx((1 + 1 + 1.25 / 0.8 + 4) / 4)


def test_a_paper_that_a_preset_takes_numbers_from_does_not_test_it() -> None:
    source = published_run("megatron-2021 table row 1").machine.cluster.gpu.source
    named = SourceTable(name="a paper", address=f"https://arxiv.org/abs/{source[:21]}")
    assert "A100 SXM 80GB" in replace(RUN, table=named).calibrates
    assert RUN.calibrates == ()


def test_without_predictions_there_is_no_accuracy() -> None:
    found = accuracy([Outcome(RUN, None, "it is odd")])
    assert (found.error, found.bias, found.width) == (None, None, None)


def test_the_accuracy_of_a_source_is_the_naive_one() -> None:
    mine = [one for one in outcomes() if one.run.source.id == "megatron-2022"]
    ratios = [one.prediction.time / one.run.step_time for one in mine if one.prediction]
    assert accuracy(mine).error == pytest.approx(sum(abs(r - 1) for r in ratios) / 8)


UNTUNED = [one for one in outcomes() if one.run.source.id in ("untuned", "llm-foundry")]


def test_runs_that_nobody_tuned_for_are_near_without_bias_and_inside_their_ranges() -> None:
    assert len(UNTUNED) == 57
    for mine in (UNTUNED, UNTUNED[:40], UNTUNED[40:]):
        found = accuracy(mine)
        assert found.error is not None
        assert found.bias is not None
        assert found.error <= 0.15
        assert abs(found.bias) <= 0.07
        assert found.held >= 0.85 * found.rows


@each("one", UNTUNED, ids=lambda one: str(one.run.id))
def test_a_run_that_nobody_tuned_for_fits_and_is_not_far_off(one: Outcome) -> None:
    assert one.prediction
    assert one.prediction.fits
    assert one.prediction.high / one.prediction.low <= 1.8 + 1e-9
    assert abs(one.error) <= 0.25
    if one.memory_error is not None:
        assert abs(one.memory_error) <= 0.10


def test_layouts_of_a_mixture_are_ranked_as_they_were_measured() -> None:
    family = [one for one in outcomes() if one.run.id.startswith("untuned ModelZoo row") and one.run.gpus == 256]
    assert [one.run.step_time for one in family] == [19.7, 24.2]
    assert family[0].prediction
    assert family[1].prediction
    assert family[0].prediction.time < family[1].prediction.time


def ratio(row: str, other: str) -> float:
    """The token rate of one row over that of another."""
    over, under = published_run(row), published_run(other)
    return over.printed.token_rate / under.printed.token_rate


# What an erratum divides by hand, from the rows.
RULES = {
    ("E-73", 0): ratio("torchtitan 2024 table 1 row 3", "torchtitan 2024 table 1 row 2"),
    ("E-73", 1): ratio("torchtitan 2024 table 3 row 3", "torchtitan 2024 table 3 row 2"),
    ("E-73", 2): ratio("torchtitan 2025 row 3", "torchtitan 2025 row 1"),
    ("E-73", 3): ratio("torchtitan 2025 row 5", "torchtitan 2025 row 1"),
    ("E-75", 0): ratio("megatron-bridge archive L102", "megatron-bridge archive L100"),
    ("E-75", 1): ratio("megatron-bridge archive L105", "megatron-bridge archive L103"),
    ("E-75", 2): ratio("megatron-bridge archive L203", "megatron-bridge archive L201"),
    ("E-75", 3): ratio("megatron-bridge archive L206", "megatron-bridge archive L204"),
}


@each(("line", "measured"), RULES.items(), ids=lambda item: str(item)[:12])
def test_a_rule_of_thumb_is_off_by_more_than_a_fifth_of_the_rows(line: tuple[str, int], measured: float) -> None:
    rule = {"E-73": 2.0, "E-75": 2.0}[line[0]]  # a GB200 promises twice, a GB300 three times
    assert float(erratum_called(line[0]).worked[line[1]].value) == pytest.approx(measured, abs=6e-3)
    assert abs(rule / measured - 1) > 0.2


def test_the_memory_of_a_row_is_far_above_sixteen_bytes_per_parameter() -> None:
    for line, row in ((1, "2024 table 1 row 2"), (2, "2024 table 3 row 2"), (3, "2024 table 5 row 2")):
        run = published_run(f"torchtitan {row}")
        assert run.shape
        rule = 16 * model_parameters(run.shape) / run.gpus
        printed = float(erratum_called("E-74").worked[line].value)
        assert printed == pytest.approx(run.printed.memory / rule, rel=2e-3)
        assert printed > 5
