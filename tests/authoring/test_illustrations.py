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


@pytest.mark.parametrize("layers", [123, 246, 369])
def test_lint_finds_the_answer_in_the_figure_of_any_drawing(found: Lint, layers: int) -> None:
    text = GOOD.replace("answer: 2 * x", "answer: 123 * x").replace("is {answer}", "is it")
    told = f"figure: {{draws: layers, with: {{layers: {layers}, stages: 3}}}}\nhints:"
    assert any("which is the answer" in one.says for one in found(text.replace("hints:", told)))


def test_lint_finds_the_answer_in_a_figure(found: Lint) -> None:
    text = GOOD.replace("answer: 2 * x", "answer: 123 * x").replace("is {answer}", "is it")
    told = "figure: {draws: layers, with: {layers: 123 * x, stages: 3}}\nhints:"
    assert any("which is the answer" in one.says for one in found(text.replace("hints:", told)))


@pytest.mark.parametrize(
    ("question", "says"),
    [
        ("{x} workers sum it. How much is {x} twice?", "calls a rank or a GPU 'workers'"),
        ("Of 64 ranks, each of 64 GPUs has one. How much is {x} twice?", "64 is a count of ranks and of GPUs"),
    ],
)
def test_lint_finds_a_second_word_for_a_rank(found: Lint, question: str, says: str) -> None:
    assert any(says in one.says for one in found(GOOD.replace("How much is {x} twice?", f'"{question}"')))
    assert (
        found(
            GOOD.replace("How much is", "A loader worker of 64 ranks: how much is")
            .replace("A loader", '"A loader')
            .replace("twice?", 'twice?"')
        )
        == ()
    )


def test_lint_finds_a_figure_that_counts_with_another_word(found: Lint) -> None:
    figure = "figure: {draws: ring, with: {ranks: 1 + x}}\nhints:"
    asked = "prompt: Of {1 + x} GPUs, how much is {x} twice?"
    text = GOOD.replace("hints:", figure).replace("prompt: How much is {x} twice?", f'prompt: "{asked[8:]}"')
    assert any("GPUs and of ranks" in one.says for one in found(text))
    assert not any("a count of" in one.says for one in found(text.replace("GPUs", "ranks")))
