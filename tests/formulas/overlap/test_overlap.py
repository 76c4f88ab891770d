import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.formulas.collectives import ring_all_gather_time, ring_all_reduce_time
from app.core.formulas.overlap import (
    amdahl_speedup,
    communication_compute_ratio,
    exposed_communication_time,
    exposed_gather_time,
    overlapped_fraction,
    scaling_efficiency,
    tokens_to_hide,
    utilization_with_exposed,
)
from app.core.formulas.transformer import layer_parameters
from tests.each import each
from tests.oracles.overlap import backward_pass, sharded_forward

times = st.integers(1, 50)


@given(st.integers(1, 60), times, st.integers(0, 50))
def test_exposed_communication_time_is_what_a_backward_pass_takes_beyond_its_work(
    layers: int, compute: int, communication: int
) -> None:
    end = backward_pass([compute] * layers, [communication] * layers)
    assert exposed_communication_time(layers, compute, communication) == end - layers * compute


@given(st.integers(1, 60), times, times)
def test_overlapped_fraction_is_the_rest_of_what_shows(layers: int, compute: int, talk: int) -> None:
    shows = backward_pass([compute] * layers, [talk] * layers) - layers * compute
    assert overlapped_fraction(layers, compute, talk) == pytest.approx(1 - shows / (layers * talk), abs=1e-12)


def test_overlapped_fraction_and_exposed_communication_time_of_forty_layers() -> None:
    assert overlapped_fraction(40, 5e-3, 1.5e-3) == pytest.approx(0.975, rel=1e-12)
    assert exposed_communication_time(40, 5e-3, 1.5e-3) == 1.5e-3
    assert exposed_communication_time(40, 5e-3, 6e-3) == pytest.approx(45e-3)
    assert overlapped_fraction(40, 5e-3, 0) == 1


@given(st.integers(2, 40), times, times)
def test_exposed_gather_time_is_added_by_every_layer_but_the_first(layers: int, compute: int, gather: int) -> None:
    end = sharded_forward([compute] * layers, [gather] * layers)
    shown = end - layers * compute - gather
    assert (layers - 1) * exposed_gather_time(gather, compute) == shown


def test_exposed_gather_time_and_tokens_to_hide_of_a_layer_of_llama_70b() -> None:
    parameters = layer_parameters(8192, 64, 8, 28672)
    gather = ring_all_gather_time(2 * parameters, 64, 50e9)
    forward = 2 * parameters * 8192 / 494.5e12
    assert gather * 1e3 == pytest.approx(33.7, abs=0.05)
    assert forward * 1e3 == pytest.approx(28.3, abs=0.05)
    assert exposed_gather_time(gather, forward) * 1e3 == pytest.approx(5.3, abs=0.05)
    assert tokens_to_hide(gather, parameters, 494.5e12) == pytest.approx(9736, abs=1)


@given(st.floats(1e-6, 1), st.integers(1, 10**12), st.floats(1e9, 1e15))
def test_tokens_to_hide_make_the_gather_vanish(gather: float, parameters: int, rate: float) -> None:
    tokens = tokens_to_hide(gather, parameters, rate)
    just = 2 * parameters * tokens / rate
    assert exposed_gather_time(gather, just * (1 + 1e-9)) == 0
    assert exposed_gather_time(gather, just * 0.9) > 0


@each(
    ("billions", "ranks", "bandwidth", "tera", "peak", "ratio"),
    [(10, 64, 600, 120, 495, 0.270703), (10, 8, 100, 120, 495, 1.44375), (7, 8, 450, 86.016, 400, 0.253183)],
)
def test_communication_compute_ratio_of_known_runs(
    billions: float, ranks: int, bandwidth: float, tera: float, peak: float, ratio: float
) -> None:
    talking = ring_all_reduce_time(2e9 * billions, ranks, 1e9 * bandwidth)
    assert communication_compute_ratio(talking, tera / peak) == pytest.approx(ratio, abs=1e-6)


def test_communication_compute_ratio_above_one_cannot_hide() -> None:
    for compute, talk in ((3, 2), (2, 3)):
        hidden = backward_pass([compute] * 1000, [talk] * 1000) - 1000 * compute <= talk
        assert hidden == (communication_compute_ratio(talk, compute) <= 1)


def test_utilization_with_exposed_of_350_ms() -> None:
    compute = 6 * 10e9 * 2000 / (990e12 * 0.5)
    assert compute * 1e3 == pytest.approx(242.4, abs=0.05)
    assert utilization_with_exposed(0.5, compute, 0.350) == pytest.approx(0.2046, abs=5e-5)


@given(st.floats(0.01, 1), st.floats(0.01, 10), st.floats(0, 10))
def test_utilization_with_exposed_is_the_work_over_what_the_step_could_do(
    u: float, compute: float, shown: float
) -> None:
    peak = 1e12
    done, could = u * peak * compute, peak * (compute + shown)
    assert utilization_with_exposed(u, compute, shown) == pytest.approx(done / could, rel=1e-12)


def test_scaling_efficiency_of_torchtitan_from_8_to_128_gpus() -> None:
    assert scaling_efficiency(16, 8 * 5762, 128 * 5605) == pytest.approx(0.9728, abs=5e-5)
    assert scaling_efficiency(7, 3.0, 21.0) == 1


def test_scaling_efficiency_is_what_exposed_time_leaves() -> None:
    step, exposed = 2.0, 0.5
    alone, together = 1 / step, 9 / (step + exposed)
    assert scaling_efficiency(9, alone, together) == pytest.approx(utilization_with_exposed(1, step, exposed))


def test_amdahl_speedup_at_its_limits_and_where_it_is_known() -> None:
    assert amdahl_speedup(0, 64) == 64
    assert amdahl_speedup(1, 64) == 1
    assert amdahl_speedup(0.6, 10**9) == pytest.approx(1 / 0.6, rel=1e-8)
    with pytest.raises(ValueError, match=r"^serial_fraction must be at most 1"):
        amdahl_speedup(1.5, 2)


@given(st.integers(0, 40), st.integers(1, 40), st.integers(1, 30))
def test_amdahl_speedup_is_that_of_jobs_on_a_clock(serial: int, parallel: int, ranks: int) -> None:
    alone = serial + parallel * ranks
    together = float(serial)
    together += max(sum(1 for job in range(parallel * ranks) if job % ranks == rank) for rank in range(ranks))
    assert amdahl_speedup(serial / alone, ranks) == pytest.approx(alone / together, rel=1e-9)
