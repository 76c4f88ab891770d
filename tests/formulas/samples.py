"""Legal and illegal arguments for every formula, drawn up from names and units alone."""

from dataclasses import replace
from typing import Any

from app.core.formulas import Argument, Formula, Input, Record
from app.core.formulas.presets import Cluster, Layout, Recipe, ScalingLaw, model
from app.core.units import (
    BYTE,
    BYTE_PER_SECOND,
    COUNT,
    DOLLAR,
    DOLLAR_PER_HOUR,
    DOLLAR_PER_KWH,
    FLOP,
    FLOP_PER_BYTE,
    FLOP_PER_SECOND,
    JOULE,
    PER_SECOND,
    RATIO,
    SECOND,
    WATT,
    Unit,
)

LAYOUT = Layout(tensor=4, pipeline=2, context=2, data=4, microbatches=8, virtual=2, zero_stage=2)

# A new name needs no entry below unless these do not suit it.
OF_ITS_UNIT: dict[Unit, float] = {
    BYTE: 1.5e9,
    BYTE_PER_SECOND: 50e9,
    COUNT: 12,
    DOLLAR: 3e6,
    DOLLAR_PER_HOUR: 2,
    DOLLAR_PER_KWH: 0.05,
    FLOP: 3e18,
    FLOP_PER_BYTE: 100.0,
    FLOP_PER_SECOND: 500e12,
    JOULE: 4e9,
    PER_SECOND: 20.0,
    RATIO: 0.4,
    SECOND: 0.3,
    WATT: 700,
}

LEGAL: dict[str, Argument] = {
    "acceptance": 0.8,
    "accumulation": 4,
    "all_reduce_time": 0.05,
    "backoff": 0.5,
    "backward_input": 0.02,
    "backward_weight": 0.015,
    "bandwidth": 50e9,
    "base_batch": 256,
    "base_rate": 3e-4,
    "base_steps": 1000,
    "batch": 3,
    "better_utilization": 0.41,
    "boundary_bytes": 500e6,
    "bus_bandwidth": 40e9,
    "busy": 7.68,
    "bytes": 1.5e9,
    "bytes_per_microbatch": 2e9,
    "bytes_per_parameter": 14,
    "checkpoint_time": 98.0,
    "cluster": Cluster.named("64 H100"),
    "columns": 24576,
    "communication": 0.0,
    "communication_time": 0.3,
    "components": 512,
    "compute_time": 2.0,
    "context": 2,
    "correct": 3,
    "cost": 60.6e6,
    "critical_batch": 700,
    "data_parallel": 16,
    "dimensions": 3,
    "dollars_per_gpu_hour": 2,
    "dollars_per_kwh": 0.05,
    "duration": 6.6e6,
    "element_bytes": 2,
    "element_bits": 4,
    "elements": 10**9,
    "epochs": 4,
    "expert": 4,
    "experts": 64,
    "exposed_time": 0.35,
    "factor": 1.25,
    "feed_forward": 49152,
    "floor": 8e-7,
    "flops": 3.8e25,
    "forward": 0.02,
    "gather_time": 0.0337,
    "gpus": 512,
    "gpus_per_node": 8,
    "gradient": 1e-8,
    "gradient_bytes": 2,
    "growth": 2,
    "growth_interval": 3,
    "hardware_flops": 1.3e18,
    "head_size": 128,
    "heads": 96,
    "held_back": 1.05,
    "hidden": 12288,
    "idle": 0.05,
    "in_flight": 6,
    "initial": 65536.0,
    "intensity": 100.0,
    "inter_bandwidth": 50e9,
    "inter_latency": 7e-6,
    "interval": 4080.0,
    "intra_bandwidth": 450e9,
    "intra_latency": 2e-6,
    "k": 5,
    "key_value_heads": 24,
    "large_batch": 1024,
    "large_norm_squared": 1.9765625,
    "large_parameters": 70 * 10**9,
    "large_tokens": 1.4e12,
    "latency": 5e-6,
    "latent": 512,
    "law": ScalingLaw.named("Besiroglu"),
    "layer_communication_time": 0.006,
    "layer_compute_time": 0.005,
    "layer_parameters": 855654400,
    "layers": 96,
    "layout": LAYOUT,
    "levels": 3,
    "limit": 0.07,
    "lengths": (100, 700, 1500, 61),
    "loads": (3.0, 5.0, 4.0),
    "longest": 2048,
    "loss": 2.3,
    "m": 4096,
    "memory": 192e9,
    "micro_batch": 3,
    "micro_time": 0.12,
    "microbatches": 24,
    "minimum_steps": 4000,
    "model": model("Llama-3.1-8B"),
    "model_flops": 1e18,
    "mtbf": 86400.0,
    "n": 2048,
    "node_bandwidth": 100e9,
    "nodes": 4,
    "on_chip_bytes": 102400,
    "operations": 3,
    "optimizer_bytes": 12,
    "overflows": (False, True, False, False),
    "overhead": 1.4,
    "parameters": 7 * 10**9,
    "passes": 2,
    "peak": 989e12,
    "pipeline": 4,
    "prefetched": 2,
    "query_heads": 96,
    "ranks": 12,
    "rate": 494.5e12,
    "rate_of_one": 46000.0,
    "reads": 2,
    "recipe": Recipe.named("mixed"),
    "repeats": 3,
    "replicas": 5,
    "reserved": 8e9,
    "restart_time": 98.0,
    "rope": 64,
    "rows": 12288,
    "samples": 20,
    "sequence": 12288,
    "serial_fraction": 0.1,
    "served_tokens": 1e13,
    "shape": model("Llama-3.1-8B"),
    "shard_ranks": 12,
    "size": 1.3e9,
    "small_batch": 64,
    "small_norm_squared": 16.625,
    "small_parameters": 8 * 10**9,
    "small_tokens": 15e12,
    "smaller_bytes": 1,
    "stage": 1,
    "stages": 6,
    "step": 700,
    "step_time": 7.73,
    "target_batch": 1000,
    "tensor": 8,
    "tensor_ranks": 8,
    "time": 0.09,
    "tokens": 1e12,
    "tokens_per_parameter": 20,
    "top_k": 2,
    "total_steps": 1000,
    "training_tokens": 15e12,
    "unique": 100e9,
    "update": 1e-4,
    "utilization": 0.4,
    "value": 0.02,
    "virtual": 1,
    "vocabulary": 128256,
    "warmup": 80,
    "watts": 700,
    "weight": 0.02,
    "weight_bytes": 2,
    "weight_bytes_total": 14e9,
    "work": 240000.0,
    "writers": 64,
    "writes": 1,
}
"""A plausible value for each argument whose name says more than its unit."""

