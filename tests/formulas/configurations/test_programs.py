"""Files of accelerate, axolotl, LLaMA-Factory, TRL, NeMo, MaxText, verl and torchtitan in Python, and known keys."""

from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from app.core.formulas.configurations import (
    configuration_notes,
    configured_stack,
    is_configuration,
    layout_fields,
    stack_doubt,
)
from app.core.formulas.configurations import program_keys as tables
from app.core.formulas.configurations.program_keys import PROGRAMS, ProgramKeys
from app.core.formulas.presets import MODELS, Layout, ModelShape
from tests.each import each

ACCELERATE = """compute_environment: LOCAL_MACHINE
distributed_type: FSDP
fsdp_config:
  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP
  fsdp_offload_params: true
  fsdp_sharding_strategy: FULL_SHARD
  fsdp_activation_checkpointing: true
machine_rank: 0
mixed_precision: bf16
num_machines: 2
num_processes: 16
"""
ACCELERATED_DEEPSPEED = """compute_environment: LOCAL_MACHINE
deepspeed_config:
  gradient_accumulation_steps: 4
  offload_optimizer_device: cpu
  offload_param_device: none
  zero3_init_flag: true
  zero_stage: 2
distributed_type: DEEPSPEED
mixed_precision: 'no'
num_processes: 16
"""
AXOLOTL = """base_model: NousResearch/Meta-Llama-3-8B
load_in_4bit: true
adapter: qlora
lora_r: 32
sequence_len: 4096
sample_packing: true
micro_batch_size: 2
gradient_accumulation_steps: 4
optimizer: paged_adamw_8bit
bf16: auto
gradient_checkpointing: true
flash_attention: true
liger_fused_linear_cross_entropy: true
deepspeed: deepspeed_configs/zero3_bf16.json
"""
LLAMA_FACTORY = """### model
model_name_or_path: Qwen/Qwen3-8B
### method
stage: sft
finetuning_type: lora
lora_rank: 8
cutoff_len: 2048
per_device_train_batch_size: 1
gradient_accumulation_steps: 8
bf16: true
flash_attn: fa2
optim: adamw_torch
"""
TRL = (
    "accelerate launch trl/scripts/sft.py --model_name_or_path Qwen/Qwen3-8B --per_device_train_batch_size 2"
    " --gradient_accumulation_steps 8 --gradient_checkpointing --bf16 --max_length 1024 --use_liger_kernel"
    " --fsdp 'full_shard auto_wrap' --logging_steps 25 --learning_rate 2e-5"
)
NEMO = """trainer:
  devices: 8
  num_nodes: 2
  precision: bf16
model:
  micro_batch_size: 1
  global_batch_size: 64
  tensor_model_parallel_size: 4
  pipeline_model_parallel_size: 1
  encoder_seq_length: 4096
  sequence_parallel: true
  activations_checkpoint_granularity: selective
  optim:
    name: distributed_fused_adam
"""
BRIDGE = """model:
  tensor_model_parallel_size: 2
  pipeline_model_parallel_size: 2
  num_layers_in_first_pipeline_stage: 15
  seq_length: 8192
  recompute_granularity: full
train:
  micro_batch_size: 1
  global_batch_size: 64
ddp:
  use_distributed_optimizer: true
mixed_precision: bf16_with_fp8_current_scaling_mixed
"""
MAXTEXT = """model_name: llama3.1-8b
per_device_batch_size: 2
max_target_length: 8192
ici_fsdp_parallelism: -1
ici_tensor_parallelism: 2
remat_policy: full
quantization: fp8
"""
VERL = """python3 -m verl.trainer.main_ppo \\
    data.max_prompt_length=512 \\
    data.max_response_length=$((512 * 7)) \\
    actor_rollout_ref.model.path=Qwen/Qwen3-8B \\
    actor_rollout_ref.model.enable_gradient_checkpointing=True \\
    actor_rollout_ref.actor.ppo_mini_batch_size=32 \\
    actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=2 \\
    actor_rollout_ref.actor.fsdp_config.optimizer_offload=True \\
    actor_rollout_ref.actor.fsdp_config.param_offload=True \\
    actor_rollout_ref.rollout.n=4 \\
    trainer.n_gpus_per_node=8 trainer.nnodes=2
"""
TITAN = """
def llama3_8b() -> Trainer.Config:
    return Trainer.Config(
        model_spec=model_registry("8B"),
        training=TrainingConfig(num_tokens_per_microbatch_per_dp_rank=2 * 8192, max_context_length=8192, steps=1000),
        parallelism=ParallelismConfig(tensor_parallel_degree=2, pipeline_parallel_degree=2, num_pp_microbatches=4),
        activation_checkpoint=FullAC.Config(),
        compile=CompileConfig(enable=True),
    )
"""
FILES: Mapping[str, tuple[str, str, dict[str, str]]] = {
    "accelerate": (
        ACCELERATE, "data=16 zero_stage=3 sequence_parallel=no recompute=full", {"stack": "FSDP2", "offload": "both"},
    ),
    "accelerate with DeepSpeed": (
        ACCELERATED_DEEPSPEED, "data=16 zero_stage=2 microbatches=4 sequence_parallel=no",
        {"stack": "DeepSpeed", "recipe": "FP32", "offload": "optimizer"},
    ),
    "axolotl": (
        AXOLOTL, "data=16 zero_stage=3 micro_batch=2 microbatches=4 sequence=4096 recompute=full sequence_parallel=no",
        {"stack": "DeepSpeed", "optimizer": "paged AdamW 8-bit", "adapter": "QLoRA", "adapter_rank": "32",
         "attention": "FA2", "loss": "fused"},
    ),
    "LLaMA-Factory": (
        LLAMA_FACTORY, "data=16 zero_stage=0 micro_batch=1 microbatches=8 sequence=2048 recompute=full sequence_parallel=no",
        {"stack": "eager", "optimizer": "AdamW", "adapter": "LoRA", "adapter_rank": "8", "attention": "FA2"},
    ),
    "TRL": (
        TRL, "data=16 zero_stage=3 micro_batch=2 microbatches=8 sequence=1024 recompute=full sequence_parallel=no",
        {"stack": "FSDP2", "loss": "fused"},
    ),
    "NeMo": (NEMO, "tensor=4 data=4 microbatches=16 sequence=4096 recompute=selective", {"stack": "Megatron"}),
    "Megatron-Bridge": (
        BRIDGE,
        "tensor=2 pipeline=2 data=4 microbatches=16 sequence=8192 recompute=full sequence_parallel=no first_layers=15",
        {"stack": "Megatron"},
    ),
    "MaxText": (
        MAXTEXT, "tensor=2 data=8 micro_batch=4 sequence=8192 zero_stage=3 recompute=full precision=8-bit context_by=all-gather",
        {"stack": "MaxText"},
    ),
    "verl": (
        VERL, "data=16 micro_batch=2 microbatches=4 sequence=4096 zero_stage=3 recompute=full sequence_parallel=no",
        {"stack": "FSDP2", "offload": "both"},
    ),
    "torchtitan in Python": (
        TITAN,
        "tensor=2 pipeline=2 data=4 micro_batch=2 microbatches=4 sequence=8192 zero_stage=3 recompute=full context_by=all-gather",
        {"stack": "torchtitan", "compiled": "yes"},
    ),
}  # fmt: skip


