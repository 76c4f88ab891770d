from dataclasses import replace

import pytest

from app.core.formulas.layout import fits, projected_utilization, step_time, step_time_range, total_step_time
from app.core.formulas.memory import memory_budget
from app.core.formulas.pipeline import layers_per_stage
from app.core.formulas.presets import LAYOUTS, Cluster, Layout, Recipe, Shares, cluster, model
from app.core.formulas.sharding import tensor_all_reduce_size, tensor_traffic_bytes
from app.core.formulas.throughput import training_time
from app.core.formulas.transformer import token_flops
from app.core.simulators.pipeline import Times, build, simulate_schedule
from tests.each import each
from tests.oracles.collectives import ring_all_reduce
from tests.oracles.overlap import backward_pass

SMALL = model("Llama-3.1-8B")
NODE = cluster("One node of 8 H100")


def of(gpus: int, base: str = "64 H100") -> Cluster:
    return Cluster.read(f"{base} gpus={gpus} gpus_per_node={min(8, gpus)}")


def test_step_time_of_one_gpu_is_its_computing() -> None:
    parts = step_time(SMALL, of(1), Layout(recompute="none"))
    # Without the embedding, which is looked up, and the head: 128,256 by 4,096 each.
    table = 128_256 * 4096
    flops = token_flops(8_030_261_248 - table, 32, 32, 128, 8192, causal=True, embedding=table)
    least = training_time((flops - 6 * 32 * 32 * 128 * 8192) * 8192, 1, 989e12, 0.66)
    assert least < parts.products < 1.05 * least
    waits = parts.tensor, parts.context, parts.expert, parts.messages, parts.bubble, parts.data
    assert waits == (0, 0, 0, 0, 0, 0)
    assert parts.total == pytest.approx(parts.compute + parts.optimizer)


def test_step_time_waits_for_every_all_reduce_of_a_node() -> None:
    parts = step_time(SMALL, NODE, Layout(tensor=8, microbatches=4))
    size = tensor_all_reduce_size(1, 8192, 4096)
    once = ring_all_reduce(size, 8, 370e9 * 8 / 8.4, NODE.intra_latency).time + 40e-6
    # Four a layer and micro-batch, and two of the output head.
    waited = sum(once for _ in range((4 * 32 + 2) * 4))
    assert parts.tensor == pytest.approx(waited, rel=1e-9)
    told = step_time(SMALL, NODE, Layout(tensor=8, microbatches=4), Shares(intra=1.0))
    traffic = tensor_traffic_bytes(size, 32, 8, microbatches=4) * 130 / 128
    started = 520 * (40e-6 + 14 * NODE.intra_latency)
    assert told.tensor == pytest.approx(started + traffic * 8.4 / 8 / 450e9, rel=1e-9)


@each(("stages", "microbatches", "virtual"), [(4, 8, 1), (8, 16, 2)])
def test_step_time_idles_as_long_as_the_schedule_played_out(stages: int, microbatches: int, virtual: int) -> None:
    layout = Layout(pipeline=stages, microbatches=microbatches, virtual=virtual)
    # So few words that all stages take as long: the head is on the last one alone.
    even = replace(SMALL, vocabulary=1, layers=3200)
    parts = step_time(even, of(stages), layout)
    one = (parts.compute + parts.recompute) / microbatches / 3
    played = simulate_schedule(build("interleaved", stages, microbatches, virtual), Times(one, one, one))
    assert parts.bubble == pytest.approx(played.bubble, rel=0.01)


def test_step_time_shows_only_what_the_last_backward_pass_does_not_hide() -> None:
    layout = Layout(data=64, microbatches=2, zero_stage=1, sequence=512)
    wide = Cluster.read("64 H100 inter_bandwidth=20 GB/s")
    parts = step_time(SMALL, wide, layout)
    times = step_time(SMALL, wide, replace(layout, recompute="full"))
    forward = times.recompute / 2 / 32
    backward = (parts.compute - parts.head) / 2 / 32 - forward
    hops = 56 * 3.4e-6 + 7 * 5e-6 + 30e-6
    message = 63 / 64 * 2 * 8_030_261_248 / (0.9 * 8 * 20e9) / 32 + hops / 32
    shows = backward_pass([backward] * 32, [message] * 32) - 32 * backward
    shows += backward_pass([forward] * 32, [message] * 32) - 32 * forward
    # What is hidden takes 20 of 132 multiprocessors from the computing: arXiv:2412.19437, 3.2.2.
    hidden = 2 * 32 * message - shows
    assert parts.data == pytest.approx(shows + 20 / 132 * hidden, rel=0.01)


def test_step_time_gathers_keys_and_values_and_sends_tokens_to_experts() -> None:
    long = step_time(SMALL, NODE, Layout(context=8, sequence=65_536, context_by="all-gather"))
    size, reached = 2 * 65_536 * 8 * 128 * 2, 370e9
    gather = 40e-6 + 7 * (3.4e-6 + size / 8 / (reached * 8 / 8.4))
    assert long.context == pytest.approx(32 * 3 * gather, rel=1e-9)
    mixture = model("Mixtral-8x7B")
    routed = step_time(mixture, NODE, Layout(expert=8, data=8), Shares(hidden_expert=0.0))
    copies = 8192 * 2 * 4096 * 2
    journey = 40e-6 + copies * 7 / 8 / reached
    assert routed.expert == pytest.approx(4 * 32 * journey, rel=1e-9)
    assert long.expert == routed.context == 0


