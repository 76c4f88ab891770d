from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.formulas.sampling import (
    asynchronous_speedup,
    generator_share,
    policy_step_flops,
    silent_groups,
    weight_sync_time,
)
from tests.each import each

times = st.floats(1e-4, 1e4)


def test_policy_step_flops_are_those_of_its_passes() -> None:
    forward, both = 2, 2 + 4  # per parameter and token
    passes = {"write": forward, "reference": forward, "train": both}
    assert policy_step_flops(7, 5) == 7 * 5 * sum(passes.values())
    passes |= {"reward": forward, "critic reads": forward, "critic learns": both}
    assert policy_step_flops(7, 5, scorers=2, critics=1) == 7 * 5 * sum(passes.values())


def test_policy_step_flops_of_grpo_and_of_ppo() -> None:
    assert policy_step_flops(70_550_000_000, 1) == pytest.approx(705.5e9)
    assert policy_step_flops(10**9, 1, scorers=0) == 8e9
    assert policy_step_flops(10**9, 1, scorers=2, critics=1) == 20e9


def token_time(share: float, write: float, learn: float) -> float:
    """Seconds per token of two pools side by side on one GPU's worth of machines."""
    return max(write / share, learn / (1 - share))


@each(("write", "learn"), [(2.1, 1.4), (4.0, 1.0), (1.0, 3.0), (1.0, 1.0)])
def test_generator_share_is_the_split_on_which_tokens_pass_fastest(write: float, learn: float) -> None:
    best = min((k / 2000 for k in range(1, 2000)), key=lambda s: token_time(s, write, learn))
    assert generator_share(write, learn) == pytest.approx(best, abs=1e-3)


@given(times, times)
def test_generator_share_and_the_learners_share_add_up(write: float, learn: float) -> None:
    assert generator_share(write, learn) + generator_share(learn, write) == pytest.approx(1)


@each("idle", [0.0, 0.3, 0.55, 0.9])
def test_asynchronous_speedup_is_that_of_slots_played_in_both_ways(idle: float) -> None:
    write, learn, tokens = 2.0, 1.5, 1000
    slots = [tokens * (1 - idle)] * 10  # each writes for so long of a step of this many seconds
    busy = sum(slots)
    waits_for_all = tokens * 10 / busy * write + learn
    best = min(token_time(k / 10_000, write, learn) for k in range(1, 10_000))
    assert asynchronous_speedup(write, learn, idle) == pytest.approx(waits_for_all / best, rel=1e-3)


@given(times, times)
def test_asynchronous_speedup_is_one_where_nothing_is_idle(write: float, learn: float) -> None:
    assert asynchronous_speedup(write, learn, 0) == pytest.approx(1)
    assert asynchronous_speedup(write, 1e-9 * write, 0.75) == pytest.approx(4)
    with pytest.raises(ValueError, match=r"^idle must be below 1, not 1"):
        asynchronous_speedup(write, learn, 1)


@each(("ranks", "copies"), [(4, 3), (8, 2), (3, 5), (1, 4)])
def test_weight_sync_time_is_that_of_a_plan_in_which_every_nic_is_busy(ranks: int, copies: int) -> None:
    chunks = ranks * copies  # each trainer holds one
    needed = {
        (copy, rank): set(range(rank * copies, (rank + 1) * copies)) for copy in range(copies) for rank in range(ranks)
    }
    held: dict[tuple[int, int], set[int]] = {receiver: set() for receiver in needed}
    ticks = 0
    while held != needed:
        sent = [rank * copies + (copy + ticks) % copies for copy, rank in needed]
        assert len(set(sent)) == len(sent)  # no NIC sends twice at a time
        for receiver, chunk in zip(needed, sent, strict=True):
            held[receiver].add(chunk)
        ticks += 1
    assert weight_sync_time(48e9, ranks, 50e9) == pytest.approx(ticks * 48e9 / chunks / 50e9)


def test_weight_sync_time_to_one_gpu_is_that_of_the_whole_model() -> None:
    assert weight_sync_time(811.7e9, 1, 50e9) == pytest.approx(16.234)
    assert weight_sync_time(811.7e9, 8, 50e9) == pytest.approx(16.234 / 8)


@each("probability", [0.9, 0.5, 0.05])
@each("group", [1, 2, 8])
def test_silent_groups_are_counted_among_all_outcomes(probability: float, group: int) -> None:
    share = 0.0
    for answers in product((True, False), repeat=group):
        chance = 1.0
        for right in answers:
            chance *= probability if right else 1 - probability
        share += chance if len(set(answers)) == 1 else 0
    assert silent_groups(probability, group) == pytest.approx(share)


def test_silent_groups_of_a_model_that_never_or_always_solves_it() -> None:
    assert silent_groups(0, 8) == silent_groups(1, 8) == silent_groups(0.3, 1) == 1
    assert silent_groups(0.5, 200) == pytest.approx(0, abs=1e-50)


def test_weights_are_sent_by_whole_ranks() -> None:
    assert weight_sync_time(48e9, 1, 50e9) == pytest.approx(0.96)
    with pytest.raises(ValueError, match="writer_ranks must be a whole number"):
        weight_sync_time(48e9, 1.5, 50e9)  # type: ignore[arg-type]