@each("name", FILES)
def test_a_file_of_a_program_is_a_layout_and_settings_of_its_stack(name: str) -> None:
    text, layout, told = FILES[name]
    assert is_configuration(text)
    found = Layout.on(text, 16, 32)
    assert found == Layout.read(f"{layout} source={found.source}")
    assert configured_stack(text) == told
    assert not [note for note in configuration_notes(found.source) if "not used" in note]


@each(
    ("text", "model"),
    [
        (AXOLOTL, "Llama-3-8B"), (LLAMA_FACTORY, "Qwen3-8B"), (TRL, "Qwen3-8B"), (VERL, "Qwen3-8B"),
        (MAXTEXT, "Llama-3.1-8B"), (TITAN, "Llama-3-8B"),
    ],
)  # fmt: skip
def test_a_file_of_a_program_names_its_model(text: str, model: str) -> None:
    assert ModelShape.read(text) == MODELS[model]


def test_only_what_a_prediction_has_not_is_left_out_of_the_stack() -> None:
    assert not stack_doubt({"stack": "FSDP2", "recipe": "FP32", "optimizer": "AdamW"})
    assert stack_doubt({"optimizer": "Lion", "offload_to": "NVMe"}) == (
        "The layout: it also says optimizer Lion, offload to NVMe, which is left out."
    )


def test_a_file_for_other_gpus_says_for_how_many_it_is() -> None:
    assert "it is for 16 GPUs, and this is for 8" in Layout.on(ACCELERATE, 8).source
    assert "it is for" not in Layout.on(ACCELERATE, 16).source


