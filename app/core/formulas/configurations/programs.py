"""The configurations of programs as layouts: which program it is, and what its own keys mean."""

import math
import re
from collections.abc import Callable, Mapping
from reprlib import repr as short

from app.core.formulas.configurations import configured_layout, documents, program_keys
from app.core.translation import value_error


def program_of(given: Mapping[str, object]) -> program_keys.ProgramKeys | None:
    """The program whose configuration *given* is; None for what is none of a layout."""
    paths = set(program_keys.flat_settings(given)) | set(given)
    return next((keys for keys in program_keys.PROGRAMS if keys.marked(paths)), None)


def is_layout_configuration(given: Mapping[str, object]) -> bool:
    """Whether an object is a configuration rather than the fields of a layout."""
    return program_of(documents.arguments_of_sections(given)) is not None


def configured_stack(given: object) -> Mapping[str, str]:
    """What a configuration of a layout says of the stack, by the names of a line; nothing for anything else."""
    if not isinstance(given, str | Mapping) or (isinstance(given, str) and not documents.is_configuration(given)):
        return {}
    try:
        found = layout_fields(given)
    except ValueError:
        return {}
    return found.stack if found else {}


def layout_fields(given: str | Mapping[str, object]) -> configured_layout.ConfiguredLayout | None:
    """What a configuration says of a layout; None for another object.

    Raises:
        ValueError: it is not valid, or says nothing of a layout.
    """
    document = documents.document_of(given) if isinstance(given, str) else given
    document = documents.arguments_of_sections(document)
    keys = program_of(document)
    if keys is not None:
        documents.check_document(document)
        return _read_layout(keys, program_keys.flat_settings(document))
    if isinstance(given, Mapping):
        return None
    raise value_error(
        "the configuration has no layout: known are those of DeepSpeed (zero_optimization), torchtitan (parallelism),"
        " Megatron-LM and NeMo (tensor_model_parallel_size), accelerate, axolotl, LLaMA-Factory, TRL, MaxText and verl"
    )


def _read_layout(keys: program_keys.ProgramKeys, given: Mapping[str, object]) -> configured_layout.ConfiguredLayout:
    reading = configured_layout.ConfigurationReading(keys, given)
    reading.take()
    _READERS[keys.program](reading)
    return reading.finish()


def configured_model(given: Mapping[str, object]) -> str:
    """The name of the model in the configuration of a program that says no more of it; empty without.

    Raises:
        ValueError: a value of the configuration is not valid.
    """
    keys = program_of(given)
    return (
        _read_layout(keys, program_keys.flat_settings(given)).model
        if keys not in (None, program_keys.MEGATRON, program_keys.DEEPSPEED)
        else ""
    )


def _deepspeed(now: configured_layout.ConfigurationReading) -> None:
    zero = "zero_optimization."
    stage = now.given.get(f"{zero}stage")
    if stage is not None and stage != now.fields.get("zero_stage"):
        documents.count_in({"stage": stage}, "stage")  # says what it must be
    now.fields.setdefault("zero_stage", 0)
    now.fields |= {"sequence_parallel": False}
    homes = [now.text(f"{zero}offload_{what}.device").removeprefix("none") for what in ("optimizer", "param")]
    older = ["cpu" * now.on(f"{zero}cpu_offload{what}") for what in ("", "_param")]
    _offload(now, homes[0] or older[0], homes[1] or older[1])
    sizes = _DEEPSPEED_SIZES[: 1 if now.numbers.get("batch") else 2]  # of the steps there is a rest then
    auto = [name for name in sizes if now.given.get(name) == "auto"]
    if auto:
        now.notes.append(f"auto is taken as 1: {', '.join(auto)}")
    formats = ("bf16", "bfloat16", "fp16", "torch_autocast", "amp")
    if not any(now.given.get(f"{name}.enabled") for name in formats):
        now.in_fp32("neither bf16 nor fp16")
    if now.on("bf16.bf16_master_weights_and_grads", "fp16.fp16_master_weights_and_grads"):
        now.stack |= {"master": "none", "gradients": "BF16"}
    if now.on("bf16.bf16_optimizer_states"):
        now.stack["moments"] = "BF16"


