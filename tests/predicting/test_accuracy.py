"""Errors, ranks and regret, against computations that take their definitions literally."""

import random
import statistics
from collections import defaultdict
from collections.abc import Sequence

import pytest

from app.core.predicting.lines import Accuracy, Summary, ranks, spearman
from tests.each import each

Row = tuple[str, float, float]


def naive_ranks(values: Sequence[float]) -> list[float]:
    """The mean of the places that a value may have."""
    return [
        statistics.fmean(range(1 + sum(v < value for v in values), 1 + sum(v <= value for v in values)))
        for value in values
    ]


def drawn(seed: int, count: int = 60) -> list[Row]:
    """Rows of five groups, many with equal predictions or measurements."""
    source = random.Random(seed)
    return [(source.choice("abcde"), source.randint(5, 15) / 10, source.randint(5, 15) / 10) for _ in range(count)]


def summary_of(rows: Sequence[Row]) -> Summary:
    accuracy = Accuracy()
    for row in rows:
        accuracy.add(*row)
    found = accuracy.summary()
    assert found is not None
    return found


@each("seed", range(5))
def test_ranks_and_their_correlation_with_ties(seed: int) -> None:
    first, second = ([row[1] for row in drawn(seed)], [row[2] for row in drawn(seed)])
    assert ranks(first) == naive_ranks(first)
    expected = statistics.correlation(naive_ranks(first), naive_ranks(second))
    assert spearman(first, second) == pytest.approx(expected, rel=1e-12)


def test_spearman_is_one_for_the_same_order_and_undefined_for_equal_values() -> None:
    assert spearman([1, 2, 5], [3, 8, 9]) == pytest.approx(1)
    assert spearman([1, 2, 5], [9, 8, 3]) == pytest.approx(-1)
    assert spearman([2, 2, 2], [9, 8, 3]) is None
    assert spearman([1], [1]) is None


@each("seed", range(5))
def test_a_summary_is_what_its_definitions_say(seed: int) -> None:
    rows = drawn(seed)
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        groups[row[0]].append(row)
    regrets = {}
    for name, inside in groups.items():
        first = min(predicted for _, predicted, _ in inside)
        chosen = [measured for _, predicted, measured in inside if predicted == first]
        regrets[name] = statistics.fmean(chosen) / min(m for *_, m in inside) - 1
    orders = [
        statistics.correlation(
            naive_ranks([predicted for _, predicted, _ in inside]), naive_ranks([measured for *_, measured in inside])
        )
        for inside in groups.values()
    ]
    found = summary_of(rows)
    assert (found.rows, found.groups, found.ranked) == (60, 5, 60)
    assert found.mape == pytest.approx(statistics.fmean(abs(p - m) / m for _, p, m in rows))
    assert found.bias == pytest.approx(statistics.fmean((p - m) / m for _, p, m in rows))
    assert found.spearman == pytest.approx(statistics.fmean(orders))
    assert found.regret == pytest.approx(statistics.fmean(regrets.values()))
    assert found.worst_regret == pytest.approx(max(regrets.values()))
    assert found.worst_group is not None
    assert regrets[found.worst_group] == pytest.approx(max(regrets.values()))


def test_regret_is_the_measured_loss_of_the_layout_that_is_ranked_first() -> None:
    found = summary_of([("a", 3.0, 10.0), ("a", 2.0, 12.0), ("a", 4.0, 9.0), ("b", 1.0, 7.0)])
    assert found.regret == pytest.approx(12 / 9 - 1)  # a group of one has nothing to choose from
    assert (found.groups, found.worst_group) == (1, "a")


def test_one_measured_row_has_an_error_and_no_order() -> None:
    found = summary_of([("", 1.1, 1.0)])
    assert found.bias == pytest.approx(0.1)
    assert (found.spearman, found.regret, found.worst_group) == (None, None, None)
    assert Accuracy().summary() is None


def test_intervals_are_counted_with_their_width() -> None:
    accuracy = Accuracy()
    for low, high, measured in ((1.0, 3.0, 3.0), (2.0, 4.0, 4.1), (3.0, 5.0, 3.0)):
        accuracy.add("", (low + high) / 2, measured)
        accuracy.bracket(low, high, measured)
    found = accuracy.summary()
    assert found is not None
    assert (found.intervals, found.inside) == (3, 2)
    assert found.interval_width == pytest.approx((2 / 2 + 2 / 3 + 2 / 4) / 3)


def test_what_is_ranked_is_bounded_and_what_is_averaged_is_not() -> None:
    accuracy = Accuracy(ranked=10, groups=3)
    for number in range(100):
        accuracy.add(str(number % 5), 1.0 + number, 1.0)
    found = accuracy.summary()
    assert found is not None
    assert (found.rows, found.ranked, found.groups) == (100, 10, 3)
    assert found.mape == pytest.approx(49.5)
