import math

import pytest

from app.core.formulas.faults import (
    checkpoint_bytes,
    cluster_mtbf,
    cost_per_failure,
    expected_failures,
    expected_waste,
    goodput,
    write_time,
    young_interval,
)
from app.core.simulators.faults import run_until
from tests.each import each
from tests.tables import rows

DAY, HOUR, MINUTE = 86400.0, 3600.0, 60.0


def test_checkpoint_bytes_and_write_time_of_70_billion_parameters() -> None:
    size = checkpoint_bytes(70 * 10**9)
    assert size == 980e9
    assert checkpoint_bytes(70 * 10**9, 16) == 1120e9
    assert write_time(size, 10e9) == 98
    assert write_time(size, 10e9, 64) == pytest.approx(1.53, abs=5e-3)


def test_checkpoint_bytes_and_write_time_are_those_of_tensors_written_in_turns() -> None:
    state = {"weights": 2, "copy": 4, "mean": 4, "variance": 4}
    file = b"".join(bytes(1001 * each) for each in state.values())
    assert checkpoint_bytes(1001) == len(file)
    shares = [file[place::7] for place in range(7)]
    clock = max(len(share) / 100.0 for share in shares)
    assert write_time(len(file), 100.0, 7) == pytest.approx(clock, rel=1e-3)


def test_cluster_mtbf_and_expected_failures_are_those_of_llama_3() -> None:
    counted = sum(row.count("count") for row in rows("llama3_table5_interruptions"))
    assert counted == 419
    mtbf = 54 * DAY / counted
    assert mtbf / HOUR == pytest.approx(3.09, abs=5e-3)
    of_a_gpu = mtbf * 16384
    assert of_a_gpu / HOUR == pytest.approx(50_677, rel=1e-4)
    assert cluster_mtbf(of_a_gpu, 16384) == pytest.approx(mtbf, rel=1e-12)
    assert cluster_mtbf(of_a_gpu, 512) / HOUR == pytest.approx(99, abs=0.1)
    assert of_a_gpu / (24 * HOUR) == pytest.approx(2112, abs=1)
    assert expected_failures(54 * DAY, mtbf) == pytest.approx(419, rel=1e-12)


def test_one_row_of_the_papers_table_contradicts_its_own_counts() -> None:
    table = {row.text("component"): row for row in rows("llama3_table5_interruptions")}
    for name, row in table.items():
        share = 100 * row.number("count") / 419
        if name == "Faulty GPU":  # printed 30.1 %, which would be 126 of 419
            assert share == pytest.approx(35.3, abs=0.05)
            assert row.number("pct") == 30.1
        else:
            assert share == pytest.approx(row.number("pct"), abs=0.06)


@each(
    ("interval", "checkpoint", "mtbf", "restart"),
    [(4115, 98, DAY, 0), (4115, 98, DAY, 600), (1000, 300, 7200, 120), (3000, 50, 2000, 400)],
)
def test_goodput_and_expected_failures_are_those_of_a_long_run(
    interval: float, checkpoint: float, mtbf: float, restart: float
) -> None:
    run = run_until(11, 60_000, interval, checkpoint, mtbf, restart)
    error = 5 / math.sqrt(run.failures)  # five standard deviations, of the time that failures took
    lost = run.clock - run.kept * (1 + checkpoint / interval)
    expected = interval / goodput(interval, checkpoint, mtbf, restart) - interval - checkpoint
    assert lost / 60_000 == pytest.approx(expected, rel=2 * error)
    assert run.failures == pytest.approx(expected_failures(run.clock, mtbf), rel=error)


def test_goodput_is_nothing_when_no_interval_ever_gets_through() -> None:
    assert goodput(1e6, 1.0, 1.0) == 0
    assert goodput(10.0, 1e-9, 1e12) == pytest.approx(1, rel=1e-9)


def test_expected_waste_is_what_is_left_of_the_goodput_to_first_order() -> None:
    for scale in (1e-2, 1e-3):
        interval, checkpoint, restart = scale, scale**2, scale**2
        waste = expected_waste(interval, checkpoint, 1.0, restart)
        assert 1 - goodput(interval, checkpoint, 1.0, restart) == pytest.approx(waste, rel=3 * scale)


@each(
    ("hours", "checkpoint", "minutes", "percent"),
    [
        (24, 98, 68.5857, 4.76290),
        (24, 1.53, 8.56971, 0.595119),
        (8, 98, 39.5980, 8.24958),
        (168, 300, 317.490, 3.14970),
    ],
)
def test_expected_waste_at_the_interval_of_young(
    hours: float, checkpoint: float, minutes: float, percent: float
) -> None:
    interval = young_interval(checkpoint, hours * HOUR)
    assert interval / MINUTE == pytest.approx(minutes, rel=1e-5)
    assert 100 * expected_waste(interval, checkpoint, hours * HOUR) == pytest.approx(percent, rel=1e-5)


def test_expected_waste_counts_nothing_twice() -> None:
    run = run_until(5, 200_000, 4115, 98, DAY)
    assert 100 * (1 - run.kept / run.clock) == pytest.approx(4.68, abs=0.1)
    assert 100 * expected_waste(4115, 98, DAY) == pytest.approx(4.763, abs=1e-3)
    restarts = expected_waste(4115, 98, DAY, 98) - expected_waste(4115, 98, DAY)
    assert 100 * restarts == pytest.approx(0.11, abs=5e-3)


def test_cost_per_failure_of_512_gpus() -> None:
    once = cost_per_failure(512, 2, 68 * MINUTE, 98)
    assert once == pytest.approx(608.14, abs=5e-3)
    assert 30 * once == pytest.approx(18_244, abs=0.5)
    assert cost_per_failure(512, 2, 68 * MINUTE, 0) == pytest.approx(580.27, abs=5e-3)


def test_cost_per_failure_is_what_a_long_run_loses_to_each() -> None:
    interval, restart, mtbf = 4080.0, 98.0, 40 * DAY
    run = run_until(2, 300_000, interval, 0.0, mtbf, restart)
    lost = (run.clock - run.kept) / run.failures
    dollars = 512 * 2 * lost / HOUR
    assert dollars == pytest.approx(cost_per_failure(512, 2, interval, restart), rel=5 / math.sqrt(run.failures))
