"""Kernels and links of the core: limits, symmetries and sums that are known otherwise."""

from dataclasses import replace

import pytest

from app.core.formulas.parallelism import PLAIN, Degrees
from app.core.formulas.pipeline import layers_per_stage
from app.core.formulas.presets import CLUSTERS, MODELS, Layout, ModelShape, Shares, model
from app.core.formulas.step.layer import Linear, Products, Width, Widths, attention_time
from app.core.formulas.step.speeds import Net, Speeds, exchange, message, ring, speeds_of
from app.core.formulas.step.step import StepTime, stages_time, step_parts
from tests.each import each
from tests.oracles.collectives import ring_all_reduce

GPT = model("GPT-3")
A100, H100 = CLUSTERS["DGX-A100"], CLUSTERS["DGX-H100"]
NET = Net(8, 400e9, 40e-6, 3e-6, 0.0, 40e9, 30e-6, 5e-6, 50e9)
SMALL = model("Llama-3.1-8B")


def speeds(**changed: float) -> Speeds:
    return speeds_of(SMALL, H100, Shares(**changed))  # type: ignore[arg-type]


def parts(layout: Layout, **changed: float) -> StepTime:
    return step_parts(SMALL, speeds(**changed), layout.degrees(), PLAIN)


def test_a_product_of_whole_waves_reaches_the_rate_and_one_more_tile_costs_a_wave() -> None:
    # 108 tiles of 256 x 128 on 108 units: one wave. One more row is another wave.
    of_a100 = speeds_of(GPT, A100, Shares())
    square = (Linear(Width(128 * 9), Width(4096)),)
    whole = Products(of_a100, PLAIN, 256 * 12, 1).seconds(square, 1e12)
    assert whole.forward == pytest.approx(2 * 256 * 12 * 128 * 9 * 4096 / 1e12)
    more = Products(of_a100, PLAIN, 256 * 12 + 1, 1).seconds(square, 1e12)
    assert 1.2 * whole.forward < more.forward < 2.01 * whole.forward


def test_products_of_experts_fill_waves_together() -> None:
    of_a100 = speeds_of(GPT, A100, Shares())
    narrow = (Linear(Width(128), Width(4096)),)
    alone = Products(of_a100, PLAIN, 256, 1).seconds(narrow, 1e12).forward
    together = Products(of_a100, PLAIN, 256, 1, 108).seconds(narrow, 1e12).forward
    assert together == pytest.approx(108 * 2 * 256 * 128 * 4096 / 1e12)
    assert together < 10 * alone


def test_fused_attention_computes_half_of_the_scores_and_again_backward() -> None:
    at = speeds()
    spent = attention_time(at, PLAIN, 1024, 8192, 2 * 4096, 32)
    products = 2 * 1024 * 8192 * 2 * 4096 / 2  # two products, half of them for the causal mask
    assert spent.forward == pytest.approx(products / (0.75 * 0.66 * 989e12))
    # Five products backward, as the scores are computed again: FlashAttention-2, arXiv:2307.08691.
    assert spent.backward == pytest.approx(5 / 2 * spent.forward)


@each("shape", MODELS.values(), ids=lambda shape: shape.name)
def test_the_products_of_a_layer_are_those_of_its_parameters(shape: ModelShape) -> None:
    widths = Widths.of(shape)

    def weights(linears: tuple[Linear, ...]) -> int:
        return sum(result.size * taken.size for result, taken in linears)

    small = 10 * (shape.hidden + shape.heads * shape.head_size + shape.query_latent)  # biases, norms
    assert 0 <= widths.parts.attention - weights(widths.attention) <= small
    if shape.biases != "all":
        assert weights(widths.dense) == widths.parts.feed_forward
        assert weights(widths.shared) == widths.parts.shared
        assert weights(widths.expert) == widths.parts.expert
    assert (widths.dense_layers, widths.mixtures) == (shape.layers - shape.expert_layers, shape.expert_layers)


