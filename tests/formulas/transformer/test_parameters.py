from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.formulas.presets import MODELS, ModelShape, model
from app.core.formulas.transformer import (
    active_parameters,
    attention_parameters,
    feed_forward_parameters,
    layer_parameters,
    model_parameters,
)
from tests.each import each
from tests.oracles.transformer import Plan, elements, tensors
from tests.tables import Row, rows

STORED_FREQUENCIES = {"Llama-2-7B": 2048, "Llama-2-13B": 2560, "Llama-2-70B": 5120}


def plan(shape: ModelShape) -> Plan:
    """*shape* under the names of released configurations."""
    return Plan(
        shape.layers,
        shape.hidden,
        shape.heads,
        shape.key_value_heads,
        shape.head_size,
        shape.vocabulary,
        shape.feed_forward,
        shape.gated,
        shape.tied,
        shape.biases == "qkv",
        shape.biases == "all",
        shape.query_key_norm,
        shape.norm == "layer",
        shape.positions,
        shape.experts,
        shape.shared,
        shape.expert_feed_forward,
        shape.dense_layers,
        shape.router_bias,
        shape.query_latent,
        shape.latent,
        shape.rope,
    )


@each("name", MODELS)
def test_model_parameters_are_the_elements_of_all_tensors(name: str) -> None:
    assert model_parameters(MODELS[name]) == elements(tensors(plan(MODELS[name])))


@each("name", MODELS)
def test_active_parameters_are_the_elements_that_one_token_meets(name: str) -> None:
    shape = MODELS[name]
    router = elements(tensors(plan(shape)))
    met = replace(plan(shape), n_routed_experts=shape.active_experts)
    of_others = (shape.experts - shape.active_experts) * (shape.hidden + shape.router_bias)
    expected = elements(tensors(met)) + shape.expert_layers * of_others
    assert active_parameters(shape) == (expected if shape.experts else router)


def test_a_module_for_a_further_token_has_the_parameters_that_were_released() -> None:
    # The model card of DeepSeek-V3: 685 billion in all, of which 671 are the main model's. The
    # files have embedding and output head once more for the module, which shares them with the
    # model, and a scale for each block of 128 by 128 weights.
    shape = ModelShape.read("DeepSeek-V3 multi_token=1")
    stored = model_parameters(shape) + 2 * shape.vocabulary * shape.hidden
    assert round(stored * (1 + 1 / 128**2) / 1e9) == 685
    module = model_parameters(shape) - model_parameters(model("DeepSeek-V3"))
    further = replace(shape, layers=shape.layers + 1, multi_token=0)  # a layer like the last one
    layer = model_parameters(further) - model_parameters(model("DeepSeek-V3"))
    assert module == layer + 2 * 7168 * 7168 + 3 * 7168


@each("row", rows("model_configs"), ids=lambda row: row.text("model"))
def test_model_parameters_and_active_parameters_are_those_of_the_released_weights(row: object) -> None:
    name = row.text("model")  # type: ignore[attr-defined]
    shape = model(name)
    if name == "GPT-3 175B":  # never released: the count of Megatron's equation, and a last norm
        assert model_parameters(shape) - 2 * shape.hidden == 174_604_234_752
        return
    printed = row.count("total_params") - STORED_FREQUENCIES.get(name, 0)  # type: ignore[attr-defined]
    assert model_parameters(shape) == printed
    if row.cells["active_params"]:  # type: ignore[attr-defined]
        assert active_parameters(shape) == row.count("active_params")  # type: ignore[attr-defined]


@each("row", rows("llama3_table3_arch"), ids=lambda row: row.text("model"))
def test_shapes_of_llama_3_are_those_of_its_table(row: object) -> None:
    shape = model(f"Llama-3.1-{row.text('model')}")  # type: ignore[attr-defined]
    table = tuple(row.count(c) for c in ("layers", "d_model", "d_ff", "heads", "kv_heads"))  # type: ignore[attr-defined]
    assert table == (shape.layers, shape.hidden, shape.feed_forward, shape.heads, shape.key_value_heads)
    assert row.count("vocab_paper") == 128_000 != shape.vocabulary == 128_256  # type: ignore[attr-defined]


