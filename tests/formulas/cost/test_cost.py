import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.formulas import Argument, formula_value, lookup
from app.core.formulas.cost import electricity_cost, energy, gpu_hours, rental_cost, value_of_utilization
from tests.tables import rows

DAY, HOUR = 86400.0, 3600.0
RUN = (16384, 700, 77 * DAY)


def test_gpu_hours_and_rental_cost_are_those_of_deepseek_v3() -> None:
    for row in rows("deepseek_v3_cost"):
        hours = row.number("h800_gpu_hours")
        duration = hours * HOUR / 2048
        assert gpu_hours(2048, duration) == pytest.approx(hours, rel=1e-12)
        assert rental_cost(2048, duration, 2) == pytest.approx(row.number("usd_at_2_per_hour"), rel=1e-12)


def test_gpu_hours_of_llama_3_405b_are_78_days_of_16384_gpus() -> None:
    assert gpu_hours(16384, 78.4 * DAY) == pytest.approx(30.84e6, rel=1e-3)


def test_energy_is_power_added_up_second_by_second() -> None:
    seconds, gpus = 97, 5
    total = sum(700.0 for _ in range(seconds) for _ in range(gpus))
    assert energy(gpus, 700, seconds) == total
    assert energy(gpus, 700, seconds, 1.4) == pytest.approx(1.4 * total, rel=1e-12)


def test_energy_and_electricity_cost_of_77_days_of_llama_3_405b() -> None:
    assert energy(*RUN) / 3.6e12 == pytest.approx(21.19, abs=5e-3)
    assert electricity_cost(*RUN, dollars_per_kwh=0.05) == pytest.approx(1.0597e6, rel=1e-4)
    assert electricity_cost(*RUN, dollars_per_kwh=0.05, overhead=1.4) == pytest.approx(1.48e6, rel=3e-3)
    assert electricity_cost(16384, 10_200 / 8, 77 * DAY, 0.05) == pytest.approx(1.93e6, rel=2e-3)


def test_electricity_cost_is_the_bill_of_each_server() -> None:
    bill = sum(0.7 * 24 * 0.05 for _day in range(77) for _gpu in range(8))
    assert electricity_cost(8, 700, 77 * DAY, 0.05) == pytest.approx(bill, rel=1e-9)


def test_prices_may_be_typed_in_any_unit() -> None:
    given: dict[str, Argument] = {"gpus": 512, "duration": "24 h", "dollars_per_gpu_hour": "$2/h"}
    bare: dict[str, Argument] = {"gpus": 512, "duration": 86400, "dollars_per_gpu_hour": 2}
    formula = lookup("cost.rental_cost")
    assert formula_value(formula, given) == formula_value(formula, bare) == pytest.approx(24_576)


def test_value_of_utilization_of_one_point_and_of_one_per_cent() -> None:
    cost = rental_cost(16384, 77 * DAY, 2)
    assert cost == pytest.approx(60.6e6, rel=1e-3)
    assert value_of_utilization(cost, 0.40, 0.41) == pytest.approx(1.48e6, rel=3e-3)
    assert value_of_utilization(cost, 0.40, 0.404) == pytest.approx(0.6e6, rel=1e-2)


@given(st.floats(0.01, 1), st.floats(0.01, 1))
def test_value_of_utilization_is_the_rent_of_the_days_that_are_saved(one: float, other: float) -> None:
    now, then = sorted((one, other))
    flops = 1e21

    def rent(utilization: float) -> float:
        return rental_cost(64, flops / (64 * 989e12 * utilization), 2)

    assert value_of_utilization(rent(now), now, then) == pytest.approx(rent(now) - rent(then), abs=1e-9 * rent(now))


def test_value_of_utilization_refuses_what_is_no_better() -> None:
    with pytest.raises(ValueError, match=r"^better_utilization must be from utilization, 0.4"):
        value_of_utilization(1e6, 0.4, 0.3)
    with pytest.raises(ValueError, match=r"^utilization must be at most 1"):
        value_of_utilization(1e6, 1.4, 1.5)
