"""The machine-checked answer key of the course, every entry worked out by calling formulas."""

import math
from collections.abc import Callable

import pytest

from app.core.formulas import (
    batching,
    collectives,
    cost,
    faults,
    memory,
    overlap,
    pipeline,
    precision,
    sampling,
    sharding,
    throughput,
    transformer,
)
from app.core.formulas.presets import cluster, gpu, model
from tests.each import each

GB, MB, MS, US = 1e9, 1e6, 1e-3, 1e-6
MINUTE, HOUR, DAY, YEAR = 60.0, 3600.0, 86400.0, 365.25 * 86400
BILLION, TRILLION = 10**9, 10**12
LLAMA = model("Llama-3.1-405B")
H100, A100 = gpu("H100"), gpu("A100")
LAYER = transformer.layer_parameters(16384, 128, 8, 53248)
RUN = transformer.training_flops(405 * BILLION, 15.6e12)
TOKENS = sharding.tensor_all_reduce_size(1, 4096, 8192)
INTERVAL = faults.young_interval(98, 24 * HOUR)
MLA = transformer.latent_cache_bytes(1, 61, 512, 64)

ESTIMATE = """\
def worked(size, n, bw):
    data_per_gpu = 2 * size * (n - 1) / n
    steps = 2 * (n - 1)
    per_step_data = size / n
    per_step_time = per_step_data / bw
    total = 2 * steps * per_step_time
    return total
""".splitlines()
ESTIMATE_MENDS = {
    2: "    data_per_gpu = size * (n - 1) / n",
    3: "    steps = n - 2",
    4: "    per_step_data = size",
    5: "    per_step_time = per_step_data * bw",
    6: "    total = steps * per_step_time",
    7: "    return total / 3",
}
BUBBLE = """\
def worked(p, m, v):
    idle = p - 1
    work = m / v
    return idle / (idle + work)
""".splitlines()
BUBBLE_MENDS = {2: "    idle = p", 3: "    work = m * v", 4: "    return idle / work"}


def estimated(worked: Callable[..., float]) -> bool:
    right = collectives.ring_all_reduce_time(3e9, 5, 50e9)
    return worked(3e9, 5, 50e9) == pytest.approx(right, rel=1e-12)


def idle_share(worked: Callable[..., float]) -> bool:
    return worked(4, 12, 3) == pytest.approx(pipeline.bubble_fraction(4, 12, 3), rel=1e-12)


def guilty_line(listing: list[str], mends: dict[int, str], right: Callable[[Callable[..., float]], bool]) -> int:
    """The one line of a wrong listing that has to be mended for it to agree with the formula."""

    def agrees(lines: list[str]) -> bool:
        known: dict[str, Callable[..., float]] = {}
        exec("\n".join(lines), known)
        return right(known["worked"])

    assert not agrees(listing)
    curing = [n for n, mend in mends.items() if agrees([*listing[: n - 1], mend, *listing[n:]])]
    assert len(curing) == 1
    return curing[0]


Entry = tuple[Callable[[], float], float, float]

