from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.formulas.memory import memory_budget, state_bytes, zero_state_bytes
from app.formulas.pipeline import layers_per_stage
from app.formulas.presets import RECIPES, Layout, ModelShape, Recipe, model
from app.formulas.transformer import model_parameters
from app.simulators.layout import Mesh, WeightTensor, place
from app.simulators.pipeline import Times, build, play

DENSE = ModelShape(
    name="small", layers=4, hidden=16, heads=4, key_value_heads=4, head_size=4, feed_forward=32,
    vocabulary=64,
)  # fmt: skip
MIXTURE = replace(
    DENSE, experts=4, active_experts=2, expert_feed_forward=8, shared=1, dense_layers=1
)


def tensors(shape: ModelShape, pipeline: int) -> Iterator[WeightTensor]:
    """Every weight, by the stage that holds it and by how it can be cut."""
    h, f = shape.hidden, shape.feed_forward
    counts = layers_per_stage(shape.layers, pipeline)
    stages = [stage for stage, count in enumerate(counts) for _ in range(count)]
    yield WeightTensor(0, shape.vocabulary * h, True)
    for layer, stage in enumerate(stages):
        yield from (WeightTensor(stage, h, False), WeightTensor(stage, h, False))
        yield from (WeightTensor(stage, h * h, True) for _ in range(4))
        if not shape.experts or layer < shape.dense_layers:
            yield from (WeightTensor(stage, h * f, True) for _ in range(3))
            continue
        yield WeightTensor(stage, h * shape.experts, False)
        inner = h * shape.expert_feed_forward
        for expert, _ in product(range(shape.experts), range(3)):
            yield WeightTensor(stage, inner, True, expert)
        yield from (WeightTensor(stage, inner, True) for _ in range(3))
    yield WeightTensor(pipeline - 1, h, False)
    yield WeightTensor(pipeline - 1, shape.vocabulary * h, True)


@pytest.mark.parametrize("shape", [DENSE, MIXTURE], ids=["dense", "mixture"])
@pytest.mark.parametrize("zero", [0, 1, 2, 3])
@pytest.mark.parametrize(
    ("t", "p", "c", "d", "e"),
    [(1, 1, 1, 1, 1), (2, 1, 1, 2, 2), (4, 2, 2, 2, 4), (1, 4, 1, 3, 1), (2, 2, 2, 1, 2)],
)
def test_memory_budget_holds_the_state_of_the_fullest_rank(
    shape: ModelShape, zero: int, t: int, p: int, c: int, d: int, e: int
) -> None:
    expert = e if shape.experts else 1
    # activations so small that the fullest rank is the one with the most state
    layout = Layout.read(
        f"tensor={t} pipeline={p} context={c} data={d} expert={expert} zero_stage={zero} sequence=16 recompute=full sequence_parallel=no"
    )
    recipe = Recipe(weight_bytes=2, gradient_bytes=4, optimizer_bytes=12, element_bytes=1e-20)
    budget = memory_budget(shape, layout, recipe)
    ranks = place(Mesh(t, c, expert, d, p), tensors(shape, p), max(1, shape.experts), zero)
    logits = 16 / c * shape.vocabulary / t * 4
    held = [
        (
            2 * r.weights
            + 4 * r.gradients
            + 12 * r.optimizer
            + (logits if r.place[3] == p - 1 else 0),
            r,
        )
        for r in ranks
    ]
    _, fullest = max(held, key=lambda pair: pair[0])
    assert budget.weights == pytest.approx(2 * fullest.weights, rel=1e-12)
    assert budget.gradients == pytest.approx(4 * fullest.gradients, rel=1e-12)
    assert budget.optimizer == pytest.approx(12 * fullest.optimizer, rel=1e-12)


@pytest.mark.parametrize("zero", [0, 1, 2, 3])
def test_memory_budget_without_splits_is_that_of_zero(zero: int) -> None:
    shape = model("Llama-3.1-8B")
    layout = Layout.read(f"data=64 zero_stage={zero} sequence=1")
    budget = memory_budget(shape, layout)
    state = budget.weights + budget.gradients + budget.optimizer
    assert state == pytest.approx(zero_state_bytes(model_parameters(shape), 64, zero), rel=1e-12)  # type: ignore[arg-type]


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
def test_memory_budget_adds_up_to_the_bytes_of_the_recipe(recipe: Recipe) -> None:
    shape = model("Llama-3.1-8B")
    budget = memory_budget(shape, Layout(zero_stage=0), recipe)
    parts = recipe.weight_bytes, recipe.gradient_bytes, recipe.optimizer_bytes
    state = budget.weights + budget.gradients + budget.optimizer
    assert state == state_bytes(model_parameters(shape), *parts)
    assert budget.total == sum(budget)
    assert (
        sum(parts)
        == {"mixed": 16, "mixed, FP32 gradients": 18, "no master copy": 12, "FP32": 16}[recipe.name]
    )


