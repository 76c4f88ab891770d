"""From a configuration of Hugging Face or Megatron-LM to the fields of a model shape and a layout."""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from reprlib import repr as short

from app.core.formulas.configurations.documents import (
    check_document,
    count_in,
    document_of,
    flag_in,
    latent_attention,
    needed_count,
    table_in,
)
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


def hub_model(given: Mapping[str, object]) -> Mapping[str, object]:
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
    found = {**_hub_attention(kind, flat), **_feed_forward(kind, flat), **_mixture(kind, flat)}
    notes = "; ".join(_notes(kind, given, inner))
    return {**found, "source": f"config.json, model_type {kind[:40] or 'not said'}" + notes}


def _refuse(kind: str, given: Mapping[str, object], inner: Mapping[str, object]) -> None:
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
    found["key_value_heads"] = _key_value_heads(kind, given, heads)
    if kind in {"gpt2", "opt"}:
        found["positions"] = needed_count(given, "n_positions", "max_position_embeddings")
    return found


def _key_value_heads(kind: str, given: Mapping[str, object], heads: int) -> int:
    if flag_in(given, "multi_query") and not flag_in(given, "new_decoder_architecture"):
        return 1
    return count_in(given, "num_key_value_heads", "num_kv_heads") or heads


def _biases(kind: str, given: Mapping[str, object]) -> str:
    if kind in _GPT - {"falcon"} or kind == "gpt_oss":
        return "all" if flag_in(given, "use_bias", True) else "none"
    if flag_in(given, "mlp_bias"):
        return "all"
    return "qkv" if flag_in(given, "attention_bias", kind in _QKV) or flag_in(given, "qkv_bias") else "none"


def _feed_forward(kind: str, given: Mapping[str, object]) -> Mapping[str, object]:
    gated = kind not in _NO_GATE
    width = count_in(given, "intermediate_size_mlp", "intermediate_size", "n_inner", "ffn_dim", "ffn_hidden_size")
    if width is None and not gated:
        width = 4 * needed_count(given, "hidden_size", "n_embd", "d_model")
    if width is None:
        width = needed_count(given, "intermediate_size")
    return {"feed_forward": width, "gated": gated}


def _mixture(kind: str, given: Mapping[str, object]) -> Mapping[str, object]:
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


def _shared(kind: str, given: Mapping[str, object], size: int) -> int:
    """Shared experts, each as wide as the others."""
    if kind.startswith("llama4"):
        return 1
    wide = count_in(given, "shared_expert_intermediate_size", "shared_intermediate_size") or 0
    return wide // size if wide else count_in(given, "n_shared_experts", "num_shared_experts") or 0


def _dense_layers(given: Mapping[str, object]) -> int:
    layers = needed_count(given, "num_hidden_layers", "n_layer", "num_layers")
    every = count_in(given, "interleave_moe_layer_step", "decoder_sparse_step") or 1
    only = given.get("mlp_only_layers")
    return (
        (count_in(given, "first_k_dense_replace", "num_dense_layers") or 0)
        + (len(only) if isinstance(only, list) else 0)
        + (layers - layers // every if every > 1 else 0)
    )


def _notes(kind: str, given: Mapping[str, object], inner: Mapping[str, object]) -> Iterator[str]:
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


_DENSE = re.compile(r"\(?\[0\]\s*\*\s*(\d+)")
_VARIABLE = re.compile(r"[$`]")


def megatron_model(given: Mapping[str, object]) -> Mapping[str, object]:
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
        "key_value_heads": _megatron_groups(given, heads),
        "head_size": count_in(given, "kv_channels") or hidden // max(heads, 1),
        "feed_forward": count_in(given, "ffn_hidden_size") or 4 * hidden,
        "vocabulary": needed_count(given, "vocab_size", "padded_vocab_size"),
        "gated": gated,
        "tied": not flag_in(given, "untie_embeddings_and_output_weights"),
        "norm": "rms" if str(given.get("normalization", "")).lower() == "rmsnorm" else "layer",
        "biases": _megatron_biases(given),
        "query_key_norm": flag_in(given, "qk_layernorm"),
        "source": "arguments of Megatron-LM",
    }
    return {**found, **_positions(given), **_latent(given, heads), **_megatron_mixture(given, layers)}


def _refuse_variables(given: Mapping[str, object]) -> None:
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


def _megatron_groups(given: Mapping[str, object], heads: int) -> int:
    """Key-value heads. Megatron prints num_query_groups also where they are not in use."""
    used = flag_in(given, "group_query_attention", "num_query_groups" in given)
    return (count_in(given, "num_query_groups") or heads) if used else heads