@each("stages", [2, 3, 4, 5, 7, 8, 12, 16])
@each("layers", [16, 17, 19, 30, 32])
def test_the_slowest_stage_is_that_of_the_layers_per_stage(stages: int, layers: int) -> None:
    shape, at = replace(SMALL, layers=layers), speeds()
    degrees = Layout(pipeline=stages).degrees()
    one = stages_time(shape, at, degrees, PLAIN)
    single = stages_time(replace(shape, layers=1), at, degrees._replace(pipeline=1), PLAIN)
    layer = single.layers.busy
    times = [count * layer for count in layers_per_stage(layers, stages)]
    times[-1] += single.head  # with the embedding, which is short
    assert one.slowest == pytest.approx(max(times), rel=0.02)
    assert one.most == max(layers_per_stage(layers, stages))


@each(
    ("layout", "stages"),
    [
        (Layout(pipeline=4, first_layers=3, last_layers=2), (3, 6, 2)),
        (Layout(pipeline=4, first_layers=3), (3, 5, 4)),
        (Layout(pipeline=4, last_layers=2), (4, 6, 2)),
        (Layout(pipeline=3, first_layers=2, last_layers=2), (2, 13, 2)),
        (Layout(pipeline=2, first_layers=11, last_layers=6), (11, 0, 6)),
        (Layout(pipeline=2, first_layers=6, last_layers=11), (6, 0, 11)),
        (Layout(pipeline=4, first_layers=8, last_layers=3), (8, 3, 3)),
    ],
    ids=repr,
)
def test_a_stage_at_an_end_may_have_layers_of_its_own_number(layout: Layout, stages: tuple[int, int, int]) -> None:
    shape, at = replace(SMALL, layers=17), speeds()
    single = stages_time(replace(shape, layers=1), at, Layout().degrees(), PLAIN)
    layer, (first, between, last) = single.layers.busy, stages
    found = stages_time(shape, at, layout.degrees(), PLAIN)
    assert found.most == max(stages)
    assert found.slowest == pytest.approx(max(first * layer, between * layer, last * layer + single.head), rel=0.01)


def test_a_further_token_costs_a_layer_a_projection_and_the_head_again() -> None:
    at = speeds()
    one, none = (stages_time(replace(SMALL, multi_token=n), at, Layout().degrees(), PLAIN) for n in (1, 0))
    assert one.layers.busy == pytest.approx(none.layers.busy * 33 / 32)
    assert 2 * none.head < one.head < 2.2 * none.head
    assert one.most == none.most + 1


def test_gradients_of_experts_are_reduced_over_the_ranks_that_have_the_same() -> None:
    shape = model("Mixtral-8x7B")
    at = speeds_of(shape, H100, Shares(hidden_data=0.0))
    layout = Layout(expert=8, data=64, zero_stage=0, sequence=128)
    found = step_parts(shape, at, layout.degrees(), PLAIN).data
    experts = 2 * 32 * 3 * 4096 * 14_336  # bytes: one expert of each layer is on a rank
    dense = 2 * (46_702_792_704 - 8 * experts / 2 - 32_000 * 4096)
    # The eight ranks with the same expert are one in each node, so they share its network.
    least = 2 * experts * 7 / 8 / at.net.across + 2 * dense * 63 / 64 / (8 * at.net.across)
    assert found == pytest.approx(least, rel=0.01)


def test_an_all_reduce_in_a_node_is_a_ring_played_out_and_a_start() -> None:
    played = ring_all_reduce(1e9, 8, NET.inside, NET.inside_step).time
    assert ring(NET, PLAIN, 1e9, 8, 1, 2) == pytest.approx(NET.inside_start + played, rel=1e-12)
    assert ring(NET, PLAIN, 1e9, 1, 1, 2) == 0


def test_a_ramp_slows_small_groups() -> None:
    ramped = NET._replace(ramp=0.4, inside_start=0.0, inside_step=0.0)
    assert ring(ramped, PLAIN, 1e9, 2, 1) == pytest.approx(0.5e9 / (400e9 * 2 / 2.4))


@each(("stride", "groups"), [(1, 1), (2, 2), (4, 4), (8, 8), (16, 8)])
def test_groups_share_the_network_of_a_node(stride: int, groups: int) -> None:
    bare = NET._replace(across_start=0.0, across_step=0.0, inside_step=0.0, inside=1e15)
    node = 8 * bare.across
    assert ring(bare, PLAIN, 1e9, 64, stride) == pytest.approx(63 / 64 * 1e9 / (node / groups))