def kept(shape: ModelShape, layout: Layout) -> int:
    """Elements that one layer keeps of one micro-batch on one rank, tensor by tensor."""
    tokens = layout.micro_batch * layout.sequence // layout.context
    t = layout.tensor
    rows = tokens // t if layout.sequence_parallel else tokens
    if layout.recompute == "full":
        return rows * shape.hidden
    found = [(rows, shape.hidden)] * 4  # inputs of two norms, and what they give
    found += [(tokens, shape.heads * shape.head_size // t)] * 2  # queries, attention's result
    found += [(tokens, shape.key_value_heads * shape.head_size // t)] * 2
    found += [(tokens, shape.feed_forward // t)] * 3  # gate, up, their product
    if layout.recompute == "none":
        found += [(tokens * layout.sequence // layout.context, shape.heads // t)] * 2
    return sum(high * wide for high, wide in found)


@given(
    st.sampled_from([1, 2, 4]), st.sampled_from([1, 2]), st.integers(1, 3), st.booleans(),
    st.sampled_from(["none", "selective", "full"]),
)  # fmt: skip
def test_memory_budget_keeps_the_activations_of_every_tensor(
    t: int, c: int, batch: int, along: bool, again: str
) -> None:
    layout = Layout.read(
        f"tensor={t} context={c} micro_batch={batch} sequence=32 recompute={again} sequence_parallel={along}"
    )
    budget = memory_budget(DENSE, layout)
    assert budget.activations == pytest.approx(2 * DENSE.layers * kept(DENSE, layout), rel=1e-12)


@pytest.mark.parametrize(
    ("stages", "microbatches", "virtual"), [(4, 8, 1), (4, 2, 1), (4, 8, 2), (2, 6, 2)]
)
def test_memory_budget_keeps_as_many_microbatches_as_are_in_flight(
    stages: int, microbatches: int, virtual: int
) -> None:
    shape = replace(DENSE, layers=8, vocabulary=1)
    layout = Layout.read(
        f"pipeline={stages} microbatches={microbatches} virtual={virtual} sequence=64"
    )
    played = play(
        build("interleaved" if virtual > 1 else "1f1b", stages, microbatches, virtual),
        Times(1, 1, 1),
    )
    one = memory_budget(replace(shape, layers=8 // stages), Layout.read("sequence=64")).activations
    assert memory_budget(shape, layout).activations == pytest.approx(
        one * max(played.in_flight), rel=1e-12
    )


@pytest.mark.parametrize(
    ("shape", "layout", "says"),
    [
        (DENSE, "tensor=3 sequence=9", "tensor degree that divides the heads, 4, not 3"),
        (
            DENSE,
            "context=3 sequence=16",
            "context degree that divides the tokens of a sequence, 16",
        ),
        (DENSE, "expert=2 data=2", "expert degree that divides the experts, 1, not 2"),
        (MIXTURE, "expert=3 data=3", "expert degree that divides the experts, 4, not 3"),
        (DENSE, "pipeline=5", "at most as many pipeline chunks as layers, 4, not 5"),
        (
            DENSE,
            "pipeline=4 virtual=2 microbatches=4",
            "as many pipeline chunks as layers, embedding and output head, 6, not 8",
        ),
        (
            DENSE,
            "tensor=4 sequence=2",
            "divides the tokens of a rank, 2, with sequence parallelism, not 4",
        ),
    ],
)
def test_memory_budget_refuses_a_layout_that_does_not_divide(
    shape: ModelShape, layout: str, says: str
) -> None:
    with pytest.raises(ValueError, match="^layout must have") as refused:
        memory_budget(shape, Layout.read(layout))
    assert says in str(refused.value)


def test_the_fullest_stage_of_llama_3_405b_keeps_eight_layers_of_all_sixteen_micro_batches() -> (
    None
):
    shape, layout = model("Llama-3.1-405B"), Layout.named("Llama 3 405B on 16384 GPUs")
    played = play(build("interleaved", 16, 16, 8), Times(1, 1, 2))
    assert played.in_flight[1] == 16
    budget = memory_budget(shape, layout)
    assert budget.activations == pytest.approx(2 * 16 * 8 * kept(shape, layout), rel=1e-12)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("expert=3 data=4", "expert must divide the data and context parallel ranks, 4, not 3"),
        (
            "virtual=2 pipeline=4 microbatches=6",
            "microbatches must be a multiple of the pipeline's stages, 4",
        ),
        ("zero_stage=4", "zero_stage must be one of 0, 1, 2, 3, not '4'"),
        ("tensor=0", "tensor must be at least 1, not 0"),
        ("recompute=some", "recompute must be one of none, selective, full"),
        ("sequence_parallel=maybe", "sequence_parallel must be one of true, false"),
    ],
)
def test_an_impossible_layout_is_refused_by_field(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=".") as refused:
        Layout.read(text)
    assert says in str(refused.value)
