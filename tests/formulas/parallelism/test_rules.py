from dataclasses import replace
from random import Random

import numpy as np
import pytest

from app.core.formulas.memory import memory_budget
from app.core.formulas.parallelism import OF_LAYOUTS, RULES, Degrees, Middle, stage_layers, stage_of
from app.core.formulas.pipeline import layers_per_stage
from app.core.formulas.presets import Layout, ModelShape, model
from app.core.searching.columns import COLUMNS
from tests.each import each
from tests.formulas.columns import together

LLAMA = model("Llama-3.1-405B")
QWEN = model("Qwen3-235B-A22B")
# Stand-ins with the layers, heads and experts that the rules read.
HYBRID = replace(QWEN, name="Nemotron 3 Super", layers=88, heads=32, key_value_heads=2, experts=512)
OPEN = replace(QWEN, name="GPT OSS 120B", layers=36, heads=64, key_value_heads=8, expert_feed_forward=2880)
GPT = model("GPT-3 175B")


def megatron(layers: int, heads: int) -> ModelShape:
    return replace(GPT, layers=layers, heads=heads, key_value_heads=heads)


# Layouts of published runs: Megatron-Bridge at 067f987d, docs/performance-summary-archive.md;
# torchtitan at b5bcd76c, benchmarks/; arXiv:2104.04473, table 1; arXiv:2205.05198, table 3.
PUBLISHED = [
    (LLAMA, "tensor=4 pipeline=8 data=8 virtual=4 microbatches=192"),
    (LLAMA, "tensor=2 pipeline=8 context=2 data=8 virtual=4 microbatches=192"),
    (LLAMA, "tensor=4 pipeline=16 data=4 virtual=4 microbatches=384"),
    (LLAMA, "tensor=4 pipeline=16 data=4 virtual=8 microbatches=384"),
    (LLAMA, "tensor=8 pipeline=8 context=2 data=8 virtual=8 microbatches=192"),
    (model("Llama-3-70B"), "data=64 micro_batch=2 microbatches=2"),
    (model("Llama-3-70B"), "pipeline=4 data=16 virtual=5 microbatches=16"),
    (model("Llama-3-70B"), "pipeline=4 data=16 micro_batch=2 microbatches=8"),
    (model("Llama-3-70B"), "tensor=2 pipeline=4 data=8 virtual=5 microbatches=32"),
    (model("Llama-3-70B"), "tensor=4 pipeline=8 data=2 virtual=5 microbatches=128"),
    (model("DeepSeek-V3"), "pipeline=2 virtual=8 expert=32 data=128 microbatches=32 sequence=4096"),
    (model("DeepSeek-V3"), "pipeline=4 virtual=4 expert=64 data=64 microbatches=64 sequence=4096"),
    (OPEN, "expert=16 data=64 micro_batch=4 microbatches=5 sequence=4096"),
    (OPEN, "expert=64 data=64 micro_batch=4 microbatches=5 sequence=4096"),
    (QWEN, "pipeline=4 virtual=12 expert=32 data=64 micro_batch=2 microbatches=64 sequence=4096"),
    (QWEN, "pipeline=8 virtual=3 expert=32 data=32 microbatches=256 sequence=4096"),
    (HYBRID, "expert=64 data=64 microbatches=8"),
    (HYBRID, "tensor=2 expert=64 expert_tensor=1 data=32 microbatches=16"),
    (HYBRID, "tensor=2 expert=64 data=32 microbatches=16"),
    (model("Llama-3.1-8B"), "context=8 sequence=262144 zero_stage=3 recompute=full"),
    (model("Llama-3.1-70B"), "tensor=8 data=32 micro_batch=16 zero_stage=3 recompute=full"),
    (LLAMA, "tensor=8 pipeline=8 context=8 sequence=262144 microbatches=8 zero_stage=3"),
    (megatron(105, 128), "tensor=8 pipeline=35 microbatches=280 virtual=3 sequence=2048"),
    (megatron(128, 160), "tensor=8 pipeline=64 data=6 microbatches=512 sequence=2048"),
    (megatron(60, 80), "tensor=8 pipeline=4 data=32 microbatches=56 sequence=2048"),
    (LLAMA, "tensor=8 pipeline=16 data=128 virtual=8 microbatches=16 first_layers=7 last_layers=7"),
    (model("DeepSeek-V3"), "pipeline=16 expert=64 data=128 microbatches=120 sequence=4096"),
    (LLAMA, "tensor=8 pipeline=128 microbatches=256"),
]


