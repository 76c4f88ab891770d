"""A `config.json` of Hugging Face as the fields of a model shape."""

import re
from collections.abc import Iterator, Mapping
from reprlib import repr as short
from typing import Any

from app.core.formulas.configurations.fields import count_in, flag_in, latent_attention, needed_count, table_in
from app.core.translation import say

_INNER = ("text_config", "llm_config", "language_config")
_GPT = {"gpt2", "gpt_bigcode", "gpt_neox", "opt", "bloom", "falcon", "starcoder2", "phi", "mpt"}
_LAYER_NORM = _GPT | {"nemotron", "stablelm", "cohere", "cohere2"}
_NO_GATE = _GPT | {"nemotron"}
_TIED = {"gpt2", "gemma", "gemma2", "gemma3", "gemma3_text", "opt", "bloom", "falcon", "mpt", "cohere"}
_QUERY_KEY = {"qwen3", "qwen3_moe", "gemma3", "gemma3_text", "olmo2", "olmo3", "minimax_m2", "qwen3_vl_text"}
_QKV = {"qwen2", "qwen2_moe", "qwen2_vl", "qwen2_5_vl", "qwen2_5_vl_text"}
_ROUTER_BIAS = {"deepseek_v3", "deepseek_v32", "kimi_k2", "glm4_moe", "gpt_oss", "minimax_m2", "glm4v_moe_text"}
_SIMPLE = {
    "llama",
    "mistral",
    "ministral",
    "mixtral",
    "phi3",
    "llama4",
    "llama4_text",
    "smollm3",
    "granite",
    "seed_oss",
    "glm",
    "glm4",
    "deepseek_v2",
    "internlm2",
    "yi",
    "exaone4",
    "mistral3",
    "hunyuan_v1_moe",
    "ernie4_5_moe",
    "dots1",
    "mimo",
    "arcee",
    "helium",
    "olmoe",
}
_KNOWN = _LAYER_NORM | _TIED | _QUERY_KEY | _QKV | _ROUTER_BIAS | _SIMPLE
_RECURRENT = re.compile(
    r"mamba|rwkv|jamba|nemotron_h|bamba|falcon_h1|zamba|lfm2|kimi_linear|qwen3_next|qwen3_5"
    r"|granitemoehybrid|minimax_text_01|recurrent",
    re.IGNORECASE,
)
_RECURRENT_LAYERS = re.compile(r"linear|mamba|recurrent|conv", re.IGNORECASE)


