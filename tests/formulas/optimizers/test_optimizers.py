import random
from fractions import Fraction

import pytest

from app.core.formulas.optimizers import (
    muon_traffic_ratio,
    newton_schulz,
    newton_schulz_flops,
    state_bytes_per_parameter,
)
from tests.each import each

Matrix = list[list[float]]


def product(left: Matrix, right: Matrix, count: list[int]) -> Matrix:
    """The product, and in *count* two operations for each multiply-add."""
    count[0] += 2 * len(left) * len(right) * len(right[0])
    columns = list(zip(*right, strict=True))
    return [[sum(a * b for a, b in zip(row, c, strict=True)) for c in columns] for row in left]


def total(*weighted: tuple[float, Matrix]) -> Matrix:
    rows, columns = len(weighted[0][1]), len(weighted[0][1][0])
    return [[sum(weight * matrix[i][j] for weight, matrix in weighted) for j in range(columns)] for i in range(rows)]


def orthogonalized(x: Matrix, steps: int) -> tuple[Matrix, int]:
    """Muon's iteration on a wide matrix, and its operations."""
    count = [0]
    for _ in range(steps):
        gram = product(x, [list(column) for column in zip(*x, strict=True)], count)
        polynomial = total((-4.7750, gram), (2.0315, product(gram, gram, count)))
        x = total((3.4445, x), (1.0, product(polynomial, x, count)))
    return x, count[0]


@each(("rows", "columns", "steps"), [(3, 5, 5), (4, 4, 2), (2, 7, 3)])
def test_newton_schulz_flops_are_those_of_the_products(rows: int, columns: int, steps: int) -> None:
    source = random.Random(2)
    x = [[source.gauss(0, 0.1) for _ in range(columns)] for _ in range(rows)]
    counted = orthogonalized(x, steps)[1]
    assert newton_schulz_flops(rows, columns, steps) == counted
    assert newton_schulz_flops(columns, rows, steps) == counted


def test_newton_schulz_flops_are_at_most_three_products_of_n_n_m_a_round() -> None:
    for rows, columns in [(8192, 28672), (4096, 4096), (10, 10_000)]:
        share = newton_schulz_flops(rows, columns) / (6 * rows * columns)
        assert share <= 5 * min(rows, columns) * (1 + 1e-12)
    assert newton_schulz_flops(64, 64) / (6 * 64 * 64) == pytest.approx(5 * 64)


@each("steps", [1, 2, 5])
def test_newton_schulz_is_what_happens_to_a_singular_value_of_a_matrix(steps: int) -> None:
    # Singular values 0.6 and 0.02, in a rotated plane and between a rotated plane.
    c, s = 0.8, 0.6
    left, right = [[c, -s], [s, c]], [[s, c, 0.0], [-c, s, 0.0]]

    def with_values(first: float, second: float) -> Matrix:
        return product(product(left, [[first, 0.0], [0.0, second]], [0]), right, [0])

    found = orthogonalized(with_values(0.6, 0.02), steps)[0]
    expected = with_values(newton_schulz(0.6, steps), newton_schulz(0.02, steps))
    for row, other in zip(found, expected, strict=True):
        assert row == pytest.approx(other, abs=1e-12)


def test_newton_schulz_lifts_what_is_small_by_the_first_coefficient_alone() -> None:
    assert newton_schulz(1e-9) == pytest.approx(3.4445**5 * 1e-9, rel=1e-6)
    assert newton_schulz(1.0, 1) == pytest.approx(0.701)


def test_newton_schulz_flattens_what_is_not_tiny_to_about_0_7_to_1_2() -> None:
    ends = [newton_schulz(place / 1000) for place in range(3, 1001)]
    assert min(ends) > 0.67
    assert max(ends) < 1.21


def test_newton_schulz_refuses_too_many_rounds() -> None:
    with pytest.raises(ValueError, match=r"^steps must be at most 1000"):
        newton_schulz(0.5, 1001)


def counted_state(kinds: dict[str, float], rows: int, columns: int) -> Fraction:
    """Bytes of the arrays called *kinds*, by their number of values, over the parameters."""
    sizes = {"weights": rows * columns, "rows": rows, "columns": columns, "scales": rows * columns // 256}
    stored = sum(sizes[kind] * Fraction(size) for kind, size in kinds.items())
    return Fraction(stored) / (rows * columns)


@each(
    ("optimizer", "kinds"),
    [
        ("adam", {"weights": 4 + 4 + 4}),
        ("adam_8bit", {"weights": 4 + 1 + 1, "scales": 4 + 4}),
        ("muon", {"weights": 4 + 4}),
        ("adafactor", {"weights": 4, "rows": 4, "columns": 4}),
    ],
)
def test_state_bytes_per_parameter_are_those_of_its_arrays(optimizer: str, kinds: dict[str, float]) -> None:
    for rows, columns in [(512, 768), (256, 1024)]:
        found = state_bytes_per_parameter(optimizer, rows, columns)  # type: ignore[arg-type]
        assert found == pytest.approx(float(counted_state(kinds, rows, columns)), rel=1e-12)


def test_state_bytes_per_parameter_of_adam_are_the_12_of_zero() -> None:
    assert state_bytes_per_parameter("adam", 8192, 28672) == 12
    assert state_bytes_per_parameter("adam_8bit", 1, 1, 10**9) == pytest.approx(6)
    assert state_bytes_per_parameter("adafactor", 8192, 28672) == pytest.approx(4.00063, abs=1e-5)


def test_muon_traffic_ratio_is_at_most_a_quarter_more_with_all_else_in_fp32() -> None:
    assert muon_traffic_ratio(4, 4) == 1.25
    assert muon_traffic_ratio(4, 4, 1e-9) == pytest.approx(1)


@each(("gradient", "weight", "gather"), [(4, 4, 2), (2, 2, 2), (2, 4, 1)])
def test_muon_traffic_ratio_counts_what_a_rank_sends(gradient: int, weight: int, gather: int) -> None:
    ranks, shard = 8, 1000  # parameters of a rank's shard

    def passed_on(size: int) -> int:  # a ring in which every shard visits all other ranks
        return sum(shard * size for _ in range(ranks - 1))

    adam = passed_on(gradient) + passed_on(weight)
    muon = adam + passed_on(gather)
    assert muon_traffic_ratio(gradient, weight, gather) == pytest.approx(muon / adam)