@each(("shape", "text"), PUBLISHED)
def test_layouts_that_ran_are_legal(shape: ModelShape, text: str) -> None:
    assert memory_budget(shape, Layout.read(text)).total > 0


def test_experts_over_tensor_parallel_ranks_are_not_split_by_them() -> None:
    wide = Layout.read("tensor=2 expert=64 data=32 microbatches=16")
    assert wide.expert_split == 1
    assert Layout.read("tensor=2 expert=32 data=32").expert_split == 2
    given = replace(wide, expert_tensor=1)
    assert memory_budget(HYBRID, wide) == memory_budget(HYBRID, given)
    with pytest.raises(ValueError, match=r"^expert must divide the data and context parallel ranks, 32"):
        replace(wide, expert_tensor=2)


def broken(shape: ModelShape, on: Degrees) -> list[str]:
    return [rule.name for rule in RULES if rule.broken(shape, on)]


@each(
    ("text", "says"),
    [
        ("tensor=12", "divides the heads, 128, not 12; the nearest are tensor=8 and tensor=16"),
        ("context=3 sequence=64", "tokens of a sequence, 64, not 3; the nearest are context=2 and context=4"),
        ("expert=2 data=2", "divides the experts, 1, not 2; the nearest is expert=1"),
        ("pipeline=129", "output head, 128, not 129; the nearest is pipeline=128"),
        ("pipeline=16 virtual=9 microbatches=16", "output head, 128, not 144; the nearest is virtual=8"),
        (
            "pipeline=16 virtual=8 first_layers=6 microbatches=16",
            "8 chunks on a stage are too many for 6 first and 0 last layers of 126; the nearest is virtual=7",
        ),
        (
            "pipeline=2 first_layers=100 last_layers=20",
            "or add up to 126 if none is, not 100 + 20; the nearest is first_layers=106",
        ),
        ("pipeline=3 first_layers=120 last_layers=20", "not 120 + 20; the nearest is first_layers=105"),
        ("tensor=4 sequence=2", "sequence parallelism, not 4; the nearest is tensor=2"),
    ],
)
def test_a_refusal_names_its_rule_and_the_nearest_legal_value(text: str, says: str) -> None:
    with pytest.raises(ValueError, match="^layout must have") as refused:
        memory_budget(LLAMA, Layout.read(text))
    assert says in str(refused.value)


@each(
    ("text", "says"),
    [
        ("expert=3 data=4", "expert must divide the data and context parallel ranks, 4, not 3; "),
        (
            "tensor=2 expert=3 expert_tensor=1 data=4",
            "ranks of a stage, 8, not 3 * 1; the nearest are expert=2 and expert=4",
        ),
        (
            "virtual=2 pipeline=4 microbatches=6",
            "multiple of the pipeline's stages, 4, when chunks interleave, not 6; "
            "the nearest are microbatches=4 and microbatches=8",
        ),
        ("data=6 shard_ranks=4", "ranks, 6, not 4; the nearest are shard_ranks=3 and shard_ranks=6"),
        ("first_layers=3 last_layers=3", "pipeline must be at least 2 where"),
        ("first_layers=-1", "first_layers must be at least 0"),
        ("precision=6-bit", "precision must be one of"),
    ],
)
def test_a_layout_that_no_model_can_have_is_refused(text: str, says: str) -> None:
    with pytest.raises(ValueError, match="must") as refused:
        Layout.read(text)
    assert says in str(refused.value)


def test_a_huge_degree_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match=r"divides the heads, 128, not 999999999999$"):
        memory_budget(LLAMA, Layout.read("tensor=999999999999"))


