"""A config.json of Hugging Face and arguments of Megatron-LM as shapes of models."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from app.core.formulas.presets import MODELS, ModelShape
from app.core.formulas.transformer import model_parameters
from tests.each import each

Config = Mapping[str, Any]
LLAMA: Config = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336,
    "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256,
    "tie_word_embeddings": False, "rope_theta": 500000.0, "torch_dtype": "bfloat16",
}  # fmt: skip
KNOWN: Mapping[str, Config] = {
    "Llama-3-8B": LLAMA,
    "Qwen3-8B": {
        "model_type": "qwen3", "hidden_size": 4096, "intermediate_size": 12288, "num_hidden_layers": 36,
        "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 151936,
        "attention_bias": False, "sliding_window": None, "use_sliding_window": False,
    },
    "Qwen2.5-7B": {
        "model_type": "qwen2", "hidden_size": 3584, "intermediate_size": 18944, "num_hidden_layers": 28,
        "num_attention_heads": 28, "num_key_value_heads": 4, "vocab_size": 152064, "tie_word_embeddings": False,
    },
    "Kimi-K2": {
        "model_type": "kimi_k2", "hidden_size": 7168, "intermediate_size": 18432, "num_hidden_layers": 61,
        "num_attention_heads": 64, "num_key_value_heads": 64, "vocab_size": 163840, "kv_lora_rank": 512,
        "q_lora_rank": 1536, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
        "n_routed_experts": 384, "n_shared_experts": 1, "num_experts_per_tok": 8, "moe_intermediate_size": 2048,
        "first_k_dense_replace": 1, "num_nextn_predict_layers": 0, "attention_bias": False,
    },
    "Moonlight-16B-A3B": {
        "model_type": "deepseek_v3", "hidden_size": 2048, "intermediate_size": 11264, "num_hidden_layers": 27,
        "num_attention_heads": 16, "num_key_value_heads": 16, "vocab_size": 163840, "kv_lora_rank": 512,
        "q_lora_rank": None, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
        "n_routed_experts": 64, "n_shared_experts": 2, "num_experts_per_tok": 6, "moe_intermediate_size": 1408,
        "first_k_dense_replace": 1,
    },
    "GLM-4.5-Air": {
        "model_type": "glm4_moe", "hidden_size": 4096, "intermediate_size": 10944, "num_hidden_layers": 46,
        "num_attention_heads": 96, "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 151552,
        "n_routed_experts": 128, "n_shared_experts": 1, "num_experts_per_tok": 8, "moe_intermediate_size": 1408,
        "first_k_dense_replace": 1, "attention_bias": True, "use_qk_norm": False, "num_nextn_predict_layers": 1,
    },
    "Gemma-3-4B": {
        "model_type": "gemma3", "vision_config": {"hidden_size": 1152, "num_hidden_layers": 27},
        "text_config": {
            "model_type": "gemma3_text", "hidden_size": 2560, "intermediate_size": 10240, "num_hidden_layers": 34,
            "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256, "vocab_size": 262208,
        },
    },
    "Llama-4-Maverick": {
        "model_type": "llama4",
        "text_config": {
            "model_type": "llama4_text", "hidden_size": 5120, "intermediate_size": 8192, "intermediate_size_mlp": 16384,
            "num_hidden_layers": 48, "num_attention_heads": 40, "num_key_value_heads": 8, "head_dim": 128,
            "vocab_size": 202048, "num_local_experts": 128, "num_experts_per_tok": 1, "interleave_moe_layer_step": 2,
        },
    },
    "GPT-OSS-20B": {
        "model_type": "gpt_oss", "hidden_size": 2880, "intermediate_size": 2880, "num_hidden_layers": 24,
        "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 64, "vocab_size": 201088,
        "num_local_experts": 32, "num_experts_per_tok": 4, "layer_types": ["sliding_attention", "full_attention"],
    },
    "Mixtral-8x7B": {
        "model_type": "mixtral", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
        "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 32000, "num_local_experts": 8,
        "num_experts_per_tok": 2,
    },
    "GPT-2": {"model_type": "gpt2", "n_embd": 768, "n_head": 12, "n_layer": 12, "n_positions": 1024, "vocab_size": 50257},
}  # fmt: skip


@each("name", KNOWN)
def test_a_config_json_is_the_model_that_is_known(name: str) -> None:
    assert ModelShape.read(json.dumps(KNOWN[name], indent=2)) == MODELS[name]
    assert ModelShape.of(KNOWN[name]) == MODELS[name]


def test_a_model_that_is_not_known_is_its_shape_and_says_what_is_guessed() -> None:
    small = ModelShape.of({**LLAMA, "num_hidden_layers": 4})
    assert (small.layers, small.hidden, small.name) == (4, 4096, "as given")
    assert "left out" not in small.source
    wonder = ModelShape.of({**LLAMA, "model_type": "wonder", "num_hidden_layers": 4})
    assert "model_type wonder is not known: read as a Llama" in wonder.source
    windows = ModelShape.of({**LLAMA, "sliding_window": 4096, "num_hidden_layers": 4})
    assert "left out: windows of attention" in windows.source


MEGATRON = """
#!/bin/bash
torchrun --nproc-per-node 8 pretrain_gpt.py \\
  --swiglu --num-layers 36 --hidden-size 4096 --ffn-hidden-size=12288 \\
  --num-attention-heads 32 --group-query-attention --num-query-groups 8 --kv-channels 128 \\
  --normalization RMSNorm --position-embedding-type rope --disable-bias-linear --qk-layernorm \\
  --vocab-size 151936 --untie-embeddings-and-output-weights
