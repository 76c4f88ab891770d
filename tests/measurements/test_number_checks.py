"""What stands behind a number, whether its counter began again, a second source, and a limit."""

from collections.abc import Callable

import pytest

from app.core.measurements.number_checks import (
    Counter,
    as_share,
    exceeds,
    far_apart,
    highest_bus_bandwidth,
    highest_peak,
    in_counts,
    in_flops,
    in_named_seconds,
    in_seconds,
    read_number,
)
from tests.each import each

Read = Callable[[float, str, float], float | None]
# What reads a 3 with that text behind it, where the unit of old is 10 times the base unit.
BEHIND: dict[tuple[str, Read], dict[str, float | None]] = {
    ("counts", in_counts): {
        "": 30, "k": 3e4, "K": 3e4, "M": 3e7, "G": 3e10, "B": 3e10, "T": 3e13, "P": 3e16, "m": None, "s": None,
    },
    ("seconds", in_seconds): {
        "": 30, "s": 3, "sec": 3, "secs": 3, "second": 3, "seconds": 3, "ms": 3e-3, "us": 3e-6, "µs": 3e-6,
        "min": 180, "K": 3e4, "h": None,
    },
    ("named seconds", in_named_seconds): {"": None, "s": 30, "ms": 3e-2, "min": 1800, "K": None},
    ("FLOP", in_flops): {
        "": 30, "TFLOP/s": 3e12, "TFLOPS": 3e12, "tflops": 3e12, "GFLOP/s/GPU": 3e9, "PFLOPs": 3e15, "Model": 3e12,
        "T": 3e13, "FLOP": None,
    },
    ("share", as_share): {"": 30, "%": 0.03, "s": None},
}  # fmt: skip


@each("how", BEHIND, ids=lambda how: how[0])
def test_a_number_has_the_unit_that_is_behind_it_else_that_of_old_else_none(how: tuple[str, Read]) -> None:
    read = how[1]
    for behind, value in BEHIND[how].items():
        assert read(3.0, behind, 10.0) == (None if value is None else pytest.approx(value)), behind


@each(
    ("text", "value"),
    [("1,024.5", 1024.5), ("0", None), ("-1", None), ("1e18", None), ("9.9e17", 9.9e17), ("nan", None), ("x", None)],
)
def test_a_number_is_above_zero_and_below_what_nothing_reaches(text: str, value: float | None) -> None:
    assert read_number(text) == value


def test_a_counter_begins_again_when_it_goes_back_unless_one_step_is_late() -> None:
    counter = Counter()
    steps = [
        (5, False, False),
        (5, False, False),
        (6, False, False),
        (5, True, False),
        (5, False, True),
        (4, True, True),
    ]
    assert [counter.began_again("rank 0", at, known=known) for at, known, _ in steps] == [one for *_, one in steps]
    assert not counter.began_again("rank 1", 1, known=False)  # each source has its own
    assert counter.last == {"rank 0": 6, "rank 1": 1}


def test_two_sources_are_far_apart_beyond_a_quarter_of_the_smaller_one() -> None:
    assert not far_apart(4.0, 5.0)
    assert not far_apart(5.0, 4.0)
    assert far_apart(4.0, 5.01)
    assert far_apart(5.01, 4.0)


def test_a_limit_is_exceeded_by_more_than_rounding() -> None:
    assert not exceeds(102.0, 100.0)
    assert exceeds(102.1, 100.0)
    assert not exceeds(102.1, None)


def test_the_highest_numbers_are_those_of_the_fastest_hardware() -> None:
    assert highest_bus_bandwidth(50e9) == 100e9
    assert highest_bus_bandwidth() == 2 * 900e9  # NVLink 5, one way
    assert highest_peak() == 15e15  # NVFP4 of a B300, dense
