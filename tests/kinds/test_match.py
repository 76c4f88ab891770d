import asyncio
from collections.abc import Callable

import pytest

from app.core.errors import AnswerError
from app.course.content.catalog import Catalog
from app.course.kinds import Verdict
from app.course.kinds.base import Answer
from app.course.sandbox.runner import Runner

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
