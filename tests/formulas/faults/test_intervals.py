import math
from decimal import Decimal, getcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.formulas.faults import daly_interval, exact_interval, young_interval
from tests.each import each
from tests.oracles.faults import least_wasteful
from tests.tables import Row, rows

DAY, MINUTE = 86400.0, 60.0


@each("written", [1e-4, 1e-3, 0.01, 0.05, 0.1, 0.5, 1, 3])
def test_exact_interval_is_where_the_expected_time_is_least(written: float) -> None:
    mtbf = 24 * 3600.0
    found = least_wasteful(written * mtbf, mtbf)
    assert exact_interval(written * mtbf, mtbf) == pytest.approx(found, rel=2e-6)


@each("row", rows("young_daly_variants"), ids=lambda row: row.text("delta_over_M"))
def test_young_interval_daly_interval_and_exact_interval_differ_as_the_table_says(row: Row) -> None:
    written = row.number("delta_over_M")
    best = exact_interval(written, 1.0)
    assert best == pytest.approx(row.number("exact_tau_over_M"), abs=5.1e-7)
    young, daly = young_interval(written, 1.0), daly_interval(written, 1.0)
    assert 100 * (young / best - 1) == pytest.approx(row.number("young_pct_error"), abs=0.0051)
    assert 100 * (daly / best - 1) == pytest.approx(row.number("daly_series_pct_error"), abs=0.0051)


@given(st.floats(1e-25, 1e25))
def test_exact_interval_meets_its_condition_however_small_or_large(written: float) -> None:
    share = exact_interval(written, 1.0)
    assert 0 < share <= 1
    if 1e-4 < written < 10:
        assert (1 - share) * math.exp(share) == pytest.approx(math.exp(-written), rel=1e-9)
    if written < 1e-8:
        assert share == pytest.approx(math.sqrt(2 * written), rel=1e-4)


@given(st.floats(-12, 1).map(lambda power: 10**power))
def test_exact_interval_meets_its_condition_to_the_last_digits(written: float) -> None:
    getcontext().prec = 60
    share = Decimal(exact_interval(written, 1.0))
    assert float(-(1 - share).ln() - share) == pytest.approx(written, rel=1e-12)


@given(st.floats(1, 1e6), st.floats(1, 1e6), st.floats(1e-3, 1e3))
def test_exact_interval_scales_with_the_clock(checkpoint: float, mtbf: float, by: float) -> None:
    scaled = exact_interval(checkpoint * by, mtbf * by)
    assert scaled == pytest.approx(by * exact_interval(checkpoint, mtbf), rel=1e-9)


def test_young_interval_and_daly_interval_of_98_seconds_and_a_day() -> None:
    assert young_interval(98, DAY) / MINUTE == pytest.approx(68.586, abs=5e-4)
    assert daly_interval(98, DAY) / MINUTE == pytest.approx(67.5, abs=0.05)
    assert young_interval(98, DAY) // 10 == 411


def test_daly_interval_is_the_time_between_failures_when_checkpoints_are_hopeless() -> None:
    assert daly_interval(2.0, 1.0) == daly_interval(50.0, 1.0) == 1.0
    assert exact_interval(500.0, 1.0) == 1.0