def test_an_exchange_sends_over_the_network_only_what_leaves_the_node() -> None:
    bare = NET._replace(across_start=0.0, inside_start=0.0)
    assert exchange(bare, PLAIN, 1e9, 8, 1) == pytest.approx(7 / 8 * 1e9 / 400e9)
    assert exchange(bare, PLAIN, 1e9, 32, 1) == pytest.approx(24 / 32 * 1e9 / 40e9)
    assert exchange(bare._replace(ranks=72), PLAIN, 1e9, 32, 1) == pytest.approx(31 / 32 / 400)
    assert exchange(bare, PLAIN, 1e9, 1, 1) == 0
    assert message(bare, PLAIN, 1e9, 2, 1) == pytest.approx(1 / 400)
    assert message(bare, PLAIN, 1e9, 4, 8) == pytest.approx(1 / 50)


def test_communication_that_is_hidden_takes_no_time() -> None:
    tensor, context = Layout(tensor=8), Layout(context=8, sequence=65_536)
    data = Layout(data=64, zero_stage=0)
    for layout, part, share in (
        (tensor, "tensor", "hidden_tensor"),
        (context, "context", "hidden_context"),
        (data, "data", "hidden_data"),
    ):
        shown, half, none = (getattr(parts(layout, **{share: s}), part) for s in (0.0, 0.5, 1.0))
        assert (shown, none) == (pytest.approx(2 * half), 0)
        assert half > 0


def test_context_parallelism_may_exchange_heads_for_tokens() -> None:
    at = Layout(context=8, sequence=65_536).degrees()._replace(exchanged=1)
    net = speeds().net._replace(inside_start=0.0)
    found = step_parts(SMALL, speeds()._replace(net=net), at, PLAIN)
    # Queries and results of 32 heads, keys and values of 8, 128 wide: forward and backward.
    size = 2 * 8192 * 128 * (2 * 32 + 2 * 8)
    assert found.context == pytest.approx(32 * 2 * size * 7 / 8 / net.inside, rel=1e-9)
    assert SMALL.heads == 32


def test_skew_is_a_share_of_everything_else() -> None:
    layout = Layout(tensor=2, pipeline=2, data=2, microbatches=4)
    assert sum(parts(layout, skew=0.25)) == pytest.approx(1.25 * sum(parts(layout)))


def test_weights_are_gathered_behind_the_layer_before() -> None:
    sharded = Layout(data=64, micro_batch=2, zero_stage=3)
    shown = parts(sharded).data
    assert shown < 0.25 * parts(sharded, hidden_data=0.0).data
    # With little to compute, nothing is hidden but as much as there is to compute.
    short = replace(sharded, sequence=16, micro_batch=1)
    assert parts(short).data > 0.75 * parts(short, hidden_data=0.0).data


def test_shards_within_a_node_are_reduced_over_the_nodes_besides() -> None:
    whole = Layout(data=64, zero_stage=3, sequence=128).degrees()
    at = speeds(hidden_data=0.0)
    times = {shards: step_parts(SMALL, at, whole._replace(sharded=shards), PLAIN).data for shards in (8, 64)}
    held = 8.03e9 * 2
    net = at.net
    inside = 3 * held * 7 / 8 / (net.inside * 8 / 8.4)
    across = 2 * held / 8 * 7 / 8 / net.across
    assert times[8] == pytest.approx(inside + across, rel=0.01)
    assert times[64] == pytest.approx(3 * held * 63 / 64 / (8 * net.across), rel=0.02)


def test_the_slowest_stage_sets_the_pace() -> None:
    def of(**changed: int) -> StepTime:
        at = Layout(pipeline=4, microbatches=32).degrees()._replace(**changed)
        return step_parts(SMALL, speeds(), at, PLAIN)

    # The last stage has the head, so that a layer less there is better, and one more is worse.
    even, lighter, heavier = of(), of(first=9, last=5), of(first=7, last=9)
    assert sum(lighter) < sum(even) < sum(heavier)
    assert even.products == lighter.products
    assert heavier.bubble > even.bubble > lighter.bubble > 0


