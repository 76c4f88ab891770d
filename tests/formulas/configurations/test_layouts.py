"""DeepSpeed, torchtitan and Megatron-LM as layouts on a number of GPUs."""

import pytest

from app.core.formulas.configurations import configured_stack
from app.core.formulas.presets import Layout
from tests.each import each

DEEPSPEED = """{
  "train_batch_size": 64, "train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": "auto",
  "zero_optimization": {"stage": 3, "offload_optimizer": {"device": "none"}}, "bf16": {"enabled": true}
}"""
TITAN = """
[model]
name = "llama3"
flavor = "8B"
[training]
local_batch_size = 1
global_batch_size = -1
seq_len = 4096
[parallelism]
data_parallel_replicate_degree = 2
data_parallel_shard_degree = 4
tensor_parallel_degree = 2
[activation_checkpoint]
mode = "selective"
selective_ac_option = "op"
"""
MEGATRON = (
    "torchrun pretrain_gpt.py --tensor-model-parallel-size 2 --pipeline-model-parallel-size 2"
    " --num-layers 32 --num-layers-per-virtual-pipeline-stage 4 --micro-batch-size 1"
    " --global-batch-size 64 --seq-length 4096 --sequence-parallel --use-distributed-optimizer"
    " --recompute-granularity full --fp8-format hybrid"
)


@each(
    ("text", "layout"),
    [
        (DEEPSPEED, "data=16 microbatches=2 micro_batch=2 zero_stage=3 sequence_parallel=no"),
        ('{"zero_optimization": {"stage": 2}, "gradient_accumulation_steps": 4}',
         "data=16 microbatches=4 zero_stage=2 sequence_parallel=no"),
        ('{"train_batch_size": "auto", "zero_optimization": {"stage": "auto"}, "train_micro_batch_size_per_gpu": "auto"}', ""),
        (TITAN, "tensor=2 data=8 sequence=4096 zero_stage=3 shard_ranks=4 recompute=operations context_by=all-gather"),
        (TITAN.replace('"op"', '"2"'),
         "tensor=2 data=8 sequence=4096 zero_stage=3 shard_ranks=4 context_by=all-gather recompute=full"),
        (TITAN.replace('"selective"', '"none"'),
         "tensor=2 data=8 sequence=4096 zero_stage=3 shard_ranks=4 context_by=all-gather recompute=none"),
        (MEGATRON, "tensor=2 pipeline=2 virtual=4 data=4 microbatches=16 sequence=4096 recompute=full precision=8-bit"),
        ("--tensor-model-parallel-size 4 --micro-batch-size 2",
         "tensor=4 data=4 micro_batch=2 zero_stage=0 sequence_parallel=no recompute=none"),
    ],
)  # fmt: skip
def test_a_configuration_is_a_layout_on_the_gpus_of_a_cluster(text: str, layout: str) -> None:
    if not layout:
        with pytest.raises(ValueError, match="stage must be a whole number, not 'auto'"):
            Layout.on(text, 16, 32)
        return
    found = Layout.on(text, 16, 32)
    assert found.gpus == 16
    expected = Layout.read(f"{layout} source={found.source}")
    assert found == expected


def test_what_a_configuration_does_not_say_is_said_to_be_taken() -> None:
    assert "says no sequence: 8,192 tokens are taken" in Layout.on(DEEPSPEED, 16).source
    said = Layout.on({"zero_optimization": {"stage": 1}, "sequence": 2048}, 8)
    assert (said.sequence, said.data, said.zero_stage) == (2048, 8, 1)
    assert "not used" not in said.source


def test_what_deepspeed_leaves_open_or_a_layout_has_not_is_said() -> None:
    auto = '{"train_batch_size": "auto", "gradient_accumulation_steps": "auto", "zero_optimization": '
    said = Layout.on(auto + '{"stage": 3, "offload_param": {"device": "nvme"}}}', 8)
    assert "auto is taken as 1: gradient_accumulation_steps" in said.source
    assert (said.micro_batch, said.microbatches) == (1, 1)
    for words in ("auto", "not used"):  # the steps follow from the batch; "none" is no device
        assert words not in Layout.on(DEEPSPEED, 16).source
    sharded = Layout.on('{"zero_optimization": {"stage": 3, "zero_hpz_partition_size": 8}}', 16)
    assert "not used: zero_optimization.zero_hpz_partition_size" in sharded.source


@each(
    ("more", "told"),
    [
        ({"offload_optimizer": {"device": "cpu"}}, {"offload": "optimizer"}),
        ({"offload_param": {"device": "nvme"}}, {"offload": "parameters", "offload_to": "NVMe"}),
        ({"offload_optimizer": {"device": "cpu"}, "offload_param": {"device": "cpu"}}, {"offload": "both"}),
        ({"cpu_offload": True}, {"offload": "optimizer"}),
        ({"offload_optimizer": {"device": "none"}}, {}),
    ],
)
def test_what_deepspeed_offloads_is_a_setting_of_the_stack(more: dict[str, object], told: dict[str, str]) -> None:
    given = {"zero_optimization": {"stage": 3, **more}, "bf16": {"enabled": True}}
    assert configured_stack(given) == {"stack": "DeepSpeed", **told}


