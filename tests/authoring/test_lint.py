import asyncio
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from app.authoring.lint import lint, lint_document
from app.core.errors import ContentError
from app.core.folders import ROOT
from app.core.yaml_file import parse_document
from app.course.sandbox.runner import Runner
from tests.authoring.conftest import Lint
from tests.content.test_catalog import GOOD
from tests.each import each
from tests.sockets import HOST, reserved_port

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
takes: {x: degree}
right_too: ["def twice(x): return x + x", "twice = lambda x: x << 1"]
wrong_too: ["def twice(x): return x * x", "def twice(x): return x + 2", "def twice(x): return x + 1"]
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
      return [y, y]
bugs:
  - {line: 2, shown: "    y = 3 * x", says: Three is not two.}
reference: 2 * x
also: [2 * x]
arguments: {x: [1, 2, 5]}
hints: [One., Two.]
solution: Double it.
sources: [https://example.org/]
"""


@pytest.mark.parametrize("text", [GOOD, FUNCTION, BUG])
def test_a_valid_file_has_no_problem(
    exercise_file: Write, runner: Runner, loop: asyncio.AbstractEventLoop, text: str
) -> None:
    assert loop.run_until_complete(lint([exercise_file(text)], runner)).problems == ()


@pytest.mark.parametrize(
    ("text", "old", "new", "line", "says"),
    [
        (GOOD, "answer: 2 * x", "answer: 2 * y", 6, "'y' is not known"),
        (GOOD, "answer: 2 * x", "answer: collectives.ring_time", 6, "did you mean"),
        (GOOD, "  x: That", "  2 * x: That", 8, "within twice the tolerance"),
        (GOOD, "  x: That is once.", "  x: Once.\n  1 * x: Again.", 9, "cannot be told apart from"),
        (GOOD, "{x} twice", "{z} twice", 4, "'z' is not known"),
        (GOOD, "is {answer}.", r"is $\nonsense{1}$.", 10, "not valid LaTeX"),
        (GOOD, "answer: 2 * x", "answer: 1000 * x", 9, "gives the answer away"),
        (GOOD, "answer: 2 * x", "answer: 2 s * x", 6, "in a plain number"),
        (FUNCTION, "return 2 * x", "return 3 * x", 8, "the right program fails"),
        (FUNCTION, "          return x\n", "          return x + x\n", 15, "do not reveal it"),
        (FUNCTION, "reference: 2 * x", "reference: 2 * z", 11, "'z' is not known"),
        (BUG, "      y = 2 * x", "      y = 4 * x", 5, "the right code fails"),
        (BUG, "    y = 3 * x", "    y = x * 2", 10, "changes no result"),
    ],
)
def test_an_invalid_file_is_reported_with_line_and_reason(
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
            "{x} twice", "that with {x}"
        )
    (problem, *_) = loop.run_until_complete(lint([exercise_file(changed)], runner)).problems
    assert says in problem.says
    assert abs(problem.line - line) <= 1


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("kind: numeric\n\ttitle: x\n", "is not valid YAML"),
        ("kind: numeric\nkind: numeric\n", "duplicate key 'kind'"),
        ("a: &a [1, 1]\nb: &b [*a, *a]\nc: [*b, *b]\n", "anchors and aliases are not supported"),
        ("prompt: " + "x" * 10_000_000, "has 10,000,008 bytes"),
        ("[" * 5000, "nested more than 40 levels deep"),
        ("\0", "is not valid YAML"),
        ("", "must be a mapping"),
        ("kind: numerical\n", "did you mean 'numeric'"),
        ("!!python/object/apply:os.system [ls]\n", "is not valid YAML"),
        (GOOD.replace("level: 1", "level: [1]"), "level:"),
        (GOOD.replace("given: {x: [1, 2, 3]}", "given: {x: [[1]]}"), "given.x.0"),
        (GOOD.replace("given: {x: [1, 2, 3]}", "given: {x: [1, 2, 3], y: [1, 2]}"), "never used"),
        (GOOD.replace("answer: 2 * x", "answer: 9^9^9 * x"), "not a finite number"),
        (GOOD.replace("answer: 2 * x", "answer: 2 * x\nwhere: x < 2"), "seeds draw the same values"),
        (GOOD.replace("answer: 2 * x", "answer: 2 * x\nwhere: x < 1"), "variant 0 does not meet"),
        (GOOD.replace("  5 * x: That is five times.\n", ""), "fewer than two mistakes"),
        (GOOD.replace("[One., Two.]", "[One., 'See [it](/formulas/memory.state_byte).']"), "did you mean"),
        (FUNCTION.replace("      return 2 * x", "      while True: pass"), "did not finish within"),
        (FUNCTION.replace("      return 2 * x", "      import os; os.system('ls')"), "the right program fails"),
        (FUNCTION.replace("      return 2 * x", "      return [0] * 10**12"), "the right program fails"),
        (FUNCTION.replace("      return 2 * x", "      return ("), "the right program fails"),
        (FUNCTION.replace("reference: 2 * x\n", ""), "no reference is given"),
        (BUG.replace("      y = 2 * x", "      while x: pass"), "the right code fails"),
        (BUG.replace("One., Two.", "One., Look at line 2."), "gives the answer away: line 2"),
        (BUG + "mutate: [swop]\n", "mutate.0"),
    ],
)
def test_whatever_a_file_contains_is_a_finding(
    tmp_path: Path, runner: Runner, loop: asyncio.AbstractEventLoop, text: str, says: str
) -> None:
    path = tmp_path / "one.yaml"
    path.write_text(text, encoding="utf-8")
    begun = time.process_time()
    problems = loop.run_until_complete(lint([path], runner)).problems
    assert any(says in problem.says for problem in problems), problems
    assert time.process_time() - begun < 20  # a bound on hanging, not a measurement


def test_all_problems_of_a_file_are_reported_at_once(
    exercise_file: Write, runner: Runner, loop: asyncio.AbstractEventLoop
) -> None:
    text = GOOD.replace("{x} twice", "{z} twice").replace("  5 * x: That", "  1 * x: That")
    text = text.replace("is {answer}.", r"is {answer} $\nonsense{1}$.")
    problems = loop.run_until_complete(lint([exercise_file(text)], runner)).problems
    assert {problem.line for problem in problems} == {4, 9, 11}


class _Shelf(BaseHTTPRequestHandler):
    def do_HEAD(self) -> None:
        codes = {"gone": 404, "moved": 410, "shy": 403, "busy": 503}
        self.send_response(codes.get(self.path[1:], 200))
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


def test_missing_sources_are_reported_on_request(
    exercise_file: Write, runner: Runner, loop: asyncio.AbstractEventLoop
) -> None:
    with HTTPServer((HOST, 0), _Shelf) as server, reserved_port() as free:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        base = f"http://{HOST}:{server.server_port}"
        sources = f"[{base}/here, {base}/gone, {base}/shy, http://{HOST}:{free}/x, {base}/moved, {base}/busy]"
        path = exercise_file(GOOD.replace("[https://example.org/]", sources))
        try:
            assert loop.run_until_complete(lint([path], runner)).problems == ()
            problems = loop.run_until_complete(lint([path], runner, links=True)).problems
        finally:
            server.shutdown()
            thread.join()
    assert [problem.says.partition(":")[0] for problem in problems] == ["sources.1", "sources.3", "sources.4"]
    assert "returns 404" in problems[0].says
    assert "cannot be reached" in problems[1].says
    assert "returns 410" in problems[2].says


@pytest.mark.parametrize(
    ("figures", "says"),
    [
        ("[{explorer: pipelines}]", "did you mean 'pipeline'"),
        ("[{explorer: pipeline, state: {stage: 4}}]", "did you mean 'stages'"),
        ('[{explorer: pipeline, state: {stages: "{7 * x}"}}]', "seed 2: Stages: 16 is the largest"),
        ('[{explorer: pipeline, state: {stages: "{y}"}}]', "'y' is not known"),
        ("[{explorer: pipeline, figure: 7}]", "has figures 0 to 1, not 7"),
        ("[{explorer: layout, state: {tensor: 3}}]", "which do not divide"),
        ("[{explorer: pipeline, states: {}}]", "states: is not known here"),
    ],
)
def test_a_figure_that_cannot_be_drawn_is_reported(
    exercise_file: Write, runner: Runner, loop: asyncio.AbstractEventLoop, figures: str, says: str
) -> None:
    file = exercise_file(f"{GOOD}figures: {figures}\n")
    problems = loop.run_until_complete(lint([file], runner)).problems
    assert any(says in problem.says for problem in problems), problems


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("figures: [{explorer: rings}]", "did you mean 'ring'"),
        (r"closing: It is $\nonsense{1}$.", "not valid LaTeX"),
        ("facts: [{name: Sum, says: 1 + 1, formula: memory.states_bytes}]", "did you mean 'memory."),
        ("facts: [{name: Sum, says: 1 + 1, see: /hardwear}]", "is broken; did you mean 'hardware'"),
        ("figures: [{explorer: pipeline, state: {stages: 99}}]", "16 is the largest"),
        ("figures: [{draws: moving-rings}]", "no figure is called 'moving-rings'; did you mean 'moving-ring'?"),
        ("figures: [{draws: moving-ring, with: {ranks: 17}}]", "ranks must be at most 16, not 17"),
    ],
)
def test_a_chapters_own_file_is_checked_too(
    exercise_file: Write, runner: Runner, loop: asyncio.AbstractEventLoop, line: str, says: str
) -> None:
    folder = exercise_file(GOOD).parent
    topic = folder / "topic.yaml"
    topic.write_text(topic.read_text() + line + "\n")
    for paths in ([folder.parent], [topic]):
        (problem,) = loop.run_until_complete(lint(paths, runner)).problems
        assert says in problem.says
        assert problem.path == topic
        assert problem.line == 5


def test_seeds_must_draw_at_least_two_variants(found: Lint) -> None:
    limited = [GOOD.replace("answer: 2 * x", f"answer: 2 * x\nwhere: x < {most}") for most in (2, 3, 4)]
    assert [any("draw the same" in one.says for one in found(text)) for text in limited] == [
        True, False, False,
    ]  # fmt: skip
    alone = GOOD.replace("[1, 2, 3]", "[1]")
    assert not any("draw the same" in one.says for one in found(alone)), "nothing is drawn"


def test_a_sense_that_nothing_meets_is_an_error(found: Lint) -> None:
    text = (ROOT / "exercises" / "memory" / "derive-stage-two.yaml").read_text(encoding="utf-8")
    problems = [one.says for one in found(text.replace("sense: answer >= 1", "sense: answer < 0"))]
    assert "no values of the symbols meet 'answer < 0'" in str(problems)


OF_ONE_NUMBER = """\
kind: numeric
title: Time to send
level: 1
prompt: How long does it take to send {size} at {bandwidth}?
given:
  size: [1 GB, 4 GB]
  bandwidth: [50 GB/s, 25 GB/s]
answer: size / bandwidth
unit: ms
mistakes:
  2 * size / bandwidth: Twice.
  size / bandwidth / 2: Half.
hints:
  - What is divided?
  - Divide the size by the bandwidth.
solution: It takes {answer}.
sources:
  - https://example.org/a
"""


@each(
    ("old", "new", "line", "says"),
    [
        ("  2 * size / bandwidth:", "  10 * size:", 11, "'10 * size' is 10 GB, and the answer is in ms"),
        ("Twice.", "Twice {rank}.", 11, "'rank' is not known here"),
        ("[1 GB, 4 GB]", "[1 GB, 4 s]", 6, "has values of different kinds: 1 GB and 4 s"),
        ("[1 GB, 4 GB]", "[8 %, 4]", 6, "has values of different kinds: 8 % and 4"),
        ("[1 GB, 4 GB]", '["1,5 GB", 4 GB]', 6, "1,5 has a comma: write 1.5"),
        ("[1 GB, 4 GB]", '["1,500 GB"]', 6, "1,500 has a comma: write 1500, or 1.500 with a decimal point"),
        ("answer:", "where: rank > 3\nanswer:", 8, "'rank' is not known here"),
        ("answer:", "where: size > 9 GB\nanswer:", 8, "variant 0 does not meet 'size > 9 GB'"),
        ("answer:", "let:\n  half: sise / 2\nanswer: half +", 9, "'sise' is not known here"),
        ("answer:", "parts:\n  a: size\n  b: size / bandwidth\nanswer:", 9, "'size' is 1 GB, and the answer is in ms"),
        ("answer: size /", "answer: size *", 8, "and the answer is in ms"),
        ("Twice.", "", 11, "says: is empty"),
        ("title: Time to send", "title: {size}", 2, "must be a string, not {size}"),
        ("title: Time to send", "title: [a, b]", 2, "must be a string, not [a, b]"),
        ("How long", "How <b>long</b>", 4, "has <b>, and HTML is not used here"),
        ("How long", "How <script>x</script> long", 4, "has <script>, and HTML is not used here"),
        ("How long", "How $2 (N-1)/N long", 4, "has a $ that is not closed"),
        (
            "answer:",
            "let:\n  answer: size / 2\nanswer: 2 * answer / size *",
            9,
            "answer is the name of the right answer",
        ),
        ("unit: ms", "unit: ms\nparts: {says: [1]}", 10, "must be a string, not [1]"),
    ],
)
def test_a_finding_is_at_the_line_that_is_wrong(old: str, new: str, line: int, says: str, runner: Runner) -> None:
    text = OF_ONE_NUMBER.replace(old, new, 1)
    document = parse_document(Path("exercises/x/time.yaml"), text.encode())
    linted = asyncio.run(lint_document(document, runner))
    (found, *others) = linted.problems
    assert (found.line, others) == (line, [])
    assert says in found.says
    assert (found.says + found.cure).count("did you mean") <= 1


def test_a_text_that_begins_with_a_brace_is_told_so_and_not_as_an_indentation() -> None:
    for old, new, line in (("prompt: How", "prompt: {size} and how", 4), ("- What", "- {size}", 14)):
        text = OF_ONE_NUMBER.replace(old, new, 1)
        with pytest.raises(ContentError) as raised:
            parse_document(Path("exercises/x/time.yaml"), text.encode())
        (problem,) = raised.value.problems
        assert (problem.line, "a text that begins with { is read as keys" in problem.says) == (line, True)


def test_a_key_that_others_have_in_its_place_is_offered(runner: Runner) -> None:
    text = OF_ONE_NUMBER.replace("answer: size / bandwidth\nunit: ms\n", "answers:\n  a: {says: Time, answer: size}\n")
    document = parse_document(Path("exercises/x/time.yaml"), text.encode())
    found = asyncio.run(lint_document(document, runner)).problems
    assert "answers.a.says: is not known here; did you mean 'prompt'?" in [one.says for one in found]
