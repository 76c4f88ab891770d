"""Messages for authors: in plain words, with the numbers, and with a cure."""

import ast
import asyncio
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from app.authoring.giveaways import finding_cure
from app.authoring.lint import lint, lint_topic
from app.core.errors import ContentError
from app.core.folders import ROOT
from app.course.content.catalog import Catalog
from app.course.kinds.schema_errors import unit_cure
from app.course.sandbox.runner import Runner
from tests.authoring.conftest import Lint
from tests.authoring.test_lint import BUG, FUNCTION
from tests.authoring.test_words import CHOICE, RING
from tests.content.test_catalog import GOOD
from tests.translations import said

Write = Callable[[str], Path]
CIRCULAR = """\
let: {a: b + x, b: a - x}
"""
MATCH = """\
kind: match
title: Pairs
level: 1
prompt: What goes with what?
partners: {one: First., two: Second.}
things:
  uno: {text: Uno., to: one}
  due:
    text: Due.
    to: tow
hints: [One., Two.]
solution: Two.
sources: [https://example.org/]
"""
ORDER = """\
kind: order
title: Steps
level: 1
prompt: In which order?
items:
  ab: {text: First.}
  cd: {text: Second., after: [ab]}
  dc:
    text: Third.
    after: [cd]
hints: [One., Two.]
solution: Two.
sources: [https://example.org/]
"""
FORMULA = """\
kind: expression
title: A formula
level: 1
prompt: How much is it?
answer: 2 * S
symbols:
  S:
    says: the size
    range: [1, 100]
mistakes: {S: Once., 3 * S: Thrice.}
hints: [One., Two.]
solution: Two.
sources: [https://example.org/]
"""
DESIGN = """\
kind: design
title: A design
level: 1
prompt: Choose n for {x}.
given: {x: [1, 2]}
choose: {n: {says: how many, among: [1, 2, 3]}}
require:
  n >= 1: Too few.
  n <= 2: Too many.
hints: [One., Two.]
solution: Two.
sources: [https://example.org/]
"""


@pytest.mark.parametrize(
    ("text", "line", "says", "cure"),
    [
        (GOOD + "points: 3\n", 13, "points: is not known here", "the keys here are accept, answer, answers, cases"),
        (GOOD.replace("answer: 2 * x", "answers: {a: {answer: 2 * x, units: B}}"), 6, "did you mean 'unit'", "the keys here are accept, answer"),
        (GOOD.replace("x: [1, 2, 3]", "x: 8"), 5, "given.x: must be a list, not 8", "put it in brackets: [8]"),
        (GOOD.replace("level: 1", "level: 9"), 3, "level: must be at most 5, not 9", "write 5 or less"),
        (GOOD.replace("level: 1", "level: hard"), 3, "level: must be a whole number, not hard", "digits"),
        (GOOD.replace("https://example.org/", "example.org"), 12, "must be a URL, not example.org", "https://"),
        (GOOD.replace("answer: 2 * x", "answer: 2 * x\nunit: GBs"), 7, "'GBs' is not a unit here", "did you mean 'GB"),
        (GOOD.replace("answer: 2 * x", "answer: 2 * x / (x - 2)"), 6, "(x 2): the value is not a finite number", "draw values"),
        (CIRCULAR + GOOD.replace("2 * x\n", "2 * a\n"), 1, "'b' depends on itself, or is used before", "move b up"),
        (GOOD.replace("  x: That", "  2 * x: That"), 8, "seed 0 (x 1): is 2, within twice the tolerance of the right answer, 2", "remove one"),
        (GOOD.replace("  x: That", "  2 * x: That"), 8, "mistakes.2 * x", "remove one"),
        (DESIGN, 8, "seed 0 (x 1): decides nothing alone: no choice fails this condition alone", "remove it"),
        (GOOD.replace("level: 1", "level: 1\n\tlabel: x"), 4, "is not valid YAML: a tab", "spaces"),
        (GOOD.replace("How much is", "Note: how much is"), 4, "is not valid YAML: a colon inside a text", "quotes"),
        (GOOD.replace("title: A title", "title: A \u0007title"), 1, "is not valid YAML: a control character", "delete"),
    ],
)  # fmt: skip
def test_an_invalid_file_is_explained_in_plain_words(found: Lint, text: str, line: int, says: str, cure: str) -> None:
    told = [one for one in found(text) if says in one.says]
    assert told, found(text)
    assert abs(told[0].line - line) <= 1
    assert cure in told[0].cure


