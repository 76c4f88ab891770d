import ast
import time
from pathlib import Path

import pytest

from app.content.catalog import Catalog
from app.content.files import read_exercise
from app.errors import ContentError
from app.expressions import ExpressionError
from app.kinds.code.buggy_line import BuggyLine
from app.kinds.code.calls import TrialCall
from app.kinds.code.edits import Operator
from app.kinds.code.interpreter import CompiledListing, ListingError
from app.kinds.code.mutation import Listing, Mutant, Mutants, equally_guilty
from app.sandbox.execution import Plain
from tests.each import each

ALL: tuple[Operator, ...] = ("constant", "operator", "factor", "off-by-one", "swap")
CODE = """\
def total(size, n, bw):
    steps = 2 * (n - 1)
    chunk = size / n
    return steps * chunk / bw
"""
ROWS = [(8.0, 4, 2.0), (100.0, 8, 5.0), (60.0, 3, 4.0), (7.0, 16, 3.0)]
CALLS = [TrialCall(row, str(row), 2 * (row[1] - 1) * row[0] / row[1] / row[2]) for row in ROWS]


def listing(code: str = CODE) -> Listing:
    return Listing(code.splitlines(), "total", CALLS)


def drawn(code: str = CODE) -> list[Mutant]:
    return list(Mutants(listing(code), ALL).drawn(lambda edits: edits))


def python(code: str, arguments: tuple[Plain, ...]) -> float:
    names: dict[str, object] = {}
    exec(code, names)
    function = names["total"]
    assert callable(function)
    return float(function(*arguments))


def changed(mutant: Mutant) -> str:
    lines = CODE.splitlines()
    lines[mutant.line - 1] = mutant.shown
    return "\n".join(lines)


def test_every_mutant_changes_one_line_and_is_wrong_in_python_too() -> None:
    found = drawn()
    assert len(found) > 15
    assert {mutant.operator for mutant in found} == set(ALL)
    for mutant in found:
        wrong = [
            abs(python(changed(mutant), call.arguments) - float(str(call.expected))) > 1e-9
            for call in CALLS
        ]
        assert sum(wrong) >= 2, mutant


def test_what_another_line_could_mend_is_left_out() -> None:
    assert all(equally_guilty(listing(changed(mutant)), mutant.line) is None for mutant in drawn())
    # Twice too large: the line before could be mended as well, so nobody could say which is wrong.
    doubled = "    return 2 * steps * chunk / bw"
    guilty = CODE.replace("    return steps * chunk / bw", doubled)
    assert equally_guilty(listing(guilty), 4) == 2
    assert doubled not in [mutant.shown for mutant in drawn()]


def test_a_factor_is_told() -> None:
    ratios = {mutant.shown.strip(): mutant.effect.ratio for mutant in drawn()}
    assert ratios["steps = 1 * (n - 1)"] == 0.5
    assert ratios["steps = 2 * n"] is None


@each(
    ("code", "value"),
    [
        ("def f(a, b):\n    return a + b * 2", 11),
        ("def f(a, b=4):\n    if a > b:\n        return a\n    return -b", 5),
        ("def f(a, b):\n    t = 0\n    for i in range(b):\n        t += a\n    return t", 15),
        ("def f(a, b):\n    return max(a, b) if a != b and not a < b else 0", 5),
        ("def f(a, b):\n    return sum([a, b])[0] if 0 else len([a, b])", 2),
        (
            "from math import ceil\ndef f(a, b):\n    return ceil(a / b) + a // b + a % b + a ** b",
            130,
        ),
        ("def f(a, b):\n    x = [1, 2, 3]\n    return x[1]", 2),
    ],
)
def test_a_listing_runs_as_python_does(code: str, value: float) -> None:
    assert CompiledListing(ast.parse(code)).run((5, 3)) == value


@each(
    "code",
    [
        "def f(a):\n    while True:\n        pass",
        "def f(a):\n    t = 0\n    for i in range(10**9):\n        t += 1\n    return t",
        "def f(a):\n    for i in range(9999):\n        for j in range(9999):\n            a += 1\n    return a",
        "def f(a):\n    return 9 ** 9 ** 9",
        "def f(a):\n    return 1e200 * 1e200",
        "def f(a):\n    return __import__('os')",
        "def f(a):\n    return ().__class__",
        "def f(a):\n    return f(a)",
        "def f(a):\n    return a / 0",
        "def f(a):\n    return b",
        "def f(a):\n    return [0] * 10 ** 12",
        "def f(a):\n    return " + "(" * 150 + "a" + ")" * 150 + "[0]",
        "x = 1",
    ],
)
def test_what_is_more_than_arithmetic_is_refused(code: str) -> None:
    begun = time.process_time()
    with pytest.raises(ListingError):
        CompiledListing(ast.parse(code)).run((5,))
    assert time.process_time() - begun < 5  # a bound on hanging, not a measurement


def test_each_seed_draws_one_bug_for_ever(catalog: Catalog) -> None:
    exercise = catalog.exercise("pipelines/fraction-line")
    assert isinstance(exercise, BuggyLine)
    shown = [exercise.bug(seed).shown for seed in range(40)]
    assert len(set(shown)) > 8
    assert shown == [exercise.bug(seed).shown for seed in range(40)]
    assert exercise.bug(0) is exercise.bugs[0]


TEXT = """\
kind: buggy_line
title: Twice
level: 1
prompt: Find it.
code: |
  def twice(x):
      return BODY
mutate: [constant, factor]
reference: 2 * x
arguments: {x: [1, 2, 5]}
hints: [One., Two.]
solution: Double it.
sources: [https://example.org/]
"""


def written(tmp_path: Path, text: str) -> BuggyLine:
    path = tmp_path / "twice.yaml"
    path.write_text(text, encoding="utf-8")
    exercise = read_exercise(path, "topic")[0]
    assert isinstance(exercise, BuggyLine)
    return exercise


def test_a_listing_that_cannot_be_mutated_says_why(tmp_path: Path) -> None:
    assert written(tmp_path, TEXT.replace("BODY", "2 * x")).bug(1).line == 2
    with pytest.raises(ExpressionError, match="more than arithmetic"):
        written(tmp_path, TEXT.replace("BODY", "str(x)")).bug(1)
    with pytest.raises(ExpressionError, match="does not return"):
        written(tmp_path, TEXT.replace("BODY", "3 * x")).bug(1)
    with pytest.raises(ContentError, match="give bugs"):
        written(tmp_path, TEXT.replace("mutate: [constant, factor]\n", ""))