def _megatron_biases(given: Mapping[str, object]) -> str:
    if not flag_in(given, "disable_bias_linear") and flag_in(given, "add_bias_linear", True):
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
    if not (experts := count_in(given, "num_experts")):
        return {}
    size = count_in(given, "moe_ffn_hidden_size") or needed_count(given, "ffn_hidden_size")
    wide = count_in(given, "moe_shared_expert_intermediate_size") or 0
    dense = _megatron_dense_layers(given.get("moe_layer_freq"), layers)
    found = {
        "experts": experts,
        "active_experts": count_in(given, "moe_router_topk") or 2,
        "expert_feed_forward": size,
        "shared": wide // size,
        "dense_layers": dense,
        "router_bias": flag_in(given, "moe_router_enable_expert_bias"),
    }
    return found if dense else {**found, "feed_forward": 0}


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
_LONGEST_NAME = 100
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
    names = set(document)
    if _OF_MEGATRON & names and not names & {"num_hidden_layers", "model_type", "architectures"}:
        return megatron_model(document)
    if _OF_THE_HUB & names:
        return hub_model(document)
    if (table := table_in(document, "model")).get("flavor"):
        return {"name": f"{table.get('name', '')}-{table['flavor']}"[:_LONGEST_NAME]}
    raise ValueError(
        say(
            "the configuration has no model: a config.json of Hugging Face has num_hidden_layers,"
            " arguments of Megatron-LM have --num-layers"
        )
    )


_BATCH = ("train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps")
_DEEPSPEED = {"zero_optimization", *_BATCH}
# Of ZeRO, and not of a layout: what is kept elsewhere, held twice, or sent in fewer bits.
_NO_LAYOUT = (
    "offload_optimizer", "offload_param", "cpu_offload", "zero_hpz_partition_size",
    "mics_shard_size", "zero_quantized_weights", "zero_quantized_gradients",
)  # fmt: skip
_TITAN = {"parallelism", "activation_checkpoint"}
_MEGATRON = {
    "tensor_model_parallel_size", "pipeline_model_parallel_size", "micro_batch_size",
    "global_batch_size", "seq_length", "context_parallel_size", "expert_model_parallel_size",
}  # fmt: skip
_RECOMPUTE = {"full": "full", "selective": "selective", "none": "none", "op": "operations"}
Setting = int | str | bool  # of a layout, by its field


