"""Steps in an order: what each pair, each step that is missing and each stranger costs."""

import pytest
from pydantic import ValidationError

from app.core.errors import AnswerError
from app.course.kinds.base import Answer, mistake_key
from app.course.kinds.order import Order
from tests.each import each
from tests.kinds.small import found, graded, small

STEPS = {
    "cut": {"text": "Cut"},
    "send": {"text": "Send", "after": ["cut"]},
    "sum": {"text": "Sum", "after": ["send"]},
    "log": {"text": "Log"},
}  # three pairs: cut send, cut sum, send sum
STRANGERS = {"wait": {"text": "Wait", "says": "Nobody waits."}, "stop": {"text": "Stop", "says": "Nobody stops."}}


def order(**fields: object) -> Order:
    made = small("order", **{"items": STEPS, "strangers": STRANGERS, **fields})
    assert isinstance(made, Order)
    return made


ORDER = order(says={"sum before cut": "First cut."})


@each(
    ("answer", "score", "feedback"),
    [
        (["cut", "send", "sum", "log"], 1, "Right: every step comes after those that it needs."),
        (["log", "cut", "send", "sum"], 1, "Right: every step comes after those that it needs."),
        (["cut", "sum", "send", "log"], 2 / 3, "“Sum” cannot come before “Send”."),
        (["sum", "cut", "send", "log"], 1 / 3, "First cut."),
        (["sum", "send", "cut", "log"], 0, "First cut."),
        (["cut", "send", "log"], 1 / 3, "1 step is missing."),
        (["cut", "log"], 0, "2 steps are missing."),
        (["send", "cut", "log"], 0, "1 step is missing."),
        (["cut", "send", "sum"], 1, "1 step is missing."),
        (["cut", "send", "sum", "log", "wait"], 2 / 3, "Nobody waits."),
        (["cut", "send", "sum", "log", "wait", "stop"], 1 / 3, "Nobody waits. Nobody stops."),
        (["cut", "sum", "send", "log", "stop"], 4 / 9, "Nobody stops."),
        (["sum", "cut", "send", "stop"], 2 / 9, "First cut. Nobody stops. 1 step is missing."),
    ],
)
def test_each_pair_counts_and_a_stranger_costs_a_share_of_all(answer: Answer, score: float, feedback: str) -> None:
    verdict = graded(ORDER, answer)
    assert verdict.score == pytest.approx(score)
    assert verdict.correct == feedback.startswith("Right")
    assert " ".join(verdict.feedback) == feedback


@each(
    ("answer", "says"),
    [
        (["sum", "cut", "send", "log", "wait"], "First cut."),
        (["cut", "send", "sum", "log", "wait"], "Nobody waits."),
        (["cut", "sum", "send", "log"], ""),
    ],
)
def test_the_mistake_behind_an_order_is_the_first_that_the_author_speaks_of(answer: Answer, says: str) -> None:
    assert graded(ORDER, answer).mistake == (mistake_key(says) if says else "")


def test_of_two_wrong_pairs_the_one_that_begins_first_is_named() -> None:
    assert graded(ORDER, ["sum", "send", "log", "cut"]).feedback == ("First cut.",)
    assert graded(order(), ["log", "send", "cut", "sum"]).feedback == ("“Send” cannot come before “Cut”.",)
    # Of three pairs, the same one is named in every process.
    assert graded(order(), ["sum", "send", "cut", "log"]).feedback == ("“Sum” cannot come before “Send”.",)


def test_a_pair_must_be_in_order_also_where_another_step_is_between() -> None:
    assert ORDER.before == {("cut", "send"), ("cut", "sum"), ("send", "sum")}


def test_each_sentence_about_a_pair_and_each_stranger_is_a_mistake_alone() -> None:
    assert list(ORDER.mistakes(0)) == [
        (["sum", "cut", "send", "log"], "First cut."),
        (["cut", "send", "sum", "log", "wait"], "Nobody waits."),
        (["cut", "send", "sum", "log", "stop"], "Nobody stops."),
    ]


@each(
    ("answer", "says"),
    [
        ("cut", "must be a list of keys"),
        ({"cut": "1"}, "must be a list of keys"),
        ([], "put the steps in order first"),
        (["cut", "sned"], "no item is called 'sned'"),
        (["cut", "send", "cut"], "'cut' appears twice"),
    ],
)
def test_what_is_no_order_is_unreadable(answer: Answer, says: str) -> None:
    with pytest.raises(AnswerError, match=says):
        graded(ORDER, answer)


@each(
    ("places", "keys"),
    [
        ({"cut": "2", "send": "10", "sum": " 3 "}, ["cut", "sum", "send"]),
        ({"cut": "999", "wait": "0"}, ["wait", "cut"]),
        ({"cut": "", "send": "1"}, ["send"]),
        ({}, []),
    ],
)
def test_places_in_a_form_make_an_order(places: dict[str, str], keys: list[str]) -> None:
    assert ORDER.answer_in({f"place.{key}": [place] for key, place in places.items()}) == keys
    assert ORDER.answer_in({"answer": ["sum", "cut"], "place.cut": ["1"]}) == ["sum", "cut"]


@each(
    ("places", "says"),
    [
        ({"cut": "1", "send": "1"}, "place 1 is given twice"),
        ({"cut": "1000"}, "a place must be a whole number such as 1, not '1000'"),
        ({"cut": "-1"}, "whole number"),
        ({"cut": "1.5"}, "whole number"),
    ],
)
def test_places_that_are_none_are_unreadable(places: dict[str, str], says: str) -> None:
    with pytest.raises(AnswerError, match=says):
        ORDER.answer_in({f"place.{key}": [place] for key, place in places.items()})


def test_the_steps_are_shuffled_with_the_strangers_and_never_right() -> None:
    question = ORDER.question(3)
    assert question.strangers
    assert {item.key for item in question.items} == {*STEPS, *STRANGERS}
    assert not order(strangers={}).question(3).strangers
    three = order(items={key: STEPS[key] for key in ("cut", "send", "sum")}, strangers={})
    shown = {tuple(item.key for item in three.question(seed).items) for seed in range(40)}
    assert len(shown) == 5, "all but the right one of six"
    assert ORDER.reveal(0) == "1. Cut\n2. Send\n3. Sum\n4. Log"
    assert ORDER.variation == "Shuffles the statements again."


def test_the_proof_finds_steps_that_are_written_in_a_wrong_order_or_free() -> None:
    assert found(ORDER) == []
    free = order(items={key: {"text": key} for key in "abc"}, strangers={})
    assert [says for _, says in found(free)] == ["any order is right: say which comes `after` which"]
    wrong = order(items={"sum": {"text": "Sum", "after": ["cut"]}, "cut": {"text": "Cut"}, "log": {"text": "Log"}})
    assert [says for _, says in found(wrong)] == ["are not written in an order that their `after` allows"]


@each(
    ("fields", "says"),
    [
        (
            {"items": {**STEPS, "log": {"text": "Log", "after": ["cutt"]}}},
            "no item is called 'cutt'; did you mean 'cut'",
        ),
        ({"items": {**STEPS, "cut": {"text": "Cut", "after": ["sum"]}}}, "goes in a circle"),
        ({"says": {"cut before send": "No."}}, "is not a wrong order of two items"),
        ({"says": {"log before cut": "No."}}, "is not a wrong order of two items"),
    ],
)
def test_an_order_that_cannot_be_is_refused(fields: dict[str, object], says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        order(**fields)