_DEEPSPEED_SIZES = ("train_micro_batch_size_per_gpu", "gradient_accumulation_steps")


def _offload(now: configured_layout.ConfigurationReading, optimizer: str, parameters: str) -> None:
    """Note where both wait, if they leave the GPU."""
    now.offload(optimizer=bool(optimizer), parameters=bool(parameters))
    if "nvme" in (optimizer, parameters):
        now.stack["offload_to"] = "NVMe"


_EVERY_SECOND = 2  # stages of an interleaved pipeline on a rank, unless it says how many
_ONE_BY_ONE = ("", "1f1b")


def _torchtitan(now: configured_layout.ConfigurationReading) -> None:
    now.fields |= {"zero_stage": 3, "context_by": "all-gather"}
    _titan_batch(now)
    _titan_recomputation(now)
    _titan_degrees(now)
    if now.on("training.enable_cpu_offload"):
        now.offload(optimizer=True, parameters=True)
    if now.text("training.dtype") == "bfloat16":
        now.in_bf16()
    converters = now.text("model.converters")
    if found := re.search(r"float8|mxfp8|mx\b|fp8|fp4", converters):
        now.fields["precision"] = "4-bit" if found[0] == "fp4" else "8-bit"
    elif now.on("model.converters"):
        now.odd.append("model.converters")
    if flavor := now.given.get("model.flavor"):
        now.model = f"{now.given.get('model.name', '')}-{flavor}"


def _titan_degrees(now: configured_layout.ConfigurationReading) -> None:
    """Hybrid sharding, what is not gathered again, and how many chunks an interleaved pipeline has."""
    own = "parallelism."
    shards = now.count(f"{own}data_parallel_shard_degree")
    if (now.count(f"{own}data_parallel_replicate_degree") or 1) > 1 and shards:
        now.fields["shard_ranks"] = shards * (now.count(f"{own}context_parallel_degree") or 1)
    if now.text(f"{own}fsdp_reshard_after_forward") == "never":
        now.fields["zero_stage"] = 2
    schedule = now.text(f"{own}pipeline_parallel_schedule")
    if schedule == "interleaved1f1b":
        now.fields |= {} if "chunk" in now.numbers else {"virtual": _EVERY_SECOND}
    elif schedule not in _ONE_BY_ONE:
        now.odd.append(f"{own}pipeline_parallel_schedule")


