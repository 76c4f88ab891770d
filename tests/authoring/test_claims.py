"""Each sentence here is true in one drawing, and was told in all."""

from collections.abc import Callable
from pathlib import Path

import pytest

from app.authoring.lint import LintReport
from tests.authoring.conftest import Lint, Look
from tests.content.test_catalog import GOOD
from tests.each import each

Notes = Callable[[str], list[str]]
SOLUTION = "Two times {x} is {answer}."
MORE = GOOD.replace(SOLUTION, "Two times {x} is {answer}, far more than 3.")
WHEN = "{when x == 1}This is less than 3{otherwise}This is more than 3{end}."


def solved(sentence: str) -> str:
    return GOOD.replace(f"solution: {SOLUTION}", f'solution: "{SOLUTION} {sentence}"')


@pytest.fixture
def noted(exercise_file: Callable[[str], Path], look: Look) -> Notes:
    """The notes on a file with this text, which must be valid."""

    def notes(text: str) -> list[str]:
        linted: LintReport = look(exercise_file(text))
        assert linted.problems == ()
        return [f"{note.line}: {note.says}" for note in linted.notes]

    return notes


def test_a_comparison_beside_drawn_numbers_that_nothing_proves_is_noted(noted: Notes) -> None:
    assert noted(GOOD) == []
    (note,) = noted(MORE)
    assert note.startswith("11: nothing proves 'far' in 'Two times ◊ is ◊, far more than 3.'")


@each(
    "word",
    ["less", "most", "only", "never", "always", "hardly", "nearly", "several", "a quarter", "flat",
     "no", "larger", "twice", "above", "the slowest", "dominates"],
)  # fmt: skip
def test_every_word_that_compares_is_noted(noted: Notes, word: str) -> None:
    assert len(noted(solved(f"It is {word} of it."))) == 1


def test_feedback_with_drawn_numbers_is_noted_and_prompts_are_not(noted: Notes) -> None:
    assert len(noted(GOOD.replace("That is once", "That is {x}, only once"))) == 1
    assert noted(GOOD.replace("How much is {x} twice?", "How much is {x}, no more?")) == []
    assert noted(GOOD.replace("[One., Two.]", "[It is never one., Two.]")) == []


def test_a_claim_proves_the_words_that_it_names_and_no_others(noted: Notes) -> None:
    text = solved("It is more than 1, and never less.")
    assert len(noted(text)) == 1
    assert noted(text + "claims: {answer > 1: more than 1}\n") != []
    both = "claims: {answer > 1: [more than 1, never less]}\n"
    assert noted(text + both) == []


def test_what_holds_whatever_is_drawn_is_said_so(noted: Notes) -> None:
    assert noted(solved("It is never odd.") + "fixed: [never odd]\n") == []


def test_a_wrong_claim_is_an_error_on_its_line_with_the_drawing_that_refutes_it(found: Lint) -> None:
    (problem,) = found(MORE + "claims:\n  x >= 1: far more\n  answer > 3: more than 3\n")
    assert problem.line == 15
    assert problem.says == "claims.answer > 3: does not hold at seed 0 (x 1, answer 2)"


def test_a_claim_is_proven_in_drawings_that_few_seeds_draw(found: Lint) -> None:
    many = solved("It is less than 198.").replace("[1, 2, 3]", str([*range(1, 100)]))
    (problem,) = found(many + "claims: {answer < 198: less than 198}\n")
    assert "(x 99, answer 198)" in problem.says
    assert found(many + "claims: {answer < 199: less than 198}\n") == ()


def test_a_claim_is_about_words_of_the_file(found: Lint) -> None:
    (problem,) = found(MORE + "claims: {answer > 1: far less}\n")
    assert "words that no text says: 'far less'" in problem.says


@each("condition", ["answer + 1", "answers > 1", "answer > 1 GB"])
def test_a_claim_is_a_comparison_of_known_values(found: Lint, condition: str) -> None:
    (problem,) = found(MORE + f"claims: {{{condition}: far more}}\n")
    assert problem.says.startswith(f"claims.{condition}: ")
    assert problem.cure


def test_each_drawing_shows_the_sentence_that_is_true_of_it(noted: Notes) -> None:
    assert noted(solved(WHEN)) == []


@each(
    ("old", "new", "says"),
    [
        ("x == 1", "x > 3", "no drawing shows the piece for 'x > 3'"),
        ("x == 1", "x < 4", "no drawing shows the piece for 'otherwise'"),
        ("{end}", "", "{end} is missing"),
        ("{otherwise}", "{else}", "'else' is not known here"),
    ],
)
def test_a_piece_is_shown_in_some_drawings_and_not_in_all(found: Lint, old: str, new: str, says: str) -> None:
    problems = found(solved(WHEN.replace(old, new)))
    assert any(says in problem.says for problem in problems), problems


def test_a_piece_that_every_drawing_shows_needs_no_condition(found: Lint) -> None:
    (problem,) = found(solved("Now{when x < 4} it is less than 8{end}."))
    assert "every drawing shows the piece for 'x < 4'" in problem.says


def test_every_text_may_have_a_condition(exercise_file: Callable[[str], Path], noted: Notes) -> None:
    text = GOOD.replace("How much is {x} twice?", '"How much is {x}{when x > 1}, twice{end}?"')
    text = text.replace("x: That is once", 'x: "That is {when x > 1}not{otherwise}only{end} 1')
    text = text.replace("not{otherwise}only{end} 1.", 'not{otherwise}only{end} 1."')
    text = text.replace("[One., Two.]", "['{when x > 2}Three{otherwise}Few{end}.', Two.]")
    assert noted(text) == []
