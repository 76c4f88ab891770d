import math

import pytest

from app.core.formulas.collectives import ring_all_reduce_time
from app.core.formulas.serving import (
    best_tensor_degree,
    critical_batch,
    decode_attention_intensity,
    decode_step_time,
    dollars_per_million_tokens,
    latent_attention_intensity,
)
from app.core.formulas.throughput import roofline_time
from app.core.formulas.transformer import key_value_cache_bytes, latent_cache_bytes
from tests.each import each

H100_MEMORY, H100_PEAK, H100_PEAK_8BIT = 3.352e12, 989e12, 1979e12
CACHED = 327_680  # bytes per token of Llama 3.1 70B: counted below


def test_decode_step_time_is_that_of_reading_every_array_once() -> None:
    layers, heads, size, ranks, batch, context = 3, 4, 5, 2, 7, 11
    weights = [[2.0] * 60 for _ in range(layers)]  # each of 60 numbers in 2 bytes
    read = [0.0] * ranks
    for layer in weights:
        for place, number in enumerate(layer):
            read[place % ranks] += number
        for _sequence in range(batch):
            for _token in range(context):
                for head in range(heads):
                    read[head % ranks] += 2 * size + 2 * size  # its key, and its value
    assert len(set(read)) == 1
    each = key_value_cache_bytes(1, layers, heads, size)
    clock = max(read) / 10.0
    assert decode_step_time(2.0 * 60 * layers, batch, context, each, ranks, 10.0) == clock


def test_decode_step_time_of_llama_3_1_70b() -> None:
    assert key_value_cache_bytes(1, 80, 8, 128) == CACHED
    step = decode_step_time(141.1e9, 32, 8192, CACHED, 8, H100_MEMORY)
    assert step == pytest.approx(8.465e-3, abs=5e-7)
    assert decode_step_time(141.1e9, 1, 1e-9, CACHED, 8, H100_MEMORY) == pytest.approx(
        141.1e9 / 8 / H100_MEMORY, rel=1e-9
    )


def test_dollars_per_million_tokens_are_the_bill_of_an_hour_over_its_tokens() -> None:
    bill, steps = 8 * 2.5, 3600 / 0.01
    tokens = sum(32 for _ in range(int(steps)))
    assert dollars_per_million_tokens(0.01, 32, 8, 2.5) == pytest.approx(bill / tokens * 1e6)
    assert dollars_per_million_tokens(8.465e-3, 32, 8, 2.5) == pytest.approx(1.470, abs=5e-4)
    assert dollars_per_million_tokens(1.0, 1, 1, 3.6) == pytest.approx(1000)


@each(("peak", "bytes_of_one"), [(H100_PEAK, 2.0), (H100_PEAK_8BIT, 1.0), (H100_PEAK, 0.5)])
def test_critical_batch_is_where_the_roof_bends(peak: float, bytes_of_one: float) -> None:
    weights = 10**6
    turn = critical_batch(peak, H100_MEMORY, bytes_of_one)

    def step(batch: int) -> float:
        return roofline_time(2.0 * weights * batch, weights * bytes_of_one, peak, H100_MEMORY)

    below, above = math.floor(turn), math.ceil(turn)
    assert step(below) == step(1)
    assert step(above) > step(1)
    assert step(above + 1) / step(above) == pytest.approx((above + 1) / above)


def test_critical_batch_of_three_formats_on_an_h100() -> None:
    assert critical_batch(H100_PEAK, H100_MEMORY, 2) == pytest.approx(295.0, abs=0.05)
    assert critical_batch(H100_PEAK_8BIT, H100_MEMORY, 1) == pytest.approx(295.2, abs=0.05)
    assert critical_batch(H100_PEAK, H100_MEMORY, 0.5) == pytest.approx(73.8, abs=0.05)


@each(("queries", "shared", "size"), [(64, 8, 16), (8, 8, 4), (12, 1, 3)])
def test_decode_attention_intensity_is_counted_product_by_product(queries: int, shared: int, size: int) -> None:
    flops, read = 0, set()
    for head in range(queries):
        for token in range(5):
            for number in range(size):
                for cached in ("key", "value"):
                    flops += 2
                    read.add((cached, head * shared // queries, token, number))
    counted = flops / (2 * len(read))
    assert decode_attention_intensity(queries, shared) == pytest.approx(counted, rel=1e-12)
    assert decode_attention_intensity(queries, shared, 1) == pytest.approx(2 * counted, rel=1e-12)


def test_decode_attention_intensity_needs_groups_of_one_size() -> None:
    with pytest.raises(ValueError, match=r"^key_value_heads must divide the query_heads, 64"):
        decode_attention_intensity(64, 7)


def test_latent_attention_intensity_is_counted_product_by_product() -> None:
    heads, latent, rope, tokens = 6, 8, 3, 4
    flops, read = 0, set()
    for _head in range(heads):
        for token in range(tokens):
            for number in range(latent + rope):  # the score
                flops += 2
                read.add((token, number))
            for number in range(latent):  # the weighted sum
                flops += 2
                read.add((token, number))
    assert 2.0 * len(read) == latent_cache_bytes(tokens, 1, latent, rope)
    counted = flops / (2 * len(read))
    assert latent_attention_intensity(heads, latent, rope) == pytest.approx(counted, rel=1e-12)
    assert latent_attention_intensity(128, 512, 64) == pytest.approx(241.8, abs=0.05)


def test_latent_attention_intensity_without_positions_is_that_of_one_shared_head() -> None:
    shared = decode_attention_intensity(16, 1)
    assert latent_attention_intensity(16, 512, 0) == pytest.approx(2 * shared)  # key is value


@each(("weights", "layers", "latency"), [(141.1e9, 80, 1.5e-6), (16e9, 32, 1e-6), (811.7e9, 126, 5e-6)])
def test_best_tensor_degree_is_the_fastest_of_all(weights: float, layers: int, latency: float) -> None:
    def step(gpus: int) -> float:
        hops = 2 * layers * ring_all_reduce_time(1e-9, gpus, 1e12, latency)
        return decode_step_time(weights, 1, 1e-9, 1.0, gpus, H100_MEMORY) + hops

    fastest = min(range(1, 200), key=step)
    assert abs(best_tensor_degree(weights, H100_MEMORY, layers, latency) - fastest) < 1


def test_best_tensor_degree_is_where_further_gpus_stop_to_help() -> None:
    best = best_tensor_degree(141.1e9, H100_MEMORY, 80, 1.5e-6)
    assert best == pytest.approx(9.365, abs=5e-4)
    reading, waiting = 141.1e9 / (best * H100_MEMORY), best * 80 * 4 * 1.5e-6
    assert reading == pytest.approx(waiting, rel=1e-12)
