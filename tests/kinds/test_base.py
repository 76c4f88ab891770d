"""What all kinds share: answers as they are sent and stored, keys of mistakes, and texts with drawn values."""

import pytest

from app.core.errors import AnswerError
from app.course.kinds import Exercise
from app.course.kinds.base import (
    Answer,
    PartVerdict,
    TooLongError,
    ValueCache,
    answer_length,
    common_diagnosis,
    first_mistake,
    key_told,
    mistake_key,
    named_answers,
    posted_answers,
    refuse_longer,
    single_text,
    stored_answer,
)
from app.course.kinds.numeric import Numeric
from tests.each import each
from tests.kinds.small import found, graded, small


@each(("answer", "length"), [("abc", 3), ("", 0), (["ab", "c"], 5), ([], 0), ({"ab": "c", "d": ""}, 4)])
def test_an_answer_is_as_long_as_what_is_stored_of_it(answer: Answer, length: int) -> None:
    assert answer_length(answer) == length
    refuse_longer(answer, length)
    if length:
        with pytest.raises(TooLongError, match=f"at most {length - 1} characters"):
            refuse_longer(answer, length - 1)


def test_a_kind_that_asks_for_one_text_takes_no_list() -> None:
    assert single_text(" a ") == " a "
    for answer in (["a"], {"a": "b"}):
        with pytest.raises(AnswerError, match="must be a string"):
            single_text(answer)


def test_named_answers_are_known_and_without_blanks() -> None:
    assert named_answers({"a": " 1 ", "b": " "}, ["a", "b"]) == {"a": " 1 "}
    for answer, says in (("a", "an object with a, bc"), (["a"], "an object"), ({"b": ""}, "'b'; did you mean 'bc'")):
        with pytest.raises(AnswerError, match=says):
            named_answers(answer, ["a", "bc"])


def test_a_form_has_a_field_for_each_answer() -> None:
    form = {"answer.a": ["1", "2"], "answer.b": [], "answer.c": [""], "a": ["3"]}
    assert posted_answers(form, ["a", "b", "c", "d"]) == {"a": "1", "c": ""}


@each(
    ("text", "right", "answer"),
    [
        ('["a", "b"]', ["x"], ["a", "b"]),
        ('{"a": "b"}', {"x": "y"}, {"a": "b"}),
        ('["a"]', "x", '["a"]'),
        ("a", ["x"], None),
        ('{"a": 1}', {"x": "y"}, None),
    ],
)
def test_an_answer_is_stored_as_a_text_and_read_in_the_form_of_the_right_one(
    text: str, right: Answer, answer: Answer | None
) -> None:
    if answer is None:
        with pytest.raises(AnswerError, match="of another kind"):
            stored_answer(text, right)
    else:
        assert stored_answer(text, right) == answer


def test_a_mistake_is_known_by_its_wording_without_the_blanks_around() -> None:
    assert mistake_key(" Is a factor of {ranks} missing?\n") == mistake_key("Is a factor of {ranks} missing?")
    assert mistake_key("Is a factor of {rank} missing?") != mistake_key("Is a factor of {ranks} missing?")
    assert key_told("It is 8.", ["It is 4.", "It is 8."], ["A {x}.", "B {x}."]) == mistake_key("B {x}.")
    assert key_told("It is 9.", ["It is 8."], ["B {x}."]) == ""
    sign = "The magnitude is right, but the sign is wrong."
    assert key_told(sign, [], []) == "sign"
    assert (common_diagnosis("sign"), common_diagnosis("other")) == (sign, "")


def test_the_first_mistake_of_several_parts_counts() -> None:
    parts = [PartVerdict(False, "A"), PartVerdict(False, "B", "b"), PartVerdict(False, "C", "c")]
    assert first_mistake(parts) == "b"
    assert first_mistake(parts[:1]) == first_mistake([]) == ""


class Few(ValueCache[int, int]):
    most = 3


def test_a_cache_starts_over_when_it_is_full() -> None:
    made: list[int] = []
    cache = Few()

    def value(key: int) -> int:
        return cache.of(key, lambda: made.append(key) or key)  # type: ignore[func-returns-value]

    assert [value(key) for key in (1, 2, 3, 1, 3)] == [1, 2, 3, 1, 3]
    assert made == [1, 2, 3]
    value(4)
    assert dict(cache) == {4: 4}
    assert value(1) == 1
    assert made == [1, 2, 3, 4, 1]
    assert ValueCache.most == 512


def numeric(**fields: object) -> Numeric:
    made = small(
        "numeric",
        **{
            "given": {"x": [2, 5]},
            "prompt": "Twice {x}?",
            "answer": "2 * x",
            "quantity": "number",
            "mistakes": {"x": "That is once {x}.", "5 * x": "That is five times."},
            "solution": "It is {answer}.",
            **fields,
        },
    )
    assert isinstance(made, Numeric)
    return made


@each(("level", "minutes"), [(1, 2), (2, 3), (3, 4), (5, 6)])
def test_an_exercise_takes_longer_by_its_level(level: int, minutes: int) -> None:
    assert numeric(level=level).minutes == minutes