def test_step_time_recomputes_a_forward_pass_or_the_scores_or_nothing() -> None:
    whole, scores, nothing = (
        step_time(SMALL, of(1), Layout(recompute=again)) for again in ("full", "selective", "none")
    )
    assert 0.3 < whole.recompute / (whole.compute - whole.head) < 1 / 3
    assert scores.recompute == nothing.recompute == 0  # fused attention stores no scores
    written = Shares(kernels="unfused")
    old = step_time(SMALL, of(1), Layout(), written)
    assert 0 < old.recompute < old.attention / 2
    assert old.attention > 2 * scores.attention
    assert step_time(SMALL, of(1), Layout(recompute="none"), written).recompute == 0


def test_step_time_gathers_weights_in_the_bytes_of_the_recipe() -> None:
    layout = Layout(data=64, zero_stage=3)
    exposed, where = Shares(hidden_data=0.0), cluster("64 H100")
    half = step_time(SMALL, where, layout, exposed).data
    whole = step_time(SMALL, where, layout, exposed, Recipe.named("FP32")).data
    assert whole == pytest.approx(half * (2 * 4 + 4) / (2 * 2 + 2), rel=0.02)


def test_step_time_range_is_a_point_where_every_share_has_a_source() -> None:
    for where, layout in ((of(1), Layout()), (cluster("64 H100"), Layout(data=64, zero_stage=3))):
        low, high = step_time_range(SMALL, where, layout)
        assert low == high == total_step_time(SMALL, where, layout)
    unknown = Cluster.read("DGX-B200 gpus=1")
    low, high = step_time_range(SMALL, unknown, Layout())
    assert low < total_step_time(SMALL, unknown, Layout()) < high
    told = Shares(product=0.6, memory=0.6)
    low, high = step_time_range(SMALL, unknown, Layout(), told)
    assert low == high == total_step_time(SMALL, unknown, Layout(), told)


@each("name", [name for name in LAYOUTS if name.startswith("Llama 3 405B")])
def test_llama_3_405b_interleaves_a_layer_a_chunk_and_two_chunks_without_one(name: str) -> None:
    # arXiv:2407.21783, section 3.3.2: the first chunk of the first stage has only the embedding,
    # the last of the last only the output head and the loss, once each has given up its one layer.
    shape, layout = model("Llama-3.1-405B"), LAYOUTS[name]
    meta = Cluster.read(f"Meta 24K H100 gpus={layout.gpus}")
    chunks = [[1] * 8 for _ in range(16)]
    chunks[0][0] = chunks[-1][-1] = 0
    assert sum(map(sum, chunks)) == shape.layers == 126
    assert tuple(map(sum, chunks)) == layers_per_stage(shape.layers, layout.pipeline)
    assert layout.virtual == len(chunks[0])
    parts = step_time(shape, meta, layout)
    played = simulate_schedule(build("interleaved", 16, layout.microbatches, 8), Times(1, 1, 1))
    ramp = played.bubble / (3 * layout.microbatches)
    busy = parts.compute + parts.recompute + parts.tensor + parts.context
    # The stages in the middle have 8 layers where the mean is 126 / 16, so others wait for them.
    assert ramp < parts.bubble / busy < ramp + 8 / (126 / 16) - 1 + 0.01


def test_total_step_time_and_projected_utilization_are_those_of_the_models_computation() -> None:
    layout = Layout(tensor=8, microbatches=4)
    flops = token_flops(8_030_261_248, 32, 32, 128, 8192, causal=True) * layout.tokens
    time = total_step_time(SMALL, NODE, layout)
    assert time == sum(step_time(SMALL, NODE, layout))
    assert projected_utilization(SMALL, NODE, layout) == pytest.approx(flops / (time * 8 * 989e12), rel=1e-12)


def test_fits_compares_the_budget_with_the_gpu() -> None:
    layout = Layout(data=8, zero_stage=3)
    need = memory_budget(SMALL, layout).total
    assert fits(SMALL, NODE, layout) == (need <= 80e9)
    room = 80e9 - need
    assert fits(SMALL, NODE, layout, reserved=room * 0.999)
    assert not fits(SMALL, NODE, layout, reserved=room * 1.001)
    assert not fits(SMALL, NODE, replace(layout, zero_stage=0))
    assert not fits(model("405B"), NODE, Layout(tensor=8))


def test_fits_depends_on_the_bytes_of_the_recipe() -> None:
    layout = Layout(data=8, zero_stage=3)
    lean = memory_budget(SMALL, layout, Recipe.named("no master copy")).total
    assert fits(SMALL, NODE, layout, Recipe.named("no master copy"), reserved=80e9 - lean - 1)
    assert not fits(SMALL, NODE, layout, reserved=80e9 - lean - 1)


def test_a_layout_for_another_number_of_gpus_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^layout must have as many GPUs as the cluster, 8, not 16"):
        fits(SMALL, NODE, Layout(data=16))
    with pytest.raises(ValueError, match=r"^layout must have as many GPUs as the cluster, 8, not 16"):
        step_time(SMALL, NODE, Layout(data=16))
