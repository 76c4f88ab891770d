import random

import pytest

from app.core.formulas.serving import (
    expected_longest,
    free_prefill_tokens,
    pool_sizes,
    prefill_time,
    speculative_speedup,
    speculative_tokens,
    static_batch_idle,
    time_to_first_token,
)
from app.core.formulas.throughput import roofline_time
from tests.each import each

P70, DAY = 70_550_000_000, 86400.0


def test_prefill_time_is_that_of_products_counted_one_by_one() -> None:
    flops = 0
    for _token in range(9):
        for rows, columns in ((4, 8), (8, 5)):
            flops += sum(2 for _ in range(rows) for _ in range(columns))
    assert prefill_time(72, 9, 3, 100.0, 0.5) == pytest.approx(flops / 150, rel=1e-12)
    assert prefill_time(P70, 8192, 8, 989e12, 0.5) == pytest.approx(0.2922, abs=5e-5)


@each("utilization", [1.0, 0.8])
def test_free_prefill_tokens_are_those_after_which_computing_is_the_limit(utilization: float) -> None:
    read, bandwidth, peak = 226.999e9, 8 * 3.352e12, 8 * 989e12 * utilization
    step = read / bandwidth
    tokens = free_prefill_tokens(step, 8, 989e12, P70, 32, utilization)

    def time(extra: int) -> float:
        return roofline_time(2.0 * P70 * (32 + extra), read, peak, bandwidth)

    assert time(tokens) == step
    assert time(tokens + 1) > step


def test_free_prefill_tokens_of_a_crowded_step_are_none() -> None:
    assert free_prefill_tokens(8.465e-3, 8, 989e12, P70, 32) == 442
    assert free_prefill_tokens(8.465e-3, 8, 989e12, P70, 500) == 0


@each("load", [0.3, 0.5, 0.75])
def test_time_to_first_token_is_that_of_a_long_queue(load: float) -> None:
    source, clock, free, total, prompts = random.Random(3), 0.0, 0.0, 0.0, 100_000
    for _ in range(prompts):
        clock += source.expovariate(load / 0.4)
        free = max(free, clock) + 0.4
        total += free - clock
    assert time_to_first_token(0.4, load) == pytest.approx(total / prompts, rel=0.02)


def test_time_to_first_token_grows_without_end_and_is_refused_at_full_load() -> None:
    assert time_to_first_token(0.4, 0) == 0.4
    assert time_to_first_token(0.4, 0.9) == pytest.approx(2.2)
    assert time_to_first_token(1.0, 0.999) > 500
    with pytest.raises(ValueError, match=r"^load must be below 1"):
        time_to_first_token(0.4, 1)


# Leviathan et al., arXiv:2211.17192, table 1: acceptance, drafted, and the speed for a free draft.
TABLE = [(0.6, 2, 1.96), (0.7, 3, 2.53), (0.8, 2, 2.44), (0.8, 5, 3.69), (0.9, 2, 2.71), (0.9, 10, 6.86)]


@each(("acceptance", "drafted", "printed"), TABLE)
def test_speculative_tokens_and_speculative_speedup_are_those_of_the_papers_table(
    acceptance: float, drafted: int, printed: float
) -> None:
    assert speculative_tokens(acceptance, drafted) == pytest.approx(printed, abs=5.001e-3)
    assert speculative_speedup(acceptance, drafted, 0) == pytest.approx(printed, abs=5.001e-3)


def test_speculative_tokens_are_those_of_many_drafts() -> None:
    source, total, passes = random.Random(0), 0, 40_000
    for _ in range(passes):
        kept = 0
        while kept < 4 and source.random() < 0.8:
            kept += 1
        total += kept + 1
    assert speculative_tokens(0.8, 4) == pytest.approx(total / passes, rel=0.01)


def test_speculative_tokens_at_the_ends() -> None:
    assert speculative_tokens(0, 5) == 1
    assert speculative_tokens(1, 5) == 6
    assert speculative_tokens(1 - 1e-12, 5) == pytest.approx(6, rel=1e-9)
    assert speculative_tokens(0.9, 10**6) == pytest.approx(10)
    with pytest.raises(ValueError, match=r"^acceptance must be at most 1, not 1\.5"):
        speculative_tokens(1.5, 5)


def test_speculative_speedup_is_that_of_a_clock() -> None:
    source, clock, tokens, drafted, cost = random.Random(1), 0.0, 0, 3, 0.1
    for _ in range(40_000):
        clock += drafted * cost + 1
        accepted = [source.random() < 0.7 for _ in range(drafted)]
        tokens += [*accepted, False].index(False) + 1
    assert speculative_speedup(0.7, drafted, cost) == pytest.approx(tokens / clock, rel=0.01)


def test_pool_sizes_are_those_that_deepseek_reported() -> None:
    pools = pool_sizes(608e9 / DAY, 168e9 / DAY, 73.7e3, 14.8e3)
    assert pools.total == pytest.approx(226.75, rel=1e-3)  # the mean that the report prints
    assert pools.total == pools.prefill + pools.decode


def test_pool_sizes_are_nodes_that_work_through_a_load() -> None:
    queued, done, seconds = 600, 0, 0
    while done < queued:  # three nodes of 40 tokens a second each
        done, seconds = done + 3 * 40, seconds + 1
    assert pool_sizes(queued / seconds, 70.0, 40.0, 10.0) == (3, 7, 10)


def test_static_batch_idle_is_the_share_of_empty_slots_of_a_played_batch() -> None:
    for lengths in ([4, 1], [5], [10, 1, 1, 7], [3, 3, 3]):
        left, slots, empty = list(lengths), 0, 0
        while any(left):
            slots, empty = slots + len(left), empty + left.count(0)
            left = [max(0, one - 1) for one in left]
        assert static_batch_idle(lengths) == pytest.approx(empty / slots, rel=1e-12)


def test_static_batch_idle_is_nothing_for_equals_and_nearly_all_beside_a_giant() -> None:
    assert static_batch_idle([7] * 5) == 0
    assert static_batch_idle([1] * 15 + [10**9]) == pytest.approx(15 / 16)


def test_expected_longest_is_that_of_many_drawn_batches() -> None:
    source = random.Random(2)
    longest = [max(source.expovariate(1 / 400) for _ in range(16)) for _ in range(8000)]
    assert expected_longest(400, 16) == pytest.approx(sum(longest) / len(longest), rel=0.01)


@each(
    ("batch", "harmonic"), [(1, 1.0), (100, 5.187377517639621), (1000, 7.485470860550345), (10**6, 14.392726722865724)]
)
def test_expected_longest_is_the_mean_times_a_harmonic_number(batch: int, harmonic: float) -> None:
    assert expected_longest(1, batch) == pytest.approx(harmonic, rel=1e-13)
