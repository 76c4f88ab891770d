"""Each file here was accepted once, and misled a student."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.authoring.conftest import Lint, Look
from tests.content.test_catalog import GOOD
from tests.each import each

Write = Callable[[str], Path]
PROMPT = "prompt: How much is {x} twice?"
SOLUTION = "solution: Two times {x} is {answer}."
RING = """\
kind: numeric
title: A ring
level: 1
prompt: "{ranks} ranks, {size} each, at {bandwidth}. How long does it take?"
cases:
  - {ranks: 8, size: 1 GB, bandwidth: 50 GB/s}
  - {ranks: 4, size: 2 GB, bandwidth: 25 GB/s}
answer: 2 * (ranks - 1) * size / ranks / bandwidth
unit: ms
mistakes:
  size / bandwidth: That is the array once.
  2 * size / bandwidth: One chunk stays where it is.
hints: [Two phases., One chunk at a time.]
solution: It takes {answer}.
sources: [https://example.org/]
"""
CHOICE = """\
kind: choice
title: A choice
level: 1
prompt: Which stage of ZeRO is PyTorch's FSDP?
options:
  three: {text: Stage 3. All is sharded., says: Right.}
  two: {text: Stage 2. Weights are whole., says: No.}
  one: {text: Stage 1. Gradients are whole., says: No.}
correct: three
hints: [One., Two.]
solution: It is.
sources: [https://example.org/]
"""


def test_the_files_are_valid_without_the_changes(found: Lint) -> None:
    assert found(RING) == ()
    assert found(CHOICE + "unmarked: [FSDP]\n") == ()


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("prompt: >\n  How much is {x} twice?\n\n  | a | b |\n  |---|---|\n  | 1 | 2 |\n", "a table"),
        ("prompt: >\n  How much is {x} twice?\n\n  ```\n  ##..##\n  ```\n", "a code block"),
        ("prompt: >\n  How much is {x} twice? Take care:\n  - of one\n  - of two\n", "a list"),
        ("prompt: >\n  How much is {x} twice?\n\n  1. One.\n  2. Two.\n", "a list"),
        ("prompt: 'How much is {x} twice? A ######...### B ..#####..'", "a drawing"),
    ],
)
def test_lines_that_were_folded_into_one(found: Lint, text: str, what: str) -> None:
    (problem,) = found(GOOD.replace(PROMPT, text.rstrip()))
    assert problem.says == f"prompt: folds {what} into one line"
    assert problem.line == 4
    assert "`|`" in problem.cure
    assert found(GOOD.replace(PROMPT, text.replace(">", "|").rstrip())) == () or what == "a drawing"


@pytest.mark.parametrize("solution", ["{{x}} steps.", "Some {ranks workers.", "A set {1, {x}}."])
def test_braces_that_students_would_see(found: Lint, solution: str) -> None:
    problems = found(GOOD.replace(SOLUTION, f'solution: "{solution} {{answer}}."'))
    assert any("shows a brace to students" in problem.says for problem in problems), problems


def test_braces_of_mathematics_and_code_are_not_stray(found: Lint) -> None:
    text = r"solution: '$\frac{1}{{{x}}}$, `{` and \{ are {answer}.'"
    assert found(GOOD.replace(SOLUTION, text)) == ()


@pytest.mark.parametrize(
    ("old", "new", "where", "says"),
    [
        ("It takes {answer}", "At 50 GB/s it takes {answer}", "solution", "50 GB/s"),
        ("It takes {answer}", "With 0.05 TB/s it takes {answer}", "solution", "0.05 TB/s"),
        ("It takes {answer}", "Not 35 ms, but {answer}", "solution", "35 ms"),
        ("One chunk at a time", "There are eight ranks", "hints.1", "eight ranks"),
        ("the array once", "the array of 1 GB once", "mistakes.size / bandwidth", "1 GB"),
        ("title: A ring", "title: A ring of eight ranks", "title", "eight ranks"),
        ("title: A ring", "title: Two GB", "title", "Two GB"),
    ],
)
def test_a_number_that_is_true_of_one_drawing(found: Lint, old: str, new: str, where: str, says: str) -> None:
    (problem,) = [one for one in found(RING.replace(old, new)) if "in some drawings" in one.says]
    assert problem.says.startswith(f"{where}: says {says}, which is ")
    assert problem.cure
    assert found(RING.replace(old, new) + f"fixed: [{says}]\n") == ()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("It takes {answer}", "At {bandwidth} it takes {answer}"),
        ("It takes {answer}", "A network card has 400 Gbit/s, 16 bytes; it takes {answer}"),
        ("It takes {answer}", "Two phases of 7 chunks, four more, it takes {answer}"),
        ("It takes {answer}", "As {1000 + 24} is 1,024 in every drawing, it takes {answer}"),
        ("It takes {answer}", "Not 37.6 ms, not 29.0 ms, but {answer}"),
    ],
)
def test_a_number_that_is_drawn_or_matches_no_drawn_value(found: Lint, old: str, new: str) -> None:
    changed = RING.replace("{ranks: 8,", "{ranks: 16,")
    assert found(changed.replace(old, new).replace("50 GB/s}", "60 GB/s}")) == ()


@pytest.mark.parametrize(
    ("text", "title"),
    [
        (GOOD.replace("[1, 2, 3]", "[1]"), "Two times too much"),
        (RING.replace("  - {ranks: 4, size: 2 GB, bandwidth: 25 GB/s}\n", ""), "Six, nearly 35 ms"),
    ],
)
def test_a_title_with_the_answer_in_it(found: Lint, text: str, title: str) -> None:
    (problem,) = found(re.sub("title: .*", f"title: {title}", text))
    assert "which is the answer" in problem.says
    assert problem.line == 2


def test_an_unmarked_term_is_one_of_the_glossary(found: Lint) -> None:
    (problem,) = found(GOOD + "unmarked: [FSPD]\n")
    assert "did you mean 'FSDP'" in problem.says


def test_a_value_that_the_answer_needs_and_the_prompt_never_shows(found: Lint) -> None:
    text = RING.replace(", at {bandwidth}", "")
    (problem,) = found(text)
    assert problem.says == "answer: needs bandwidth, which is drawn, and the prompt never shows it"
    assert problem.line == 8
    assert found(text + "implied: [bandwidth]\n") == ()
    through = "let: {rate: bandwidth}\n" + text.replace("/ bandwidth\nunit", "/ rate\nunit")
    assert "needs bandwidth" in found(through)[0].says
    (problem,) = found(RING + "implied: [latency]\n")
    assert "latency is not drawn" in problem.says


@pytest.mark.parametrize(
    ("prompt", "phrase"),
    [
        ("The same again with {x}, twice?", "The same"),
        ("And how much is {x} twice?", "And"),
        ("How much is {x} twice, as in the exercise\n  before?", "exercise"),
        ("How much is {x} twice, under the rule of the previous question?", "previous question"),
        ("How much is {x} twice, as before?", "as before"),
    ],
)
def test_a_prompt_that_depends_on_another_exercise(found: Lint, prompt: str, phrase: str) -> None:
    (problem,) = found(GOOD.replace(PROMPT, f"prompt: >\n  {prompt}"))
    assert f"depends on another exercise: '{phrase}" in problem.says


@pytest.mark.parametrize("aside", ["The first numbers are Meta's.", "(The second variant is a pod.)"])
def test_a_text_that_mentions_other_drawings(found: Lint, aside: str) -> None:
    (problem,) = found(GOOD.replace(SOLUTION, f"{SOLUTION} {aside}"))
    assert "mentions other drawings" in problem.says


def test_a_source_does_not_say_what_is_drawn(found: Lint) -> None:
    (problem,) = found(GOOD.replace(PROMPT, f"{PROMPT[:-1]}, when a paper reports {{x}}?"))
    assert "makes a source state x, which is drawn" in problem.says
    tied = GOOD.replace("given: {x: [1, 2, 3]}", "cases: [{x: 1, who: A paper}, {x: 2, who: A friend}]")
    assert found(tied.replace(PROMPT, f"{PROMPT[:-1]}, when {{who}} reports it?")) == ()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("![a ring](ring.png)", "the image ring.png does not exist"),
        ("![a ring](https://example.org/ring.png)", "is on another site"),
        ("![a ring](/static/rings.png)", "the image /static/rings.png does not exist"),
        ("[it](/formulas/memory.state_byte)", "did you mean 'memory.state_bytes'"),
        ("[it](/explore/rings)", "did you mean 'ring'"),
        ("[it](/explore/pipeline?stage=4)", "did you mean 'stages'"),
        ("[it](/glossary#rings)", "did you mean 'ring'"),
        ("[it](/errata#E-9999)", "no entry of /errata is called"),
        ("[it](/chapters/memroy)", "did you mean 'memory'"),
        ("[it](/exercises/memory/stage-4)", "no exercise is called 'memory/stage-4'"),
        ("[it](/labs/all-reduces)", "did you mean 'all-reduce'"),
        ("[it](/hardwares)", "is broken; did you mean 'hardware'"),
        ("[it](stage-1)", "a link must begin with https:// or /"),
    ],
)
def test_broken_links_and_missing_images(found: Lint, text: str, says: str) -> None:
    (problem,) = found(GOOD.replace(SOLUTION, f"solution: 'Two times {{x}} is {{answer}}: {text}.'"))
    assert says in problem.says
    assert problem.line == 11
    assert problem.cure


def test_links_that_work(found: Lint) -> None:
    links = (
        "https://example.org",
        "/",
        "/formulas",
        "/formulas/memory.state_bytes",
        "/glossary#ring",
        "/explore/pipeline?stages=4",
        "/chapters/memory",
        "/chapters/chapter",
        "/hardware",
        "/exercises/memory/stage-1",
        "/exercises/chapter/exercise",
        "/labs/all-reduce",
        "/errata",
    )
    text = " ".join(f"[it]({link})" for link in links)
    image = "![a page](/static/screenshot.png)"
    assert found(GOOD.replace(SOLUTION, f"solution: '{{answer}} {text} {image}'")) == ()


@pytest.mark.parametrize(
    ("title", "code"),
    [(r"A\u202Eeltit", "U+202E"), (r"A\0title", "U+0000"), (r"A\u200Btitle", "U+200B"), (r"A\x1Btitle", "U+001B")],
)
def test_invisible_characters(found: Lint, title: str, code: str) -> None:
    problems = found(GOOD.replace("title: A title", f'title: "{title}"'))
    assert [problem.line for problem in problems] == [2]
    assert f"contains {code}" in problems[0].says


def test_a_right_option_that_is_by_far_the_longest_is_a_warning(exercise_file: Write, look: Look) -> None:
    long = CHOICE.replace("All is sharded.", "All is sharded - weights and gradients and optimizer state.")
    linted = look(exercise_file(long + "unmarked: [FSDP]\n"))
    assert linted.problems == ()
    (note,) = linted.notes
    assert note.level == "warning"
    assert "can be guessed by its length" in note.says


@each(
    ("old", "new", "says"),
    [
        ("It takes {answer}", "It takes {answer} ms", "shows two units: 35 ms ms"),
        ("It takes {answer}", "They take {ranks * answer} GPU-hours", "GPU-hours"),
        ("It takes {answer}", "At {size} bytes it takes {answer}", "1 GB bytes"),
    ],
)
def test_a_value_has_one_unit(found: Lint, old: str, new: str, says: str) -> None:
    problems = [problem.says for problem in found(RING.replace(old, new))]
    assert any("two units" in one and says in one for one in problems), problems


def test_a_rounded_answer_shows_the_digits_that_decide(found: Lint) -> None:
    text = GOOD.replace("[1, 2, 3]", "[9001, 9010, 9019]")
    text = text.replace("answer: 2 * x", "answer: ceil(x / 9)\ntolerance: exact")
    text = text.replace(SOLUTION, "solution: '{x / 9}, rounded up, is {answer}.'")
    (problem,) = found(text)
    assert problem.says.startswith("solution: shows 1,000 for 1000.11")
    assert found(text.replace("{x / 9}", "{x / 9 | 6}")) == ()
