"""Options: one that is right, several, or the first whose condition holds."""

import pytest
from pydantic import ValidationError

from app.core.errors import AnswerError
from app.course.kinds.base import Answer, mistake_key
from app.course.kinds.choice import Choice
from tests.each import each
from tests.kinds.small import found, graded, small

OPTIONS = {key: {"text": f"Text {key}.", "says": f"Says {key}."} for key in ("a", "b", "c", "d", "e")}


def choice(correct: object, **fields: object) -> Choice:
    made = small("choice", **{"options": OPTIONS, "correct": correct, **fields})
    assert isinstance(made, Choice)
    return made


SEVERAL, ONE = choice(["a", "b", "c"]), choice("b")
LARGE = choice(
    "first",
    given={"size": [10, 30]},
    options={
        "large": {"text": "Large", "says": "It is.", "when": "size > 20"},
        "small": {"text": "Small", "says": "No.", "when": "size > 5"},
        "never": {"text": "Never", "says": "Never."},
    },
)


@each(
    ("chosen", "score", "missing"),
    [
        (["a"], 3 / 5, "2 more options are right."),
        (["a", "b"], 4 / 5, "1 more option is right."),
        (["a", "b", "c", "d"], 4 / 5, None),
        (["d"], 1 / 5, "3 more options are right."),
        (["a", "d"], 2 / 5, "2 more options are right."),
        (["d", "e"], 0, "3 more options are right."),
    ],
)
def test_of_several_options_each_counts_alike_also_a_wrong_one_left_out(
    chosen: list[str], score: float, missing: str | None
) -> None:
    verdict = graded(SEVERAL, chosen)
    assert not verdict.correct
    assert verdict.score == pytest.approx(score)
    wrong = [key for key in chosen if key in "de"]
    assert list(verdict.feedback) == [f"Says {key}." for key in wrong] + ([missing] if missing else [])
    assert verdict.mistake == (mistake_key(f"Says {wrong[0]}.") if wrong else "")


def test_the_right_ones_are_all_praised_in_the_order_of_the_file() -> None:
    verdict = graded(SEVERAL, ["c", "b", "a", ""])
    assert (verdict.correct, verdict.score) == (True, 1.0)
    assert verdict.feedback == ("Says a.", "Says b.", "Says c.")
    one = graded(ONE, "b")
    assert (one.correct, one.feedback, one.mistake) == (True, ("Says b.",), "")


def test_of_one_option_a_wrong_one_earns_nothing_and_nobody_is_told_of_more() -> None:
    verdict = graded(ONE, "c")
    assert (verdict.correct, verdict.score, verdict.feedback) == (False, 0.0, ("Says c.",))
    assert verdict.mistake == mistake_key("Says c.")


@each(
    ("exercise", "answer", "says"),
    [
        (ONE, "", "choose an option first"),
        (ONE, [""], "choose an option first"),
        (SEVERAL, [], "choose an option first"),
        (SEVERAL, {"a": "a"}, "choose an option first"),
        (ONE, ["a", "b"], "choose one option, not several"),
        (SEVERAL, ["a", "f"], "no option is called 'f'"),
    ],
)
def test_what_is_no_choice_is_unreadable(exercise: Choice, answer: Answer, says: str) -> None:
    with pytest.raises(AnswerError, match=says):
        graded(exercise, answer)


def test_the_first_option_whose_condition_holds_is_right_in_each_drawing() -> None:
    seeds = {LARGE.draw(seed).names["size"].value: seed for seed in range(20)}
    assert sorted(seeds) == [10, 30]
    assert LARGE.right_answer(seeds[30]) == "large"
    assert LARGE.right_answer(seeds[10]) == "small"
    assert (LARGE.reveal(seeds[10]), ONE.reveal(0)) == ("Small", "Text b.")
    assert SEVERAL.reveal(0) == "- Text a.\n- Text b.\n- Text c."
    assert SEVERAL.right_answer(0) == ["a", "b", "c"]


def test_each_wrong_option_alone_is_a_mistake() -> None:
    assert list(SEVERAL.mistakes(0)) == [(["d"], "Says d."), (["e"], "Says e.")]
    assert [answer for answer, _ in ONE.mistakes(0)] == ["a", "c", "d", "e"]


def test_several_options_take_longer_and_a_condition_twice_as_long() -> None:
    one = ONE.minutes
    assert SEVERAL.minutes == one + 2
    assert LARGE.minutes == 2 * one


def test_boxes_of_a_form_are_several_and_a_button_is_one() -> None:
    assert SEVERAL.answer_in({"answer": ["a", "b"]}) == ["a", "b"]
    assert SEVERAL.answer_in({}) == []
    assert ONE.answer_in({"answer": ["a"]}) == "a"


def test_a_new_seed_shuffles_if_it_draws_nothing() -> None:
    assert ONE.variation == "Shuffles the options again."
    assert LARGE.variation == "Draws new numbers."


def test_the_proof_finds_options_that_read_alike_and_a_choice_of_all() -> None:
    assert found(SEVERAL) == []
    assert [says for _, says in found(choice(list(OPTIONS)))] == ["every option is right: nothing is left to choose"]
    alike = {**OPTIONS, "f": {"text": "Text b.", "says": "Says f."}}
    assert found(choice("a", options=alike)) == [(("options", "f", "text"), "reads the same as the option 'b'")]
    never = {key: {**option, "when": "1 > 2"} for key, option in OPTIONS.items()}
    assert found(choice("first", options=never)) == [(("options",), "the `when` of no option holds")]


@each(
    ("correct", "scored", "says"),
    [
        ("z", "", "no option is called 'z'"),
        (["a", "z"], "", "no option is called 'z'"),
        ([], "", "names no option"),
        ("a", "a", "is for a wrong option, where one is right"),
        (["a"], "b", "is for a wrong option, where one is right"),
    ],
)
def test_a_choice_that_cannot_be_is_refused(correct: object, scored: str, says: str) -> None:
    options = {key: {**option, "score": 0.5 if key == scored else 0} for key, option in OPTIONS.items()}
    with pytest.raises(ValidationError, match=says):
        choice(correct, options=options)


def test_all_but_one_may_be_right() -> None:
    assert found(choice(["a", "b", "c", "d"])) == []
