from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import get_args

import numpy as np
import pytest

from app.core.formulas.checks import AttentionKernels
from app.core.formulas.memory import card_memory, memory_budget, stage_memory, state_bytes, zero_state_bytes
from app.core.formulas.parallelism import Degrees
from app.core.formulas.pipeline import layers_per_stage
from app.core.formulas.presets import LAYOUTS, RECIPES, Layout, ModelShape, Recipe, model
from app.core.formulas.step.memory import RankMemoryTerms, most_memory, stage_bytes
from app.core.formulas.transformer import LayerParts, model_parameters
from app.core.searching.columns import COLUMNS
from tests.each import each
from tests.formulas.columns import together
from tests.formulas.memory.peak import Peak
from tests.oracles.layout import Mesh, WeightTensor, place
from tests.tables import rows

DENSE = ModelShape(
    name="small", layers=4, hidden=16, heads=4, key_value_heads=4, head_size=4, feed_forward=32, vocabulary=64
)
MIXTURE = replace(DENSE, experts=4, active_experts=2, expert_feed_forward=8, shared=1, dense_layers=1)


def padded(shape: ModelShape, tensor: int) -> int:
    """Rows of the embedding on all tensor-parallel ranks."""
    return -(-(shape.vocabulary + 1) // (128 * tensor)) * 128 * tensor


def tensors(shape: ModelShape, pipeline: int, tensor: int) -> Iterator[WeightTensor]:
    """Every weight, by the stage that holds it and by how it can be cut."""
    h, f = shape.hidden, shape.feed_forward
    vocabulary = padded(shape, tensor)
    counts = layers_per_stage(shape.layers, pipeline)
    stages = [stage for stage, count in enumerate(counts) for _ in range(count)]
    yield WeightTensor(0, vocabulary * h, True)
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
    yield WeightTensor(pipeline - 1, vocabulary * h, True)


@each("shape", [DENSE, MIXTURE], ids=["dense", "mixture"])
@each("zero", [0, 1, 2, 3])
@each(("t", "p", "c", "d", "e"), [(1, 1, 1, 1, 1), (2, 1, 1, 2, 2), (4, 2, 2, 2, 4), (1, 4, 1, 3, 1), (2, 2, 2, 1, 2)])
def test_memory_budget_holds_the_state_of_the_fullest_rank(
    shape: ModelShape, zero: int, t: int, p: int, c: int, d: int, e: int
) -> None:
    expert = e if shape.experts else 1
    # activations so small that the fullest rank is the one with the most state
    layout = Layout.read(
        f"tensor={t} pipeline={p} context={c} data={d} expert={expert} zero_stage={zero} sequence=16 recompute=full sequence_parallel=no"
    )
    recipe = Recipe(
        weight_bytes=2,
        gradient_bytes=4,
        optimizer_bytes=12,
        element_bytes=1e-20,
        reduced_bytes=1e-20,
        logit_bytes=1e-20,
    )
    budget = memory_budget(shape, layout, recipe)
    ranks = place(Mesh(t, c, expert, d, p), tensors(shape, p, t), max(1, shape.experts), zero)
    fullest = max(ranks, key=lambda r: 2 * r.weights + 4 * r.gradients + 12 * r.optimizer)
    assert budget.weights == pytest.approx(2 * fullest.weights, rel=1e-12)
    assert budget.gradients == pytest.approx(4 * fullest.gradients, rel=1e-12)
    assert budget.optimizer == pytest.approx(12 * fullest.optimizer, rel=1e-12)


WHOLE = replace(model("Llama-3.1-8B"), vocabulary=128_255)  # one less than whole rows of 128


@each("zero", [0, 1, 2, 3])
def test_memory_budget_without_splits_is_that_of_zero(zero: int) -> None:
    parameters = model_parameters(replace(WHOLE, vocabulary=128_256))
    layout = Layout.read(f"data=64 zero_stage={zero} sequence=1")
    budget = memory_budget(WHOLE, layout, Recipe.named("mixed"))
    state = budget.weights + budget.gradients + budget.optimizer
    assert state == pytest.approx(zero_state_bytes(parameters, 64, zero), rel=1e-12)  # type: ignore[arg-type]


@each("recipe", RECIPES.values(), ids=RECIPES)
def test_memory_budget_adds_up_to_the_bytes_of_the_recipe(recipe: Recipe) -> None:
    budget = memory_budget(WHOLE, Layout(zero_stage=0), recipe)
    parts = recipe.weight_bytes, recipe.gradient_bytes, recipe.optimizer_bytes
    state = budget.weights + budget.gradients + budget.optimizer
    assert state == state_bytes(model_parameters(replace(WHOLE, vocabulary=128_256)), *parts)
    assert budget.total == sum(budget)
    known = {"Megatron": 18, "mixed": 16, "FSDP2": 16, "no master copy": 12, "FP32": 16}
    assert sum(parts) == known[recipe.name]


LAYOUTS_OF_SIX = [
    "sequence=64",
    "tensor=2 pipeline=3 context=2 data=2 microbatches=6 zero_stage=1",
    "tensor=4 pipeline=2 microbatches=4 micro_batch=2 sequence_parallel=no zero_stage=0",
    "pipeline=2 virtual=3 microbatches=4 data=4 zero_stage=3 recompute=full",
    "tensor=2 pipeline=3 virtual=2 microbatches=6 data=2 zero_stage=2 recompute=none",
    "pipeline=4 microbatches=2 first_layers=2 last_layers=1 context=4 context_by=all-gather",
    "tensor=2 pipeline=5 microbatches=7 first_layers=1 data=4 zero_stage=3",
    "pipeline=8 microbatches=8",
    "tensor=2 data=4 micro_batch=512 sequence=64",
    "tensor=2 pipeline=2 data=4 microbatches=3 recompute=operations zero_stage=3",
]


@each(("recipe", "modules"), [("Megatron", 0), ("FSDP2", 2)])
@each("text", LAYOUTS_OF_SIX)
@each("mixture", ["", "expert=4", "expert=2 expert_tensor=1"])
@each("kernels", get_args(AttentionKernels))
def test_stage_memory_is_that_of_every_allocation(
    kernels: AttentionKernels, modules: int, mixture: str, text: str, recipe: str
) -> None:
    layout = Layout.read(f"{'' if 'sequence=' in text else 'sequence=32 '}{text}")
    shape = replace(DENSE, layers=6, feed_forward=44)
    if mixture:
        shape = replace(MIXTURE, layers=6, feed_forward=44, dense_layers=2, expert_feed_forward=20)
        if layout.data % 4:  # too few ranks to spread the experts over
            mixture = mixture.replace("expert=4", "expert=1").replace("expert=2", "expert=1")
        layout = Layout.read(f"{text} sequence={layout.sequence} {mixture}")
    shape, named = replace(shape, multi_token=modules), Recipe.named(recipe)
    stages = range(layout.pipeline)
    found = [stage_memory(shape, layout, stage, named, kernels) for stage in stages]
    for stage, parts in enumerate(found):
        played = Peak(shape, layout, stage, named, kernels).parts()
        assert parts == pytest.approx(played, rel=1e-12), stage
    assert memory_budget(shape, layout, named, kernels).total == max(one.total for one in found)


def test_fused_attention_stores_as_much_without_recomputation_as_with_selective() -> None:
    seven = model("Llama-2-7B")
    parts = {
        (again, kernels): memory_budget(
            seven, Layout.read(f"data=8 recompute={again} sequence=4096"), kernels=kernels
        ).activations
        for again in ("none", "selective")
        for kernels in get_args(AttentionKernels)
    }
    assert parts["none", "fused"] == parts["selective", "fused"] == parts["selective", "unfused"]
    # the unfused one stores the softmax and its result: two 16-bit scores for each pair of tokens
    scores = 32 * 32 * 4096 * 4096 * 2 * 2
    assert parts["none", "unfused"] - parts["none", "fused"] == pytest.approx(scores)


def drawn() -> list[tuple[Degrees, Layout]]:
    """Layouts of every kind over eight layers, as numbers and as records."""
    several = product(
        (1, 2, 4), (1, 2, 3, 8, 10), (1, 2), (1, 4), (0, 1, 2, 3), ("none", "selective", "full"), (0, 2), (0, 1)
    )
    found = []
    for t, p, c, d, zero, again, first, last in list(several)[::7]:
        if (p == 1 and (first or last)) or (p == 2 and first and last) or 8 - first - last < p - 2:
            continue
        layout = Layout.read(
            f"tensor={t} pipeline={p} context={c} data={d} zero_stage={zero} recompute={again}"
            f" first_layers={first} last_layers={last} sequence=64 expert={d} microbatches=5"
        )
        found.append((layout.degrees(), layout))
    return found


@each("shape", [DENSE, MIXTURE], ids=["dense", "mixture"])
def test_memory_budget_in_columns_is_that_of_each_layout(shape: ModelShape) -> None:
    shape = replace(shape, layers=8, dense_layers=3 if shape.experts else 0, multi_token=1)
    chosen = [pair for pair in drawn() if shape.experts or pair[0].expert == 1]
    assert len(chosen) > 60
    by, recipe = COLUMNS, Recipe.named("Megatron")
    on = together([on for on, _ in chosen])
    rank = RankMemoryTerms.of(shape, LayerParts.of(shape), recipe, on, by)
    budgets = [memory_budget(shape, layout) for _, layout in chosen]
    totals = np.array([budget.total for budget in budgets])
    assert np.allclose(most_memory(shape, on, rank, by), totals, rtol=1e-12, atol=0)
    last = stage_bytes(shape, on, rank, on.pipeline - 1, by)
    for at, (_, layout) in enumerate(chosen):
        one = stage_memory(shape, layout, layout.pipeline - 1)
        parts = [float(np.broadcast_to(part, len(chosen))[at]) for part in last]
        assert parts == pytest.approx(list(one), rel=1e-12)
        every = [stage_memory(shape, layout, stage).total for stage in range(layout.pipeline)]
        assert budgets[at].total == max(every), layout


def test_hybrid_sharding_divides_the_state_over_its_group() -> None:
    whole, group, small = (
        memory_budget(MIXTURE, Layout.read(f"data={data} {more} expert=4 zero_stage=3 sequence=16"))
        for data, more in ((16, ""), (16, "shard_ranks=8"), (8, ""))
    )
    assert group[:3] == small[:3] > whole[:3]
    within = Layout.read("data=16 shard_ranks=2 zero_stage=3 sequence=16")
    one = memory_budget(DENSE, replace(within, shard_ranks=1))
    assert memory_budget(DENSE, within).weights == pytest.approx(one.weights / 2, rel=1e-12)


def test_card_memory_tells_allocated_reserved_and_used_apart() -> None:
    layout = Layout.named("Llama 3 405B on 16384 GPUs")
    llama = model("Llama-3.1-405B")
    card = card_memory(llama, layout, outside=2e9)
    assert card.allocated == memory_budget(llama, layout).total
    assert card.least / 1.03 == pytest.approx(card.most / 1.09) == pytest.approx(card.allocated)
    assert card.least < card.reserved == card.allocated * 1.05 == card.used - 2e9 < card.most
    with pytest.raises(ValueError, match=r"^held_back must be a number of at least 1, not 0.9"):
        card_memory(llama, layout, held_back=0.9)


@each("gpus", [8, 128])
@each("config", ["compile", "compile float8"])
def test_card_memory_is_what_torchtitan_measured_with_its_checkpoints(gpus: int, config: str) -> None:
    row = next(
        row
        for row in rows("torchtitan_llama3_h100")
        if row.count("gpus") == gpus and row.text("config").removeprefix("FSDP8 ") == config
    )
    layout = Layout(data=gpus, micro_batch=2, zero_stage=3, recompute="operations")
    card = card_memory(model("Llama-3.1-8B"), layout, Recipe.named("FSDP2"))
    assert card.reserved == pytest.approx(row.number("memory") * 2**30, rel=0.006)


@each("context", [1, 2, 4, 8])
def test_card_memory_is_what_torchtitan_measured_with_long_sequences(context: int) -> None:
    config = {1: "FSDP8 CP1 full AC float8 lbs1", 2: "FSDP4 CP2", 4: "FSDP2 CP4", 8: "FSDP1 CP8"}
    row = next(
        row
        for row in rows("torchtitan_llama3_h100")
        if (row.text("model"), row.text("config")) == ("8B", config[context])
    )
    layout = Layout(
        context=context,
        data=8 // context,
        sequence=row.count("seq_len"),
        zero_stage=3,
        recompute="full",
        context_by="all-gather",
    )
    card = card_memory(model("Llama-3.1-8B"), layout, Recipe.named("FSDP2"))
    measured = row.number("memory") * 2**30  # reserved, as its metrics print it
    assert card.allocated < measured == pytest.approx(card.most, rel=0.06)


def test_llama_3_405b_fits_as_it_was_trained() -> None:
    for name in ("Llama 3 405B on 16384 GPUs", "Llama 3 405B, 128K tokens"):
        assert memory_budget(model("Llama-3.1-405B"), LAYOUTS[name]).total < 80e9


@each(
    ("shape", "layout", "says"),
    [
        (DENSE, "tensor=3 sequence=9", "tensor degree that divides the heads, 4, not 3"),
        (DENSE, "context=3 sequence=16", "context degree that divides the tokens of a sequence, 16"),
        (DENSE, "expert=2 data=2", "expert degree that divides the experts, 1, not 2"),
        (MIXTURE, "expert=3 data=3", "expert degree that divides the experts, 4, not 3"),
        (DENSE, "pipeline=7", "chunks as layers, embedding and output head, 6, not 7"),
        (
            DENSE,
            "pipeline=4 virtual=2 microbatches=4",
            "as many pipeline chunks as layers, embedding and output head, 6, not 8",
        ),
        (DENSE, "tensor=4 sequence=2", "divides the tokens of a rank, 2, with sequence parallelism, not 4"),
    ],
)
def test_memory_budget_refuses_a_layout_that_does_not_divide(shape: ModelShape, layout: str, says: str) -> None:
    with pytest.raises(ValueError, match="^layout must have") as refused:
        memory_budget(shape, Layout.read(layout))
    assert says in str(refused.value)


def test_stage_memory_knows_no_stage_beyond_the_last() -> None:
    with pytest.raises(ValueError, match=r"^stage must be below the pipeline's stages, 2, not 2"):
        stage_memory(DENSE, Layout.read("pipeline=2"), 2)


@each(
    ("text", "says"),
    [
        ("expert=3 data=4", "expert must divide the data and context parallel ranks, 4, not 3"),
        ("virtual=2 pipeline=4 microbatches=6", "microbatches must be a multiple of the pipeline's stages, 4"),
        ("zero_stage=4", "zero_stage must be one of 0, 1, 2, 3, not '4'"),
        ("tensor=0", "tensor must be at least 1, not 0"),
        ("recompute=some", "recompute must be one of none, selective, operations, full"),
        ("sequence_parallel=maybe", "sequence_parallel must be one of true, false"),
    ],
)
def test_an_impossible_layout_is_refused_by_field(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=".") as refused:
        Layout.read(text)
    assert says in str(refused.value)