"""
PRINTED = """
[default0]: num_layers ...................................... 32
  hidden_size ..................................... 4096
  ffn_hidden_size ................................. 16384
  num_attention_heads ............................. 32
  num_query_groups ................................ 1
  group_query_attention ........................... False
  swiglu .......................................... False
  padded_vocab_size ............................... 50304
  max_position_embeddings ......................... 2048
  untie_embeddings_and_output_weights ............. False
"""


def test_arguments_of_megatron_are_the_model() -> None:
    assert ModelShape.read(MEGATRON) == MODELS["Qwen3-8B"]
    bracketed = MEGATRON.replace("--swiglu", "ARGS=(\n--swiglu").rstrip() + "\n)\n"
    assert ModelShape.read(bracketed) == MODELS["Qwen3-8B"]


def test_arguments_as_megatron_prints_them_are_the_model() -> None:
    found = ModelShape.read(PRINTED)
    assert (found.key_value_heads, found.feed_forward, found.gated) == (32, 16384, False)
    assert (found.positions, found.tied, found.biases, found.norm) == (2048, True, "all", "layer")
    assert model_parameters(found) == pytest.approx(6.66e9, rel=0.01)


def test_a_mixture_of_megatron_has_its_dense_layers() -> None:
    mixture = (
        MEGATRON + "--num-experts 64 --moe-ffn-hidden-size 1536 --moe-router-topk 6"
        " --moe-layer-freq '([0]*2+[1]*34)' --moe-shared-expert-intermediate-size 3072"
    )
    found = ModelShape.read(mixture.replace("\n", " "))
    assert (found.experts, found.active_experts, found.dense_layers, found.shared) == (64, 6, 2, 2)
    assert found.feed_forward == 12288


@each(("name", "flavor", "known"), [("llama3", "8B", "Llama-3-8B"), ("qwen3", "32B", "Qwen3-32B")])
def test_a_toml_of_torchtitan_names_its_model(name: str, flavor: str, known: str) -> None:
    text = f'[model]\nname = "{name}"\nflavor = "{flavor}"\n[training]\nseq_len = 8192\n'
    assert ModelShape.read(text) == MODELS[known]


@each(
    ("changed", "says"),
    [
        ({"hidden_size": "4096"}, "hidden_size must be a whole number, not '4096'"),
        ({"hidden_size": -4096}, "hidden_size must be a whole number, not -4096"),
        ({"hidden_size": 4096.5}, "hidden_size must be a whole number, not 4096.5"),
        ({"hidden_size": 1e300}, "hidden_size must be a whole number"),
        ({"hidden_size": True}, "hidden_size must be a whole number, not True"),
        ({"hidden_size": {"a": 1}}, "hidden_size must be a whole number"),
        ({"num_attention_heads": [12, 16]}, "num_attention_heads differs by layer"),
        ({"num_attention_heads": 0}, "heads must be at least 1|has no head_dim"),
        ({"num_key_value_heads": 7}, "key_value_heads must divide"),
        ({"num_hidden_layers": None}, "the configuration has no num_hidden_layers"),
        ({"tie_word_embeddings": "no"}, "tie_word_embeddings must be true or false, not 'no'"),
        ({"model_type": "mamba2"}, "'mamba2' has layers without attention"),
        ({"model_type": "qwen3_next"}, "'qwen3_next' has layers without attention"),
        ({"layer_types": ["linear_attention", "full_attention"]}, "layers without attention"),
        ({"is_encoder_decoder": True, "model_type": "t5"}, "'t5' is not a decoder"),
        (
            {"kv_lora_rank": 512, "qk_nope_head_dim": 192, "v_head_dim": 512, "qk_rope_head_dim": 64},
            "192 for queries and of 512 for values are different",
        ),
        ({"deep": [[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]}, "nested too deeply"),
        ({"wide": list(range(30_000))}, "nested too deeply or too large"),
    ],
)  # fmt: skip
def test_a_config_json_that_is_not_valid_is_refused(changed: Config, says: str) -> None:
    for read in (ModelShape.of, lambda given: ModelShape.read(json.dumps(given))):
        with pytest.raises(ValueError, match=says):
            read({**LLAMA, **changed})


@each(
    ("text", "says"),
    [
        ("{", "not valid JSON in line 1"),
        ('{"hidden_size": NaN}', "NaN is not a number"),
        ('{"a":' * 100_000, "not valid JSON|256 KiB"),
        ('{"hidden_size": ' + "9" * 5000 + "}", "not valid JSON"),
        ('{"x": 1}', "the configuration has no model"),
        ("{}", "the configuration has no model"),
        ("[model\nx = 1\n[training]\n", "not valid TOML"),
        ("[training]\nsteps = 10\n", "the configuration has no model"),
        ('[model]\nname = "wonder"\nflavor = "8B"\n', "no model shape is called 'wonder-8B'"),
        ("--num-layers 4 --hidden-size 64", "no num_attention_heads"),
        ("--num-layers $N --hidden-size 64", "num_layers is a variable of a script"),
        ("--num-layers 4 --hybrid-override-pattern M-M*", "layers without attention"),
        ('{"hidden_size": 1,' + " " * 300_000 + "}", "at most 256 KiB"),
    ],
)
def test_a_hostile_text_is_refused(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        ModelShape.read(text)


def test_a_record_with_one_wrong_field_is_not_taken_for_a_configuration() -> None:
    with pytest.raises(ValueError, match="did you mean 'layers'"):
        ModelShape.of({"name": "Llama-3-8B", "num_hidden_layers": 4})
