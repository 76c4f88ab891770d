"""Right results in BF16 are not refused, and wrong ones are."""

import math

import torch

from app.labs.ranks.formats import agree
from tests.each import each

ONE, MANY = 1, 145  # roundings: the fewest, and those of a pipeline over eight ranks


def rounded(exact: torch.Tensor, roundings: int) -> torch.Tensor:
    """*exact* after as many products with rotations, each rounded; turned back without rounding."""
    found, turned = exact.bfloat16(), torch.eye(len(exact), dtype=torch.float64)
    for _ in range(roundings - 1):
        turn = torch.linalg.qr(torch.randn(len(exact), len(exact), dtype=torch.float64)).Q
        found, turned = (turn @ found.double()).bfloat16(), turn @ turned
    return turned.T @ found.double()


@each("roundings", [ONE, 6, 25, MANY])
def test_no_right_result_is_refused(roundings: int) -> None:
    """Nor would it be at half of what is allowed."""
    for seed in range(200 if roundings == ONE else 12):
        torch.manual_seed(seed)
        exact = torch.randn(64, 8, dtype=torch.float64)
        assert agree(rounded(exact, roundings), exact, max(1, roundings // 4))


@each("roundings", [ONE, MANY])
def test_a_result_that_is_wrong_by_a_seventh_is_refused(roundings: int) -> None:
    exact = torch.randn(64, 64)
    assert not agree(exact * 8 / 7, exact, roundings)
    assert not agree(torch.zeros(64, 64), exact, roundings)
    assert not agree(exact.roll(1), exact, roundings)


def test_what_is_not_a_number_agrees_with_nothing() -> None:
    one, broken = torch.ones(4), torch.full((4,), math.nan)
    assert not agree(broken, one, MANY)
    assert not agree(one, broken, MANY)
    assert not agree(one, torch.zeros(4), MANY)
    assert agree(torch.zeros(4), torch.zeros(4), ONE)
