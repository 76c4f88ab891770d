import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.formulas.presets import LAWS, ScalingLaw
from app.core.formulas.scaling import effective_tokens, least_flops_for_loss, loss, optimum, overtraining_price
from tests.each import each

PRINTED, REFITTED = LAWS["Hoffmann, as printed"], LAWS["Besiroglu"]
# The exponents of the third approach before they were rounded, as arXiv:2404.10102 has them.
UNROUNDED = ScalingLaw.read("Hoffmann, as printed size_exponent=0.3392 data_exponent=0.2849")
EVEN = ScalingLaw(floor=2.0, size_scale=400, data_scale=400, size_exponent=0.3, data_exponent=0.3)

laws = pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
budgets = st.floats(18, 27).map(lambda power: 10**power)


def lowest(flops: float, law: ScalingLaw) -> tuple[float, float]:
    """The lowest loss along 6 N D = flops and its size, by ever narrower searches in log N."""
    low, high = 3.0, 20.0
    for _ in range(8):
        sizes = [low + (high - low) * k / 40 for k in range(41)]
        best = min(sizes, key=lambda at: added(10**at, flops / 6 / 10**at, law))
        low, high = best - (high - low) / 40, best + (high - low) / 40
    return added(10**best, flops / 6 / 10**best, law) + law.floor, 10**best


def added(parameters: float, tokens: float, law: ScalingLaw) -> float:
    size = law.size_scale * math.exp(-law.size_exponent * math.log(parameters))
    return size + law.data_scale * math.exp(-law.data_exponent * math.log(tokens))


def test_loss_of_round_numbers_by_hand() -> None:
    law = ScalingLaw(floor=1.5, size_scale=400, data_scale=3000, size_exponent=0.5, data_exponent=0.25)
    assert loss(1e10, 1e12, law) == pytest.approx(1.5 + 400 / 1e5 + 3000 / 1e3, rel=1e-12)
    assert loss(1e10, 1e30, law) == pytest.approx(1.504, abs=1e-3)
    assert loss(1e30, 1e12, law) == pytest.approx(4.5, rel=1e-9)


def test_loss_of_chinchilla_is_below_that_of_a_larger_model_on_less_data() -> None:
    # Hoffmann et al., section 4.2: Chinchilla 70B on 1.4 T tokens beats Gopher 280B on 300 B.
    for law in (PRINTED, UNROUNDED, REFITTED):
        assert loss(70e9, 1.4e12, law) < loss(280e9, 300e9, law)


@laws
@pytest.mark.parametrize("flops", [1e19, 1e21, 5.76e23, 3.8e25])
def test_optimum_is_where_a_search_finds_it(law: ScalingLaw, flops: float) -> None:
    least, size = lowest(flops, law)
    parameters, tokens = optimum(flops, law)
    assert parameters == pytest.approx(size, rel=1e-3)
    assert 6 * parameters * tokens == pytest.approx(flops, rel=1e-12)
    assert loss(parameters, tokens, law) == pytest.approx(least, rel=1e-12)


def test_optimum_grows_as_the_papers_say() -> None:
    def power(law: ScalingLaw) -> float:
        return math.log10(optimum(1e22, law).parameters / optimum(1e21, law).parameters)

    assert round(power(UNROUNDED), 2) == 0.46  # Hoffmann et al., table 2, approach 3
    assert round(power(REFITTED), 3) == 0.513  # Besiroglu et al.
    assert round(power(PRINTED), 2) == 0.45  # what rounding made of it
    assert optimum(6e20, EVEN) == pytest.approx((1e10, 1e10))


@each(("law", "flops", "ratio"), [(PRINTED, 1e21, 50.1), (PRINTED, 5.76e23, 92.6), (REFITTED, 5.76e23, 18.4)])
def test_optimum_in_tokens_per_parameter_as_worked_out_elsewhere(law: ScalingLaw, flops: float, ratio: float) -> None:
    parameters, tokens = optimum(flops, law)
    assert tokens / parameters == pytest.approx(ratio, abs=0.051)


@laws
@given(flops=budgets)
def test_least_flops_for_loss_undoes_the_optimum(law: ScalingLaw, flops: float) -> None:
    assert least_flops_for_loss(loss(*optimum(flops, law), law), law) == pytest.approx(flops)


@laws
@pytest.mark.parametrize("over", [0.05, 0.2, 1.0])
def test_least_flops_for_loss_is_found_by_halving(law: ScalingLaw, over: float) -> None:
    low, high = 1e5, 1e40
    while high / low > 1 + 1e-6:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if lowest(middle, law)[0] < law.floor + over else (middle, high)
    assert least_flops_for_loss(law.floor + over, law) == pytest.approx(low, rel=1e-4)
    with pytest.raises(ValueError, match=r"^loss must be above the floor of the law"):
        least_flops_for_loss(law.floor, law)


@laws
def test_overtraining_price_is_one_at_the_optimum_and_more_on_both_sides(law: ScalingLaw) -> None:
    parameters, tokens = optimum(1e23, law)
    assert overtraining_price(parameters, tokens, law) == pytest.approx(1)
    for times in (0.1, 0.5, 2, 10):
        assert overtraining_price(parameters * times, tokens / times, law) > 1.05


def test_overtraining_price_of_llama_3_8b_by_search() -> None:
    price = overtraining_price(8.03e9, 15e12, REFITTED)
    reached = added(8.03e9, 15e12, REFITTED) + REFITTED.floor
    assert lowest(6 * 8.03e9 * 15e12 / price, REFITTED)[0] == pytest.approx(reached, rel=1e-9)
    # More than 1, and far less than the 93 times as many tokens as 20 per parameter.
    assert 5 < price < 6


@given(st.floats(1, 1e15), st.floats(1, 100), st.floats(1, 50))
def test_effective_tokens_are_the_sum_of_what_each_repetition_teaches(
    unique: float, epochs: float, constant: float
) -> None:
    parts = 2000
    step = (epochs - 1) / parts
    worth = sum(math.exp(-(k + 0.5) * step / constant) * step for k in range(parts))
    assert effective_tokens(unique, epochs, constant) == pytest.approx(unique * (1 + worth), rel=1e-3)


def test_effective_tokens_at_both_ends() -> None:
    assert effective_tokens(7e9, 1) == 7e9
    assert effective_tokens(7e9, 1e6) == pytest.approx(7e9 * 16.4)
    # The paper's reading of the constant: there a repetition is worth 1 - 1/e on average.
    assert effective_tokens(1, 16.4) - 1 == pytest.approx(15.4 * (1 - 1 / math.e))
    assert effective_tokens(1, 2, 1e9) == pytest.approx(2)