def test_a_table_of_words_is_padded_to_whole_tiles() -> None:
    odd = replace(GPT, vocabulary=50_177)
    at = Layout(tensor=8, sequence=2048).degrees()
    heads = {
        shape.vocabulary: step_parts(shape, speeds_of(shape, A100, Shares()), at, PLAIN).head
        for shape in (odd, replace(GPT, vocabulary=51_200))
    }
    assert heads[50_177] == heads[51_200]


def test_experts_are_computed_for_the_tokens_that_are_sent_to_them() -> None:
    shape = model("DeepSeek-V3")
    at = speeds_of(shape, CLUSTERS["DeepSeek 2048 H800"], Shares(grouped=1.0))
    layout = Layout(expert=64, data=64, sequence=4096, sequence_parallel=False)
    found = step_parts(shape, at, layout.degrees(), PLAIN)
    # 37.55 billion parameters process a token; embedding and head have 0.93 billion each.
    least = 6 * (37.55e9 - 2 * 0.927e9) * 4096 / at.products
    assert least < found.products < 1.2 * least
    split = layout.degrees()._replace(tensor=2, expert_tensor=1)
    halved = step_parts(shape, at, split, PLAIN)
    assert halved.products == pytest.approx(found.products / 2, rel=0.2)
    assert isinstance(split, Degrees)


@each("text", ["Llama-3.1-8B", "DeepSeek-V3"])
def test_a_module_for_a_further_token_is_a_layer_a_projection_and_a_head(text: str) -> None:
    shape, degrees = model(text), Degrees(microbatches=4, data=8, sequence=4096)
    at = speeds_of(shape, H100, Shares(hidden_data=1.0))

    def timed(changed: ModelShape) -> StepTime:
        return step_parts(changed, at, degrees, PLAIN)

    plain, module = timed(shape), timed(replace(shape, multi_token=1))
    deeper = timed(replace(shape, layers=shape.layers + 1))
    assert module.products == pytest.approx(deeper.products, rel=1e-12)
    assert module.attention == pytest.approx(deeper.attention, rel=1e-12)
    joined = Linear(Width(shape.hidden), Width(2 * shape.hidden))
    projection = sum(Products(at, PLAIN, 4096, 1).seconds((joined,), at.exact))
    again = plain.head - 4 * 20 * 4096 * shape.hidden / at.memory  # all but the embedding
    assert module.head == pytest.approx(plain.head + again + 4 * projection, rel=1e-12)


def test_a_module_for_a_further_token_belongs_to_the_last_stage() -> None:
    at, degrees = speeds(), Degrees(pipeline=4, microbatches=8)
    even = stages_time(SMALL, at, degrees, PLAIN)
    longer = stages_time(replace(SMALL, multi_token=1), at, degrees, PLAIN)
    assert longer.slowest > even.slowest
    shorter = degrees._replace(last=5, first=9)
    rebalanced = stages_time(replace(SMALL, multi_token=1), at, shorter, PLAIN)
    assert rebalanced.slowest < longer.slowest


def test_operations_that_are_not_kept_are_computed_again() -> None:
    # Keys, the output of attention and the second product up: of 7 products of a layer. All else
    # of the forward pass but attention, too.
    layout = Layout(data=8, micro_batch=2, zero_stage=3, recompute="operations")
    some, kept = parts(layout), parts(replace(layout, recompute="none"))
    every = parts(replace(layout, recompute="full"))
    tokens, wide = 2 * 8192, 4096
    weights = 1024 * wide + wide * wide + 14_336 * wide
    products = 32 * 2 * tokens * weights / (0.66 * 989e12)
    forward = some.element_wise / 2
    assert products < some.recompute < 1.2 * products + forward
    assert some.recompute < every.recompute / 1.5
    assert kept.recompute == 0
    assert some.products == kept.products
    split = replace(layout, tensor=4, data=2)
    again = parts(split).tensor / parts(replace(split, recompute="none")).tensor
    assert again == pytest.approx((32 * 5 + 2) / (32 * 4 + 2), rel=0.01)
