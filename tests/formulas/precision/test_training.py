import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.formulas.precision import (
    activation_saving,
    full_precision_bytes,
    loss_scale,
    mixed_precision_bytes,
    round_to,
    smallest_loss_scale,
    smallest_normal,
)
from tests.each import each
from tests.oracles.precision import train

F, T = False, True


@each(
    ("overflows", "initial", "interval", "last"),
    [
        ([F, F, F], 1024, 3, 2048),
        ([T, F, F, F], 1024, 3, 1024),
        ([F, F, T, F], 1024, 3, 512),
        ([F] * 5, 1024, 3, 2048),
        ([], 65536, 2000, 65536),
        ([F] * 4000, 65536, 2000, 262144),
        ([T] * 3, 8, 5, 1),
    ],
)
def test_loss_scale_ends_where_the_curriculum_says(
    overflows: list[bool], initial: float, interval: int, last: float
) -> None:
    assert loss_scale(overflows, initial, interval)[-1] == last


@given(st.lists(st.floats(1e-6, 1e6), max_size=60), st.integers(1, 6), st.integers(0, 20))
def test_loss_scale_is_the_trace_of_a_run_whose_gradients_overflow(
    gradients: list[float], patience: int, power: int
) -> None:
    run = train(gradients, 2.0**power, patience)
    assert loss_scale(run.overflows, 2.0**power, patience) == (*run.scales, run.scale)


def test_loss_scale_settles_just_below_what_overflows() -> None:
    source = random.Random(3)
    run = train((source.uniform(0.5, 1.0) for _ in range(20_000)), 2.0**24, 200)
    assert {2.0**15, 2.0**16} <= set(run.scales[1000:]) <= {2.0**15, 2.0**16, 2.0**17}


def test_loss_scale_refuses_to_leave_all_bounds() -> None:
    with pytest.raises(ValueError, match=r"^overflows must leave the scale"):
        loss_scale([F] * 200, 1.0, 1)
    with pytest.raises(ValueError, match=r"^growth must be at least 1"):
        loss_scale([F], 1.0, 1, growth=0.9)
    with pytest.raises(ValueError, match=r"^backoff must be at most 1"):
        loss_scale([F], 1.0, 1, backoff=1.1)


def test_smallest_loss_scale_of_a_gradient_of_1e_8() -> None:
    assert smallest_loss_scale(1e-8, "fp16") == 8192
    assert smallest_loss_scale(1.0, "fp16") == 1
    assert smallest_loss_scale(2.0**-15, "fp16") == 2


@given(st.floats(1e-12, 1e-3))
def test_smallest_loss_scale_lifts_a_gradient_and_half_of_it_would_not(gradient: float) -> None:
    scale = smallest_loss_scale(gradient, "fp16")
    assert gradient * scale >= smallest_normal("fp16")
    assert scale == 1 or gradient * scale / 2 < smallest_normal("fp16")
    assert round_to(gradient * scale, "fp16") == pytest.approx(gradient * scale, rel=2**-11)


def test_mixed_precision_bytes_and_full_precision_bytes_of_13_billion_parameters() -> None:
    state = 13 * 10**9
    assert mixed_precision_bytes(state, 0) == 182e9
    assert full_precision_bytes(state, 0) == 156e9
    assert mixed_precision_bytes(state) == full_precision_bytes(state) == 208e9
    assert mixed_precision_bytes(state, 4) == 18 * 13e9


def test_mixed_precision_bytes_and_full_precision_bytes_are_those_of_their_tensors() -> None:
    elements = 1000
    mixed = {"weight": 2, "master": 4, "mean": 4, "variance": 4, "gradient": 2}
    full = {"weight": 4, "mean": 4, "variance": 4, "gradient": 4}
    assert mixed_precision_bytes(elements) == sum(len(bytes(elements * b)) for b in mixed.values())
    assert full_precision_bytes(elements) == sum(len(bytes(elements * b)) for b in full.values())


def test_activation_saving_of_80_layers_is_an_eighth_of_what_was_claimed() -> None:
    elements = 80 * 2 * 4 * 4096 * 8192
    assert activation_saving(elements) == pytest.approx(21.47e9, rel=1e-3)
    assert 8 * activation_saving(elements) == pytest.approx(172e9, rel=2e-3)


def test_activation_saving_is_the_bytes_before_less_the_bytes_after() -> None:
    before, after = bytes(4 * 999), bytes(2 * 999)
    assert activation_saving(999, 4, 2) == len(before) - len(after)
    with pytest.raises(ValueError, match=r"^smaller_bytes must be at most element_bytes"):
        activation_saving(999, 1, 2)
