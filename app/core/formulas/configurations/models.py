"""From a configuration of Hugging Face, Megatron-LM or MaxText to the fields of a model shape."""

import re
from collections.abc import Iterator, Mapping
from reprlib import repr as short

from app.core.formulas.configurations.documents import (
    arguments_of_sections,
    check_document,
    count_in,
    document_of,
    flag_in,
    latent_attention,
    needed_count,
    table_in,
)
from app.core.formulas.configurations.program_keys import HUB
from app.core.formulas.configurations.programs import configured_model
from app.core.translation import noted, value_error

_INNER = ("text_config", "llm_config", "language_config")
_GPT = {"gpt2", "gpt_bigcode", "gpt_neox", "opt", "bloom", "falcon", "starcoder2", "phi", "mpt"}
_LAYER_NORM = _GPT | {"nemotron", "stablelm", "cohere", "cohere2"}
_NO_GATE = _GPT | {"nemotron"}
_TIED = {
    "gpt2", "gemma", "gemma2", "gemma3", "gemma3_text", "opt", "bloom", "falcon", "mpt", "cohere", "gemma4",
    "gemma4_text",
}  # fmt: skip
_QUERY_KEY = {"qwen3", "qwen3_moe", "gemma3", "gemma3_text", "olmo2", "olmo3", "minimax_m2", "qwen3_vl_text"} | {
    "gemma4", "gemma4_text", "qwen3_vl_moe_text", "minimax_m3",
}  # fmt: skip
_QKV = {"qwen2", "qwen2_moe", "qwen2_vl", "qwen2_5_vl", "qwen2_5_vl_text"}
_ROUTER_BIAS = {"deepseek_v3", "deepseek_v32", "kimi_k2", "glm4_moe", "gpt_oss", "minimax_m2", "glm4v_moe_text"} | {
    "glm_moe_dsa", "glm4_moe_lite", "minimax_m3",
}  # fmt: skip
_SIMPLE = {
    "llama", "mistral", "ministral", "mixtral", "phi3", "llama4", "llama4_text", "smollm3", "granite", "seed_oss",
    "glm", "glm4", "deepseek_v2", "internlm2", "yi", "exaone4", "mistral3", "hunyuan_v1_moe", "ernie4_5_moe", "dots1",
    "mimo", "arcee", "helium", "olmoe", "glm_moe_dsa", "glm4_moe_lite",
}  # fmt: skip
_KNOWN = _LAYER_NORM | _TIED | _QUERY_KEY | _QKV | _ROUTER_BIAS | _SIMPLE
_RECURRENT = re.compile(
    r"mamba|rwkv|jamba|nemotron_h|bamba|falcon_h1|zamba|lfm2|kimi_linear|qwen3_next|qwen3_5"
    r"|granitemoehybrid|minimax_text_01|recurrent",
    re.IGNORECASE,
)
_RECURRENT_LAYERS = re.compile(r"linear|mamba|recurrent|conv", re.IGNORECASE)
_ENCODERS = re.compile(
    r"(?:\w{0,9}bert\w{0,9}|roberta|xlm-roberta|deberta(?:-v2)?|electra|vit\w{0,4}|clip\w{0,15}|siglip\w{0,15}|whisper"
    r"|wav2vec2|hubert|dinov\d)",
    re.IGNORECASE,
)
# What a file leaves out since its class has it.
_DEFAULT_NAMES = (
    "vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads",
    "num_key_value_heads", "head_dim",
)  # fmt: skip
_DEFAULTS = {
    "gemma": (256_000, 3072, 24_576, 28, 16, 16, 256),
    "gemma2": (256_000, 2304, 9216, 26, 8, 4, 256),
    "gemma3": (262_208, 2304, 9216, 26, 8, 4, 256),
    "gemma3_text": (262_208, 2304, 9216, 26, 8, 4, 256),
    "gemma4": (262_144, 2304, 9216, 30, 8, 4, 256),
    "gemma4_text": (262_144, 2304, 9216, 30, 8, 4, 256),
    "llama": (32_000, 4096, 11_008, 32, 32, None, None),
    "mistral": (32_000, 4096, 14_336, 32, 32, 8, None),
    "mistral3": (131_072, 5120, 32_768, 40, 32, 8, 128),
    "mixtral": (32_000, 4096, 14_336, 32, 32, 8, None),
    "qwen2": (151_936, 4096, 22_016, 32, 32, 32, None),
    "qwen3": (151_936, 4096, 22_016, 32, 32, 32, 128),
    "qwen2_5_vl_text": (152_064, 8192, 29_568, 80, 64, 8, None),
    "qwen3_vl_text": (151_936, 4096, 22_016, 32, 32, 32, 128),
    "phi3": (32_064, 3072, 8192, 32, 32, None, None),
    "llama4_text": (202_048, 5120, 8192, 48, 40, 8, 128),
    "cohere2": (256_000, 8192, 22_528, 40, 64, None, None),
    "gpt_neox": (50_432, 6144, 24_576, 44, 64, None, None),
}


