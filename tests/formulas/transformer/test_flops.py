from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.formulas.presets import model
from app.core.formulas.transformer import (
    active_parameters,
    attention_share,
    compute_optimal,
    key_value_cache_bytes,
    latent_cache_bytes,
    layer_flops,
    petaflop_days,
    step_flops,
    token_flops,
    training_flops,
)
from tests.each import each
from tests.oracles.transformer import backward, forward_products, weight_products
from tests.tables import Row, rows

small = st.integers(1, 6)


def counted(products: object) -> int:
    return sum(2 * m * n * k for m, n, k in products)  # type: ignore[attr-defined]


@given(small, small, small, st.sampled_from([1, 2, 4]))
def test_layer_flops_are_those_of_its_products(sequence: int, batch: int, wide: int, heads: int) -> None:
    hidden = wide * heads
    weights = counted(weight_products(batch * sequence, hidden))
    weights_back = counted(backward(weight_products(batch * sequence, hidden)))
    scores = counted(forward_products(sequence, batch, hidden, heads))
    scores_back = counted(backward(forward_products(sequence, batch, hidden, heads)))
    model_flops = weights + weights_back + scores + scores_back
    assert layer_flops(sequence, batch, hidden) == model_flops
    assert layer_flops(sequence, batch, hidden, recompute="selective") == model_flops + scores
    assert layer_flops(sequence, batch, hidden, recompute="full") == model_flops + weights + scores


def test_layer_flops_under_a_causal_mask_tend_to_half_of_the_scores() -> None:
    hidden, heads = 4, 2
    for sequence in (16, 64):
        weights = counted(weight_products(sequence, hidden))
        scores = counted(forward_products(sequence, 1, hidden, heads, causal=True))
        exact = 3 * (weights + scores)
        assert layer_flops(sequence, 1, hidden, causal=True) == pytest.approx(exact, rel=1 / sequence)


@each("row", rows("megatron_sc21_table1"), ids=lambda row: f"{row.text('params')}B")
def test_step_flops_are_those_of_megatrons_days(row: Row) -> None:
    layers, hidden, batch = row.count("layers"), row.count("hidden"), row.count("batch")
    flops = step_flops(batch, 2048, layers, hidden, 51200, recompute="full")
    head = 6 * batch * 2048 * hidden * 51200
    assert flops == pytest.approx(layers * layer_flops(2048, batch, hidden, recompute="full") + head, rel=1e-12)
    parameters = 12 * layers * hidden**2 * (1 + 13 / (12 * hidden) + (51200 + 2048) / (12 * layers * hidden))
    assert round(parameters / 1e9, 1) == row.number("params")
    # per cent of peak is printed from the rate, and recomputation is in it
    assert row.number("pct_peak") == pytest.approx(100 * row.number("tflops_per_gpu") / 312, abs=0.51)


@given(st.integers(1, 9), st.integers(1, 900), st.integers(1, 90), st.integers(1, 900), st.integers(1, 9000))
def test_step_flops_are_layers_and_the_output_head(batch: int, s: int, layers: int, h: int, words: int) -> None:
    head = 6 * batch * s * h * words
    none = layers * layer_flops(s, batch, h) + head
    assert step_flops(batch, s, layers, h, words) == pytest.approx(none, rel=1e-12)
    attention = layers * 12 * batch * s * s * h
    selective = step_flops(batch, s, layers, h, words, recompute="selective")
    assert selective == pytest.approx(none + attention, rel=1e-12)


def test_token_flops_and_attention_share_of_llama_3_1_405b() -> None:
    shape = model("Llama-3.1-405B")
    parameters = 405 * 10**9  # as the course counts it
    for sequence, share in ((8192, 4.2), (131_072, 66.8)):
        given = (parameters, shape.layers, shape.heads, shape.head_size, sequence)
        extra = token_flops(*given, causal=True) / (6 * parameters) - 1
        assert 100 * extra == pytest.approx(share, abs=0.05)
        assert attention_share(*given, causal=True) == pytest.approx(extra, rel=1e-9)
        assert attention_share(*given) == pytest.approx(2 * extra, rel=1e-9)


def test_token_flops_are_those_of_a_step_over_its_tokens() -> None:
    layers, h, s, words = 96, 12288, 2048, 51200
    matrices = 12 * layers * h * h + words * h
    step = step_flops(7, s, layers, h, words)
    assert token_flops(matrices, layers, 96, 128, s) == pytest.approx(step / (7 * s), rel=1e-12)


@each(("name", "within"), [("Llama-3.1-405B", 0.0025), ("Llama-3-70B", 0.0012), ("Qwen3-235B-A22B", 0.003)])
def test_token_flops_without_the_embedding_are_those_that_megatron_bridge_prints(name: str, within: float) -> None:
    shape = model(name)
    parameters = active_parameters(shape)
    deep = shape.layers, shape.heads, shape.head_size
    table = shape.vocabulary * shape.hidden
    found = 0
    for row in rows("megatron_bridge"):
        if row.text("model") != name or row.text("release") == "26.04.01":  # rounded otherwise
            continue
        printed = 1e12 * row.number("model_tflops_per_gpu") / row.number("tps_per_gpu")
        given = (parameters, *deep, row.count("sequence"))
        counted = token_flops(*given, causal=True, embedding=table)
        assert counted == pytest.approx(printed, rel=within)
        assert token_flops(*given, causal=True) > (1 + within) * printed
        found += 1
    assert found >= 4


