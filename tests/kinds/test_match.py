import asyncio
from collections.abc import Callable

import pytest
from pydantic import ValidationError

from app.core.errors import AnswerError
from app.course.content.catalog import Catalog
from app.course.kinds import Verdict
from app.course.kinds.base import Answer, mistake_key
from app.course.kinds.order import Match
from app.course.sandbox.runner import Runner
from tests.each import each
from tests.kinds.small import found, graded, small

LEVERS = "diagnosis/technique-and-lever"
TOLLS = "diagnosis/technique-and-toll"
RIGHT = {"dp": "copy", "pp": "slice", "tp": "split", "fsdp": "shard"}
Grade = Callable[..., Verdict]


@pytest.fixture
def grade(catalog: Catalog, runner: Runner, loop: asyncio.AbstractEventLoop) -> Grade:
    def graded(answer: Answer, name: str = LEVERS, seed: int = 0) -> Verdict:
        return loop.run_until_complete(catalog.exercise(name).grade(seed, answer, runner))

    return graded


def test_pairs_are_credited_one_by_one(grade: Grade) -> None:
    assert grade(RIGHT).score == 1
    swapped = grade({**RIGHT, "pp": "split"})
    assert swapped.score == 0.75
    assert [part.correct for part in swapped.parts.values()] == [True, False, True, True]
    assert "Layers stay whole" in swapped.feedback[0]


def test_what_is_left_out_is_not_wrong(grade: Grade) -> None:
    verdict = grade({"dp": "copy", "pp": ""})
    assert verdict.score == 0.25
    assert verdict.parts["tp"].correct is None
    assert verdict.feedback == ("3 are not matched yet.",)


def test_a_thing_may_have_several_right_partners(grade: Grade, catalog: Catalog) -> None:
    right = catalog.exercise(TOLLS).right_answer(0)
    assert isinstance(right, dict)
    for toll in ("inch", "scratchpad"):
        assert grade({**right, "flash": toll}, TOLLS).correct


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ("copy", "an object"),
        ([], "an object"),
        ({}, "match at least one pair"),
        ({"dp": ""}, "match at least one pair"),
        ({"fsdb": "copy"}, "did you mean 'fsdp'"),
        ({"dp": "coppy"}, "did you mean 'copy'"),
    ],
)
def test_what_is_no_matching_is_unreadable(grade: Grade, answer: Answer, says: str) -> None:
    with pytest.raises(AnswerError, match=says):
        grade(answer)


def test_both_sides_are_shuffled_by_the_seed_alone(catalog: Catalog) -> None:
    exercise = catalog.exercise(TOLLS)
    orders = {exercise.question(seed) for seed in range(10)}
    assert len(orders) == 10
    assert exercise.question(4) == exercise.question(4)


def test_fields_of_a_form_make_an_answer(catalog: Catalog) -> None:
    form = {f"answer.{key}": [partner] for key, partner in RIGHT.items()}
    assert catalog.exercise(LEVERS).answer_in(form) == RIGHT


PARTNERS = {"copy": "Copy", "slice": "Slice", "split": "Split"}
THINGS = {
    "dp": {"text": "DP", "to": "copy", "says": {"slice": "Layers stay whole.", "split": "Not split."}},
    "pp": {"text": "PP", "to": ["slice", "copy"]},
}


def match(**fields: object) -> Match:
    made = small("match", **{"partners": PARTNERS, "things": THINGS, **fields})
    assert isinstance(made, Match)
    return made


@each(
    ("answer", "score", "says", "mistake"),
    [
        ({"dp": "copy", "pp": "copy"}, 1, "Right: every pair matches.", ""),
        ({"dp": "slice", "pp": "slice"}, 0.5, "*DP*: Layers stay whole.", "Layers stay whole."),
        ({"dp": "copy", "pp": "split"}, 0.5, "*PP*: This does not go with “Split”.", ""),
        ({"dp": "copy"}, 0.5, "1 is not matched yet.", ""),
        ({"dp": "split", "pp": ""}, 0, "*DP*: Not split. 1 is not matched yet.", "Not split."),
    ],
)
def test_each_pair_is_judged_alone(answer: Answer, score: float, says: str, mistake: str) -> None:
    verdict = graded(match(), answer)
    assert (verdict.correct, verdict.score, " ".join(verdict.feedback)) == (score == 1, score, says)
    assert verdict.mistake == (mistake_key(mistake) if mistake else "")


def test_a_solution_names_each_partner_and_a_mistake_changes_one() -> None:
    assert match().reveal(0) == "- DP: Copy\n- PP: Slice or Copy"
    assert match().right_answer(0) == {"dp": "copy", "pp": "slice"}
    assert list(match().mistakes(0)) == [
        ({"dp": "slice", "pp": "slice"}, "Layers stay whole."),
        ({"dp": "split", "pp": "slice"}, "Not split."),
    ]
    assert match().answer_in({"answer.dp": ["copy"], "answer.pp": [], "other": ["x"]}) == {"dp": "copy"}
    assert match().variation == "Shuffles both sides again."


def test_two_wrong_pairs_with_a_sentence_are_enough() -> None:
    assert found(match()) == []
    fewer = {**THINGS, "dp": {"text": "DP", "to": "copy", "says": {"slice": "Layers stay whole."}}}
    assert [says for _, says in found(match(things=fewer))] == [
        "fewer than two wrong pairs have a sentence under `says`"
    ]


@each(
    ("thing", "says"),
    [
        ({"to": "copyy"}, "no partner is called 'copyy'; did you mean 'copy'"),
        ({"to": []}, "no partner is called ''"),
        ({"to": "copy", "says": {"spilt": "No."}}, "no partner is called 'spilt'"),
        ({"to": ["copy", "split"], "says": {"split": "No."}}, "'split' is right, and `says` calls it wrong"),
    ],
)
def test_a_matching_that_cannot_be_is_refused(thing: dict[str, object], says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        match(things={**THINGS, "dp": {"text": "DP", **thing}})
