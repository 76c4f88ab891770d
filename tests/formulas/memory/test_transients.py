import pytest

from app.core.formulas.memory import (
    fully_sharded_peak_bytes,
    logits_bytes,
    offload_time,
    state_bytes,
    width_to_hide_offload,
)
from tests.each import each


def played_peak(sizes: list[int], ranks: int, ahead: int) -> float:
    """The most that a rank holds in a backward pass that gathers and drops unit after unit."""
    rest = 16 * sum(sizes) / ranks
    whole: set[int] = set()
    most = rest
    for now in reversed(range(len(sizes))):
        whole |= {unit for unit in range(now - ahead, now + 1) if unit >= 0}
        held = rest + sum(2 * sizes[unit] for unit in whole) + 2 * sizes[now]
        most = max(most, held)
        whole.remove(now)  # its gradients are reduced and scattered, its weights dropped
    return most


@each(("units", "ahead"), [(6, 1), (6, 0), (6, 2), (1, 0)])
def test_fully_sharded_peak_bytes_are_those_of_a_pass_played_unit_by_unit(units: int, ahead: int) -> None:
    played = played_peak([700] * units, 5, ahead)
    assert fully_sharded_peak_bytes(700 * units, 5, units, ahead) == pytest.approx(played)


def test_fully_sharded_peak_bytes_of_small_units_are_those_at_rest_and_of_one_the_whole() -> None:
    model = 70_550_000_000
    assert fully_sharded_peak_bytes(model, 256, 10**9) == pytest.approx(16 * model / 256)
    one = fully_sharded_peak_bytes(model, 10**12, 1, 0, 2, 2, 12)
    assert one == pytest.approx(state_bytes(model, optimizer_bytes=0), rel=1e-6)
    with pytest.raises(ValueError, match="prefetched must be below the units, 1, not 1"):
        fully_sharded_peak_bytes(model, 256, 1)


def test_logits_bytes_are_those_of_three_arrays() -> None:
    arrays = [[[bytes(each)] * 17 for _ in range(9)] for each in (2, 4, 4)]
    held = sum(len(value) for array in arrays for row in array for value in row)
    assert logits_bytes(9, 17) == held
    assert logits_bytes(9, 17, 4) == 9 * 17 * 4


def test_logits_bytes_in_chunks_add_up_to_those_of_all_tokens() -> None:
    assert sum([logits_bytes(1024, 32000)] * 8) == logits_bytes(8192, 32000)


def test_offload_time_is_that_of_packets_sent_one_after_another() -> None:
    clock, sent = 0.0, 0.0
    while sent < 9_000:
        packet = min(256.0, 9_000 - sent)
        sent, clock = sent + packet, clock + packet / 55.0
    assert offload_time(9_000, 55.0) == pytest.approx(clock)


def test_offload_time_is_that_of_blocks_of_130_bits_on_the_lanes_of_pcie_5() -> None:
    lanes = [bytes(4096 * 16)] * 16  # each sends blocks of 16 bytes, at 32 billion bits per second
    clock = max(sum(130 / 32e9 for _ in range(0, len(lane), 16)) for lane in lanes)
    usable = 63.015e9  # bytes per second in one direction of 16 lanes, as tables of PCIe 5.0 print
    assert offload_time(sum(map(len, lanes)), usable) == pytest.approx(clock, rel=1e-5)


def test_width_to_hide_offload_is_where_a_layer_computes_as_long_as_it_sends() -> None:
    width = width_to_hide_offload(34, 989e12, 0.4, 55e9)
    for tokens in (512, 8192):
        below, above = (
            24 * tokens * d**2 / (0.4 * 989e12) - offload_time(34 * tokens * d, 55e9)
            for d in (0.999 * width, 1.001 * width)
        )
        assert below < 0 < above


def test_width_to_hide_offload_counts_the_parameters_of_a_layer_twice() -> None:
    d = 4096
    matrices = [(d, d)] * 4 + [(d, 4 * d), (4 * d, d)]
    flops = sum(2 * rows * columns for rows, columns in matrices)  # for one token
    bandwidth = 34 * d / (flops / (0.4 * 989e12))
    assert width_to_hide_offload(34, 989e12, 0.4, bandwidth) == pytest.approx(d)