def test_token_flops_of_deepseek_v3_have_wider_queries_and_a_module_for_one_more_token() -> None:
    shape = model("DeepSeek-V3")
    table, wide = shape.vocabulary * shape.hidden, shape.hidden
    # Another layer, the product of its two inputs, and the head once more: arXiv:2412.19437, 2.2.
    one_layer = active_parameters(shape) - active_parameters(replace(shape, layers=60))
    again, rope = one_layer + 2 * wide**2 + table, shape.rope
    for row in rows("megatron_bridge"):
        if row.text("model") != shape.name:
            continue
        printed = 1e12 * row.number("model_tflops_per_gpu") / row.number("tps_per_gpu")
        s = row.count("sequence")
        size = active_parameters(shape)
        main = token_flops(size, 61, 128, 128, s, causal=True, embedding=table, rope=rope)
        counted = main + token_flops(again, 1, 128, 128, s, causal=True, rope=rope)
        assert counted == pytest.approx(printed, rel=0.004)
        assert main < 0.97 * printed
    with pytest.raises(ValueError, match=r"^embedding must be at most the parameters, 10, not 11"):
        token_flops(10, 1, 1, 1, 1, embedding=11)


def test_attention_share_is_that_of_the_products_counted() -> None:
    s, h, heads = 12, 8, 2
    scores = counted(forward_products(s, 1, h, heads))
    weights = counted(weight_products(s, h))
    assert attention_share(12 * h * h, 1, heads, h // heads, s) == pytest.approx(scores / weights, rel=1e-12)


@each("row", rows("gpt3_table_d1"), ids=lambda row: row.text("model"))
def test_training_flops_and_petaflop_days_are_those_of_gpt_3(row: Row) -> None:
    flops = training_flops(int(1e6 * row.number("params")), row.number("tokens"))
    assert float(f"{flops:.2e}") == pytest.approx(row.number("flops"), rel=6e-3)
    assert petaflop_days(flops) == pytest.approx(row.number("pf_days"), rel=6e-3)


def test_training_flops_and_petaflop_days_of_llama_3_405b_and_deepseek_v3() -> None:
    assert petaflop_days(training_flops(405 * 10**9, 15.6e12)) == 438_750
    facts = {row.text("quantity"): row.text("value") for row in rows("llama3_misc")}
    assert training_flops(405 * 10**9, 15.6e12) == pytest.approx(float(facts["training FLOPs budget"]), rel=5e-3)
    assert training_flops(37 * 10**9, 14.8e12) == pytest.approx(3.286e24, rel=1e-3)
    assert active_parameters(model("DeepSeek-V3")) == pytest.approx(37e9, rel=0.02)


def test_training_flops_are_counted_with_each_parameter() -> None:
    h, tokens = 8, 5
    once = counted(weight_products(tokens, h))
    back = counted(backward(weight_products(tokens, h)))
    assert training_flops(12 * h * h, tokens) == once + back


@each("row", rows("chinchilla_table3"), ids=lambda row: row.text("model"))
def test_compute_optimal_is_chinchillas_table(row: Row) -> None:
    tokens, parameters = row.number("tokens"), row.number("params")
    best = compute_optimal(training_flops(int(parameters), tokens), tokens / parameters)
    assert best.parameters == pytest.approx(parameters, rel=1e-9)
    assert best.tokens == pytest.approx(tokens, rel=1e-9)
    assert training_flops(int(parameters), tokens) == pytest.approx(row.number("flops"), rel=0.05)
    assert 20 <= tokens / parameters < 22.5


def test_compute_optimal_spends_the_budget_at_twenty_tokens_a_parameter() -> None:
    best = compute_optimal(5.88e23)
    assert best.parameters == pytest.approx(70e9, rel=1e-12)
    assert best.tokens == pytest.approx(1.4e12, rel=1e-12)


def test_key_value_cache_bytes_and_latent_cache_bytes_of_known_models() -> None:
    token = key_value_cache_bytes(1, 126, 8, 128)
    assert token == pytest.approx(516.1e3, rel=1e-4)
    assert key_value_cache_bytes(131_072, 126, 8, 128) == pytest.approx(67.6e9, rel=1e-3)
    assert key_value_cache_bytes(1, 126, 128, 128) == 16 * token
    latent, full = latent_cache_bytes(1, 61, 512, 64), key_value_cache_bytes(1, 61, 128, 128)
    assert latent == pytest.approx(70.27e3, rel=1e-4)
    assert full / latent == pytest.approx(56.9, abs=0.05)


def test_key_value_cache_bytes_and_latent_cache_bytes_are_those_of_what_is_kept() -> None:
    kept: dict[tuple[int, int, str], bytes] = {}
    for layer in range(3):
        for token in range(7):
            kept |= {(layer, token, what): bytes(5 * 4 * 2) for what in ("key", "value")}
    assert key_value_cache_bytes(7, 3, 5, 4) == sum(map(len, kept.values()))
    latent = {(layer, token): bytes((6 + 2) * 2) for layer in range(3) for token in range(7)}
    assert latent_cache_bytes(7, 3, 6, 2) == sum(map(len, latent.values()))
