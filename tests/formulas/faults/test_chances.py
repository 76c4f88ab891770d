import math
import random
from decimal import Decimal, getcontext

import pytest

from app.core.formulas.faults import late_share, replica_loss, spare_nodes, survival, time_without_checkpoints
from tests.each import each

DAY = 86400.0


def test_survival_is_the_share_of_days_without_a_failure() -> None:
    rng = random.Random(5)
    mtbf, clock, hit = 0.8 * DAY, 0.0, set()
    while clock < 20_000 * DAY:
        clock += rng.expovariate(1 / mtbf)
        hit.add(int(clock // DAY))
    quiet = 1 - len(hit) / 20_000
    assert survival(DAY, mtbf) == pytest.approx(quiet, abs=0.016)  # five standard deviations


def test_survival_is_the_limit_of_many_short_times_that_are_survived_one_by_one() -> None:
    assert survival(DAY, DAY / 7.759) == pytest.approx((1 - 7.759e-7) ** 10_000_000, rel=1e-4)
    assert survival(2 * DAY, DAY) == pytest.approx(survival(DAY, DAY) ** 2, rel=1e-12)


def test_time_without_checkpoints_is_the_mean_of_runs_that_start_over() -> None:
    rng, clock = random.Random(7), 0.0
    for _ in range(20_000):
        while (failure := rng.expovariate(1 / 3)) < 6:
            clock += failure
        clock += 6
    assert time_without_checkpoints(6, 3) == pytest.approx(clock / 20_000, rel=0.035)


def test_time_without_checkpoints_solves_the_equation_of_its_first_failure() -> None:
    # What is expected at W: W where nothing fails, else the time of the failure and all of it again.
    work, mtbf, steps = 24.0, 3.093, 20_000
    width = work / steps
    wasted = sum((at := (n + 0.5) * width) * math.exp(-at / mtbf) / mtbf * width for n in range(steps))
    through = math.exp(-work / mtbf)
    expected = (work * through + wasted) / through
    assert time_without_checkpoints(work, mtbf) == pytest.approx(expected, rel=1e-6)
    assert time_without_checkpoints(work, mtbf) / 24 == pytest.approx(302, abs=0.5)


def test_time_without_checkpoints_refuses_work_that_never_ends() -> None:
    assert time_without_checkpoints(700, 1) == pytest.approx(math.exp(700), rel=1e-12)
    with pytest.raises(ValueError, match=r"^work must be at most 700 times mtbf, .* not 701"):
        time_without_checkpoints(701, 1)


def test_spare_nodes_are_enough_and_one_fewer_is_not() -> None:
    getcontext().prec = 60
    for mean in ("0.01", "0.5", "2", "15.5", "900", "2000"):
        for chance in (0.05, 0.5, 0.9, 0.99, 0.999999):
            spares, term, total = -1, (-Decimal(mean)).exp(), Decimal(0)
            while total < Decimal(chance):
                spares += 1
                total += term
                term *= Decimal(mean) / (spares + 1)
            assert spare_nodes(float(mean), chance) == spares


def test_spare_nodes_of_many_days_were_enough_on_that_share_of_them() -> None:
    rng, days, out = random.Random(3), 4_000, [0] * 4_000
    for _ in range(int(2.5 * days)):  # a node that fails is out for one day
        out[rng.randrange(days)] += 1
    spares = spare_nodes(2.5, 0.9)
    assert sum(count <= spares for count in out) / days > 0.9
    assert sum(count < spares for count in out) / days < 0.9


@each(("mean", "chance"), [(1.1e6, 0.5), (2, 0.9999999), (2, 1.0), (0, 0.5)])
def test_spare_nodes_says_what_it_cannot_answer(mean: float, chance: float) -> None:
    with pytest.raises(ValueError, match="must be"):
        spare_nodes(mean, chance)


def test_replica_loss_is_what_the_others_do_not_make_up_for() -> None:
    done = sum(1 for minute in range(400) for rank in range(16) if rank or minute >= 180)
    assert replica_loss(180, 16) == 400 - done / 16 == 11.25


def test_replica_loss_of_every_replica_in_turn_is_that_of_the_whole_run_at_once() -> None:
    assert sum(replica_loss(180, 16) for _ in range(16)) == replica_loss(180, 1) == 180
    # Two away at once, or one after the other: the work that is missing is the same.
    away = [range(30), range(10, 40), range(90, 120)]
    missing = sum(minute in one for one in away for minute in range(200))
    assert 3 * replica_loss(30, 5) == pytest.approx(missing / 5)


def test_late_share_is_that_of_drawn_steps() -> None:
    rng = random.Random(9)
    late = sum(any(rng.random() < 0.02 for _ in range(40)) for _ in range(8_000))
    assert late_share(0.02, 40) == pytest.approx(late / 8_000, abs=0.028)


def test_late_share_of_few_is_their_sum_and_of_all_is_one() -> None:
    assert late_share(1e-12, 3) == pytest.approx(3e-12, rel=1e-9)
    assert late_share(0.25, 1) == pytest.approx(0.25)
    assert late_share(1.0, 8) == 1
    assert late_share(0.25, 2) == pytest.approx(7 / 16)
