"""Arguments of Megatron-LM as the fields of a model shape."""

import re
from collections.abc import Mapping
from typing import Any

from app.core.formulas.configurations.fields import count_in, flag_in, latent_attention, needed_count
from app.core.translation import say

_DENSE = re.compile(r"\(?\[0\]\s*\*\s*(\d+)")
_VARIABLE = re.compile(r"[$`]")


def megatron_model(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """The fields of the shape.

    Raises:
        ValueError: an argument is missing or is not a number.
    """
    _refuse_variables(given)
    hidden, heads = needed_count(given, "hidden_size"), needed_count(given, "num_attention_heads")
    gated = flag_in(given, "swiglu") or flag_in(given, "gated_linear_unit")
    layers = needed_count(given, "num_layers")
    found = {
        "layers": layers,
        "hidden": hidden,
        "heads": heads,
        "key_value_heads": _groups(given, heads),
        "head_size": count_in(given, "kv_channels") or hidden // max(heads, 1),
        "feed_forward": count_in(given, "ffn_hidden_size") or 4 * hidden,
        "vocabulary": needed_count(given, "vocab_size", "padded_vocab_size"),
        "gated": gated,
        "tied": not flag_in(given, "untie_embeddings_and_output_weights"),
        "norm": "rms" if str(given.get("normalization", "")).lower() == "rmsnorm" else "layer",
        "biases": _biases(given),
        "query_key_norm": flag_in(given, "qk_layernorm"),
        "source": "arguments of Megatron-LM",
    }
    return {**found, **_positions(given), **_latent(given, heads), **_mixture(given, layers)}


def _refuse_variables(given: Mapping[str, Any]) -> None:
    if any(given.get(name) for name in _OTHER_LAYERS):
        raise ValueError(say("layers without attention are asked for, which a model shape cannot say"))
    for name, value in given.items():
        if isinstance(value, str) and _VARIABLE.search(value) and name in _NUMBERS:
            raise ValueError(say("{name} is a variable of a script: write its number", name=name))


_OTHER_LAYERS = ("hybrid_override_pattern", "hybrid_layer_pattern", "linear_attention_freq")
_NUMBERS = {
    "num_layers",
    "hidden_size",
    "ffn_hidden_size",
    "num_attention_heads",
    "num_query_groups",
    "kv_channels",
    "vocab_size",
    "num_experts",
    "moe_ffn_hidden_size",
    "moe_router_topk",
    "moe_layer_freq",
    "moe_shared_expert_intermediate_size",
}


def _groups(given: Mapping[str, Any], heads: int) -> int:
    """Key-value heads. Megatron prints num_query_groups also where they are not in use."""
    used = flag_in(given, "group_query_attention", "num_query_groups" in given)
    return (count_in(given, "num_query_groups") or heads) if used else heads


def _biases(given: Mapping[str, Any]) -> str:
    if not flag_in(given, "disable_bias_linear") and flag_in(given, "add_bias_linear", True):
        return "all"
    return "qkv" if flag_in(given, "add_qkv_bias") else "none"


def _positions(given: Mapping[str, Any]) -> Mapping[str, int]:
    kind = str(given.get("position_embedding_type", "learned_absolute"))
    rotary = (
        flag_in(given, "use_rotary_position_embeddings")
        or "rotary" in str(given.get("rotary_base", ""))
        or "rotary_base" in given
    )
    if kind != "learned_absolute" or rotary:
        return {}
    count = count_in(given, "max_position_embeddings")
    return {"positions": count} if count else {}


def _latent(given: Mapping[str, Any], heads: int) -> Mapping[str, int]:
    if not count_in(given, "kv_lora_rank"):
        return {}
    size, rope = needed_count(given, "qk_head_dim"), needed_count(given, "qk_pos_emb_head_dim")
    return latent_attention(given, heads, size, rope) | {"query_key_norm": False}


def _mixture(given: Mapping[str, Any], layers: int) -> Mapping[str, Any]:
    if not (experts := count_in(given, "num_experts")):
        return {}
    size = count_in(given, "moe_ffn_hidden_size") or needed_count(given, "ffn_hidden_size")
    wide = count_in(given, "moe_shared_expert_intermediate_size") or 0
    dense = _dense_layers(given.get("moe_layer_freq"), layers)
    found = {
        "experts": experts,
        "active_experts": count_in(given, "moe_router_topk") or 2,
        "expert_feed_forward": size,
        "shared": wide // size,
        "dense_layers": dense,
        "router_bias": flag_in(given, "moe_router_enable_expert_bias"),
    }
    return found if dense else {**found, "feed_forward": 0}


def _dense_layers(frequency: object, layers: int) -> int:
    """Layers without experts: as a number, every how many layers has them; or zeros in a list."""
    if isinstance(frequency, int) and frequency > 1:
        return layers - layers // frequency
    if isinstance(frequency, list):
        return sum(one == 0 for one in frequency)
    if isinstance(frequency, str):
        if found := _DENSE.search(frequency):
            return int(found[1])
        return frequency.count("0") if re.fullmatch(r"[\[\]\s,01]+", frequency) else 0
    return 0
