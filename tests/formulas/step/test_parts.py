"""Kernels and links of the core: limits, symmetries and sums that are known otherwise."""

from dataclasses import replace

import pytest

from app.formulas.presets import CLUSTERS, Layout, Shares, model
from app.formulas.step.degrees import Degrees
from app.formulas.step.kernels import Products
from app.formulas.step.links import exchange, message, ring
from app.formulas.step.numbers import PLAIN
from app.formulas.step.reaching import speeds_of
from app.formulas.step.speeds import Net, Speeds
from app.formulas.step.step import Parts, step_parts
from app.formulas.step.widths import Linear, Width
from app.simulators.collectives import ring_all_reduce

GPT = model("GPT-3")
A100, H100 = CLUSTERS["DGX-A100"], CLUSTERS["DGX-H100"]
NET = Net(8, 400e9, 40e-6, 3e-6, 0.0, 40e9, 30e-6, 5e-6, 50e9)
SMALL = model("Llama-3.1-8B")


def speeds(**changed: float) -> Speeds:
    return speeds_of(SMALL, H100, Shares(**changed))  # type: ignore[arg-type]


def parts(layout: Layout, **changed: float) -> Parts:
    return step_parts(SMALL, speeds(**changed), Degrees.of(layout), PLAIN)


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


def test_an_all_reduce_in_a_node_is_a_ring_played_out_and_a_start() -> None:
    played = ring_all_reduce(1e9, 8, NET.inside, NET.inside_step).time
    assert ring(NET, PLAIN, 1e9, 8, 1, 2) == pytest.approx(NET.inside_start + played, rel=1e-12)
    assert ring(NET, PLAIN, 1e9, 1, 1, 2) == 0


def test_a_ramp_slows_small_groups() -> None:
    ramped = NET._replace(ramp=0.4, inside_start=0.0, inside_step=0.0)
    assert ring(ramped, PLAIN, 1e9, 2, 1) == pytest.approx(0.5e9 / (400e9 * 2 / 2.4))


@pytest.mark.parametrize(("stride", "groups"), [(1, 1), (2, 2), (4, 4), (8, 8), (16, 8)])
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
    at = Degrees.of(Layout(context=8, sequence=65_536))._replace(exchanged=1)
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
    whole = Degrees.of(Layout(data=64, zero_stage=3, sequence=128))
    at = speeds(hidden_data=0.0)
    times = {
        shards: step_parts(SMALL, at, whole._replace(sharded=shards), PLAIN).data
        for shards in (8, 64)
    }
    held = 8.03e9 * 2
    net = at.net
    inside = 3 * held * 7 / 8 / (net.inside * 8 / 8.4)
    across = 2 * held / 8 * 7 / 8 / net.across
    assert times[8] == pytest.approx(inside + across, rel=0.01)
    assert times[64] == pytest.approx(3 * held * 63 / 64 / (8 * net.across), rel=0.02)


def test_the_slowest_stage_sets_the_pace() -> None:
    def of(**changed: int) -> Parts:
        at = Degrees.of(Layout(pipeline=4, microbatches=32))._replace(**changed)
        return step_parts(SMALL, speeds(), at, PLAIN)

    # The last stage has the head, so that a layer less there is better, and one more is worse.
    even, lighter, heavier = of(), of(first=9, last=5), of(first=7, last=9)
    assert sum(lighter) < sum(even) < sum(heavier)
    assert even.products == lighter.products
    assert heavier.bubble > even.bubble > lighter.bubble > 0


def test_a_table_of_words_is_padded_to_whole_tiles() -> None:
    odd = replace(GPT, vocabulary=50_177)
    at = Degrees.of(Layout(tensor=8, sequence=2048))
    heads = {
        shape.vocabulary: step_parts(shape, speeds_of(shape, A100, Shares()), at, PLAIN).head
        for shape in (odd, replace(GPT, vocabulary=51_200))
    }
    assert heads[50_177] == heads[51_200]


def test_experts_are_computed_for_the_tokens_that_are_sent_to_them() -> None:
    shape = model("DeepSeek-V3")
    at = speeds_of(shape, CLUSTERS["DeepSeek 2048 H800"], Shares(grouped=1.0))
    layout = Layout(expert=64, data=64, sequence=4096, sequence_parallel=False)
    found = step_parts(shape, at, Degrees.of(layout), PLAIN)
    # 37.55 billion parameters process a token; embedding and head have 0.93 billion each.
    least = 6 * (37.55e9 - 2 * 0.927e9) * 4096 / at.products
    assert least < found.products < 1.2 * least
    split = Degrees.of(layout)._replace(tensor=2, expert_tensor=1)
    halved = step_parts(shape, at, split, PLAIN)
    assert halved.products == pytest.approx(found.products / 2, rel=0.2)
    assert isinstance(split, Degrees)
