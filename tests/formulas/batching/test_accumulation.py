import pytest

from app.core.formulas.batching import (
    accumulated_step_time,
    accumulation_saving,
    accumulation_steps,
    communication_share,
    effective_batch,
    sequences_per_second,
)
from tests.each import each
from tests.oracles.batching import play_step, play_until

over_batches = each("micro_batch", [1, 3, 4])
over_ranks = each("data_parallel", [1, 3, 8])
over_passes = each("accumulation", [1, 2, 5, 64])
MICRO, REDUCE = 0.12, 0.05


@over_batches
@over_ranks
@over_passes
def test_effective_batch_is_what_a_step_has_seen(micro_batch: int, data_parallel: int, accumulation: int) -> None:
    played = play_step(micro_batch, accumulation, data_parallel)
    assert effective_batch(micro_batch, accumulation, data_parallel) == played.sequences


@over_batches
@over_ranks
@each("target", [1, 24, 25, 100, 250])
def test_accumulation_steps_are_the_fewest_that_reach_the_target(
    target: int, micro_batch: int, data_parallel: int
) -> None:
    played = play_until(target, micro_batch, data_parallel)
    assert accumulation_steps(target, micro_batch, data_parallel) == played.passes


@each(("target", "micro", "ranks", "steps"), [(2048, 4, 8, 64), (1000, 3, 8, 42), (1, 4, 8, 1)])
def test_accumulation_steps_of_known_plans(target: int, micro: int, ranks: int, steps: int) -> None:
    assert accumulation_steps(target, micro, ranks) == steps


@over_passes
def test_accumulated_step_time_is_that_of_the_play(accumulation: int) -> None:
    played = play_step(4, accumulation, 8, MICRO, REDUCE)
    predicted = accumulated_step_time(MICRO, accumulation, REDUCE)
    assert predicted == pytest.approx(played.time, rel=1e-12)


def test_accumulated_step_time_of_a_known_step() -> None:
    # 64 passes of 120 ms and one all-reduce of 50 ms; a popular source prints 7,731 ms.
    assert accumulated_step_time(0.120, 64, 0.050) == pytest.approx(7.730, rel=1e-12)


@over_passes
def test_accumulation_saving_is_what_reducing_each_time_costs_more(accumulation: int) -> None:
    once = play_step(4, accumulation, 8, MICRO, REDUCE)
    each = play_step(4, accumulation, 8, MICRO, REDUCE, reduce_each=True)
    saved = accumulation_saving(accumulation, REDUCE)
    assert saved == pytest.approx(each.time - once.time, rel=1e-12, abs=1e-12)


@over_passes
def test_sequences_per_second_are_those_seen_over_the_clock(accumulation: int) -> None:
    played = play_step(4, accumulation, 8, MICRO, REDUCE)
    rate = sequences_per_second(played.sequences, played.time)
    assert rate * played.time == pytest.approx(played.sequences, rel=1e-12)


def test_sequences_per_second_of_a_known_step() -> None:
    assert sequences_per_second(2048, 7.730) == pytest.approx(264.94, abs=0.005)


@over_passes
def test_communication_share_is_that_of_the_play(accumulation: int) -> None:
    played = play_step(4, accumulation, 8, MICRO, REDUCE)
    share = communication_share(played.computing, played.communicating)
    assert share == pytest.approx(1 - played.computing / played.time, rel=1e-12)


def test_communication_share_with_and_without_accumulation() -> None:
    assert communication_share(64 * 0.120, 0.050) == pytest.approx(0.00647, abs=5e-6)
    assert communication_share(0.120, 0.050) == pytest.approx(0.294, abs=5e-4)