@dataclass(frozen=True, slots=True)
class ConfiguredLayout:
    """What a configuration says of a layout: *fields*, and the sequences of a step; 0 if unsaid."""

    fields: Mapping[str, Setting]
    batch: int = 0
    layers_per_chunk: int = 0  # of an interleaved pipeline

    def on(self, gpus: int, layers: int = 0) -> Mapping[str, Setting]:
        """The fields of the layout on *gpus* GPUs: the remaining degree is data parallelism.

        Raises:
            ValueError: the degrees do not divide the GPUs, or the batch.
        """
        found = dict(self.fields)
        model = _degrees_product(found, "tensor", "pipeline", "context")
        if gpus % model:
            raise ValueError(
                say(
                    "the configuration splits the model over {model} GPUs, which do not divide {gpus}",
                    model=model,
                    gpus=gpus,
                )
            )
        found["data"] = gpus // model
        if self.layers_per_chunk and layers:
            found["virtual"] = max(1, layers // (_degrees_product(found, "pipeline") * self.layers_per_chunk))
        if "sequence" not in found:
            found["source"] = f"{found['source']}, which says no sequence: 8,192 tokens are taken"
        if self.batch:
            found["microbatches"] = self._microbatches(found)
        return found

    def _microbatches(self, found: Mapping[str, Setting]) -> int:
        each = _degrees_product(found, "data", "micro_batch")
        if self.batch % each:
            raise ValueError(
                say("the batch of {batch} sequences does not divide into {each} at once", batch=self.batch, each=each)
            )
        return self.batch // each


def _degrees_product(found: Mapping[str, Setting], *names: str) -> int:
    return math.prod(int(found.get(name, 1)) for name in names)


def is_layout_configuration(given: Mapping[str, object]) -> bool:
    """Whether an object is a configuration rather than the fields of a layout."""
    return bool((_DEEPSPEED | _TITAN | _MEGATRON) & set(given))


def layout_fields(given: str | Mapping[str, object]) -> ConfiguredLayout | None:
    """What a configuration says of a layout; None for another object.

    Raises:
        ValueError: it is not valid, or says nothing of a layout.
    """
    document = document_of(given) if isinstance(given, str) else given
    for names, read in ((_DEEPSPEED, _deepspeed), (_TITAN, _torchtitan), (_MEGATRON, _megatron)):
        if names & set(document):
            check_document(document)
            return read(document)
    if isinstance(given, Mapping):
        return None
    raise ValueError(
        say(
            "the configuration has no layout: DeepSpeed has zero_optimization, torchtitan has"
            " [parallelism], Megatron-LM has --tensor-model-parallel-size"
        )
    )


def _deepspeed(given: Mapping[str, object]) -> ConfiguredLayout:
    fixed = {name: value for name, value in given.items() if value != "auto"}
    stage = count_in(table_in(given, "zero_optimization"), "stage") or 0
    micro = count_in(fixed, "train_micro_batch_size_per_gpu")
    steps = count_in(fixed, "gradient_accumulation_steps")
    ranks = table_in(given, "tensor_parallel")
    fields: dict[str, Setting | None] = {
        "zero_stage": stage,
        "micro_batch": micro,
        "microbatches": steps,
        "tensor": count_in(ranks, "autotp_size", "tp_size"),
        "sequence_parallel": False,
        "source": f"a DeepSpeed JSON{_not_said(given)}",
    }
    batch = 0 if steps else count_in(fixed, "train_batch_size") or 0
    return ConfiguredLayout(_known_settings(fields), batch)


def _not_said(given: Mapping[str, object]) -> str:
    """What a DeepSpeed JSON leaves to the program, and what of it a layout does not have."""
    zero = table_in(given, "zero_optimization")
    left_out = [name for name in _NO_LAYOUT if _is_set(zero.get(name))]
    whole, *others = _BATCH
    last = 1 if isinstance(given.get(whole), int) else 2  # of the steps there is a rest then
    auto = [name for name in others[:last] if given.get(name) == "auto"]
    says = f", where auto is taken as 1: {', '.join(auto)}" if auto else ""
    return says + (f"; left out: {', '.join(left_out)}" if left_out else "")


def _is_set(value: object) -> bool:
    """Whether a setting of ZeRO is on: an object with a device, a number above 1, or true."""
    if isinstance(value, Mapping):
        return value.get("device", "none") not in {"none", None}
    return value not in (None, False, 0, 1) or value is True


def _torchtitan(given: Mapping[str, object]) -> ConfiguredLayout:
    degrees, training = table_in(given, "parallelism"), table_in(given, "training")
    copies = count_in(degrees, "data_parallel_replicate_degree") or 1
    fields: dict[str, Setting | None] = {
        "tensor": count_in(degrees, "tensor_parallel_degree"),
        "pipeline": count_in(degrees, "pipeline_parallel_degree"),
        "context": count_in(degrees, "context_parallel_degree"),
        "expert": count_in(degrees, "expert_parallel_degree"),
        "micro_batch": count_in(training, "local_batch_size", "batch_size"),
        "sequence": count_in(training, "seq_len"),
        "zero_stage": 3,
        "context_by": "all-gather",
        "recompute": _titan_recompute(table_in(given, "activation_checkpoint")),
        "source": "a torchtitan TOML",
    }
    batch = count_in({k: v for k, v in training.items() if v != -1}, "global_batch_size") or 0
    shards = degrees.get("data_parallel_shard_degree", -1)
    if copies > 1 and isinstance(shards, int) and shards > 0:
        fields["shard_ranks"] = shards * (count_in(degrees, "context_parallel_degree") or 1)
    return ConfiguredLayout(_known_settings(fields), batch)


def _titan_recompute(given: Mapping[str, object]) -> str:
    mode = str(given.get("mode", "selective"))
    if mode == "selective" and str(given.get("selective_ac_option", "op")) == "op":
        return "operations"
    return _RECOMPUTE.get(mode, "selective")


def _megatron(given: Mapping[str, object]) -> ConfiguredLayout:
    fields: dict[str, Setting | None] = {
        "tensor": count_in(given, "tensor_model_parallel_size"),
        "pipeline": count_in(given, "pipeline_model_parallel_size"),
        "context": count_in(given, "context_parallel_size"),
        "expert": count_in(given, "expert_model_parallel_size"),
        "expert_tensor": count_in(given, "expert_tensor_parallel_size"),
        "virtual": count_in(given, "num_virtual_stages_per_pipeline_rank"),
        "micro_batch": count_in(given, "micro_batch_size"),
        "sequence": count_in(given, "seq_length"),
        "first_layers": count_in(given, "decoder_first_pipeline_num_layers"),
        "last_layers": count_in(given, "decoder_last_pipeline_num_layers"),
        "zero_stage": 1 if flag_in(given, "use_distributed_optimizer") else 0,
        "sequence_parallel": flag_in(given, "sequence_parallel"),
        "recompute": _megatron_recompute(given),
        "precision": "8-bit" if given.get("fp8") or given.get("fp8_format") else "16-bit",
        "source": "arguments of Megatron-LM",
    }
    chunk = count_in(given, "num_layers_per_virtual_pipeline_stage") or 0
    return ConfiguredLayout(_known_settings(fields), count_in(given, "global_batch_size") or 0, chunk)


def _megatron_recompute(given: Mapping[str, object]) -> str:
    if flag_in(given, "recompute_activations"):
        return "selective"
    return _RECOMPUTE.get(str(given.get("recompute_granularity")), "none")


def _known_settings(fields: Mapping[str, Setting | None]) -> Mapping[str, Setting]:
    """*fields* without those that the configuration does not say."""
    return {name: value for name, value in fields.items() if value is not None}