def hub_model(given: Mapping[str, object]) -> Mapping[str, object]:
    """The fields of the shape; of a model with images, those of its text model.

    Raises:
        ValueError: a field is missing, or the shape cannot say such a model.
    """
    inner = next((table for name in _INNER if (table := table_in(given, name))), given)
    kind = str(inner.get("model_type") or given.get("model_type") or "").lower()
    if _ENCODERS.fullmatch(kind):
        raise value_error("{kind} is an encoder: a model shape is that of a decoder", kind=short(kind))
    layers = inner.get("layer_types") or inner.get("layers_block_type") or []
    every = layers if isinstance(layers, list) else []
    other = sum(bool(_RECURRENT_LAYERS.search(str(one))) for one in every)
    if other:
        form = noted(
            "{kind} has layers without attention (state spaces or linear attention), {other} of {every}, which a"
            " model shape cannot say"
        )
        raise value_error(form, kind=short(kind), other=other, every=len(every))
    if _RECURRENT.search(kind):
        raise value_error(
            "{kind} has layers without attention (state spaces or linear attention), which a model shape cannot say",
            kind=short(kind),
        )
    if flag_in(given, "is_encoder_decoder") or "block_configs" in inner:
        raise value_error("{kind} is not a decoder whose layers are alike, which a model shape is", kind=short(kind))
    flat, taken = _with_defaults(kind, inner)
    if "tie_word_embeddings" in given:
        flat.setdefault("tie_word_embeddings", given["tie_word_embeddings"])
    found = {**_hub_attention(kind, flat), **_feed_forward(kind, flat), **_mixture(kind, flat)}
    notes = [*_notes(kind, given, flat), *([f"left out of the file, and of its class: {taken}"] if taken else [])]
    return {**found, "source": "; ".join([f"config.json, model_type {kind[:40] or 'not said'}", *notes])}


def _with_defaults(kind: str, inner: Mapping[str, object]) -> tuple[dict[str, object], str]:
    """The settings with those that the file leaves out to its class, and what these are."""
    defaults = dict(zip(_DEFAULT_NAMES, _DEFAULTS.get(kind, ()), strict=False))
    taken = {name: value for name, value in defaults.items() if value is not None and inner.get(name) is None}
    if len(taken) == len(defaults):  # it says nothing
        return {**inner}, ""
    if inner.get("hidden_size") is not None and inner.get("num_attention_heads") is not None and kind not in _GEMMAS:
        taken.pop("head_dim", None)  # older files have hidden / heads
        taken.pop("num_key_value_heads", None)
    if "num_hidden_layers" in taken and "hidden_size" in inner and kind not in _GEMMAS:
        taken.pop("num_hidden_layers")
    return {**inner, **taken}, ", ".join(f"{name} {value}" for name, value in taken.items())


_GEMMAS = {"gemma3", "gemma3_text", "gemma4", "gemma4_text"}