@pytest.mark.parametrize(
    ("text", "old", "new", "says", "cure"),
    [
        (CHOICE, "correct: three", "correct: tree", "correct: no option is called 'tree'; did you mean 'three'?", "the options are"),
        (CHOICE, "correct: three", "correct: []", "correct: names no option", "the options are"),
        (CHOICE.replace("correct: three", "correct: [three]"), "whole., says: No.}", "whole., says: No., score: 0.5}", "options.two.score: is for a wrong option", "remove it"),
        (CHOICE, "whole., says: No.}", "whole., says: No., score: 1}", "options.two.score: must be less than 1", "less than 1"),
        (MATCH, "to: tow", "to: tow", "things.due.to: no partner is called 'tow'; did you mean 'two'?", "the partners are one, two"),
        (MATCH, "to: tow", "to: []", "things.due.to: no partner is called ''", "the partners are one, two"),
        (ORDER, "after: [cd]", "after: [dd]", "items.dc.after: no item is called 'dd'", "the items are ab, cd, dc"),
        (ORDER, "after: [cd]", "after: [dc]", "items.dc.after: goes in a circle: dc after dc", "take one of them out"),
        (FORMULA, "range: [1, 100]", "range: [100, 1]", "symbols.S.range: must go from a value above 0", "the smaller one first"),
        (BUG, "line: 2", "line: 14", "bugs.0.line: line 14 does not exist", "write a number from 1 to"),
        (GOOD, "[1, 2, 3]", "[1 Wat, 2 Wat, 3 Wat]", "'Wat' is not known here", "did you mean 'W'"),
        (GOOD, "prompt: How much is {x} twice?", "prompt: “How much is {x} twice?”", "prompt: shows the quotation marks", "delete them"),
        (GOOD, "{x} twice", "$n {x} twice", "has a $ that is not closed", "a price is"),
        (GOOD, "answer: 2 * x", "answer: 2 * x\nlet:\n  a: b + x\n  b: a - x", "let.b: seed 0", "move b up"),
    ],
)  # fmt: skip
def test_a_wrong_line_is_reported_on_that_line_with_what_is_right_there(
    found: Lint, text: str, old: str, new: str, says: str, cure: str
) -> None:
    assert old in text
    changed = text.replace(old, new)
    told = [one for one in found(changed) if says in one.says]
    assert told, [str(one) for one in found(changed)]
    line = changed[: changed.index(new.splitlines()[-1])].count("\n") + 1
    assert abs(told[0].line - line) <= 1
    assert cure in told[0].cure


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        (GOOD, "answer: 2 * x", "answer: 2 * y"),
        (GOOD, "answer: 2 * x", "answer: collectives.ring_time"),
        (GOOD, "answer: 2 * x", "answer: 2 s * x"),
        (GOOD, "answer: 2 * x", "answer: 2 * x\nwhere: x < 1"),
        (GOOD, "answer: 2 * x", "answer: 2 * x\nwhere: x + 1"),
        (GOOD, "{x} twice", "{z} twice"),
        (GOOD, "is {answer}.", r"is {answer} $\nonsense{1}$."),
        (GOOD, "  5 * x", "  1 * x"),
        (GOOD, "kind: numeric", "kind: numerical"),
        (GOOD, "sources: [https://example.org/]", ""),
        (GOOD, "hints: [One., Two.]", "hints: [One.]"),
        (GOOD, "[1, 2, 3]", "[1, 2, 3 stones]"),
        (CHOICE, "Stage 2. Weights are whole.", "Stage 3. All is sharded."),
        (CHOICE, "correct: three", "correct: [three, two, one]"),
        (CHOICE, "correct: three", "correct: four"),
        (CHOICE, "three: {", "Three: {"),
        (RING, "unit: ms", "unit: GB"),
        (DESIGN, "  n <= 2", "  n < 1"),
    ],
)
def test_every_problem_has_a_cure(found: Lint, text: str, old: str, new: str) -> None:
    assert old in text
    problems = found(text.replace(old, new))
    assert problems
    assert [problem.says for problem in problems if not problem.cure] == []


@pytest.mark.parametrize(
    ("text", "old", "new"), [(FUNCTION, "return 2 * x", "return 3 * x"), (BUG, "      y = 2 * x", "      y = 4 * x")]
)
def test_every_problem_of_code_has_a_cure(
    exercise_file: Write, runner: Runner, loop: asyncio.AbstractEventLoop, text: str, old: str, new: str
) -> None:
    path = exercise_file(text.replace(old, new))
    problems = loop.run_until_complete(lint([path], runner)).problems
    assert problems
    assert [problem.says for problem in problems if not problem.cure] == []