KEY: dict[str, Entry] = {
    "ring-01": (lambda: collectives.ring_all_reduce_bytes(GB, 8) / GB, 1.75, 1e-12),
    "ring-02": (lambda: collectives.ring_all_reduce_time(2 * GB, 8, 50 * GB) / MS, 70, 1e-12),
    "ring-03": (
        lambda: 100 * collectives.link_utilization(
            collectives.bus_bandwidth("all_reduce", 2 * GB, 8, 90 * MS), 50 * GB
        ), 77.78, 1e-4,
    ),
    "ring-04": (
        lambda: collectives.ring_double_tree_crossover_size(8, 50 * GB, 5 * US) / MB, 8, 1e-12,
    ),
    "ring-05": (
        lambda: collectives.ring_all_reduce_time(2 * GB, 8, 50 * GB, 5 * US) / MS, 70.07, 1e-12,
    ),
    "ring-06": (lambda: guilty_line(ESTIMATE, ESTIMATE_MENDS, estimated), 6, 0),
    "zero-01": (lambda: memory.state_bytes(7 * BILLION) / GB, 112, 1e-12),
    "zero-02": (lambda: memory.zero_state_bytes(7 * BILLION, 64, 1) / GB, 29.3125, 1e-12),
    "zero-03": (lambda: memory.zero_state_bytes(7 * BILLION, 64, 2) / GB, 15.53125, 1e-12),
    "zero-04": (lambda: memory.zero_state_bytes(7 * BILLION, 64, 3) / GB, 1.75, 1e-12),
    "zero-05": (lambda: memory.zero_traffic_bytes(14 * GB, 64, 3) / GB, 41.34375, 1e-12),
    "zero-06": (lambda: memory.zero_state_bytes(30 * BILLION, 8, 3) / GB + 20, 80, 1e-12),
    "ga-01": (lambda: batching.accumulation_steps(2048, 4, 8), 64, 0),
    "ga-02": (lambda: batching.accumulation_saving(64, 50 * MS), 3.15, 1e-12),
    "ga-03": (lambda: batching.accumulated_step_time(120 * MS, 64, 50 * MS) / MS, 7730, 1e-12),
    "ga-04": (lambda: batching.accumulation_steps(1000, 3, 8), 42, 0),
    "ga-05": (lambda: 2 * 16 * (1 + memory.checkpointing_overhead()), 42.67, 1e-3),
    "lr-01": (lambda: batching.linear_scaled_rate(3e-4, 256, 2048), 2.4e-3, 1e-12),
    "lr-02": (lambda: batching.square_root_scaled_rate(3e-4, 256, 2048), 8.485e-4, 1e-4),
    "lr-03": (lambda: batching.warmup_steps(256, 2048), 8000, 0),
    "lr-04": (
        lambda: batching.steps_to_target(1, 4, 1) / batching.steps_to_target(2, 4, 1), 1.667, 1e-3,
    ),
    # the steps over which the same exposure is reached with rate and batch doubled
    "lr-05": (
        lambda: 100_000 * batching.rate_exposure(100, 3e-4) / batching.rate_exposure(100, 6e-4),
        50_000, 1e-12,
    ),
    "ovl-01": (lambda: collectives.ring_all_reduce_time(20 * GB, 64, 600 * GB) / MS, 65.625, 1e-12),
    "ovl-02": (lambda: 100 * overlap.overlapped_fraction(40, 5 * MS, 1.5 * MS), 97.5, 1e-12),
    "ovl-03": (lambda: collectives.node_all_reduce_time(20 * GB, 8, 100 * GB) / MS, 350, 1e-12),
    "ovl-04": (
        lambda: 100 * overlap.utilization_with_exposed(
            0.5,
            throughput.training_time(transformer.training_flops(10 * BILLION, 2000), 1, 990e12, 0.5),
            collectives.node_all_reduce_time(20 * GB, 8, 100 * GB),
        ), 20.46, 1e-3,
    ),
    "ovl-05": (
        lambda: overlap.communication_compute_ratio(
            collectives.ring_all_reduce_time(20 * GB, 64, 600 * GB),
            throughput.training_time(120e12, 1, 495e12, 1),
        ), 0.270703, 1e-5,
    ),
    "pipe-01": (lambda: 100 * pipeline.bubble_fraction(4, 12), 20, 1e-12),
    "pipe-02": (
        lambda: pipeline.stage_activation_bytes(2 * GB, pipeline.in_flight_microbatches("1f1b", 4, 12)) / GB,
        8, 0,
    ),
    "pipe-03": (
        lambda: pipeline.stage_activation_bytes(
            2 * GB, pipeline.in_flight_microbatches("interleaved", 4, 12, virtual=4)
        ) / GB, 9.5, 1e-12,
    ),
    "pipe-04": (lambda: pipeline.point_to_point_bytes(500 * MB, 4, 12, 4) / GB, 180, 1e-12),
    "pipe-05": (lambda: guilty_line(BUBBLE, BUBBLE_MENDS, idle_share), 3, 0),
    "pipe-06": (lambda: pipeline.microbatches_for_ratio(8, 0.05, strict=True), 141, 0),
    "tp-01": (lambda: math.prod(sharding.column_shard(8192, 8192, 8)), 8_388_608, 0),
    "tp-02": (lambda: collectives.ring_all_reduce_bytes(TOKENS, 8) / MB, 117.44, 1e-4),
    "tp-03": (
        lambda: 80 * 2 / 8 / GB * (
            transformer.attention_parameters(8192, 64, 64)
            + transformer.feed_forward_parameters(8192, 4 * 8192, gated=False)
        ), 16.11, 1e-3,
    ),
    "tp-04": (lambda: sharding.heads_per_rank(64, 8, 8).query, 8, 0),
    "tp-05": (
        lambda: 100 * sharding.tensor_overhead(
            collectives.ring_all_reduce_time(TOKENS, 8, 600 * GB), 80, 0.3
        ), 20.88, 1e-3,
    ),
    "ckpt-01": (lambda: faults.checkpoint_bytes(70 * BILLION) / GB, 980, 1e-12),
    "ckpt-02": (lambda: faults.write_time(980 * GB, 10 * GB), 98, 1e-12),
    "ckpt-03": (lambda: INTERVAL / MINUTE, 68.586, 1e-5),
    "ckpt-04": (lambda: faults.cost_per_failure(512, 2, 68 * MINUTE, 98), 608.14, 1e-5),
    "ckpt-05": (lambda: 100 * faults.expected_waste(INTERVAL, 98, 24 * HOUR), 4.762897, 1e-6),
    "mp-01": (lambda: precision.smallest_normal("fp16"), 6.1035e-5, 1e-5),
    "mp-02": (
        lambda: precision.loss_scale([n in (7, 99) for n in range(500)], 65536, 2000)[-1], 16384, 0,
    ),
    "mp-03": (
        lambda: precision.mixed_precision_bytes(13 * BILLION, 0)
        / precision.full_precision_bytes(13 * BILLION, 0), 1.1667, 1e-4,
    ),
    "mp-04": (lambda: precision.largest_finite("fp8_e4m3"), 448, 0),
    "mp-05": (lambda: precision.activation_saving(80 * 2 * 4 * 4096 * 8192) / GB, 21.47, 1e-3),
    "mp-06": (lambda: precision.loss_scale([False, False, True, False], 1024, 3)[-1], 512, 0),
    "cap-01": (lambda: sharding.data_parallel_degree(16384, 8, 16), 128, 0),
    "cap-02": (lambda: sum(pipeline.layers_per_stage(126, 16)), 126, 0),
    "cap-03": (lambda: 8 * 2 * LAYER / 8 / GB, 6.375, 1e-4),
    "cap-04": (lambda: transformer.petaflop_days(RUN), 438_750, 1e-12),
    "cap-05": (lambda: throughput.training_time(RUN, 16384, H100.peak, 0.4) / DAY, 67.69, 1e-4),
    "cap-06": (lambda: 100 * pipeline.bubble_fraction(16, 16), 48.39, 1e-4),
    "cap-07": (
        lambda: collectives.ring_all_reduce_bytes(8 * 2 * LAYER / 8, 128) / GB, 12.65, 1e-3,
    ),
    "cap-08": (lambda: sharding.parallelism_order().index("context"), 1, 0),
    "cap-09": (
        lambda: cost.electricity_cost(16384, 700, 77 * DAY, 0.05) / 1e6, 1.0597, 1e-4,
    ),
    "hw-01": (lambda: throughput.matmul_flops(16, 8, 4), 1024, 0),
    "hw-02": (lambda: 528 * throughput.matmul_flops(16, 8, 4) * 1.83e9 / 1e12, 989.43, 1e-5),
    "hw-03": (lambda: H100.tensor_cores // 4 * 128, 16_896, 0),
    "hw-04": (lambda: throughput.ridge_intensity(H100.peak, H100.memory_bandwidth), 295.05, 1e-4),
    "hw-05": (lambda: throughput.matmul_intensity(4096, 4096, 4096, 2), 1365.33, 1e-5),
    "hw-06": (lambda: throughput.elementwise_intensity(2), 0.25, 0),
    "hw-07": (lambda: throughput.smallest_square_matmul(H100.peak, H100.memory_bandwidth), 886, 0),
    "hw-09": (lambda: cluster("Meta 24K H100").inter_bandwidth / GB, 50, 0),
    "hw-11": (lambda: cluster("Meta 24K H100").cross_pod_bandwidth / GB, 7.14, 1e-3),
    "hw-17": (lambda: throughput.training_time(RUN, 1, H100.peak, 1) / YEAR, 1214.6, 1e-4),
    "hw-18": (lambda: throughput.training_time(3.645e25, 24576, H100.peak, 0.4) / DAY, 43.4, 1e-3),
    "fsdp-02": (
        lambda: memory.zero_traffic_bytes(14 * GB, 64, 3) / memory.zero_traffic_bytes(14 * GB, 64, 0),
        1.5, 1e-12,
    ),
    "fsdp-03": (lambda: memory.hybrid_shard_traffic(14 * GB, 8, 8).inter_bytes / GB, 3.0625, 1e-12),
    "fsdp-04": (lambda: memory.zero_traffic_bytes(14 * GB, 64, 3) / GB, 41.34, 1e-3),
    "fsdp-05": (
        lambda: memory.hybrid_shard_traffic(14 * GB, 8, 3072).intra_bytes
        / memory.hybrid_shard_traffic(14 * GB, 8, 3072).inter_bytes, 10.5, 1e-3,
    ),
    "fsdp-06": (lambda: memory.hybrid_shard_state_bytes(405 * BILLION, 128) / GB, 50.625, 1e-12),
    # rank 5000 with tensor fastest, then context, pipeline, data: whole groups of 8 * 16 before it
    "mesh-02": (lambda: sharding.data_parallel_degree(5000 // 128 * 128, 8, 16), 39, 0),
    "mesh-04": (lambda: memory.zero_state_bytes(405 * BILLION, 128, 3) / GB, 50.625, 1e-12),
    "moe-01": (
        lambda: (
            100
            * transformer.training_flops(37 * BILLION, 1)
            / transformer.training_flops(671 * BILLION, 1)
        ),
        5.514,
        1e-4,
    ),
    "moe-02": (lambda: cost.rental_cost(2048, 2.788e6 * HOUR / 2048, 2) / 1e6, 5.576, 1e-12),
    "moe-03": (
        lambda: H100.peak / 1e12 * throughput.model_utilization(
            transformer.training_flops(37 * BILLION, 14.8e12), 2.664e6 * HOUR, 1, H100.peak
        ), 342.6, 1e-4,
    ),
    "moe-04": (
        lambda: H100.peak / 1e12 * throughput.model_utilization(RUN, 30.84e6 * HOUR, 1, H100.peak),
        341.4, 2e-4,
    ),
    "moe-05": (lambda: MLA / 1e3, 70.27, 1e-4),
    "moe-06": (
        lambda: sharding.expert_all_to_all_bytes(1, 7168, 4, 1, 10**9) / 1e3,
        28.67,
        1e-3,
    ),
    "moe-07": (lambda: collectives.link_utilization(160 * GB, 50 * GB), 3.2, 1e-12),
    # two of the five bytes that are kept for each score are the softmax's result in 16 bits
    "io-01": (
        lambda: (
            2
            / 5
            / GB
            * (
                memory.layer_activation_bytes(8192, 1, 8192, 64)
                - memory.layer_activation_bytes(8192, 1, 8192, 64, recompute="selective")
            )
        ),
        8.59,
        1e-3,
    ),
    "io-02": (
        lambda: (
            memory.layer_activation_bytes(4096, 4, 8192, 64)
            - memory.layer_activation_bytes(4096, 4, 8192, 64, recompute="selective")
        ) / GB, 21.47, 1e-3,
    ),
    "io-03": (lambda: throughput.flash_attention_share(128, 2 * 51_200), 0.32, 1e-12),
    "io-04": (lambda: throughput.standard_attention_bytes(4096, 128) / MB, 138.41, 1e-4),
    "io-07": (lambda: 100 * throughput.hardware_utilization(225e12, 1, 1, A100.peak), 72.1, 1e-3),
    "io-09": (lambda: transformer.key_value_cache_bytes(1, 126, 8, 128) / 1e3, 516.1, 1e-4),
    "io-11": (lambda: memory.layer_activation_bytes(4096, 1, 8192, 64) / MB, 6509.6, 1e-4),
    "tts-01": (
        lambda: 100 * (sampling.pass_at_k(1000, 553, 1) / sampling.pass_at_k(1000, 424, 1) - 1),
        30.42,
        1e-3,
    ),
    "tts-02": (lambda: sampling.pass_at_k(20, 3, 5), 0.600877, 1e-6),
    "tts-03": (lambda: sampling.pass_at_k(10**6, 3 * 10**5, 4), 0.7599, 1e-4),
    "tts-04": (
        lambda: sampling.smaller_model_breakeven(8 * BILLION, 15e12, 70 * BILLION, 1.4e12),
        1.0645e12, 1e-4,
    ),
    "tts-06": (
        lambda: throughput.training_time(
            transformer.training_flops(100 * BILLION, 20 * 100 * BILLION), 64, H100.peak, 0.4
        ) / DAY, 548.6, 1e-3,
    ),
    "diag-05": (
        lambda: 0.45 * cost.rental_cost(64, DAY, 2), 1382.4, 1e-12,
    ),
    "diag-07": (lambda: memory.zero_state_bytes(100 * BILLION, 64, 1) / GB, 418.75, 1e-12),
}  # fmt: skip


@each("name", KEY)
def test_an_entry_of_the_answer_key_comes_out(name: str) -> None:
    worked, expected, tolerance = KEY[name]
    assert worked() == pytest.approx(expected, rel=tolerance, abs=0)


def test_the_answer_key_is_complete() -> None:
    chapters = {
        "ring": 6, "zero": 6, "ga": 5, "lr": 5, "ovl": 5, "pipe": 6, "tp": 5, "ckpt": 5, "mp": 6,
        "cap": 9, "hw": 11, "fsdp": 5, "mesh": 2, "moe": 7, "io": 7, "tts": 5, "diag": 2,
    }  # fmt: skip
    counted = {chapter: sum(name.startswith(f"{chapter}-") for name in KEY) for chapter in chapters}
    assert counted == chapters
