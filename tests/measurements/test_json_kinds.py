"""A JSON file of another kind is told what it is, and a log as JSON is read."""

import json
from pathlib import Path

from app.core.measurements.file_reader import read_files
from app.core.measurements.reports import TrainingLog, UnreadFile
from tests.each import each

KINDS: dict[str, tuple[object, str]] = {
    "config.json": (
        {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 4096},
        "the configuration of a model",
    ),
    "ds_config.json": ({"train_batch_size": 64, "zero_optimization": {"stage": 3}}, "a configuration of DeepSpeed"),
    "execution_trace.json": ({"schema": "1.1.1-chakra.0.0.4", "pid": 7, "nodes": []}, "an execution trace of PyTorch"),
    "notebook.ipynb": ({"cells": [], "metadata": {}, "nbformat": 4}, "a notebook"),
    "trainer_state.json": (
        {"global_step": 10, "log_history": [{"loss": 1.5, "step": 10}]},
        "the state of Hugging Face's Trainer without its times",
    ),
    "model.safetensors.index.json": ({"metadata": {}, "weight_map": {}}, "the index of a checkpoint"),
    "tokenizer_config.json": ({"model_max_length": 4096}, "the configuration of a tokenizer"),
    "bench.json": ({"request_throughput": 3.1, "mean_ttft_ms": 12.0}, "a serving benchmark"),
    "other.json": ({"colors": [1, 2], "shapes": {}}, "but with 'colors', 'shapes'"),
    "list.json": ([{"colors": 1}], "but with 'colors'"),
}


@each("name", KINDS)
def test_json_of_another_kind_is_told_what_it_is(name: str, tmp_path: Path) -> None:
    value, says = KINDS[name]
    path = tmp_path / name
    for indent in (None, 1):
        path.write_text(json.dumps(value, indent=indent))
        (found,) = read_files([path])
        assert isinstance(found, UnreadFile)
        assert says in found.error
        assert found.error.startswith(f"{name} is ")


def read(tmp_path: Path, text: str) -> TrainingLog:
    path = tmp_path / "sent.json"
    path.write_text(text)
    (found,) = read_files([path])
    assert isinstance(found, TrainingLog), found
    return found


def test_the_state_of_a_trainer_has_the_time_of_its_run(tmp_path: Path) -> None:
    totals = {"train_runtime": 200.0, "train_steps_per_second": 0.5, "epoch": 1.0, "step": 100}
    history = [{"loss": 1.5, "step": 10, "epoch": 0.1}, {"loss": 1.4, "step": 20, "epoch": 0.2}]
    state = {"global_step": 100, "max_steps": 100, "log_history": [*history, totals]}
    log = read(tmp_path, json.dumps(state, indent=2))
    assert (log.family, log.step_time) == ("hf-trainer", 2.0)
    assert read(tmp_path, json.dumps(totals)).step_time == 2.0


def test_a_log_as_json_lines_that_is_cut_off_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    line = '{{"current_steps": {}, "total_steps": 100, "loss": 1.5, "elapsed_time": "0:{:02}:00"}}\n'
    text = "".join(line.format(10 * n, n) for n in range(1, 6))
    log = read(tmp_path, text[:-20])
    assert (log.steps, log.step_time) == (5, 6.0)
    assert "not JSON from line 5 on" in log.doubts[0]


def test_a_text_that_begins_as_json_is_read_as_a_text(tmp_path: Path) -> None:
    log = read(tmp_path, '{"a": 1}\nstarting\ncompleted step: 1, seconds: 4.0, loss: 2\n')
    assert log.family == "maxtext"