def drawn(count: int) -> list[Degrees]:
    """Layouts at random, most of which break a rule or two."""
    random = Random(17)
    few = (1, 2, 3, 4, 5, 8, 16)
    return [
        Degrees(
            tensor=random.choice(few),
            pipeline=random.choice((*few, 47, 96, 97)),
            context=random.choice(few),
            expert=random.choice(few),
            expert_tensor=random.choice(few),
            data=random.choice(few),
            virtual=random.choice((1, 1, 2, 3, 12)),
            microbatches=random.choice((1, 8, 48, 94)),
            sequence=random.choice((8, 96, 4096)),
            first=random.choice((0, 0, 0, 5, 93, 94)),
            last=random.choice((0, 0, 0, 2, 94)),
            sequence_parallel=random.choice((0, 1)),
            sharded=random.choice((1, 2)),
        )
        for _ in range(count)
    ]


@each("shape", [QWEN, GPT, model("DeepSeek-V3")], ids=lambda shape: shape.name)
def test_rules_refuse_the_same_layouts_in_columns_as_one_by_one(shape: ModelShape) -> None:
    layouts = drawn(600)
    found = {rule.name: np.asarray(rule.broken(shape, together(layouts))) for rule in RULES}
    for at, layout in enumerate(layouts):
        assert [name for name in found if found[name][at]] == broken(shape, layout)
    never = [name for name in found if not found[name].any()]
    assert never == ([] if shape.experts else ["an expert is split into equal parts"])


def test_rules_of_layouts_do_not_look_at_a_model() -> None:
    for layout in drawn(50):
        for rule in OF_LAYOUTS:
            assert rule.broken(None, layout) in (True, False)  # type: ignore[arg-type]


def dealt(layers: int, on: Degrees) -> list[int]:
    """Layers of every stage: the ends as given, and the rest one by one from the middle outward."""
    stages: list[int | None] = [None] * on.pipeline
    if on.first:
        stages[0] = on.first
    if on.last:
        stages[-1] = on.last
    free = [at for at, count in enumerate(stages) if count is None]
    left = layers - sum(count for count in stages if count)
    if not free:
        return [count for count in stages if count is not None]
    each, longer = divmod(left, len(free))
    short = len(free) - longer if longer else 0
    in_front = (short + 1) // 2 if on.last and not on.first else short // 2
    for place, at in enumerate(free):
        stages[at] = each + (longer > 0 and in_front <= place < in_front + longer)
    return [count for count in stages if count is not None]


def test_stages_have_the_layers_that_are_dealt_out_to_them() -> None:
    legal = [on for on in drawn(4000) if not broken(GPT, on._replace(tensor=1, expert=1, sharded=1))]
    assert len(legal) > 300
    for on in legal:
        expected = dealt(GPT.layers, on)
        held = [stage_layers(GPT.layers, on, Middle.of(GPT.layers, on), stage) for stage in range(on.pipeline)]
        assert [count for count, _ in held] == expected
        assert [before for _, before in held] == [sum(expected[:stage]) for stage in range(on.pipeline)]
        owners = [stage for stage, count in enumerate(expected) for _ in range(count)]
        middle = Middle.of(GPT.layers, on)
        assert [stage_of(layer, on, middle) for layer in range(GPT.layers)] == owners
        if not on.first and not on.last and on.pipeline <= GPT.layers:
            assert tuple(expected) == layers_per_stage(GPT.layers, on.pipeline)


def test_stages_have_the_same_layers_in_columns_as_one_by_one() -> None:
    legal = [on for on in drawn(2000) if not broken(GPT, on._replace(tensor=1, expert=1, sharded=1))]
    on = together(legal)
    columns = stage_layers(GPT.layers, on, Middle.of(GPT.layers, on), on.pipeline - 1, COLUMNS)
    held, before = map(np.asarray, columns)
    one_by_one = [stage_layers(GPT.layers, on, Middle.of(GPT.layers, on), on.pipeline - 1) for on in legal]
    assert list(zip(held, before, strict=True)) == one_by_one


def test_uneven_ends_take_the_layers_that_they_are_given() -> None:
    on = Degrees(pipeline=4, first=23, last=20)
    assert [stage_layers(94, on, Middle.of(94, on), stage)[0] for stage in range(4)] == [23, 26, 25, 20]
