"""The stages of a pipeline hold together what the model has, and the fullest of them is found."""

from dataclasses import replace

import pytest

from app.core.formulas.memory import memory_budget, stage_memory
from app.core.formulas.presets import MODELS, Layout, ModelShape, Recipe, model
from app.core.formulas.transformer import model_parameters
from tests.each import each

MIXED, DENSE = model("DeepSeek-V3"), model("Llama-3.1-8B")


def padded(rows: int, multiple: int = 128) -> int:
    """Rows of an embedding: at least one more than the vocabulary, in whole multiples."""
    return (rows // multiple + 1) * multiple


def weights(shape: ModelShape, layout: Layout) -> float:
    """Weights on one rank of each stage, all stages together; two bytes each."""
    return sum(stage_memory(shape, layout, stage).weights for stage in range(layout.pipeline)) / 2


@each("shape", [shape for shape in MODELS.values() if shape.layers >= 4], ids=lambda shape: shape.name)
@each("stages", [1, 3, 4])
def test_the_stages_hold_each_parameter_once_and_a_tied_embedding_at_both_ends(shape: ModelShape, stages: int) -> None:
    further = padded(shape.vocabulary) - shape.vocabulary
    ends = further if shape.tied and stages == 1 else 2 * further
    copied = shape.vocabulary if shape.tied and stages > 1 else 0
    held = weights(shape, Layout(pipeline=stages, zero_stage=0))
    assert held == model_parameters(shape) + shape.hidden * (ends + copied)


@each("shape", [MIXED, DENSE], ids=lambda shape: shape.name)
@each("stages", [1, 4])
def test_a_module_for_a_further_token_is_a_layer_a_projection_and_norms(shape: ModelShape, stages: int) -> None:
    layout = Layout(pipeline=stages, zero_stage=0)
    layer = model_parameters(replace(shape, layers=shape.layers + 1)) - model_parameters(shape)
    projection = 2 * shape.hidden**2 + 3 * shape.hidden
    copied = padded(shape.vocabulary) * shape.hidden if stages > 1 else 0
    last = stages - 1
    one, none = (stage_memory(replace(shape, multi_token=n), layout, last) for n in (1, 0))
    assert (one.weights - none.weights) / 2 == layer + projection + copied
    first = (stage_memory(replace(shape, multi_token=n), layout, 0).weights for n in (1, 0))
    assert len(set(first)) == (1 if stages > 1 else 2)


@each("ranks", [2, 8, 64])
def test_experts_are_spread_over_their_ranks_and_nothing_else_is(ranks: int) -> None:
    layout = Layout(pipeline=4, data=ranks, zero_stage=0)
    whole, spread = weights(MIXED, layout), weights(MIXED, replace(layout, expert=ranks))
    experts = MIXED.expert_layers * MIXED.experts * 3 * MIXED.hidden * MIXED.expert_feed_forward
    assert whole - spread == pytest.approx(experts * (1 - 1 / ranks), rel=1e-12)


def test_zero_3_gathers_two_layers_and_zero_2_reduces_one() -> None:
    layer = model_parameters(replace(DENSE, layers=2)) - model_parameters(replace(DENSE, layers=1))

    def transient(zero: int) -> float:
        layout = Layout(pipeline=4, data=8, zero_stage=zero)  # type: ignore[arg-type]
        return stage_memory(DENSE, layout, 1, Recipe(reduced_bytes=4.0)).transient

    assert transient(1) == transient(0)
    assert transient(2) - transient(1) == 4 * layer
    assert transient(3) - transient(2) == 2 * 2 * layer


@each("shape", [MIXED, DENSE, model("GPT-3"), model("Llama-4-Maverick")], ids=lambda shape: shape.name)
@each(
    "layout",
    [
        Layout(pipeline=1),
        Layout(pipeline=4),
        Layout(pipeline=8, microbatches=16),
        Layout(pipeline=8, microbatches=16, first_layers=1),
        Layout(pipeline=8, microbatches=16, first_layers=2, last_layers=1),
        Layout(pipeline=5, microbatches=2, last_layers=3),
        Layout(pipeline=6, microbatches=1, first_layers=1),
        Layout(pipeline=16, microbatches=3, zero_stage=3, data=8),
    ],
    ids=repr,
)
def test_no_stage_is_fuller_than_the_one_that_counts(shape: ModelShape, layout: Layout) -> None:
    stages = [stage_memory(shape, layout, stage) for stage in range(layout.pipeline)]
    assert memory_budget(shape, layout).total == max(one.total for one in stages)
    assert all(one.total == pytest.approx(sum(one)) for one in stages)


def test_a_layer_of_experts_keeps_what_its_chosen_experts_keep() -> None:
    # Two stages of one layer each: the first is dense, the second has experts.
    shape = replace(MIXED, layers=2, dense_layers=1)
    layout = Layout(pipeline=2, microbatches=1, sequence=1024)
    dense, mixed = (stage_memory(shape, layout, stage) for stage in (0, 1))
    all_dense = stage_memory(replace(shape, dense_layers=2), layout, 1)
    assert dense.activations == all_dense.activations
    assert mixed.activations != dense.activations
    both = stage_memory(shape, replace(layout, pipeline=1), 0)
    assert both.activations == pytest.approx(dense.activations + mixed.activations)
