import random
from itertools import pairwise

import pytest

from app.core.formulas.faults import asynchronous_interval, verified_interval, verified_waste

HOUR, DAY = 3600.0, 86400.0


def wasted(interval: float, test: float, mtbf: float, periods: int) -> float:
    """The share of a played run that is lost: a period with a fault in it counts for nothing."""
    rng, clock, kept = random.Random(13), 0.0, 0.0
    fault = rng.expovariate(1 / mtbf)
    for _ in range(periods):
        end = clock + interval
        kept += interval if fault > end else 0
        clock = end + test
        while fault <= clock:
            fault += rng.expovariate(1 / mtbf)
    return 1 - kept / clock


def test_verified_waste_is_that_of_a_run_that_goes_back_to_its_last_clean_test() -> None:
    for interval in (2 * HOUR, 6 * HOUR, 12 * HOUR):
        played = wasted(interval, 600, 9 * DAY, 60_000)
        assert verified_waste(interval, 600, 9 * DAY) == pytest.approx(played, rel=0.08)


def test_verified_interval_is_where_a_played_run_wastes_least() -> None:
    best = verified_interval(600, 9 * DAY)
    assert best / HOUR == pytest.approx(6.0, abs=1e-9)
    lost = [wasted(best * factor, 600, 9 * DAY, 60_000) for factor in (0.4, 1, 2.5)]
    assert lost[1] < min(lost[0], lost[2])
    by = [verified_waste(best * (1 + n / 100), 600, 9 * DAY) for n in range(-50, 51)]
    assert min(by) == by[50]


def test_asynchronous_interval_is_where_a_list_of_costs_is_least() -> None:
    copy, mtbf = 0.0139, 11_135.0
    for write in (2.84, 40.0):
        tried = [write * 1.001**n for n in range(6_000)]
        costs = [copy / every + every / 2 / mtbf for every in tried]
        best = tried[costs.index(min(costs))]
        assert asynchronous_interval(copy, write, mtbf) == pytest.approx(best, rel=1e-3)


def test_asynchronous_interval_never_starts_a_checkpoint_before_the_last_one_is_written() -> None:
    found = [asynchronous_interval(1, write, 5_000) for write in (10, 99, 101, 500)]
    assert found == [100, 100, 101, 500]
    assert all(first <= second for first, second in pairwise(found))
