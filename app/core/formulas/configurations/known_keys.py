"""The keys of each program's configuration: what a layout is read from, and what changes nothing."""

from collections.abc import Mapping, Set
from dataclasses import dataclass

from app.core.translation import say

_MOST_KEYS = 8  # that are named
_LONGEST_KEY = 100
_AS_USUAL = {  # values that change nothing, of keys that else would
    ("optimizer.type", "adam"), ("optimizer.type", "adamw"), ("optimizer.name", "adam"), ("optimizer.name", "adamw"),
    ("parallelism.fsdp_reshard_after_forward", "default"), ("parallelism.fsdp_reshard_after_forward", "always"),
    ("parallelism.pipeline_parallel_schedule", "1f1b"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class KnownKeys:
    """The keys of a program, as `table.key`; a table stands for all of its keys.

    A layout is read from those that are *used*; *harmless* ones change neither its time nor its memory.
    """

    used: Set[str]
    harmless: Set[str]

    def left_out(self, given: Mapping[str, object]) -> str:
        """The settings of *given* that are on, and neither used nor harmless, as a clause; empty if there are none."""
        names = [path[:_LONGEST_KEY] for path, value in _settings(given) if not self._is_known(path, value)]
        more = say(" and {more} more", more=len(names) - _MOST_KEYS) if len(names) > _MOST_KEYS else ""
        return f"; not used: {', '.join(names[:_MOST_KEYS])}{more}" if names else ""

    def _is_known(self, path: str, value: object) -> bool:
        known = {path, path.partition(".")[0]} & (self.used | self.harmless)
        return bool(known) or (path, str(value).lower()) in _AS_USUAL


def _settings(given: Mapping[str, object]) -> list[tuple[str, object]]:
    """The settings of *given* that are on, by their path."""
    found: list[tuple[str, object]] = []
    for name, value in given.items():
        if not isinstance(value, Mapping):
            found.append((name, value))
        elif value.get("enabled") is not False:
            found += ((f"{name}.{key}", one) for key, one in value.items())
    return [(path, one) for path, one in found if one not in ("auto", "none", -1, [], {}) and is_set(one)]


def is_set(value: object) -> bool:
    """Whether a setting is on: an object with a device, a number above 1, or true."""
    if isinstance(value, Mapping):
        return value.get("device", "none") not in {"none", None}
    return value not in (None, False, 0, 1) or value is True


DEEPSPEED_KEYS = KnownKeys(
    used={
        "train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps",
        *(f"zero_optimization.{name}" for name in (
            "stage", "offload_optimizer", "offload_param", "cpu_offload", "zero_hpz_partition_size",
            "mics_shard_size",
            "zero_quantized_weights", "zero_quantized_gradients",
        )),
        "tensor_parallel.autotp_size", "tensor_parallel.tp_size", "bf16", "bfloat16", "fp16",
        "torch_autocast",
    },
    harmless={
        "steps_per_print", "wall_clock_breakdown", "dump_state", "gradient_clipping", "prescale_gradients", "scheduler",
        "tensorboard", "wandb", "comet", "csv_monitor", "monitor_config", "flops_profiler", "comms_logger",
        "checkpoint",
        "seed", "zero_allow_untested_optimizer", "optimizer.params", "memory_breakdown",
        *(f"zero_optimization.{name}" for name in (
            "overlap_comm", "contiguous_gradients", "reduce_scatter", "allgather_partitions", "round_robin_gradients",
            "sub_group_size", "stage3_gather_16bit_weights_on_model_save", "stage3_gather_fp16_weights_on_model_save",
            "stage3_max_live_parameters", "stage3_max_reuse_distance", "ignore_unused_parameters",
            "load_from_fp32_weights", "elastic_checkpoint",
        )),
    },
)  # fmt: skip
TITAN_KEYS = KnownKeys(
    used={
        *(f"parallelism.{name}" for name in (
            "data_parallel_replicate_degree", "data_parallel_shard_degree", "tensor_parallel_degree",
            "pipeline_parallel_degree", "pipeline_parallel_microbatch_size", "context_parallel_degree",
            "expert_parallel_degree",
        )),
        *(f"training.{name}" for name in ("local_batch_size", "batch_size", "global_batch_size", "seq_len")),
        "activation_checkpoint.mode", "activation_checkpoint.selective_ac_option", "model.name", "model.flavor",
    },
    harmless={
        "job", "profiling", "metrics", "checkpoint", "comm", "fault_tolerance", "debug", "lr_scheduler", "validation",
        *(f"optimizer.{name}" for name in ("lr", "eps", "beta1", "beta2", "weight_decay", "implementation")),
        *(f"training.{name}" for name in (
            "dataset", "dataset_path", "max_norm", "steps", "seed", "gc_freq", "gc_debug", "deterministic",
            "warmup_steps", "enable_opus_backend",
        )),
        *(f"model.{name}" for name in ("tokenizer_path", "hf_assets_path", "norm_type", "print_after_conversion")),
        "compile.components",
    },
)  # fmt: skip