def test_a_file_in_another_encoding_is_reported_with_its_line(tmp_path: Path) -> None:
    chapter = tmp_path / "course" / "mine"
    chapter.mkdir(parents=True)
    (chapter / "one.yaml").write_bytes(GOOD.replace("A title", "Café").encode("latin-1"))
    with pytest.raises(ContentError) as caught:
        Catalog.read([tmp_path / "course"])
    told = {problem.says: problem for problem in caught.value.problems}
    assert told["is not UTF-8: byte 0xe9"].line == 2
    assert told["is not UTF-8: byte 0xe9"].cure == "save the file as UTF-8"
    assert "the chapter 'mine' has no topic.yaml" in told
    assert not any("Errno" in says for says in told)


def test_errors_in_a_chapters_own_file_name_its_keys(exercise_file: Write) -> None:
    topic = exercise_file(GOOD).parent / "topic.yaml"
    topic.write_text(topic.read_text() + "due: tomorrow\n")
    (problem,) = lint_topic(topic).problems
    assert problem.says == "due: is not known here"
    assert (
        problem.cure == "the keys here are closing, facts, figures, needs, opening, parameters, placement, position, "
        "questions, routes, summary, title"
    )
    topic.write_text(topic.read_text().replace("due: tomorrow", "closing: '![a](b.png) {size} \\u202e'"))
    says = " ".join(problem.says for problem in lint_topic(topic).problems)
    assert "the image b.png does not exist" in says


def test_lint_names_a_need_and_a_placement_question_that_do_not_exist(exercise_file: Write) -> None:
    topic = exercise_file(GOOD).parent / "topic.yaml"
    own, text = topic.parent.name, topic.read_text()
    topic.write_text(f"{text}needs: [colectives, {own}]\nroutes: [train]\nplacement: no-such\n")
    says = [problem.says for problem in lint_topic(topic).problems]
    assert [one.partition(":")[0] for one in says] == ["needs.0", "needs.1", "placement"]
    assert "no other chapter is called 'colectives'; did you mean 'collectives'?" in says[0]
    assert f"no other chapter is called {own!r}" in says[1]
    assert "no exercise of it is called 'no-such'" in says[2]
    topic.write_text(f"{text}routes: [training]\n")
    (problem,) = lint_topic(topic).problems
    assert "train" in f"{problem.says} {problem.cure}"


# Where messages come from that lint passes on, and the exceptions that carry them.
SOURCES = {
    "app/core/expressions": {"ExpressionError"},
    "app/course/kinds": {"ExpressionError", "Finding"},
    "app/authoring": {"Finding"},
    "app/core/formulas/checks.py": {"ValueError"},
    "app/core/formulas/__init__.py": {"ValueError"},
    "app/course/explorers": {"ValueError"},
    "app/labs/spec.py": {"NotFoundError", "InputError"},
    "app/site/markdown.py": {"MathematicsError"},
    "app/core/measurements/exhibits.py": {"ValueError"},
}

OF_VISITORS = re.compile("at most 'size' are (shown|read)")  # whose numbers have a limit, and those of authors none
_FIELD = re.compile(r"\{\w+(![rs])?(:[^}]*)?\}")


def literal(node: ast.expr, forms: Mapping[ast.expr, str]) -> str:
    """The words of a message, with 'size' for each value in it; empty if it is made elsewhere."""
    if node in forms:
        return _FIELD.sub("'size'", forms[node])
    if isinstance(node, ast.Constant):
        return str(node.value)
    if not isinstance(node, ast.JoinedStr):
        return ""
    parts = [str(v.value) if isinstance(v, ast.Constant) else "'size'" for v in node.values]
    return "".join(parts)


def messages(path: Path, names: set[str]) -> Iterator[str]:
    """Each message of those exceptions and findings that has no cure where it is written."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    forms: dict[ast.expr, str] = dict(said(tree))
    for node in ast.walk(tree):
        called = node.func if isinstance(node, ast.Call) else None
        name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
        if isinstance(node, ast.Call) and name in names | {"value_error"}:
            place = int(name == "Finding")
            carries = node if node in forms else node.args[place] if place < len(node.args) <= place + 1 else None
            if carries and (text := literal(carries, forms)):
                yield text


def test_every_message_that_lint_passes_on_has_a_cure() -> None:
    seen, without = 0, []
    for source, names in SOURCES.items():
        path = ROOT / source
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            for text in messages(file, names):
                seen += 1
                passed_on = not text.replace("seed", "").replace("'size'", "").strip(": {}")
                if not (passed_on or OF_VISITORS.search(text) or finding_cure(text) or unit_cure(text)):
                    without.append(f"{file.name}: {text}")
    assert seen > 100
    assert without == []
