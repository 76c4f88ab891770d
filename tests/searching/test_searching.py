"""The search looks at every layout, and says of each what the formulas say of it alone."""

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import get_args

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from app.core.formulas.checks import Recompute, ZeroStage
from app.core.formulas.layout import fits, step_time
from app.core.formulas.memory import memory_budget
from app.core.formulas.memory.budget import fits_together
from app.core.formulas.presets import CLUSTERS, LAYOUTS, Cluster, Layout, ModelShape, Recipe, Shares, Stack
from app.core.formulas.presets.stacks import stack_recipe
from app.core.formulas.step.speeds import reduced_by, speeds_of
from app.core.predicting.estimate import PredictionRequest, estimate
from app.core.searching import SearchResult, Space, find_layouts, fixed_fields, search_in_time
from app.core.searching.columns import search_columns
from app.core.searching.ranking import LayoutKey, RankedLayout, Ranking
from app.core.searching.space import SEARCHED, Terms
from tests.each import each

PHASES = (Phase.explicit, Phase.generate)  # shrinking takes minutes
ROOMY = replace(CLUSTERS["DGX-H100"].gpu, memory=1e18)
MODELS = (
    ModelShape.read("GPT-3 layers=4 heads=12 key_value_heads=12"),
    ModelShape.read("Mixtral layers=4 experts=3 active_experts=2"),
    ModelShape.read("DeepSeek-V3 layers=5 heads=8 key_value_heads=8 experts=2 active_experts=2 multi_token=1"),
)
FIXED = ("", "expert_tensor=1", "first_layers=1", "precision=8-bit context_by=all-gather", "data=2")
SPACES = st.builds(
    lambda model, gpus, batch, sequence, fixed: Space(
        model=model,
        cluster=replace(CLUSTERS["DGX-H100"], gpu=ROOMY, gpus=gpus, gpus_per_node=2),
        batch=batch,
        sequence=sequence,
        fixed=fixed_fields(fixed.split()),
    ),
    st.sampled_from(MODELS),
    st.sampled_from([2, 4, 6]),
    st.sampled_from([1, 4, 6]),
    st.sampled_from([512, 768]),
    st.sampled_from(FIXED),
)


def every(space: Space) -> Iterator[Layout]:
    """The legal layouts of *space*, by trying numbers."""
    constant = {name: value for name, value in space.fixed.items() if name not in SEARCHED}
    for t, p, c, d, expert, micro, virtual, parallel in tried(space):
        try:
            given = {
                "tensor": t,
                "pipeline": p,
                "context": c,
                "data": d,
                "expert": expert,
                "virtual": virtual,
                "microbatches": space.batch // (d * micro),
                "micro_batch": micro,
                "sequence": space.sequence,
                "sequence_parallel": bool(parallel),
            }
            layout = Layout.of({**given, **constant})
            fits_together(space.model, layout)
        except ValueError:
            continue
        alone = d * c == 1 and not space.model.experts
        again = [one for one in get_args(Recompute) if one != "none" or space.kernels == "unfused"]
        for kept, zero in product(again, (0,) if alone else get_args(ZeroStage)):
            one = replace(layout, recompute=kept, zero_stage=zero)
            if all(getattr(one, name) == value for name, value in space.fixed.items()):
                yield one


