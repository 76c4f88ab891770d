"""A pasted configuration in the state of an explorer."""

import json

import pytest

from app.core.formulas.presets import MODELS, Layout, ModelShape
from app.course.explorers.base import Values
from app.course.explorers.controls import read_controls
from app.course.explorers.placements import exact_placement, model_value
from app.course.explorers.run_fit import FIT
from app.course.explorers.states import configured_state
from tests.each import each
from tests.explorers.test_explorers import explored

CONFIG = {
    "model_type": "llama",
    "hidden_size": 2048,
    "intermediate_size": 5632,
    "num_hidden_layers": 22,
    "num_attention_heads": 32,
    "num_key_value_heads": 4,
    "vocab_size": 32000,
}
MEGATRON = (
    "--num-layers 36 --hidden-size 4096 --ffn-hidden-size 12288 --num-attention-heads 32 --swiglu"
    " --num-query-groups 8 --kv-channels 128 --normalization RMSNorm --disable-bias-linear"
    " --qk-layernorm --vocab-size 151936 --untie-embeddings-and-output-weights --seq-length 4096"
    " --position-embedding-type rope --tensor-model-parallel-size 2 --micro-batch-size 2"
    " --global-batch-size 64 --use-distributed-optimizer --sequence-parallel"
)


@each("name", MODELS)
def test_the_value_of_a_model_reads_back_and_fits_an_address(name: str) -> None:
    shape = MODELS[name]
    assert ModelShape.read(model_value(name)) == shape
    other = model_value(f"{shape.text} layers={shape.layers + shape.dense_layers + 1}")
    assert ModelShape.read(other).layers == shape.layers + shape.dense_layers + 1
    assert len(other) <= 400


def test_a_config_json_changes_the_model_alone() -> None:
    assert configured_state(json.dumps(CONFIG), 8).controls == {"model": "TinyLlama-1.1B"}
    odd = configured_state(json.dumps({**CONFIG, "num_hidden_layers": 21}), 8).controls
    assert ModelShape.read(odd["model"]).layers == 21


def test_a_deepspeed_json_changes_the_layout_alone() -> None:
    text = '{"train_batch_size": 64, "train_micro_batch_size_per_gpu": 2, "zero_optimization": {"stage": 3}}'
    assert configured_state(text, 16).controls == {"stage": "3", "micro": "2", "batch": "64"}


def test_what_a_configuration_leaves_out_is_a_doubt_beside_its_state() -> None:
    text = '{"zero_optimization": {"stage": 3, "offload_param": {"device": "cpu"}, "zenflow": {"a": 2}}, "fp16": {"enabled": true}}'
    _, doubts = configured_state(text, 16)
    assert "The layout: it also says offload parameters, which is left out." in doubts
    assert any("not used: zero_optimization.zenflow" in doubt for doubt in doubts)
    _, doubts = configured_state(json.dumps({**CONFIG, "model_type": "wonder", "num_hidden_layers": 21}), 16)
    assert any("model_type wonder is not known" in doubt for doubt in doubts)


def test_a_file_that_names_its_gpus_sets_them() -> None:
    text = "compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nmixed_precision: bf16\nnum_processes: 4\n"
    assert configured_state(text, 8).controls["gpus"] == "4"


def test_arguments_of_megatron_change_both() -> None:
    state = configured_state(MEGATRON, 8).controls
    assert state["model"] == "Qwen3-8B"
    placed = exact_placement(
        Values(read_controls(FIT.controls, {"gpus": "8", **state, "pipeline": "1", "virtual": "1", "context": "1"})[0])
    )
    layout = Layout.on(MEGATRON, 8)
    assert (placed.layout.tensor, placed.layout.data) == (layout.tensor, layout.data) == (2, 4)
    assert placed.layout.microbatches == layout.microbatches == 8
    assert placed.layout.sequence == 4096


@each(
    ("text", "says"),
    [
        ("Llama-3-8B", "this is not a configuration"),
        ('{"optimizer": 1}', "the configuration has no model"),
        ('{"model_type": "mamba2", "num_hidden_layers": 4}', "layers without attention"),
        ("{", "not valid JSON"),
    ],
)
def test_what_says_nothing_is_refused(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        configured_state(text, 8)


def test_an_explorer_takes_a_model_that_is_not_in_its_list() -> None:
    small = {"gpus": "8", "tensor": "1", "pipeline": "1", "virtual": "1", "batch": "8"}
    shown = explored("fit", model=model_value(json.dumps({**CONFIG, "num_hidden_layers": 21})), **small)
    known = explored("fit", model="TinyLlama-1.1B", **small)
    assert shown.facts[0].exact is not None
    assert known.facts[0].exact is not None
    assert shown.facts[0].exact < known.facts[0].exact
    _, corrections = read_controls(FIT.controls, {"model": "Llama-9"})
    assert "'Llama-9' is not an option; using Llama-3.1-405B" in corrections[0]
