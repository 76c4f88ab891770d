"""What a JSON file is that has no measurement: people send the file beside the right one."""

from collections.abc import Mapping, Sequence

# The keys by which a file is known, all of them; what it is; and what to do instead.
_KINDS: Sequence[tuple[frozenset[str], str]] = tuple(
    (frozenset(keys.split()), what)
    for keys, what in (
        ("architectures model_type", "the configuration of a model, such as Hugging Face's"
         " config.json: name the model beside a measurement of it"),
        ("hidden_size num_hidden_layers", "the configuration of a model, such as Hugging Face's"
         " config.json: name the model beside a measurement of it"),
        ("train_micro_batch_size_per_gpu", "a configuration of DeepSpeed: send the log of the run"),
        ("zero_optimization", "a configuration of DeepSpeed: send the log of the run"),
        ("schema nodes", "an execution trace of PyTorch, a graph of operators without the times of"
         " the GPU: export a trace of the profiler with export_chrome_trace"),
        ("cells nbformat", "a notebook: paste the output of the cell"),
        ("weight_map", "the index of a checkpoint"),
        ("log_history", "the state of Hugging Face's Trainer without its times, which the last"
         " entry has after train() has returned: send the log"),
        ("current_steps", "a log of LLaMA-Factory without times"),
        ("model_max_length", "the configuration of a tokenizer"),
        ("request_throughput", "the result of a serving benchmark, which is not read"),
        ("mean_ttft_ms", "the result of a serving benchmark, which is not read"),
        ("_wandb", "a summary of Weights & Biases: send the log of the run"),
        ("_runtime _step", "a summary of Weights & Biases: send the log of the run"),
        ("benchmarks machine_info", "a result of pytest-benchmark"),
        ("benchmarks context", "a result of Google Benchmark"),
        ("log stream time", "the log of a container as JSON lines: print the lines themselves, as"
         " with docker logs or kubectl logs"),
        ("added_tokens normalizer", "a tokenizer"),
        ("peft_type", "the configuration of an adapter"),
        ("bos_token_id eos_token_id", "the configuration of a model's text generation"),
        ("name dependencies", "the description of a package"),
        ("gpus driver_version", "a listing of GPUs"),
        ("apiVersion kind", "a manifest of Kubernetes"),
    )
)  # fmt: skip
_MOST_KEYS = 4  # that are named


def json_kind(value: object) -> str:
    """What the file with *value* is; empty if nothing tells."""
    if not isinstance(value, dict):
        return ""
    return next((what for keys, what in _KINDS if keys <= value.keys()), "")


def shown_keys(value: object) -> str:
    """The first keys of *value*, in quotes; empty if it has none."""
    if not isinstance(value, Mapping):
        return ""
    keys = [f"'{str(key)[:40]}'" for key in list(value)[:_MOST_KEYS]]
    return ", ".join(key for key in keys if key.isprintable())
