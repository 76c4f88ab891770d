from collections.abc import Callable

import pytest

from app.core.errors import Problem
from tests.content.test_catalog import GOOD

Lint = Callable[[str], tuple[Problem, ...]]


@pytest.mark.parametrize(
    ("figure", "says", "cure"),
    [
        ("{draws: rings}", "no figure is called 'rings'; did you mean 'ring'?", "the figures are"),
        ("{draws: ring}", "ring also needs ranks", "ring is drawn from ranks, (size in B)"),
        ("{draws: ring, with: {rank: x}}", "not 'rank'; did you mean 'ranks'?", "(latency in s)"),
        ("{draws: ring, with: {ranks: y}}", "ranks: 'y' is not known here", "drawn from ranks"),
        ("{draws: ring, with: {ranks: 1}}", "ranks must be at least 2, not 1", "drawn from"),
        ("{draws: ring, with: {ranks: 4, size: x}}", "size must be in B, not 1", "size in B"),
        ("{draws: matrix, with: {rows: 4, columns: 4, ranks: 2, split: up}}", "split", "columns or rows"),
        ("{draw: ring}", "draws", "/authoring lists them"),
    ],
)
def test_lint_says_what_is_wrong_with_a_figure(found: Lint, figure: str, says: str, cure: str) -> None:
    problems = found(GOOD.replace("hints:", f"figure: {figure}\nhints:"))
    assert any(says in one.says and cure in f"{one.says} {one.cure}" for one in problems), problems
    assert {one.line for one in problems} == {GOOD[: GOOD.index("hints:")].count("\n") + 1}


def test_lint_finds_the_answer_in_a_figure(found: Lint) -> None:
    text = GOOD.replace("answer: 2 * x", "answer: 123 * x").replace("is {answer}", "is it")
    told = "figure: {draws: layers, with: {layers: 123 * x, stages: 3}}\nhints:"
    assert any("which is the answer" in one.says for one in found(text.replace("hints:", told)))