def test_layer_parameters_of_llama_3_1_405b_are_3_188_billion_not_3_69() -> None:
    layer = layer_parameters(16384, 128, 8, 53248)
    assert layer == pytest.approx(3.1877e9, rel=1e-4)
    wrong = 4 * 16384**2 + 3 * 16384 * 53248
    assert wrong == pytest.approx(3.691e9, rel=1e-4)
    assert model_parameters(model("405B")) == 126 * layer + 16384 + 2 * 128_256 * 16384


def test_attention_parameters_and_feed_forward_parameters_of_a_classic_layer_are_12_h_squared() -> None:
    h = 8192
    assert attention_parameters(h, 64, 64) == 4 * h * h
    assert feed_forward_parameters(h, 4 * h, gated=False) == 8 * h * h
    assert attention_parameters(h, 64, 8) + feed_forward_parameters(h, 28672) + 2 * h == 855_654_400
    assert layer_parameters(h, 64, 8, 28672) == 855_654_400


@given(st.integers(1, 8), st.integers(1, 8), st.integers(1, 16), st.integers(1, 64), st.booleans())
def test_layer_parameters_are_the_elements_of_a_layers_tensors(
    shared: int, groups: int, head: int, feed_forward: int, gated: bool
) -> None:
    heads = shared * groups
    hidden = heads * head
    one = Plan(1, hidden, heads, shared, head, 1, feed_forward, gated, tie_word_embeddings=True)
    none = replace(one, num_hidden_layers=0)
    counted = elements(tensors(one)) - elements(tensors(none))
    assert layer_parameters(hidden, heads, shared, feed_forward, gated) == counted
    assert layer_parameters(hidden, heads, shared, feed_forward, gated, head) == counted


@each("row", rows("gpt3_table_2_1"), ids=lambda row: row.text("model"))
def test_layer_parameters_make_up_the_models_of_gpt_3(row: object) -> None:
    layers, hidden = row.count("layers"), row.count("d_model")  # type: ignore[attr-defined]
    heads = hidden // 64 if hidden % 64 == 0 else 20  # 13B is printed with 5140, which 40 does not divide
    body = layers * layer_parameters(hidden, heads, heads, 4 * hidden, gated=False)
    whole = body + (50257 + 2048) * hidden
    assert whole == pytest.approx(1e6 * row.number("params"), rel=0.03)  # type: ignore[attr-defined]


def test_attention_parameters_need_heads_that_divide() -> None:
    with pytest.raises(ValueError, match=r"^key_value_heads must divide the heads, 64, not 7"):
        attention_parameters(8192, 64, 7)
    with pytest.raises(ValueError, match=r"^heads must divide the hidden size of the model, 8191, not 64"):
        attention_parameters(8191, 64, 8)


@each("row", rows("megatron_sc21_table1"), ids=lambda row: row.text("params"))
def test_a_model_of_megatrons_table_has_the_parameters_that_it_prints(row: Row) -> None:
    known = [shape for shape in MODELS.values() if shape.name.startswith("Megatron-LM")]
    wanted = row.number("layers"), row.number("hidden"), row.number("heads")
    (shape,) = (s for s in known if (s.layers, s.hidden, s.heads) == wanted)
    assert round(model_parameters(shape) / 1e9, 1) == row.number("params")


def test_a_model_of_maxtext_has_the_parameters_that_it_is_named_after() -> None:
    named = [shape for shape in MODELS.values() if shape.name.startswith("MaxText")]
    assert len(named) == 9
    for shape in named:
        billions = float(shape.name.removeprefix("MaxText ").removesuffix("B"))
        assert model_parameters(shape) == pytest.approx(1e9 * billions, rel=0.03)


def test_gpt_oss_has_the_parameters_of_its_model_card() -> None:
    # arXiv:2508.10925, table 1: 116.83 billion, with the gates' biases and the sinks.
    left_out = 36 * (128 * 2880 + 64)
    assert model_parameters(MODELS["GPT-OSS-120B"]) + left_out == 116_829_156_672