def hub_model(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """The fields of the shape; of a model with images, those of its text model.

    Raises:
        ValueError: a field is missing, or the shape cannot say such a model.
    """
    inner = next((table for name in _INNER if (table := table_in(given, name))), given)
    kind = str(inner.get("model_type") or given.get("model_type") or "").lower()
    _refuse(kind, given, inner)
    flat = {**inner}
    if "tie_word_embeddings" in given:
        flat.setdefault("tie_word_embeddings", given["tie_word_embeddings"])
    found = {**_attention(kind, flat), **_feed_forward(kind, flat), **_mixture(kind, flat)}
    notes = "; ".join(_notes(kind, given, inner))
    return {**found, "source": f"config.json, model_type {kind[:40] or 'not said'}" + notes}


def _refuse(kind: str, given: Mapping[str, Any], inner: Mapping[str, Any]) -> None:
    """Refuse what a decoder of equal layers is not."""
    layers = inner.get("layer_types") or inner.get("layers_block_type") or []
    other = [one for one in layers if _RECURRENT_LAYERS.search(str(one))] if isinstance(layers, list) else []
    if _RECURRENT.search(kind) or other:
        raise ValueError(
            say(
                "{kind} has layers without attention (state spaces or linear attention), which a"
                " model shape cannot say",
                kind=short(kind),
            )
        )
    if flag_in(given, "is_encoder_decoder") or "block_configs" in inner:
        raise ValueError(
            say("{kind} is not a decoder whose layers are alike, which a model shape is", kind=short(kind))
        )


def _attention(kind: str, given: Mapping[str, Any]) -> Mapping[str, Any]:
    layers = needed_count(given, "num_hidden_layers", "n_layer", "n_layers", "num_layers")
    hidden = needed_count(given, "hidden_size", "n_embd", "d_model")
    heads = needed_count(given, "num_attention_heads", "n_head", "n_heads")
    found: dict[str, Any] = {
        "layers": layers,
        "hidden": hidden,
        "heads": heads,
        "vocabulary": needed_count(given, "vocab_size"),
        "tied": flag_in(given, "tie_word_embeddings", kind in _TIED),
        "norm": "layer" if kind in _LAYER_NORM else "rms",
        "biases": _biases(kind, given),
        "query_key_norm": flag_in(given, "use_qk_norm", kind in _QUERY_KEY),
    }
    if count_in(given, "kv_lora_rank"):
        size, rope = (needed_count(given, f"qk_{part}_head_dim") for part in ("nope", "rope"))
        return {**found, **latent_attention(given, heads, size, rope)}
    default = hidden // heads if heads and hidden % heads == 0 else None
    found["head_size"] = (
        count_in(given, "head_dim", "attention_head_size") or default or needed_count(given, "head_dim")
    )
    found["key_value_heads"] = _key_value_heads(kind, given, heads)
    if kind in {"gpt2", "opt"}:
        found["positions"] = needed_count(given, "n_positions", "max_position_embeddings")
    return found


def _key_value_heads(kind: str, given: Mapping[str, Any], heads: int) -> int:
    if flag_in(given, "multi_query") and not flag_in(given, "new_decoder_architecture"):
        return 1
    return count_in(given, "num_key_value_heads", "num_kv_heads") or heads


def _biases(kind: str, given: Mapping[str, Any]) -> str:
    if kind in _GPT - {"falcon"} or kind == "gpt_oss":
        return "all" if flag_in(given, "use_bias", True) else "none"
    if flag_in(given, "mlp_bias"):
        return "all"
    return "qkv" if flag_in(given, "attention_bias", kind in _QKV) or flag_in(given, "qkv_bias") else "none"


def _feed_forward(kind: str, given: Mapping[str, Any]) -> Mapping[str, Any]:
    gated = kind not in _NO_GATE
    width = count_in(given, "intermediate_size_mlp", "intermediate_size", "n_inner", "ffn_dim", "ffn_hidden_size")
    if width is None and not gated:
        width = 4 * needed_count(given, "hidden_size", "n_embd", "d_model")
    if width is None:
        width = needed_count(given, "intermediate_size")
    return {"feed_forward": width, "gated": gated}


def _mixture(kind: str, given: Mapping[str, Any]) -> Mapping[str, Any]:
    experts = count_in(given, "n_routed_experts", "num_local_experts", "num_experts", "moe_num_experts")
    if not experts or experts == 1:
        return {}
    size = count_in(given, "moe_intermediate_size") or needed_count(given, "intermediate_size")
    found = {
        "experts": experts,
        "active_experts": needed_count(given, "num_experts_per_tok", "num_experts_per_token", "moe_topk", "moe_k"),
        "expert_feed_forward": size,
        "shared": _shared(kind, given, size),
        "dense_layers": _dense_layers(given),
        "router_bias": flag_in(given, "use_routing_bias", kind in _ROUTER_BIAS),
    }
    return found if found["dense_layers"] else {**found, "feed_forward": 0}


def _shared(kind: str, given: Mapping[str, Any], size: int) -> int:
    """Shared experts, each as wide as the others."""
    if kind.startswith("llama4"):
        return 1
    wide = count_in(given, "shared_expert_intermediate_size", "shared_intermediate_size") or 0
    return wide // size if wide else count_in(given, "n_shared_experts", "num_shared_experts") or 0


def _dense_layers(given: Mapping[str, Any]) -> int:
    layers = needed_count(given, "num_hidden_layers", "n_layer", "num_layers")
    every = count_in(given, "interleave_moe_layer_step", "decoder_sparse_step") or 1
    only = given.get("mlp_only_layers")
    return (
        (count_in(given, "first_k_dense_replace", "num_dense_layers") or 0)
        + (len(only) if isinstance(only, list) else 0)
        + (layers - layers // every if every > 1 else 0)
    )


def _notes(kind: str, given: Mapping[str, Any], inner: Mapping[str, Any]) -> Iterator[str]:
    """What is guessed, and what is left out."""
    if kind not in _KNOWN:
        yield ", which is not known: read as a Llama, with a gate, RMSNorm and no biases"
    left_out = {
        "the vision or audio model": inner is not given,
        "modules for further tokens": bool(count_in(inner, "num_nextn_predict_layers")),
        "windows of attention": bool(inner.get("sliding_window")) and inner.get("use_sliding_window") is not False,
    }
    names = [name for name, found in left_out.items() if found]
    if names:
        yield f"; left out: {', '.join(names)}"
