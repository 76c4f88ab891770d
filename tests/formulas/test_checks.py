"""Checks of arguments: both sides of each limit, and what is no number."""

import math
from collections.abc import Callable
from functools import partial

import pytest

from app.core.formulas.checks import (
    at_least,
    chosen_experts,
    divides,
    fraction,
    nearest_of,
    one_of,
    positive,
    recorded,
    rounds_bytes,
    rounds_time,
    several,
    signed,
    whole,
)
from app.core.formulas.presets import Gpu, ModelShape
from tests.each import each

Check = Callable[[object], object]


def of(check: Callable[..., object], *limits: object) -> Check:
    return lambda value: check("n", value, *limits)


ALLOWED: dict[str, tuple[Check, tuple[object, ...], tuple[object, ...]]] = {
    "at_least": (of(at_least, 2), (2, 2.5, 1e30), (1.999, 1.01e30, math.nan, math.inf, True, "3", None)),
    "signed": (of(signed), (-1e30, 0, 1e30), (-1.01e30, 1.01e30, math.nan, False)),
    "positive": (of(positive), (1e-30, 1, 1e30), (0, -1, 0.99e-30, 1.01e30, math.inf, math.nan, True, "1")),
    "whole": (of(whole), (1, 2.0, 1e30), (0, -1, 1.5, 1.01e30, True, "1", math.nan)),
    "whole from 0": (of(whole, 0), (0, 0.0, 3), (-1, 0.5)),
    "fraction": (of(fraction), (1e-30, 0.5, 1), (0, 1.0001, -0.5, math.nan)),
    "one of": (of(one_of, (0, 1, "a")), (0, 1, "a"), (2, True, False, "b", None)),
    "several": (of(several, 2), ([1, 2], (1, 2, 3)), ([1], [], "ab", b"ab", 2, {1, 2})),
    "experts": (lambda value: chosen_experts(value, 4), (1, 4), (0, 5, 1.5)),  # type: ignore[arg-type]
}


@each("check", ALLOWED)
def test_a_check_takes_what_lies_within_its_limits_and_nothing_else(check: str) -> None:
    run, good, bad = ALLOWED[check]
    for value in good:
        found = run(value)
        assert found is None or found == value, value
    for value in bad:
        with pytest.raises(ValueError, match=r"must be"):
            run(value)


def test_a_whole_number_is_an_int_whatever_it_was() -> None:
    assert type(whole("n", 2.0)) is int
    assert type(chosen_experts(2.0, 4)) is int  # type: ignore[arg-type]


@each(
    ("check", "value", "says"),
    [
        (of(at_least, 2), 1, "n must be a number of at least 2, not 1"),
        (of(at_least, 2), 2e30, "n must be at most 1e+30, not"),
        (of(positive), 0, "n must be a number above 0, not 0"),
        (of(positive), 1e-31, "n must be from 1e-30 to 1e+30, not"),
        (of(whole), 1.5, "n must be a whole number, not 1.5"),
        (of(whole), 0, "n must be at least 1, not 0"),
        (of(fraction), 2, "n must be at most 1, not 2"),
        (of(several), 2, "n must be a list, not 2"),
        (of(several, 3), [1], "n must be a list of at least 3, not"),
        (of(one_of, ("a", "b")), "c", "n must be one of a, b, not"),
        (partial(chosen_experts, experts=4), 5, "top_k must be at most the experts, 4, not 5"),
        (of(recorded, ModelShape), 5, "n must be a "),
    ],
)
def test_a_refusal_says_the_limit(check: Check, value: object, says: str) -> None:
    with pytest.raises(ValueError, match=says.replace("+", r"\+")):
        check(value)


def test_a_divisor_divides_and_a_record_is_one_of_its_kind() -> None:
    divides("n", 4, "GPUs", 12)
    with pytest.raises(ValueError, match="n must divide the GPUs, 12, not 5"):
        divides("n", 5, "GPUs", 12)
    model = ModelShape.named("Llama-2-7B")
    assert recorded("n", model, ModelShape) is model
    with pytest.raises(ValueError, match="such as"):
        recorded("n", model, Gpu)


def test_the_nearest_are_one_or_two() -> None:
    assert nearest_of([4]) == "the nearest is 4"
    assert nearest_of([2, 4]) == "the nearest are 2 and 4"


def test_rounds_are_one_fewer_than_ranks() -> None:
    assert rounds_bytes(12e9, 4) == 9e9
    assert rounds_time(12e9, 4, 3e9, 0.5) == pytest.approx(3 * (0.5 + 1))
    assert (rounds_bytes(12e9, 1), rounds_time(12e9, 1, 3e9, 0.5)) == (0, 0)
    with pytest.raises(ValueError, match="latency"):
        rounds_time(12e9, 4, 3e9, -1e-9)