def _titan_batch(now: configured_layout.ConfigurationReading) -> None:
    """A pipeline splits the local batch, by default into single sequences."""
    local, length = now.count("training.local_batch_size", "training.batch_size"), now.fields.get("sequence")
    if (tokens := now.count("training.num_tokens_per_microbatch_per_dp_rank")) and length:
        now.fields["micro_batch"] = max(1, tokens // int(length))
        if parts := now.count("parallelism.num_pp_microbatches"):
            now.fields["microbatches"] = parts
        if every := now.count("training.num_tokens_per_train_step"):
            now.numbers["batch"] = every // int(length)
            now.fields.pop("microbatches", None)
    elif local and int(now.fields.get("pipeline", 1)) > 1:
        micro = now.count("parallelism.pipeline_parallel_microbatch_size") or 1
        now.fields |= {"micro_batch": micro, "microbatches": max(1, local // micro)}
        if now.numbers.get("batch"):
            now.fields.pop("microbatches")
    elif local:
        now.fields["micro_batch"] = local


_RECOMPUTE = {
    "full": "full", "selective": "selective", "none": "none", "op": "operations", "fullac": "full",
    "selectiveac": "operations",
}  # fmt: skip


def _titan_recomputation(now: configured_layout.ConfigurationReading) -> None:
    mode = now.text("activation_checkpoint.mode") or "selective"
    option = now.text("activation_checkpoint.selective_ac_option") or "op"
    if mode == "selective" and option == "op":
        now.fields["recompute"] = "operations"
    elif mode == "selective" and option.isascii() and option.isdigit():
        now.fields["recompute"] = "full"
        now.stack |= {"gradient_checkpointing": "yes", "recompute_every": option} if option != "1" else {}
    elif mode in _RECOMPUTE:
        now.fields["recompute"] = _RECOMPUTE[mode]
    else:
        now.odd.append("activation_checkpoint.mode")


_SHARDED = {  # what is split over data parallel ranks, as a stage of ZeRO
    "no_shard": 0, "optim": 1, "optim_grads": 2, "optim_grads_params": 3, "full_shard": 3, "hybrid_shard": 3,
    "shard_grad_op": 2, "hybrid_shard_zero2": 2, "1": 3, "2": 2, "3": 0, "4": 3, "5": 2, "true": 3, "false": 2,
}  # fmt: skip


def _megatron(now: configured_layout.ConfigurationReading) -> None:
    now.fields["zero_stage"] = 1 if now.on("use_distributed_optimizer") else 0
    if now.on("use_megatron_fsdp", "use_custom_fsdp"):
        now.fields["zero_stage"] = _SHARDED.get(now.text("data_parallel_sharding_strategy"), 0)
    if now.on("use_torch_fsdp2"):
        now.fields["zero_stage"] = 2 if now.on("torch_fsdp2_no_reshard_after_forward") else 3
        now.stack["stack"] = "FSDP2"
    now.fields["sequence_parallel"] = now.on("sequence_parallel")
    _megatron_numbers(now)
    _megatron_recomputation(now)
    if now.on("use_flash_attn"):
        now.stack.setdefault("attention", "FA2")
    if now.on("optimizer_cpu_offload"):
        now.offload(optimizer=True, parameters=False)
        if now.text("optimizer_offload_fraction") not in ("", "1", "1.0"):
            now.odd.append("optimizer_offload_fraction")
    if layers := now.count("mtp_num_layers"):
        now.notes.append(f"the model: {layers} modules for further tokens are not part of the layout")


def _megatron_numbers(now: configured_layout.ConfigurationReading) -> None:
    if now.on("fp4", "fp4_format"):
        now.fields["precision"] = "4-bit"
    elif now.on("fp8", "fp8_format"):
        now.fields["precision"] = "8-bit"
    elif not now.on("bf16", "fp16") and not re.search(r"16", now.text("precision", "params_dtype")):
        now.in_fp32("neither --bf16 nor --fp16")
    if now.on("grad_reduce_in_bf16") or now.text("grad_reduce_in_fp32") == "false":
        now.stack.setdefault("gradients", "BF16")
    if not now.on("use_precision_aware_optimizer"):
        now.stack.pop("moments", None)
    elif configured_layout.NUMBER_FORMATS.get(now.text("exp_avg_sq_dtype"), "FP32") != now.stack.get("moments", "FP32"):
        now.odd.append("exp_avg_sq_dtype")
    if now.text("main_params_dtype") not in ("", "fp32", "float32", "torch.float32"):
        now.odd.append("main_params_dtype")


def _megatron_recomputation(now: configured_layout.ConfigurationReading) -> None:
    former = "activations_checkpoint_"
    kind = now.text("recompute_granularity", f"{former}granularity")
    method = now.text("recompute_method", f"{former}method")
    layers = now.count("recompute_num_layers", f"{former}num_layers")
    now.fields["recompute"] = _RECOMPUTE.get(kind, "none")
    if now.on("recompute_activations"):
        now.fields["recompute"] = "selective"
    if now.on("checkpoint_activations"):
        now.fields["recompute"] = "full"
    if kind == "full" and method == "block" and layers:
        now.notes.append(
            f"{layers} layers of each chunk of the pipeline are computed again (recompute_method block): all are here"
        )


def _trainer(now: configured_layout.ConfigurationReading) -> None:
    """What Hugging Face's Trainer, TRL and LLaMA-Factory have in common."""
    if "micro_batch" not in now.fields:
        now.fields["micro_batch"] = 8
        now.notes.append("it says no batch: 8 sequences on each GPU are taken, as transformers does")
    now.fields["sequence_parallel"] = False
    always = now.keys is program_keys.LLAMA_FACTORY and not now.on("disable_gradient_checkpointing")
    now.fields["recompute"] = "full" if always or now.on("gradient_checkpointing") else "none"
    if now.on("use_liger_kernel", "enable_liger_kernel"):
        now.stack["loss"] = "fused"
    in_16_bits = now.on("bf16", "fp16")
    if now.on("pure_bf16") or (now.text("torch_dtype", "dtype") in configured_layout.NUMBER_FORMATS and not in_16_bits):
        now.in_bf16()
    elif not in_16_bits:
        now.in_fp32("neither bf16 nor fp16")
    _sharding(now)
    bits, kind = now.text("quantization_bit"), now.text("finetuning_type")
    if kind == "lora" or now.on("use_peft"):
        now.stack["adapter"] = "QLoRA" if bits == "4" or now.on("load_in_4bit") else "LoRA"
    elif kind not in ("", "full"):
        now.odd.append("finetuning_type")
    if bits not in ("", "4"):
        now.odd.append("quantization_bit")
    now.model = str(now.given.get("model_name_or_path") or "")


_STAGE_BY_NAME = re.compile(r"z(?:ero)?[_-]?(?:stage)?[_-]?([0-3])(?!\d)", re.IGNORECASE)


def _sharding(now: configured_layout.ConfigurationReading) -> None:
    """ZeRO by a file of DeepSpeed or its object, or FSDP; else every GPU has all states."""
    now.fields.setdefault("zero_stage", 0)
    inner = {path[len("deepspeed.") :]: value for path, value in now.given.items() if path.startswith("deepspeed.")}
    if inner:
        found = _read_layout(program_keys.DEEPSPEED, inner)
        own = {name: value for name, value in found.fields.items() if name in ("zero_stage", "tensor")}
        now.fields |= own
        now.stack |= found.stack
    elif name := now.text("deepspeed"):
        now.stack["stack"] = "DeepSpeed"
        stage = _STAGE_BY_NAME.search(name)
        now.fields["zero_stage"] = int(stage[1]) if stage else 0
        taken = f"stage {stage[1]} is taken from its name" if stage else "stage 0 is taken"
        now.notes.append(f"the settings of DeepSpeed are in another file, {short(name)}: {taken}")
        now.offload(optimizer="offload" in name, parameters="offload" in name and "optim" not in name)
    elif now.on("fsdp", "fsdp_config") or any(path.startswith("fsdp_config.") for path in now.given):
        _fully_sharded(now)


def _fully_sharded(now: configured_layout.ConfigurationReading) -> None:
    now.stack["stack"] = "FSDP2"
    inner = {path.removeprefix("fsdp_config.").removeprefix("fsdp_"): value for path, value in now.given.items()}
    words = f"{now.text('fsdp')} {str(inner.get('sharding_strategy', '')).lower()}"
    stages = [stage for name, stage in _SHARDED.items() if name in words.replace(",", " ").split()]
    again = str(inner.get("reshard_after_forward", "")).lower()
    now.fields["zero_stage"] = min([*stages, *([_SHARDED[again]] if again in _SHARDED else [])], default=3)
    if "hybrid" in words:
        now.notes.append("hybrid sharding: over all GPUs here, and over those of a node there")
    if "offload" in words or str(inner.get("offload_params", "")).lower() == "true":
        now.offload(optimizer=True, parameters=True)
    if str(inner.get("activation_checkpointing", "")).lower() == "true":
        now.fields["recompute"] = "full"


_KERNEL_FLAGS = {
    "flash_attention": "FA2", "sdp_attention": "FA2", "xformers_attention": "FA2", "eager_attention": "unfused",
}  # fmt: skip


def _axolotl(now: configured_layout.ConfigurationReading) -> None:
    now.fields["sequence_parallel"] = False
    now.fields.setdefault("micro_batch", 1)
    now.fields["recompute"] = "full" if now.on("gradient_checkpointing") else "none"
    if now.text("gradient_checkpointing").startswith("offload"):
        now.odd.append("gradient_checkpointing")
    for kernel in (kernel for key, kernel in _KERNEL_FLAGS.items() if now.on(key)):
        now.stack.setdefault("attention", kernel)
    if now.on("liger_fused_linear_cross_entropy", "cut_cross_entropy", "chunked_cross_entropy"):
        now.stack["loss"] = "fused"
    elif now.on("liger_cross_entropy"):
        now.stack["loss"] = "in place"
    _sharding(now)
    adapter = now.text("adapter")
    if adapter not in ("", "none"):
        now.stack["adapter"] = "QLoRA" if adapter == "qlora" or now.on("load_in_4bit") else "LoRA"
        now.odd += [] if adapter in ("lora", "qlora") else ["adapter"]
    now.odd += ["load_in_8bit"] if now.on("load_in_8bit") else []
    if not now.on("bf16", "bfloat16", "fp16", "float16") and now.given.get("bf16") != "auto":
        now.in_fp32("neither bf16 nor fp16")
    elif "adapter" not in now.stack:
        now.in_bf16()
    now.model = str(now.given.get("base_model") or "")


def _accelerate(now: configured_layout.ConfigurationReading) -> None:
    kind = now.text("distributed_type") or "no"
    now.fields["sequence_parallel"] = False
    if any(path.startswith("parallelism_config.") for path in now.given):
        kind = "fsdp"
    if now.text("mixed_precision") == "fp8":
        now.fields["precision"] = "8-bit"
    elif now.text("mixed_precision") in ("", "no"):
        now.in_fp32("no mixed_precision")
    if kind not in _ACCELERATED:
        raise value_error("the distributed_type {kind} of accelerate is not known here", kind=short(kind))
    _ACCELERATED[kind](now)
    if now.text("dynamo_config.dynamo_backend") not in ("", "no"):
        now.stack["compiled"] = "yes"


def _accelerated_megatron(now: configured_layout.ConfigurationReading) -> None:
    own = "megatron_lm_config.megatron_lm_"
    now.stack["stack"] = "Megatron"
    now.fields |= {
        "sequence_parallel": now.on(f"{own}sequence_parallelism"),
        "recompute": "selective" if now.on(f"{own}recompute_activations") else "none",
        "zero_stage": int(now.on(f"{own}use_distributed_optimizer")),
    }


def _copied(now: configured_layout.ConfigurationReading) -> None:
    """Every GPU has all states."""
    now.fields["zero_stage"] = 0


def _accelerated_deepspeed(now: configured_layout.ConfigurationReading) -> None:
    own = "deepspeed_config."
    now.stack["stack"] = "DeepSpeed"
    now.fields.setdefault("zero_stage", 2)
    if path := now.text(f"{own}deepspeed_config_file"):
        now.notes.append(f"the settings of DeepSpeed are in another file, {short(path)}: give that one as the layout")
        now.fields["zero_stage"] = int(found[1]) if (found := _STAGE_BY_NAME.search(path)) else 2
    _offload(now, *(now.text(f"{own}offload_{what}_device").removeprefix("none") for what in ("optimizer", "param")))


_ACCELERATED = {
    "deepspeed": _accelerated_deepspeed, "megatron_lm": _accelerated_megatron, "fsdp": _fully_sharded, "no": _copied,
    "false": _copied, "multi_gpu": _copied, "multi_cpu": _copied, "multi_xpu": _copied, "multi_npu": _copied,
}  # fmt: skip


def _verl(now: configured_layout.ConfigurationReading) -> None:
    actor, model = "actor_rollout_ref.actor.", "actor_rollout_ref.model."
    is_megatron = now.text(f"{actor}strategy") == "megatron"
    part = f"{actor}megatron." if is_megatron else f"{actor}fsdp_config."
    now.fields["recompute"] = "full" if now.text(f"{model}enable_gradient_checkpointing") != "false" else "none"
    now.fields["sequence_parallel"] = is_megatron and now.text(f"{part}sequence_parallel") != "false"
    if is_megatron:
        now.stack["stack"] = "Megatron"
        now.fields["zero_stage"] = int(now.text(f"{part}use_distributed_optimizer") != "false")
    else:
        now.fields["zero_stage"] = 2 if now.text(f"{part}reshard_after_forward") == "false" else 3
    if now.text(f"{part}model_dtype") in ("bf16", "bfloat16"):
        now.in_bf16()
    now.offload(
        optimizer=now.on(f"{part}optimizer_offload", f"{part}offload_policy"),
        parameters=now.on(f"{part}param_offload", f"{part}offload_policy"),
    )
    prompt, response = (now.count(f"data.max_{what}_length") for what in ("prompt", "response"))
    if prompt and response:
        now.fields["sequence"] = prompt + response
    if samples := now.count(f"{actor}ppo_mini_batch_size"):
        now.numbers["batch"] = samples * (now.count("actor_rollout_ref.rollout.n") or 1)
    if each := now.count("trainer.n_gpus_per_node"):
        now.numbers["gpus"] = each * (now.count("trainer.nnodes") or 1)
    now.stack |= {"loss": "fused"} if now.on(f"{model}use_liger", f"{model}use_fused_kernels") else {}
    now.stack |= {"adapter": "LoRA"} if now.on(f"{model}lora_rank") else {}
    now.model = str(now.given.get(f"{model}path") or "")
    now.notes.append("this is one update of the actor: generation and the other phases of a step are left out")


def _maxtext(now: configured_layout.ConfigurationReading) -> None:
    axes = {
        axis: math.prod(now.count(f"{where}_{axis}_parallelism") or 1 for where in ("ici", "dcn"))
        for axis in _MAXTEXT_AXES
    }
    for name, more in (("tensor", "tensor_sequence"), ("context", "sequence"), ("pipeline", ""), ("expert", "")):
        if (size := axes[name] * axes.get(more, 1)) > 1:
            now.fields[name] = size
    said = {axis for axis in _MAXTEXT_AXES for where in ("ici", "dcn") if f"{where}_{axis}_parallelism" in now.given}
    sharded = any(now.given.get(f"{where}_fsdp_parallelism") not in (None, 0, 1) for where in ("ici", "dcn"))
    now.fields |= {"zero_stage": 3 if sharded or not said else 0, "context_by": "all-gather"}
    policy = now.text("remat_policy") or "full"
    now.fields["recompute"] = _REMAT.get(policy, "operations")
    now.odd += [] if policy in _REMAT else ["remat_policy"]
    if "8" in now.text("quantization"):
        now.fields["precision"] = "8-bit"
    each = documents.plain_number(now.given.get("per_device_batch_size"))
    now.each = float(each) if isinstance(each, int | float) and each > 0 else _MAXTEXT_BATCH
    now.offload(optimizer=now.on("optimizer_memory_host_offload"), parameters=now.on("parameter_memory_host_offload"))
    _maxtext_kernels(now)
    now.model = now.text("model_name").removeprefix("default")


def _maxtext_kernels(now: configured_layout.ConfigurationReading) -> None:
    if now.text("weight_dtype") in ("bfloat16", "bf16"):
        now.stack |= {"weights": "BF16", "master": "none"}
    if now.text("mu_dtype") in ("bfloat16", "bf16"):
        now.stack["moments"] = "BF16"
    kernel = now.text("attention")
    if word := configured_layout.ATTENTION_KERNELS.get(kernel, ""):
        now.stack["attention"] = word
    elif kernel not in ("", "autoselected"):
        now.odd.append("attention")
    if now.count("num_pipeline_microbatches"):
        now.odd.append("num_pipeline_microbatches")


_MAXTEXT_BATCH = 12.0  # sequences of a device, unless it says how many
_MAXTEXT_AXES = ("data", "fsdp", "tensor", "tensor_sequence", "context", "sequence", "pipeline", "expert")
_REMAT = {
    "full": "full", "minimal": "selective", "minimal_flash": "selective", "minimal_with_context": "none",
    "save_everything": "none", "none": "none",
}  # fmt: skip
_READERS: Mapping[str, Callable[[configured_layout.ConfigurationReading], None]] = {
    program_keys.DEEPSPEED.program: _deepspeed,
    program_keys.TORCHTITAN.program: _torchtitan,
    program_keys.MEGATRON.program: _megatron,
    program_keys.TRAINER.program: _trainer,
    program_keys.LLAMA_FACTORY.program: _trainer,
    program_keys.AXOLOTL.program: _axolotl,
    program_keys.ACCELERATE.program: _accelerate,
    program_keys.VERL.program: _verl,
    program_keys.MAXTEXT.program: _maxtext,
}
