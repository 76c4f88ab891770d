import ast
import time
from pathlib import Path

import pytest

from app.core.errors import ContentError
from app.core.expressions import ExpressionError
from app.course.content.catalog import Catalog
from app.course.content.translations import read_exercise
from app.course.kinds.code.buggy_line import BuggyLine, other_cure
from app.course.kinds.code.calls import TrialCall
from app.course.kinds.code.interpreter import CompiledListing, ListingError
from app.course.kinds.code.mutation import Listing, Mutant, Mutants, Operator, all_edits, effect_of
from app.course.sandbox.process import Plain
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
        wrong = [abs(python(changed(mutant), call.arguments) - float(str(call.expected))) > 1e-9 for call in CALLS]
        assert sum(wrong) >= 2, mutant


def test_what_another_line_could_mend_is_left_out() -> None:
    for mutant in drawn():
        wrong = listing(changed(mutant))
        others = [edit for edit in all_edits(wrong.lines) if edit.line != mutant.line]
        assert not any(wrong.changed(edit).is_right for edit in others)
    # Twice too large: the line before could be mended as well, so nobody could say which is wrong.
    doubled = "    return 2 * steps * chunk / bw"
    guilty = CODE.replace("    return steps * chunk / bw", doubled)
    assert other_cure(listing(guilty), 4, {2: "Two phases."}) == (2, "steps = n - 1")
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
        ("from math import ceil\ndef f(a, b):\n    return ceil(a / b) + a // b + a % b + a ** b", 130),
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
    assert set(shown) == {bug.shown for bug in exercise.bugs}
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


CHAIN = """\
kind: buggy_line
title: A time
level: 1
prompt: The time {symptom}. Exactly one line is wrong.
code: |
  def time(size, count, rate):
      steps = 2 * count
      chunk = size / count
      return RESULT
bugs:
  - {line: 2, shown: "    steps = count", symptom: is half of the right one, says: Twice.}
  - {line: 3, shown: "    chunk = size", symptom: is too large, says: One chunk of many.}
reference: 2 * size / rate
arguments: {size: [8, 12, 20], count: [2, 3, 5], rate: [1, 4, 7]}
hints: [One., Two.]
solution: Compare the lines.
sources: [https://example.org/]
"""


def guilty(exercise: BuggyLine) -> list[str]:
    return [
        finding.says
        for index, bug in enumerate(exercise.bugs)
        for finding in exercise._prove_guilt(("bugs", index), bug)
    ]


def test_a_line_that_a_factor_or_a_divisor_would_cure_is_found(tmp_path: Path) -> None:
    chain = written(tmp_path, CHAIN.replace("RESULT", "max(0, steps * chunk / rate)"))
    first, second = guilty(chain)
    assert first.startswith("line 3 could be fixed instead of line 2, as `chunk = ")
    assert second.startswith("line 2 could be fixed instead of line 3")
    told = CHAIN.replace("RESULT", "[steps * chunk / rate, steps, chunk]").replace(
        "reference: 2 * size / rate", "reference: 2 * size / rate\nalso: [2 * count, size / count]"
    )
    assert guilty(written(tmp_path, told)) == []


MEAN = """\
kind: buggy_line
title: A mean
level: 1
prompt: The mean {symptom}. Exactly one line is wrong.
code: |
  def mean(values, weight, limit):
      total = 0.0
      count = 0
      for value in values:
          total = total + value
          count = count + 1
      scaled = total / count * weight
      return min(limit, scaled)
bugs:
  - {line: LINE, shown: "SHOWN", symptom: is wrong, says: So it is.}
elsewhere:
  2: Nothing has been added.
  3: Nothing has been counted.
  4: Every value has its turn.
  5: It adds the value.
  6: It counts it.
  7: SEVEN
  8: Never more than the limit.
reference: min(limit, (values_0 + values_1) / 2 * weight)
arguments: {values: [[3, 5], [1, 8], [10, 2]], weight: [3, 7, 4], limit: [20, 1000, 12]}
hints: [One., Two.]
solution: Compare the lines.
sources: [https://example.org/]
"""


@each(
    ("line", "shown", "cured"),
    [
        (7, "    scaled = total / count", 5),  # a factor
        (7, "    scaled = total * weight", 5),  # a divisor
        (3, "    count = 1", 6),  # a constant
        (2, "    total = 1.0", 5),  # a term
        (8, "    return scaled", 7),  # a minimum
    ],
)
def test_a_line_that_its_author_argues_for_may_still_be_a_second_cure(
    tmp_path: Path, line: int, shown: str, cured: int
) -> None:
    text = MEAN.replace("LINE", str(line)).replace("SHOWN", shown).replace("SEVEN", "It is scaled.")
    (says,) = guilty(written(tmp_path, text))
    assert says.startswith(f"line {cured} could be fixed instead of line {line}, as `"), says


def test_a_bug_that_loses_what_was_added_has_one_cure(tmp_path: Path) -> None:
    text = MEAN.replace("LINE", "5").replace("SHOWN", "        total = value").replace("SEVEN", "It is scaled.")
    assert guilty(written(tmp_path, text)) == []


def test_an_author_answers_for_a_second_cure_by_quoting_it(tmp_path: Path) -> None:
    text = MEAN.replace("LINE", "8").replace("SHOWN", "    return scaled")
    quoted = "As `scaled = min(total / count * weight, limit)` it would no longer be the scaled mean."
    assert guilty(written(tmp_path, text.replace("SEVEN", quoted))) == []
    assert guilty(written(tmp_path, text.replace("SEVEN", "It has `weight`."))) != []


def test_the_listings_of_the_course_have_one_cure_and_no_bug_by_chance(catalog: Catalog) -> None:
    listings = [one for one in catalog.exercises if isinstance(one, BuggyLine)]
    assert {one.id: guilty(one) for one in listings if guilty(one)} == {}
    assert [one.id for one in listings if one.mutate and len(one.bugs) >= 4] == []


def test_a_ratio_that_no_one_would_see_makes_no_bug() -> None:
    """`spread - 1e-6` for `spread + 1e-6` comes out at 1 of the right value."""
    code = "def total(size, n, bw):\n    small = size + 1e-6\n    return 2 * (n - 1) * small / n / bw\n"
    calls = [TrialCall(row, str(row), 2 * (row[1] - 1) * (row[0] + 1e-6) / row[1] / row[2]) for row in ROWS]
    found = Mutants(Listing(code.splitlines(), "total", calls), ALL).drawn(lambda edits: edits)
    shown = [mutant.shown.strip() for mutant in found]
    assert "small = size - 1e-6" not in shown
    assert len(shown) > 5


def test_a_ratio_that_depends_on_lengths_that_no_one_sees_is_not_told() -> None:
    code = "def mean(values):\n    return sum(values) / len(values)\n"
    rows = [(1.0, 2.0), (5.0, 9.0), (4.0, 1.0)]
    pairs = [TrialCall(([*row],), str(row), sum(row) / 2) for row in rows]
    wrong = Listing(code.replace(" / len(values)", "").splitlines(), "mean", pairs)
    assert effect_of(wrong).ratio is None
    longer = TrialCall(([1.0, 2.0, 4.0, 8.0],), "", 3.75)
    scaled = Listing(code.replace("sum(", "3 * sum(").splitlines(), "mean", [*pairs, longer])
    assert effect_of(scaled).ratio == 3