def _hub_attention(kind: str, given: Mapping[str, object]) -> Mapping[str, object]:
    layers = needed_count(given, "num_hidden_layers", "n_layer", "n_layers", "num_layers")
    hidden = needed_count(given, "hidden_size", "n_embd", "d_model")
    heads = needed_count(given, "num_attention_heads", "n_head", "n_heads")
    found: dict[str, object] = {
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
    is_multi_query = flag_in(given, "multi_query") and not flag_in(given, "new_decoder_architecture")
    found["key_value_heads"] = 1 if is_multi_query else count_in(given, "num_key_value_heads", "num_kv_heads") or heads
    if kind in {"gpt2", "opt"}:
        found["positions"] = needed_count(given, "n_positions", "max_position_embeddings")
    return found


def _biases(kind: str, given: Mapping[str, object]) -> str:
    if kind in _GPT - {"falcon"} or kind == "gpt_oss":
        return "all" if flag_in(given, "use_bias", True) else "none"
    if flag_in(given, "mlp_bias"):
        return "all"
    return "qkv" if flag_in(given, "attention_bias", kind in _QKV) or flag_in(given, "qkv_bias") else "none"


def _feed_forward(kind: str, given: Mapping[str, object]) -> Mapping[str, object]:
    gated = kind not in _NO_GATE
    width = count_in(
        given, "dense_intermediate_size", "intermediate_size_mlp", "intermediate_size", "n_inner", "ffn_dim",
        "ffn_hidden_size",
    )  # fmt: skip
    if width is None and not gated:
        width = 4 * needed_count(given, "hidden_size", "n_embd", "d_model")
    if width is None:
        width = 0 if count_in(given, *_EXPERTS) else needed_count(given, "intermediate_size")
    return {"feed_forward": width, "gated": gated}


_EXPERTS = ("n_routed_experts", "num_local_experts", "num_experts", "moe_num_experts")


def _mixture(kind: str, given: Mapping[str, object]) -> Mapping[str, object]:
    experts = count_in(given, *_EXPERTS)
    if not experts or experts == 1:
        return {}
    size = count_in(given, "moe_intermediate_size") or needed_count(given, "intermediate_size")
    active = needed_count(given, "num_experts_per_tok", "num_experts_per_token", "moe_topk", "moe_k", "top_k_experts")
    bias = flag_in(given, "use_routing_bias", kind in _ROUTER_BIAS)
    return _mixture_fields(experts, active, size, _shared(kind, given, size), _dense_layers(given), bias)


def _mixture_fields(experts: int, active: int, size: int, shared: int, dense: int, bias: bool) -> Mapping[str, object]:
    """The fields of a mixture of experts; if *dense* is 0, every feed-forward network is made of experts."""
    found = {
        "experts": experts,
        "active_experts": active,
        "expert_feed_forward": size,
        "shared": shared,
        "dense_layers": dense,
        "router_bias": bias,
    }
    return found if dense else {**found, "feed_forward": 0}


def _shared(kind: str, given: Mapping[str, object], size: int) -> int:
    """Shared experts, each as wide as the others."""
    if kind.startswith("llama4"):
        return 1
    wide = count_in(given, "shared_expert_intermediate_size", "shared_intermediate_size") or 0
    if kind in _GEMMAS:  # the dense network runs beside the experts
        wide = needed_count(given, "intermediate_size")
    return (
        wide // size
        if wide
        else count_in(given, "n_shared_experts", "num_shared_experts", "moe_num_shared_experts") or 0
    )


def _dense_layers(given: Mapping[str, object]) -> int:
    """Layers without experts: listed by layer, or the first ones, and all but every n-th."""
    layers = needed_count(given, "num_hidden_layers", "n_layer", "num_layers")
    kinds, frequency = given.get("mlp_layer_types"), given.get("moe_layer_freq")
    if isinstance(kinds, list) and kinds:
        return sum(one == "dense" for one in kinds[:layers])
    if isinstance(frequency, list) and frequency:
        return sum(one == 0 for one in frequency[:layers])
    first = count_in(given, "first_k_dense_replace", "num_dense_layers", "moe_layer_start_index") or 0
    every = count_in(given, "moe_layer_freq", "moe_layer_interval") or 1
    if first or every > 1:
        mixed = sum(number >= first and number % every == 0 for number in range(min(layers, _MOST_LAYERS)))
        return layers - mixed
    every = count_in(given, "interleave_moe_layer_step", "decoder_sparse_step") or 1
    only = given.get("mlp_only_layers")
    return (len(only) if isinstance(only, list) else 0) + (layers - layers // every if every > 1 else 0)


_MOST_LAYERS = 10_000


def _notes(kind: str, given: Mapping[str, object], inner: Mapping[str, object]) -> Iterator[str]:
    if kind not in _KNOWN:
        yield f"model_type {kind[:40] or 'not said'} is not known: read as a Llama, with a gate, RMSNorm and no biases"
    left_out = {
        "the vision or audio model": any(table_in(given, name) for name in _INNER),
        "modules for further tokens": bool(count_in(inner, "num_nextn_predict_layers", "mtp_num_hidden_layers")),
        "windows of attention": bool(inner.get("sliding_window")) and inner.get("use_sliding_window") is not False,
    }
    names = [name for name, found in left_out.items() if found]
    if names:
        yield f"left out: {', '.join(names)}"
    sizes = [count_in(inner, name) or 0 for name in ("hidden_size_per_layer_input", "num_hidden_layers")]
    if all(sizes):
        words = count_in(inner, "vocab_size_per_layer_input", "vocab_size") or 0
        yield f"left out: embeddings of each layer, {words * sizes[0] * sizes[1] / 1e9:.3g} billion parameters"
    value, size = count_in(inner, "v_head_dim"), count_in(inner, "qk_nope_head_dim")
    if value and size and value != size and count_in(inner, "kv_lora_rank"):
        yield f"heads of {size} for queries and of {value} for values are read as heads of {(size + value) // 2}"
    if unknown := HUB.unknown(inner):
        yield f"not used: {', '.join(unknown[:8])}{f' and {len(unknown) - 8} more' if len(unknown) > 8 else ''}"  # noqa: PLR2004


_DENSE = re.compile(r"\(?\[0\]\s*\*\s*(\d+)")
_VARIABLE = re.compile(r"[$`]")


def maxtext_model(given: Mapping[str, object]) -> Mapping[str, object]:
    """The fields of the shape in a configuration of MaxText, whose widths a scale multiplies.

    Raises:
        ValueError: a key is missing or is not a number.
    """
    if (count_in(given, "global_parameter_scale") or 1) > 1 or str(given.get("attention_type")) == "mla":
        raise value_error("this model of MaxText is scaled, or has latent attention: give its model_name")
    heads = needed_count(given, "base_num_query_heads")
    experts = count_in(given, "num_experts") or 0
    found = {
        "layers": needed_count(given, "base_num_decoder_layers"),
        "hidden": needed_count(given, "base_emb_dim"),
        "heads": heads,
        "key_value_heads": count_in(given, "base_num_kv_heads") or heads,
        "head_size": count_in(given, "head_dim") or 128,
        "feed_forward": needed_count(given, "base_mlp_dim"),
        "vocabulary": count_in(given, "vocab_size") or 32_000,
        "gated": len(given.get("mlp_activations") or (1, 2)) > 1,  # type: ignore[arg-type]
        "tied": flag_in(given, "logits_via_embedding"),
        "query_key_norm": flag_in(given, "use_qk_norm"),
        "source": "a configuration of MaxText",
    }
    if experts <= 1:
        return found
    active = count_in(given, "num_experts_per_tok") or 1
    size = count_in(given, "base_moe_mlp_dim") or needed_count(given, "base_mlp_dim")
    shared, dense = (count_in(given, name) or 0 for name in ("shared_experts", "first_num_dense_layers"))
    return {**found, **_mixture_fields(experts, active, size, shared, dense, False)}


def megatron_model(given: Mapping[str, object]) -> Mapping[str, object]:
    """The fields of the shape.

    Raises:
        ValueError: an argument is missing or is not a number.
    """
    if any(given.get(name) for name in _OTHER_LAYERS):
        raise value_error("layers without attention are asked for, which a model shape cannot say")
    for name, value in given.items():
        if isinstance(value, str) and _VARIABLE.search(value) and name in _NUMBERS:
            raise value_error("{name} is a variable of a script: write its number", name=name)
    hidden, heads = needed_count(given, "hidden_size"), needed_count(given, "num_attention_heads")
    gated = flag_in(given, "swiglu") or flag_in(given, "gated_linear_unit") or "glu" in str(given.get("activation"))
    layers = needed_count(given, "num_layers")
    used = flag_in(given, "group_query_attention", "num_query_groups" in given)
    found = {
        "layers": layers,
        "hidden": hidden,
        "heads": heads,
        "key_value_heads": ((count_in(given, "num_query_groups") or heads) if used else heads),
        "head_size": count_in(given, "kv_channels") or hidden // max(heads, 1),
        "feed_forward": count_in(given, "ffn_hidden_size") or 4 * hidden,
        "vocabulary": needed_count(given, "vocab_size", "padded_vocab_size"),
        "gated": gated,
        "tied": flag_in(given, "share_embeddings_and_output_weights", True)
        and not flag_in(given, "untie_embeddings_and_output_weights"),
        "norm": "rms" if str(given.get("normalization", "")).lower() == "rmsnorm" else "layer",
        "biases": _megatron_biases(given),
        "query_key_norm": flag_in(given, "qk_layernorm"),
        "source": "arguments of Megatron-LM",
    }
    return {**found, **_positions(given), **_latent(given, heads), **_megatron_mixture(given, layers)}


_OTHER_LAYERS = ("hybrid_override_pattern", "hybrid_layer_pattern", "linear_attention_freq")
_NUMBERS = {
    "num_layers", "hidden_size", "ffn_hidden_size", "num_attention_heads", "num_query_groups", "kv_channels",
    "vocab_size", "num_experts", "moe_ffn_hidden_size", "moe_router_topk", "moe_layer_freq",
    "moe_shared_expert_intermediate_size",
}  # fmt: skip


def _megatron_biases(given: Mapping[str, object]) -> str:
    if not flag_in(given, "disable_bias_linear") and flag_in(given, "add_bias_linear", flag_in(given, "bias", True)):
        return "all"
    return "qkv" if flag_in(given, "add_qkv_bias") else "none"


def _positions(given: Mapping[str, object]) -> Mapping[str, int]:
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


def _latent(given: Mapping[str, object], heads: int) -> Mapping[str, int]:
    if not count_in(given, "kv_lora_rank"):
        return {}
    size, rope = needed_count(given, "qk_head_dim"), needed_count(given, "qk_pos_emb_head_dim")
    return latent_attention(given, heads, size, rope) | {"query_key_norm": False}


def _megatron_mixture(given: Mapping[str, object], layers: int) -> Mapping[str, object]:
    if not (experts := count_in(given, "num_experts", "num_moe_experts")):
        return {}
    size = count_in(given, "moe_ffn_hidden_size") or needed_count(given, "ffn_hidden_size")
    wide = count_in(given, "moe_shared_expert_intermediate_size") or 0
    dense = _megatron_dense_layers(given.get("moe_layer_freq"), layers)
    active, bias = count_in(given, "moe_router_topk") or 2, flag_in(given, "moe_router_enable_expert_bias")
    return _mixture_fields(experts, active, size, wide // size, dense, bias)


def _megatron_dense_layers(frequency: object, layers: int) -> int:
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


Fields = Mapping[str, object]
_OF_THE_HUB = {
    "model_type", "architectures", "num_hidden_layers", "n_layer", "hidden_size", "text_config",
    "n_embd", "llm_config", "language_config", "num_attention_heads", "vocab_size", "num_layers",
}  # fmt: skip
_ENOUGH = 2  # names that tell a configuration from a record with a wrong field
_OF_MEGATRON = {"num_layers", "ffn_hidden_size", "kv_channels"}


def model_fields(given: str | Mapping[str, object]) -> Fields | None:
    """The fields of a model shape in a configuration; None for another object.

    Raises:
        ValueError: it is not valid, or has no model that a shape can say.
    """
    if isinstance(given, Mapping) and len(_OF_THE_HUB & set(given)) < _ENOUGH:
        return None
    document = document_of(given) if isinstance(given, str) else given
    check_document(document)
    document = arguments_of_sections(document)
    names = set(document)
    if _OF_MEGATRON & names and not names & {"num_hidden_layers", "model_type", "architectures"}:
        return megatron_model(document)
    if "base_emb_dim" in names:
        return maxtext_model(document)
    if name := configured_model(document):
        return {"name": name}
    if _OF_THE_HUB & names:
        return hub_model(document)
    raise value_error(
        "the configuration has no model: a config.json of Hugging Face has num_hidden_layers,"
        " arguments of Megatron-LM have --num-layers"
    )
