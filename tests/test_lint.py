import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from app.lint import lint
from app.sandbox.runner import Runner
from tests.test_catalog import GOOD

Write = Callable[[str], Path]
FUNCTION = """\
kind: function
title: Twice
level: 1
prompt: Write it.
starter: |
  def twice(x):
      ...
right: |
  def twice(x):
      return 2 * x
reference: 2 * x
arguments: {x: [1, 2, 5]}
examples: [[1]]
wrong:
  - code: |
      def twice(x):
          return x
    says: That is once.
hints: [One., Two.]
solution: Double it.
sources: [https://example.org/]
"""
BUG = """\
kind: buggy_line
title: Twice
level: 1
prompt: Find it.
code: |
  def twice(x):
      y = 2 * x
      return y
bugs:
  - {line: 2, shown: "    y = 3 * x", says: Three is not two.}
reference: 2 * x
arguments: {x: [1, 2, 5]}
hints: [One., Two.]
solution: Double it.
sources: [https://example.org/]
"""


@pytest.mark.parametrize("text", [GOOD, FUNCTION, BUG])
def test_a_right_file_has_no_problem(
    exercise_file: Write, runner: Runner, loop: asyncio.AbstractEventLoop, text: str
) -> None:
    assert loop.run_until_complete(lint([exercise_file(text)], runner)).problems == ()


@pytest.mark.parametrize(
    ("text", "old", "new", "line", "says"),
    [
        (GOOD, "answer: 2 * x", "answer: 2 * y", 6, "'y' is not known"),
        (GOOD, "answer: 2 * x", "answer: collectives.ring_time", 6, "did you mean"),
        (GOOD, "  x: That", "  2 * x: That", 8, "within twice the tolerance"),
        (GOOD, "  x: That is once.", "  x: Once.\n  1 * x: Again.", 9, "cannot be told from"),
        (GOOD, "{x} twice", "{z} twice", 4, "'z' is not known"),
        (GOOD, "is {answer}.", r"is $\nonsense{1}$.", 10, "no mathematics"),
        (GOOD, "answer: 2 * x", "answer: 1000 * x", 9, "gives the answer away"),
        (GOOD, "answer: 2 * x", "answer: 2 s * x", 6, "in a plain number"),
        (FUNCTION, "return 2 * x", "return 3 * x", 8, "the right program fails"),
        (FUNCTION, "          return x\n", "          return x + x\n", 15, "too tame"),
        (FUNCTION, "reference: 2 * x", "reference: 2 * z", 11, "'z' is not known"),
        (BUG, "      y = 2 * x", "      y = 4 * x", 5, "the right code fails"),
        (BUG, "    y = 3 * x", "    y = x * 2", 10, "changes no result"),
    ],
)  # fmt: skip
def test_a_wrong_file_is_told_where_and_what(
    exercise_file: Write,
    runner: Runner,
    loop: asyncio.AbstractEventLoop,
    text: str,
    old: str,
    new: str,
    line: int,
    says: str,
) -> None:
    assert old in text
    changed = text.replace(old, new)
    if "away" in says:
        changed = changed.replace("[One., Two.]", "[One., It is 1000 or 2000 or 3000.]").replace(
            "{x} twice", "that"
        )
    (problem, *_) = loop.run_until_complete(lint([exercise_file(changed)], runner)).problems
    assert says in problem.says
    assert abs(problem.line - line) <= 1