@each(
    ("optimizer", "told"),
    [("Lion", "Lion"), ("lion_8bit", None), ("adafactor", "Adafactor"), ("adafactor_8bit", None), ("Muon8bit", None)],
)
def test_an_optimizer_of_eight_bits_is_not_taken_for_the_plain_one(optimizer: str, told: str | None) -> None:
    given = {"zero_optimization": {"stage": 3}, "bf16": {"enabled": True}, "optimizer": {"type": optimizer}}
    assert configured_stack(given).get("optimizer") == told


def test_torchtitan_offloads_all_that_it_offloads() -> None:
    assert "offload" not in configured_stack(TITAN)
    assert configured_stack(TITAN.replace("[training]", "[training]\nenable_cpu_offload = true"))["offload"] == "both"


def test_three_batches_that_contradict_each_other_are_a_doubt() -> None:
    sizes = '"train_batch_size": 64, "train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 4'
    said = Layout.on(f'{{{sizes}, "zero_optimization": {{"stage": 1}}, "bf16": {{"enabled": true}}}}', 16)
    assert (said.micro_batch, said.microbatches) == (2, 4)
    assert "the batch of 64 sequences is not 32 at once, 4 times" in said.source
    assert "batch" not in Layout.on(f'{{{sizes}, "zero_optimization": {{"stage": 1}}}}', 8).source


def test_the_local_batch_of_a_pipeline_of_torchtitan_is_split_into_micro_batches() -> None:
    pipeline = TITAN.replace("local_batch_size = 1", "local_batch_size = 8").replace(
        "tensor_parallel_degree = 2", "pipeline_parallel_degree = 4"
    )
    for more, micro in (("", 1), ("\npipeline_parallel_microbatch_size = 2", 2)):
        found = Layout.on(pipeline.replace("degree = 4\n[act", f"degree = 4{more}\n[act"), 32)
        assert (found.pipeline, found.micro_batch, found.microbatches) == (4, micro, 8 // micro)
    alone = Layout.on(TITAN.replace("local_batch_size = 1", "local_batch_size = 8"), 16)
    assert (alone.micro_batch, alone.microbatches) == (8, 1)


@each(
    ("text", "says"),
    [
        (DEEPSPEED, ""),
        ('{"zero_optimization": {"stage": 2}}', "neither bf16 nor fp16 is enabled"),
        ('{"zero_optimization": {"stage": 2}, "fp16": {"enabled": "auto"}, "steps_per_print": 10}', ""),
        ('{"zero_optimization": {"stage": 2}, "bf16": {"enabled": true}, "sequence_parallel_size": 4}', ""),
        ('{"zero_optimization": {"stage": 2, "reduce_bucket_size": 5e8}, "bf16": {"enabled": true}}',
         "not used: zero_optimization.reduce_bucket_size"),
        ('{"zero_optimization": {"stage": 2}, "bf16": {"enabled": true}, "optimizer": {"type": "OneBitAdam"}}',
         "not used: optimizer.type"),
        ('{"zero_optimization": {"stage": 2}, "bf16": {"enabled": true}, "optimizer": {"type": "Muon"}}', ""),
        ('{"zero_optimization": {"stage": 2}, "bf16": {"enabled": true}, "optimizer": {"type": "AdamW"}}', ""),
        (TITAN, ""),
        (TITAN.replace('flavor = "8B"', 'flavor = "8B"\nconverters = ["float8"]'), ""),
        (TITAN.replace('flavor = "8B"', 'flavor = "8B"\nconverters = ["magic"]'), "not used: model.converters"),
        (f"{TITAN}\n[compile]\nenable = true", ""),
        (TITAN.replace("tensor_par", "enable_async_tensor_parallel = true\ntensor_par"),
         "not used: parallelism.enable_async_tensor_parallel"),
        (f"{TITAN}\n[activation_checkpoint.more]\nmemory_budget = 0.5", "not used: activation_checkpoint.more"),
        (f"{TITAN}\n[compile]\nenable = false\n[profiling]\nenable_profiling = true", ""),
    ],
)  # fmt: skip
def test_a_key_that_is_neither_used_nor_harmless_is_said(text: str, says: str) -> None:
    source = Layout.on(text, 16, 32).source
    assert says in source
    assert bool(says) is ("not used" in source or "neither" in source), source


@each(
    ("text", "says"),
    [
        (DEEPSPEED.replace("64", "63"), "the batch of 63 sequences does not divide into 32"),
        (MEGATRON.replace("--pipeline-model-parallel-size 2", "--pipeline-model-parallel-size 3"),
         "splits the model over 6 GPUs, which do not divide 16"),
        ('{"zero_optimization": {"stage": 9}}', "zero_stage must be one of 0, 1, 2, 3"),
        ('{"zero_optimization": 3, "train_batch_size": "many"}', "train_batch_size must be a whole number"),
        ('{"optimizer": {"type": "Adam"}}', "the configuration has no layout"),
        ("{", "not valid JSON"),
    ],
)  # fmt: skip
def test_a_layout_that_does_not_fit_the_gpus_is_refused(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Layout.on(text, 16, 32)


def test_a_configuration_without_a_cluster_asks_for_the_gpus() -> None:
    with pytest.raises(ValueError, match="does not say how many GPUs there are"):
        Layout.read(DEEPSPEED)


def test_a_layout_in_words_stays_what_it_is() -> None:
    assert Layout.on("tensor=2 data=8", 999) == Layout.read("tensor=2 data=8")
    assert Layout.on({"tensor": 2, "data": 8}, 999) == Layout.read("tensor=2 data=8")