def test_texts_have_the_drawn_values_and_the_solution_the_answer() -> None:
    made = numeric(hints=["Take {x}.", "Double it."])
    assert made.variant(0).prompt == "Twice 2?"
    assert made.variant(0).hints == ("Take 2.", "Double it.")
    assert made.variant(0).solution == "It is 4."
    other = next(seed for seed in range(1, 20) if made.draw(seed).shown["x"] == "5")
    assert made.variant(other).solution == "It is 10."
    assert (made.is_drawn(0), made.is_drawn(10**6)) == (True, False)
    assert (made.variation, numeric(given={}, let={"x": 2}).variation) == ("Draws new numbers.", "")


def test_a_stored_mistake_is_told_with_the_values_of_its_drawing() -> None:
    made = numeric()
    verdict = graded(made, "2")
    assert verdict.mistake == mistake_key("That is once {x}.")
    assert made.diagnosis(verdict.mistake, 0) == verdict.feedback[0] == "That is once 2."
    assert made.diagnosis("sign", 0) == "The magnitude is right, but the sign is wrong."
    assert made.diagnosis("other", 0) == ""


SEVERAL = {
    "answer": "",
    "mistakes": {},
    "answers": {
        "once": {"prompt": "Once", "answer": "2 * x", "quantity": "number", "mistakes": {"x": "Half."}},
        "again": {"prompt": "Again", "answer": "once + 1", "quantity": "number", "mistakes": {"once": "One is left."}},
        "other": {"prompt": "Other", "answer": "7 * x", "quantity": "number", "tolerance": "exact"},
    },
    "solution": "It is {once}, then {again}.",
}


@each(
    ("answer", "score", "says"),
    [
        ({"once": "4", "again": "5", "other": "14"}, 1, []),
        ({"once": "4", "again": "4", "other": "14"}, 2 / 3, ["*Again*: One is left."]),
        ({"once": "2", "again": "3", "other": "14"}, 2 / 3, ["*Once*: Half.", "Right for your own answers above"]),
        ({"again": "5"}, 1 / 3, ["Still empty: Once; Other."]),
        ({"once": "2", "other": "14.1"}, 0, ["*Once*: Half.", "Still empty: Again."]),
    ],
)
def test_a_part_may_build_on_the_learner_s_own(answer: Answer, score: float, says: list[str]) -> None:
    made = numeric(**SEVERAL)
    verdict = graded(made, answer)
    assert verdict.score == pytest.approx(score)
    assert verdict.correct == (score == 1)
    told = " ".join(verdict.feedback)
    assert all(one in told for one in says), told
    assert ("Still empty" in told) == ("Still empty" in " ".join(says))


def test_three_boxes_take_a_minute_more_than_one() -> None:
    assert numeric(**SEVERAL).minutes == numeric().minutes + 1
    two = {name: one for name, one in SEVERAL["answers"].items() if name != "other"}  # type: ignore[attr-defined]
    assert numeric(**{**SEVERAL, "answers": two}).minutes == numeric().minutes


def test_one_answer_is_a_text_and_several_have_names() -> None:
    one, several = numeric(), numeric(**SEVERAL)
    assert one.right_answer(0) == "4"
    assert several.right_answer(0) == {"once": "4", "again": "5", "other": "14"}
    assert one.reveal(0) == "**4**"
    assert several.reveal(0) == "- Once: **4**\n- Again: **5**\n- Other: **14**"
    assert list(one.mistakes(0)) == [("2", "That is once 2."), ("10", "That is five times.")]
    assert one.answer_in({"answer": ["4"]}) == "4"
    assert several.answer_in({"answer.once": ["4"]}) == {"once": "4"}
    assert graded(one, {"answer": "4"}).correct
    for exercise, answer, says in (
        (one, ["4"], "must be a string"),
        (one, "", "the answer is empty"),
        (several, "4", "an object with once, again, other"),
        (several, {}, "the answer is empty"),
        (several, {"once": "many"}, "Once: "),
    ):
        with pytest.raises(AnswerError, match=says):
            graded(exercise, answer)


@each(
    ("fields", "says"),
    [
        ({}, []),
        ({"mistakes": {"x": "That is once."}}, ["fewer than two mistakes are listed"]),
        ({"mistakes": {"x": "A.", "2 * x + 0.01": "B."}}, ["is 4.01, within twice the tolerance of the right answer"]),
        ({"mistakes": {"x": "A.", "x + 0.01": "B."}}, ["cannot be told apart from the mistake 'x'"]),
        ({"mistakes": {"x": "A {y}.", "5 * x": "B."}}, ["'y'"]),
        ({"answer": "2 * y"}, ["'y'"]),
        ({"answer": "2 GB"}, ["'2 GB' is 2 GB, and the answer is in a plain number"]),
    ],
)
def test_the_proof_of_a_number_finds_what_is_wrong_where_it_is(fields: dict[str, object], says: list[str]) -> None:
    findings = [text for _, text in found(numeric(**fields))]
    assert len(findings) == len(says), findings
    assert all(one in text for one, text in zip(says, findings, strict=True)), findings


def test_a_number_is_asked_for_once_or_under_names() -> None:
    for fields in ({"answer": ""}, {"answers": SEVERAL["answers"]}):
        with pytest.raises(ValueError, match="give either one answer, or several under answers"):
            numeric(**fields)


def test_the_kind_of_an_exercise_is_its_name_in_files() -> None:
    made: Exercise = numeric()
    assert type(made).name() == "numeric"
