"""Columns give what plain numbers give, and the ways to compute less give what all gives."""

import subprocess
import sys
from dataclasses import replace

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.core.formulas.parallelism import PLAIN, Degrees
from app.core.formulas.presets import CLUSTERS, Cluster, Gpu, ModelShape, Shares, model
from app.core.formulas.presets.layouts import Precision
from app.core.formulas.step.layer import layer_times
from app.core.formulas.step.speeds import speeds_of
from app.core.formulas.step.step import stages_time, step_parts
from app.core.searching.columns import COLUMNS
from tests.formulas.columns import together

POWERS = st.sampled_from([1, 2, 4, 8, 16])
DEGREES = st.builds(
    Degrees,
    tensor=POWERS,
    pipeline=st.integers(1, 13),
    context=POWERS,
    expert=POWERS,
    data=st.integers(1, 200),
    virtual=st.integers(1, 4),
    microbatches=st.integers(1, 64),
    micro_batch=st.integers(1, 4),
    sequence=st.sampled_from([1024, 2048, 8192]),
    zero_stage=st.integers(0, 3),
    full=st.integers(0, 1),
    selective=st.integers(0, 1),
    sequence_parallel=st.integers(0, 1),
    expert_tensor=st.sampled_from([1, 2]),
    sharded=st.integers(1, 64),
    first=st.integers(0, 2),
    last=st.integers(0, 2),
    exchanged=st.integers(0, 1),
    operations=st.integers(0, 1),
)
CASES: tuple[tuple[ModelShape, Cluster, Precision], ...] = (
    (model("GPT-3"), CLUSTERS["DGX-A100"], "16-bit"),
    (model("405B"), CLUSTERS["DGX-H100"], "8-bit"),
    (ModelShape.read("DeepSeek-V3 multi_token=1"), CLUSTERS["DGX-GB300"], "4-bit"),
)


@pytest.mark.parametrize(("shape", "machine", "precision"), CASES, ids=lambda one: str(one)[:24])
@pytest.mark.parametrize("hidden", [-1.0, 0.25])
@settings(max_examples=30)
@given(some=st.lists(DEGREES, min_size=1, max_size=12))
def test_a_column_has_what_each_layout_has_alone(
    shape: ModelShape, machine: Cluster, precision: Precision, hidden: float, some: list[Degrees]
) -> None:
    speeds = speeds_of(shape, machine, Shares(hidden_data=hidden, skew=0.02), precision)
    found = step_parts(shape, speeds, together(some), COLUMNS)
    for at, degrees in enumerate(some):
        alone = step_parts(shape, speeds, degrees, PLAIN)
        for name, one, column in zip(alone._fields, alone, found, strict=True):
            value = numpy.broadcast_to(column, len(some))[at]
            assert value == pytest.approx(one, rel=1e-12, abs=1e-15), name


@settings(max_examples=20)
@given(degrees=DEGREES)
def test_a_layer_and_a_pass_are_the_same_for_whatever_they_do_not_depend_on(degrees: Degrees) -> None:
    shape, machine, precision = CASES[2]
    speeds = speeds_of(shape, machine, Shares(), precision)
    layers = layer_times(shape, speeds, degrees, PLAIN)
    # A layer is the same for other stages, data-parallel ranks and numbers of micro-batches.
    other = degrees._replace(pipeline=3, data=7, virtual=5, microbatches=9, zero_stage=1)
    assert layer_times(shape, speeds, other, PLAIN) == layers
    once = stages_time(shape, speeds, degrees, PLAIN)
    same = degrees._replace(data=7, virtual=5, microbatches=9, zero_stage=1)
    assert stages_time(shape, speeds, same, PLAIN) == once


def test_numpy_is_imported_by_a_search_alone() -> None:
    code = "import app.core.formulas, app.core.searching, app.main, sys; print('numpy' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "False"


def test_speeds_follow_the_shares_that_are_given() -> None:
    shape, machine = model("405B"), CLUSTERS["DGX-B200"]
    own, told = (speeds_of(shape, machine, s) for s in (Shares(), Shares(product=0.5, inter=0.4)))
    assert own.products == pytest.approx(0.595 * 2250e12)  # no source: the middle of what was seen
    assert told.products == pytest.approx(0.5 * 2250e12)
    assert told.net.across == pytest.approx(0.4 * 50e9)
    fast, slow = (speeds_of(shape, machine, Shares(), "16-bit", s) for s in ("fast", "slow"))
    assert (fast.products, slow.products) == pytest.approx((0.70 * 2250e12, 0.49 * 2250e12))
    fewer = speeds_of(shape, machine, Shares(product=0.5), "4-bit")
    assert (fewer.products, fewer.exact) == pytest.approx((0.5 * 9000e12, 0.5 * 2250e12))
    weak = replace(CLUSTERS["DGX-H100"], gpu=Gpu.read("H100 power=350 W"))
    assert speeds_of(shape, weak, Shares()).products == pytest.approx(0.66 / 2 * 989e12)
    older = replace(machine, gpu=CLUSTERS["DGX-A100"].gpu)
    assert speeds_of(shape, older, Shares(), "8-bit").products == pytest.approx(0.87 * 312e12)
    assert speeds_of(shape, older, Shares()).fused  # a gated model came after FlashAttention
    assert not speeds_of(model("GPT-3"), older, Shares()).fused
    assert speeds_of(model("GPT-3"), machine, Shares()).fused
    other = replace(machine, gpu=Gpu.named("TPU v4"))
    assert speeds_of(shape, other, Shares(), "16-bit", "fast").products == 0.87 * 275e12
    assert speeds_of(model("GPT-3"), other, Shares()).fused
