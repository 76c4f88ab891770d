import itertools
import random

import pytest

from app.core.formulas.sharding import (
    dispatch_bytes,
    expected_nodes,
    expert_all_to_all_bytes,
    expert_critical_batch,
    expert_idle,
    tokens_per_expert,
)
from tests.each import each


@each(("experts", "nodes", "chosen"), [(8, 4, 3), (12, 3, 4), (6, 1, 2), (6, 6, 3), (10, 2, 7)])
def test_expected_nodes_is_the_mean_of_all_choices(experts: int, nodes: int, chosen: int) -> None:
    each = experts // nodes
    choices = list(itertools.combinations(range(experts), chosen))
    reached = sum(len({expert // each for expert in choice}) for choice in choices)
    assert expected_nodes(experts, nodes, chosen) == pytest.approx(reached / len(choices))


def test_expected_nodes_of_deepseek_drawn_at_random() -> None:
    source, draws = random.Random(5), 20_000
    reached = sum(len({e // 32 for e in source.sample(range(256), 8)}) for _ in range(draws))
    assert expected_nodes(256, 8, 8) == pytest.approx(reached / draws, abs=0.025)
    assert expected_nodes(256, 8, 8) == pytest.approx(5.295, abs=5e-4)


@each(
    ("given", "says"),
    [
        ((256, 7, 8), "nodes must divide the experts, 256, not 7"),
        ((256, 8, 257), "top_k must be at most the experts, 256, not 257"),
        ((2 * 10**6, 8, 8), "experts must be at most 1,000,000, not 2000000"),
    ],
)
def test_expected_nodes_refuses_what_cannot_be_spread(given: tuple[int, int, int], says: str) -> None:
    with pytest.raises(ValueError, match=f"^{says}$"):
        expected_nodes(*given)


@each(("gpus", "experts", "chosen"), [(8, 256, 8), (6, 12, 3), (1, 4, 4)])
def test_tokens_per_expert_is_what_each_gets_if_all_take_turns(gpus: int, experts: int, chosen: int) -> None:
    tokens, turn = 128, itertools.cycle(range(experts))
    loads = [0] * experts
    for _ in range(gpus * tokens):
        for expert in itertools.islice(turn, chosen):
            loads[expert] += 1
    assert max(loads) == min(loads) == tokens_per_expert(tokens, gpus, chosen, experts)


def test_tokens_per_expert_at_the_width_at_which_deepseek_serves() -> None:
    assert tokens_per_expert(128, 144, 8, 288) == 512  # 256 experts and 32 copies


@each(
    ("experts", "chosen", "peak", "memory"),
    [(256, 8, 1979e12, 3.352e12), (8, 2, 4500e12, 8e12), (4, 4, 989e12, 3.352e12)],
)
def test_expert_critical_batch_is_where_an_expert_computes_as_long_as_it_reads(
    experts: int, chosen: int, peak: float, memory: float
) -> None:
    weights, size = 3 * 7168 * 2048, 1
    batch = expert_critical_batch(peak, memory, size, experts, chosen)
    seen = batch * chosen / experts
    reading, computing = weights * size / memory, 2 * weights * seen / peak
    assert computing == pytest.approx(reading, rel=1e-12)


def test_expert_critical_batch_of_one_expert_is_the_ridge_of_a_dense_model() -> None:
    assert expert_critical_batch(1979e12, 3.352e12, 1, 1, 1) == pytest.approx(295.2, abs=0.05)
    assert expert_critical_batch(989e12, 3.352e12, 2, 1, 1) == pytest.approx(295.0, abs=0.05)
    with pytest.raises(ValueError, match=r"^top_k must be at most the experts, 2, not 3"):
        expert_critical_batch(989e12, 3.352e12, 2, 2, 3)


def test_dispatch_bytes_are_those_of_the_arrays_that_are_sent() -> None:
    copy = bytearray()
    for at in range(1000):
        copy += bytes(1)
        if at % 128 == 0:
            copy += bytes(4)
    assert dispatch_bytes(5, 1000, 3) == 15 * len(copy)


def test_dispatch_bytes_without_room_for_scales_are_those_of_an_all_to_all_to_many_ranks() -> None:
    plain = expert_all_to_all_bytes(128, 7168, 8, 2, 10**9)
    scaled = dispatch_bytes(128, 7168, 8, 2, scale_group=7168, scale_bytes=1e-6)
    assert scaled == pytest.approx(plain, rel=1e-8)


def test_dispatch_bytes_take_nearly_the_time_that_was_measured() -> None:
    # DeepEP, legacy.md: 173 us and 314 us on 64 ranks; nothing is faster than the wire
    out, back = dispatch_bytes(128, 7168, 8) / 50e9, 128 * 8 * 7168 * 2 / 50e9
    assert 0.85 < out / 173e-6 < 1
    assert 0.85 < back / 314e-6 < 1


@each("loads", [[310, 95, 128, 140, 101, 90, 88, 72], [5, 5, 5], [0, 0, 9], [7]])
def test_expert_idle_is_the_share_of_ticks_in_which_a_gpu_waits(loads: list[int]) -> None:
    ticks = [[load > tick for load in loads] for tick in range(max(loads))]
    waiting = sum(row.count(False) for row in ticks)
    assert expert_idle(loads) == pytest.approx(waiting / (len(loads) * len(ticks)), abs=1e-12)


def test_expert_idle_of_one_hot_expert_is_all_but_one() -> None:
    assert expert_idle([0] * 63 + [1]) == pytest.approx(63 / 64)
