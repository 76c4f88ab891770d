"""From a configuration to the fields of a layout, as far as it says them."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.core.formulas.configurations.documents import check_document, count_in, document_of, flag_in, table_in
from app.core.translation import say

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


@dataclass(frozen=True, slots=True)
class ConfiguredLayout:
    """What a configuration says of a layout: *fields*, and the sequences of a step; 0 if unsaid."""

    fields: Mapping[str, Any]
    batch: int = 0
    layers_per_chunk: int = 0  # of an interleaved pipeline

    def on(self, gpus: int, layers: int = 0) -> Mapping[str, Any]:
        """The fields of the layout on *gpus* GPUs: the remaining degree is data parallelism.

        Raises:
            ValueError: the degrees do not divide the GPUs, or the batch.
        """
        found = dict(self.fields)
        model = _product(found, "tensor", "pipeline", "context")
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
            found["virtual"] = max(1, layers // (found.get("pipeline", 1) * self.layers_per_chunk))
        if "sequence" not in found:
            found["source"] += ", which says no sequence: 8,192 tokens are taken"
        if self.batch:
            found["microbatches"] = self._microbatches(found)
        return found

    def _microbatches(self, found: Mapping[str, Any]) -> int:
        each = _product(found, "data", "micro_batch")
        if self.batch % each:
            raise ValueError(
                say("the batch of {batch} sequences does not divide into {each} at once", batch=self.batch, each=each)
            )
        return self.batch // each


def _product(found: Mapping[str, Any], *names: str) -> int:
    return math.prod(int(found.get(name, 1)) for name in names)


def is_layout_configuration(given: Mapping[str, Any]) -> bool:
    """Whether an object is a configuration rather than the fields of a layout."""
    return bool((_DEEPSPEED | _TITAN | _MEGATRON) & set(given))


def layout_fields(given: str | Mapping[str, Any]) -> ConfiguredLayout | None:
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


def _deepspeed(given: Mapping[str, Any]) -> ConfiguredLayout:
    fixed = {name: value for name, value in given.items() if value != "auto"}
    stage = count_in(table_in(given, "zero_optimization"), "stage") or 0
    micro = count_in(fixed, "train_micro_batch_size_per_gpu")
    steps = count_in(fixed, "gradient_accumulation_steps")
    ranks = table_in(given, "tensor_parallel")
    fields = {
        "zero_stage": stage,
        "micro_batch": micro,
        "microbatches": steps,
        "tensor": count_in(ranks, "autotp_size", "tp_size"),
        "sequence_parallel": False,
        "source": f"a DeepSpeed JSON{_not_said(given)}",
    }
    batch = 0 if steps else count_in(fixed, "train_batch_size") or 0
    return ConfiguredLayout(_said(fields), batch)


def _not_said(given: Mapping[str, Any]) -> str:
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


def _torchtitan(given: Mapping[str, Any]) -> ConfiguredLayout:
    degrees, training = table_in(given, "parallelism"), table_in(given, "training")
    copies = count_in(degrees, "data_parallel_replicate_degree") or 1
    fields = {
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
        fields["shard_ranks"] = shards * (fields["context"] or 1)
    return ConfiguredLayout(_said(fields), batch)


def _titan_recompute(given: Mapping[str, Any]) -> str:
    mode = str(given.get("mode", "selective"))
    if mode == "selective" and str(given.get("selective_ac_option", "op")) == "op":
        return "operations"
    return _RECOMPUTE.get(mode, "selective")


def _megatron(given: Mapping[str, Any]) -> ConfiguredLayout:
    fields = {
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
    return ConfiguredLayout(_said(fields), count_in(given, "global_batch_size") or 0, chunk)


def _megatron_recompute(given: Mapping[str, Any]) -> str:
    if flag_in(given, "recompute_activations"):
        return "selective"
    return _RECOMPUTE.get(str(given.get("recompute_granularity")), "none")


def _said(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """*fields* without those that the configuration does not say."""
    return {name: value for name, value in fields.items() if value is not None}