def test_maxtext_counts_the_sequences_of_a_device() -> None:
    text = MAXTEXT.replace("per_device_batch_size: 2", "per_device_batch_size: 0.5")
    assert Layout.on(text, 16).tokens == 8 * 8192
    assert Layout.on(MAXTEXT, 16).tokens == 32 * 8192


@each(
    ("change", "told"),
    [
        ("optim: adafactor", {"optimizer": "Adafactor"}),
        ("optim: paged_adamw_32bit", {"optimizer": "paged AdamW"}),
        ("optim: adamw_bnb_8bit", {"optimizer": "AdamW 8-bit"}),
        ("optim: lion_32bit", {"optimizer": "Lion"}),
        ("optim: galore_adamw", {}),
    ],
)
def test_an_optimizer_is_named_as_a_line_names_it_or_is_a_doubt(change: str, told: dict[str, str]) -> None:
    text = LLAMA_FACTORY.replace("optim: adamw_torch", change)
    found = configured_stack(text)
    assert {name: value for name, value in found.items() if name == "optimizer"} == told
    assert ("not used: optim" in Layout.on(text, 8).source) is not bool(told)


def test_arguments_of_megatron_that_change_numbers_are_read_or_doubted() -> None:
    plain = "--tensor-model-parallel-size 4 --micro-batch-size 1 --global-batch-size 64 --seq-length 8192"
    assert configured_stack(plain) == {"stack": "Megatron", "recipe": "FP32"}
    fully = f"{plain} --bf16 --use-megatron-fsdp --data-parallel-sharding-strategy optim_grads_params"
    assert Layout.on(fully, 64).zero_stage == 3
    assert Layout.on(f"{plain} --bf16 --use-torch-fsdp2", 64).zero_stage == 3
    assert Layout.on(f"{plain} --bf16 --fp4-format e2m1", 64).precision == "4-bit"
    aware = "--use-precision-aware-optimizer --exp-avg-dtype bf16 --exp-avg-sq-dtype bf16 --main-grads-dtype bf16"
    more = f"{plain} --bf16 {aware} --optimizer-cpu-offload --attention-backend unfused --optimizer muon"
    assert configured_stack(more) == {
        "stack": "Megatron", "gradients": "BF16", "moments": "BF16", "offload": "optimizer", "attention": "unfused",
        "optimizer": "Muon",
    }  # fmt: skip
    block = f"{plain} --bf16 --recompute-granularity full --recompute-method block --recompute-num-layers 1"
    assert "1 layers of each chunk" in Layout.on(block, 64).source
    assert "not used: tp_comm_overlap" in Layout.on(f"{plain} --bf16 --tp-comm-overlap", 64).source


@each(
    ("text", "says"),
    [
        (TITAN + TITAN.replace("llama3_8b", "llama3_70b"), "several configurations of torchtitan"),
        ('{"log_history": [], "epoch": 1.0}', "`wallclock measured` reads it"),
        ("a: &x [1]\nb: *x\nmicro_batch_size: 1\n", "aliases of YAML"),
        ("a: [1\nbase_model: x\n", "not valid YAML in line"),
        ("x = Trainer.Config(\n", "not valid Python"),
        ("base_model: x\nmicro_batch_size: 2026-99-99\n", "not valid YAML: month"),
        ("distributed_type: MOON\ncompute_environment: LOCAL_MACHINE\n", "distributed_type 'moon'"),
        ("one: 1\ntwo: 2\n", "the configuration has no layout: known are those of DeepSpeed"),
    ],
)
def test_a_file_that_is_not_read_is_refused_by_name(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        layout_fields(text)


KEYS: Mapping[str, Mapping[str, str]] = yaml.safe_load((Path(__file__).parent / "keys.yaml").read_text())


@each("name", KEYS)
def test_every_known_key_is_used_or_harmless_or_a_doubt(name: str) -> None:
    keys: ProgramKeys = getattr(tables, name)
    said = {key: how for how, words in KEYS[name].items() for key in words.split()}
    assert len(said) == sum(len(words.split()) for words in KEYS[name].values())
    for key, how in said.items():
        found = "used" if keys.is_used(key) else "harmless" if keys.is_harmless(key) else "doubtful"
        assert found == how, key
        assert not (keys.is_used(key) and keys.is_harmless(key)), key


def test_no_key_is_both_used_and_harmless() -> None:
    for keys in (*PROGRAMS, tables.HUB):
        assert not keys.used.keys() & keys.harmless
