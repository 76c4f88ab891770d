"""Where formulas end: the last argument that is taken and the first that is not; and what nobody says."""

from typing import Any

import pytest

from app.core.formulas import FORMULAS, formula_value, lookup
from tests.each import each

# A formula, legal arguments, one of them, the last value that it takes and one beyond.
ENDS: list[tuple[str, dict[str, Any], str, Any, Any]] = [
    ("batching.critical_batch", {}, "loss", 0.001, 0.000999),
    ("batching.critical_batch", {}, "loss", 1000, 1001),
    ("batching.cosine_rate", {"total_steps": 10, "peak": 1.0}, "step", 10, 11),
    ("batching.cosine_rate", {"total_steps": 10, "peak": 1.0, "step": 3}, "warmup", 9, 10),
    ("batching.cosine_rate", {"total_steps": 10, "peak": 1.0, "step": 3}, "floor", 1.0, 1.01),
    ("batching.gradient_noise_scale", {"small_norm_squared": 1, "large_norm_squared": 1, "large_batch": 8}, "small_batch", 7, 8),
    ("batching.gradient_noise_scale", {"small_norm_squared": 1, "small_batch": 4, "large_batch": 8}, "large_norm_squared", 1, 1.01),
    ("faults.late_share", {"ranks": 8}, "chance", 1, 1.01),
    ("faults.time_without_checkpoints", {"mtbf": 1}, "work", 700, 700.1),
    ("faults.spare_nodes", {"chance": 0.5}, "mean_in_repair", 1e6, 1_000_001),
    ("faults.spare_nodes", {"mean_in_repair": 1}, "chance", 0.999999, 0.9999995),
    ("networks.fat_tree", {"ports": 4}, "levels", 8, 9),
    ("networks.fat_tree", {}, "ports", 2, 3),
    ("networks.torus_bisection", {"side": 4, "bandwidth": 1}, "dimensions", 8, 9),
    ("networks.torus_bisection", {"dimensions": 2, "bandwidth": 1}, "side", 2, 3),
    ("networks.separate_links_probability", {"flows": 3}, "links", 128, 129),
    ("networks.expected_busiest", {"links": 3}, "flows", 128, 129),
    ("optimizers.newton_schulz", {"value": 0.5}, "steps", 1000, 1001),
    ("precision.loss_scale", {"overflows": [True], "initial": 8, "growth_interval": 1}, "growth", 1, 0.99),
    ("precision.loss_scale", {"overflows": [True], "initial": 8, "growth_interval": 1}, "backoff", 1, 1.01),
    ("precision.stochastic_drift", {"spacing": 1, "steps": 3}, "update", 1, 1.01),
    ("sampling.pass_at_k", {"samples": 8, "correct": 2}, "k", 8, 9),
    ("sampling.pass_at_k", {"samples": 8, "k": 2}, "correct", 8, 9),
    ("sampling.silent_groups", {"group": 4}, "probability", 1, 1.01),
    ("serving.time_to_first_token", {"service_time": 1}, "load", 0.999, 1),
    ("serving.speculative_tokens", {"drafted": 3}, "acceptance", 1, 1.01),
    ("serving.speculative_tokens", {"acceptance": 0.5}, "drafted", 0, -1),
    ("serving.cache_used", {"lengths": [3, 8]}, "longest", 8, 7),
    ("throughput.utilization_comb", {"busy": 1, "idle": 0}, "repeats", 1_000_000, 1_000_001),
]  # fmt: skip


@each(("name", "others", "key", "last", "beyond"), ENDS)
def test_the_last_argument_of_a_domain_is_taken_and_the_next_is_refused_by_name(
    name: str, others: dict[str, Any], key: str, last: Any, beyond: Any
) -> None:
    formula_value(lookup(name), {**others, key: last})
    with pytest.raises(ValueError, match=f"{key} must be|longest|lengths must"):
        formula_value(lookup(name), {**others, key: beyond})


# What papers and programs take where nobody says otherwise: bytes of BF16 and of FP32, three levels of switches, ...
DEFAULTS: dict[str, dict[str, object]] = {
    "batching.warmup_steps": {"base_steps": 1000},
    "batching.cosine_rate": {"floor": 0, "warmup": 0},
    "collectives.ring_all_reduce_time": {"latency": 0},
    "collectives.hierarchical_all_reduce_time": {"intra_latency": 0, "inter_latency": 0},
    "cost.electricity_cost": {"overhead": 1},
    "faults.checkpoint_bytes": {"bytes_per_parameter": 14},
    "faults.write_time": {"writers": 1},
    "faults.goodput": {"restart_time": 0},
    "memory.state_bytes": {"weight_bytes": 2, "gradient_bytes": 2, "optimizer_bytes": 12},
    "memory.zero_state_bytes": {"weight_bytes": 2, "gradient_bytes": 2, "optimizer_bytes": 12},
    "memory.fully_sharded_peak_bytes": {"prefetched": 1},
    "memory.logits_bytes": {"bytes_per_logit": 10},
    "memory.card_memory": {"held_back": 1.05, "outside": 0, "kernels": "fused"},
    "memory.width_to_hide_offload": {"flops_per_square": 24},
    "memory.activation_bytes": {"recompute": "none", "sequence_parallel": False, "tensor_ranks": 1, "stages": 1},
    "networks.fat_tree": {"levels": 3},
    "optimizers.state_bytes_per_parameter": {"block": 256},
    "optimizers.newton_schulz": {"steps": 5},
    "optimizers.muon_traffic_ratio": {"gather_bytes": 2},
    "overlap.fsdp_tokens_to_hide": {"element_bytes": 2},
    "pipeline.bubble_ratio": {"virtual": 1},
    "pipeline.schedule_bubble": {"virtual": 1, "communication": 0, "waits": "first"},
    "pipeline.microbatches_for_ratio": {"strict": False},
    "precision.loss_scale": {"growth": 2, "backoff": 0.5},
    "precision.mixed_precision_bytes": {"gradient_bytes": 2},
    "precision.full_precision_bytes": {"gradient_bytes": 4},
    "precision.activation_saving": {"element_bytes": 2, "smaller_bytes": 1},
    "sampling.policy_step_flops": {"scorers": 1, "critics": 0},
    "sampling.lifetime_flops": {"samples": 1},
    "scaling.effective_tokens": {"constant": 15.4},
    "serving.largest_batch": {"reserved": 0},
    "serving.free_prefill_tokens": {"utilization": 1},
    "sharding.dispatch_bytes": {"element_bytes": 1, "scale_bytes": 4, "scale_group": 128},
    "sharding.expert_capacity": {"factor": 1},
    "sharding.tensor_all_reduces": {"passes": 2},
    "sharding.data_parallel_degree": {"context": 1, "expert": 1},
    "synchronization.top_k_bytes": {"value": 2, "index": 4},
    "synchronization.low_rank_bytes": {"element": 2},
    "throughput.matmul_intensity": {"count_output": True},
    "throughput.elementwise_intensity": {"reads": 1, "writes": 1, "operations": 1},
    "transformer.compute_optimal": {"tokens_per_parameter": 20},
    "transformer.layer_parameters": {"gated": True},
    "transformer.token_flops": {"causal": False, "embedding": 0, "rope": 0},
    "transformer.key_value_cache_bytes": {"element_bytes": 2},
}


@each("name", DEFAULTS)
def test_what_nobody_says_is_as_papers_and_programs_have_it(name: str) -> None:
    inputs = FORMULAS[name].inputs
    assert {key: inputs[key].default for key in DEFAULTS[name]} == DEFAULTS[name]