HUGE: dict[str, Argument] = LEGAL | {
    "columns": 10**6,
    "components": 10**6,
    "context": 10,
    "correct": 1,
    "elements": 10**18,
    "expert": 10,
    "flops": 1e30,
    "gpus": 10**6,
    "heads": 10**6,
    "k": 10**6,
    "key_value_heads": 10,
    "large_parameters": 10**15,
    "layer_parameters": 10**14,
    "layers": 10**6,
    "m": 10**9,
    "memory": 1e30,
    "n": 10**9,
    "parameters": 10**15,
    "pipeline": 10,
    "query_heads": 10**6,
    "ranks": 10**6,
    "repeats": 10**5,
    "replicas": 10**6,
    "rows": 10**6,
    "samples": 10**6,
    "sequence": 10**6,
    "shape": model("DeepSeek-V3"),
    "shard_ranks": 10**6,
    "size": 1e18,
    "small_parameters": 10**14,
    "step": 10**5,
    "tensor": 10,
    "tensor_ranks": 10**6,
    "total_steps": 10**6,
    "weight": 5.0,
}

MAY_BE_ZERO = {
    "acceptance",
    "all_reduce_time",
    "backward_weight",
    "boundary_bytes",
    "bytes_per_microbatch",
    "communication",
    "communication_time",
    "correct",
    "cost",
    "dollars_per_gpu_hour",
    "dollars_per_kwh",
    "draft_cost",
    "drafted",
    "exposed_time",
    "floor",
    "gather_time",
    "gradient_bytes",
    "idle",
    "inter_latency",
    "intra_latency",
    "latency",
    "layer_communication_time",
    "load",
    "optimizer_bytes",
    "prefetched",
    "probability",
    "reserved",
    "restart_time",
    "rope",
    "scorers",
    "serial_fraction",
    "served_tokens",
    "stage",
    "step",
    "tokens",
    "training_tokens",
    "update",
    "value",
    "values",
    "warmup",
    "weight",
    "writes",
}

MAY_BE_NEGATIVE = {"update", "value", "values", "weight"}

NAN, INFINITE = float("nan"), float("inf")


def legal(formula: Formula, values: dict[str, Argument] = LEGAL) -> dict[str, Argument]:
    """Arguments that *formula* takes: the last of an argument's choices, and samples."""
    return {name: values.get(name, default(argument)) for name, argument in formula.inputs.items()} | {
        name: argument.choices[-1]
        for name, argument in formula.inputs.items()
        if argument.choices and not argument.many
    }


def default(argument: Input) -> Argument:
    """A plausible value of an argument whose name is not in the list."""
    if argument.record:
        return next(iter(argument.record.known().values()))
    if argument.choices:
        return (True, False) if argument.many else argument.choices[-1]
    one = OF_ITS_UNIT[argument.unit or RATIO]
    return (one, 2 * one) if argument.many else one


def may_be_zero(argument: Input) -> bool:
    """Whether 0 is legal: where the signature has it as the default, or the list below has it."""
    is_default = not argument.required and argument.default == 0 and argument.default is not False
    return is_default or argument.name in MAY_BE_ZERO


def illegal(argument: Input) -> list[Any]:
    """Values outside the domain of *argument*."""
    if argument.many:
        outside = illegal(replace(argument, many=False))
        return [7, 2.5, "8", *((value,) for value in outside)]
    if argument.choices or argument.record:
        return ["nonsense", 7, 2.5, NAN]
    numbers: list[Any] = [NAN, INFINITE, -INFINITE, 1e31, 10**400, True, "8"]
    numbers += [] if argument.name in MAY_BE_NEGATIVE else [-1, -0.5]
    numbers += [] if may_be_zero(argument) else [0]
    return numbers + ([2.5, 0.5] if argument.unit is COUNT else [])


def as_text(value: Argument, unit: Unit | None) -> str:
    """*value* as somebody would type it."""
    if isinstance(value, Record):
        return value.text
    if isinstance(value, tuple):
        return ", ".join(as_text(item, unit) for item in value)
    return f"{value} {unit.symbol}".strip() if unit else str(value).lower()