def tried(space: Space) -> Iterator[tuple[int, ...]]:
    """Degrees that divide the GPUs, the experts and the batch, and chunks of as many layers."""
    gpus, layers, experts = space.cluster.gpus, space.model.layers, max(1, space.model.experts)
    whole = [one for one in range(1, gpus + 1) if gpus % one == 0]
    grids = [(t, p, c, gpus // (t * p * c)) for t, p, c in product(whole, repeat=3)]
    grids = [grid for grid in grids if math.prod(grid) == gpus]
    for (t, p, c, d), expert, micro in product(grids, range(1, experts + 1), range(1, 33)):
        if experts % expert == 0 and space.batch % (d * micro) == 0:
            for virtual, parallel in product(range(1, layers + 3), (True, False)):
                even = 0 in (layers % (p * virtual), (layers + 2) % (p * virtual))
                even = even or "first_layers" in space.fixed
                if (virtual == 1 or (p > 1 and even)) and (parallel or t > 1):
                    yield t, p, c, d, expert, micro, virtual, parallel


@settings(max_examples=8, phases=PHASES)
@given(space=SPACES)
def test_a_search_ranks_all_layouts_that_the_checks_accept(space: Space) -> None:
    shares, recipe = Shares(skew=0.01), Recipe.named("FSDP2")
    speeds = speeds_of(space.model, space.cluster, shares, space.precision)
    terms = Terms(speeds, reduced_by(recipe), recipe)
    legal = set(every(space))
    ranking = Ranking(10**6, ROOMY.memory)
    looked = sum(search_columns(space, terms, ranking))
    found = {space.layout(one.key._asdict()): one for one in ranking.top}
    assert set(found) == legal
    assert looked == space.size == len(found) + sum(ranking.rejected.values())
    for layout, one in list(found.items())[:: max(1, len(found) // 40)]:
        alone = step_time(space.model, space.cluster, layout, shares, recipe).total
        assert one.time == pytest.approx(alone, rel=1e-12)
        needed = memory_budget(space.model, layout, recipe, space.kernels).total
        assert one.memory == pytest.approx(needed, rel=1e-12)


def small(memory: float = 80e9, **fields: object) -> Space:
    gpu = replace(ROOMY, memory=memory)
    machine = replace(CLUSTERS["DGX-H100"], gpu=gpu, gpus=16, gpus_per_node=8)
    fixed = fixed_fields([f"{name}={value}" for name, value in fields.items()])
    model = ModelShape.named("Llama-2-13B")
    return Space(model=model, cluster=machine, batch=32, sequence=4096, fixed=fixed)


def test_what_fits_is_counted_and_the_front_has_what_nothing_beats() -> None:
    space = small(recompute="selective", sequence_parallel="yes", context=1)
    found = find_layouts(space, top=1000)
    layouts = list(every(space))
    given = space.model, space.cluster
    good = [
        (step_time(*given, one).total, memory_budget(space.model, one).total) for one in layouts if fits(*given, one)
    ]
    assert found.fit == len(good) > 50
    assert found.least is None
    assert found.rejected["memory"] == len(layouts) - len(good) > 50
    assert [one.step_time for one in found.top] == pytest.approx(sorted(t for t, _ in good)[:1000])
    best = sorted((m, t) for t, m in good if not any((a <= t and b < m) or (a < t and b <= m) for a, b in good))
    front = [(one.memory, one.step_time) for one in found.front]
    assert [sum(one) for one in front] == pytest.approx([sum(one) for one in dict.fromkeys(best)])


def test_of_layouts_with_as_much_memory_the_fastest_is_on_the_front_and_of_slow_ones_the_smallest_is_told() -> None:
    ranking = Ranking(2, room=10.0)
    keys = [LayoutKey(t, 1, 1, 1, 1, 1, 1, 1, "none", False, 0) for t in range(1, 6)]
    rows = zip((3.5, 3.0, 3.0, 4.0, 1.0), (2.0, 2.0, 4.0, 1.0, 6.0), keys, strict=True)
    some = [RankedLayout(*row) for row in rows]
    ranking.extend_front(some)
    assert [(one.time, one.memory) for one in ranking.front] == [(4.0, 1.0), (3.0, 2.0), (1.0, 6.0)]
    assert ranking.needed == [1.0, 2.0, 6.0]
    for one in (some[0], some[1], some[4]):
        ranking.offer_least(one)
    assert ranking.least == some[1]
    ranking.add(some[:3])
    assert ranking.slowest == math.inf
    ranking.add(some[3:])
    assert ranking.slowest == 3.0
    assert ranking.top == (some[4], some[1])


def test_fewer_are_kept_than_are_found() -> None:
    whole, few = (find_layouts(small(), top=top) for top in (1000, 3))
    assert few.top == whole.top[:3]
    assert few.front == whole.front
    assert few.fit == whole.fit > 1000


def test_where_nothing_fits_the_smallest_is_told() -> None:
    space = small(memory=1e9, recompute="full", tensor=8)
    found = find_layouts(space)
    assert not found.fit
    assert not found.top
    needed = [memory_budget(space.model, one).total for one in every(space)]
    assert found.least
    assert found.least.memory == pytest.approx(min(needed), rel=1e-12)


def test_the_layout_of_llama_3_is_the_fastest_that_fits() -> None:
    # arXiv:2407.21783, table 4 and section 3.3.2: t = 8, p = 16, d = 128, 16 micro-batches of one
    # sequence, chunks of one layer; with gradients sharded.
    space = Space(
        model=ModelShape.named("Llama-3.1-405B"),
        cluster=Cluster.named("Llama 3 405B, 16384 H100"),
        batch=2048,
        sequence=8192,
        fixed=fixed_fields(["context_by=all-gather", "sequence_parallel=yes"]),
    )
    best = find_layouts(space).top[0]
    trained = LAYOUTS["Llama 3 405B on 16384 GPUs"]
    assert replace(best.layout, name=trained.name, source=trained.source) == trained
    assert best.mfu == pytest.approx(0.41, abs=0.02)  # as measured
    assert sum(best.limits.values()) == pytest.approx(1, abs=0.003)


def test_a_space_that_is_too_large_is_refused_with_what_to_fix() -> None:
    space = Space(
        model=ModelShape.named("DeepSeek-V3"),
        cluster=Cluster.read("DeepSeek 2048 H800 gpus=720720"),
        batch=720720,
        sequence=4096,
    )
    with pytest.raises(ValueError, match=r"1,377,817,920 layouts.*such as micro_batch=1 \(14,9"):
        find_layouts(space)


def test_a_space_as_large_as_is_allowed_is_searched_and_the_largest_steps_to_a_smaller_one_are_offered() -> None:
    space = small(sequence_parallel="yes", pipeline=2)
    count = space.size
    assert find_layouts(space, largest=count).layouts == count
    sizes = {text: replace(space, fixed={**space.fixed, **fixed_fields([text])}).size for text in OFFERED}
    offers = ", ".join(f"{text} ({size:,} layouts)" for text, size in sorted(sizes.items(), key=lambda one: one[1])[:3])
    with pytest.raises(ValueError, match="there are") as refused:
        find_layouts(space, largest=count - 1)
    assert str(refused.value) == (
        f"there are {count:,} layouts, and a search takes at most {count - 1:,}; fix some of tensor, context, data, "
        f"expert, virtual, micro_batch, recompute, zero_stage, such as {offers}"
    )


OFFERED = ("tensor=8", "context=1", "expert=1", "micro_batch=1", "recompute=selective", "zero_stage=1")


def test_a_pipeline_of_eight_stages_is_offered_where_it_divides_and_else_the_next_smaller() -> None:
    for gpus, pipeline, tensor in ((16, 8, 8), (12, 6, 6), (4, 4, 4)):
        space = replace(
            small(), cluster=replace(small().cluster, gpus=gpus, gpus_per_node=min(gpus, 8) if gpus != 12 else 6)
        )
        with pytest.raises(ValueError, match="there are") as refused:
            find_layouts(space, largest=1)
        assert f"pipeline={pipeline} (" in str(refused.value)
        assert f"tensor={tensor} (" in str(refused.value)


def test_a_search_in_time_ends_with_what_it_found_or_a_sentence() -> None:
    found = search_in_time(small, 5.0, lambda: 0.0)
    assert isinstance(found, SearchResult)
    assert len(found.top) == 10
    clock = iter((0.0, 5.0, *[5.1] * 99))
    late = search_in_time(small, 5.0, clock.__next__)
    assert isinstance(late, str)
    assert late.startswith("after 5 seconds, ")
    assert late.endswith(" of 7,660 layouts had been searched; fix some of the degrees")
    assert search_in_time(lambda: replace(small(), batch=2**25), 5.0, lambda: 0.0) == (
        "a search takes at most 16,777,216 sequences per step, not 33,554,432"
    )


def test_rejected_layouts_are_counted_by_rule_the_most_first_and_what_takes_little_limits_nothing() -> None:
    ranking = Ranking(2, room=10.0)
    ranking.broken.update({"few": 1, "some": 2})
    assert list(ranking.rejected.items()) == [("some", 2), ("few", 1)]
    ranking.too_large = 3
    assert list(ranking.rejected.items()) == [("memory", 3), ("some", 2), ("few", 1)]
    found = find_layouts(small(tensor=8, recompute="full", zero_stage=3), top=50)
    shares = [list(one.limits.values()) for one in found.top]
    assert all(some == sorted(some, reverse=True) and some[-1] >= 0.0005 for some in shares)


def test_what_lies_at_the_limits_of_a_space_is_taken() -> None:
    largest = replace(small(), batch=2**24)
    assert largest.batch == 2**24
    assert replace(small(), model=ModelShape.read(f"405B layers={2**16}")).model.layers == 2**16
    assert replace(small(), cluster=replace(CLUSTERS["DGX-H100"], gpus=2**20)).cluster.gpus == 2**20
    with pytest.raises(ValueError, match="at most 65,536 experts of the model"):
        replace(small(), model=ModelShape.read(f"Mixtral experts={2**16 + 1}"))


@each(
    ("pair", "says"),
    [
        ("tensr=8", "'tensr' is not a field that can be fixed; did you mean 'tensor'?"),
        ("tensor", "write a field and its value"),
        ("microbatches=8", "it follows from the batch"),
        ("sequence=8", "beside the batch"),
        ("tensor=0", "tensor must be at least 1"),
        ("tensor=2.5", "tensor must be a whole number"),
        ("recompute=selectiv", "did you mean 'selective'"),
        ("tensor=3", "does not divide the 16 GPUs; the nearest are 2 and 4"),
        ("tensor=1000000", "the nearest is 16"),
    ],
)
def test_a_field_that_cannot_be_fixed_is_refused(pair: str, says: str) -> None:
    with pytest.raises(ValueError, match=says.replace("?", r"\?")):
        replace(small(), fixed=fixed_fields([pair]))


def test_degrees_that_are_fixed_together_must_divide_the_gpus() -> None:
    with pytest.raises(ValueError, match="take 32 GPUs together, which do not divide 16"):
        small(tensor=8, pipeline=4)
    with pytest.raises(ValueError, match="fixed twice"):
        fixed_fields(["tensor=8", "tensor=8"])


def test_a_search_without_bounds_is_refused() -> None:
    with pytest.raises(ValueError, match="at most 16,777,216 sequences per step, not 33,554,432"):
        replace(small(), batch=2**25)
    with pytest.raises(ValueError, match="at most 65,536 layers of the model"):
        replace(small(), model=ModelShape.read("405B layers=1000000"))
    with pytest.raises(ValueError, match="at most 1,048,576 GPUs"):
        replace(small(), cluster=replace(CLUSTERS["DGX-H100"], gpus=2**21))


def test_progress_is_told_until_the_end() -> None:
    told: list[tuple[int, int]] = []
    found: SearchResult = find_layouts(small(), progress=lambda seen, size: told.append((seen, size)))
    assert [size for _, size in told] == [found.layouts] * len(told)
    assert told[-1][0] == found.layouts


@each("name", ["Megatron", "FSDP2 compiled=yes"])
def test_with_a_stack_times_are_those_that_are_predicted(name: str) -> None:
    stack, model, cluster = Stack.read(name), ModelShape.named("Llama-3.1-8B"), Cluster.named("16 H100")
    found = find_layouts(Space(model=model, cluster=cluster, batch=64, sequence=4096), stack=stack, top=3)
    plain = find_layouts(Space(model=model, cluster=cluster, batch=64, sequence=4096), top=1)
    for one in found.top:
        asked = PredictionRequest(
            model=model, cluster=cluster, layout=one.layout, recipe=stack_recipe(stack, None), stack=stack
        )
        predicted = estimate(asked)
        assert one.step_time == pytest.approx(predicted.total, rel=1e-9)
        assert one.mfu == pytest.approx(predicted.utilization, rel=1e-9)
        assert one.memory == pytest.approx(predicted.allocated, rel=1e-9)
    assert found.top[0].step_time != pytest.approx(plain.top[0].step_time, rel=1e-3)


def test_a_layout_that_needs_all_of_a_gpu_fits_and_with_a_byte_less_it_does_not() -> None:
    cluster = replace(CLUSTERS["DGX-H100"], gpu=ROOMY, gpus=4, gpus_per_node=2)
    space = Space(model=MODELS[0], cluster=cluster, batch=4, sequence=512, fixed=fixed_fields([]))
    least = min(one.memory for one in find_layouts(space, top=1000).top)

    def needed(room: float) -> list[float]:
        smaller = replace(cluster, gpu=replace(ROOMY, memory=room))
        return [one.memory for one in find_layouts(replace(space, cluster=smaller), top=1).top]

    assert (needed(least), needed(least - 1)) == ([least], [])
