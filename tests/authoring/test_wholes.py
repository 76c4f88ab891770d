"""A number of GPUs is never a fraction, and each plain number is of a kind."""

import pytest

from app.authoring.texts import Script, prove_quantities, prove_wholes
from app.core.errors import Problem
from app.course.content.catalog import Catalog
from tests.authoring.conftest import Lint

FILE = """\
kind: numeric
title: Things for a load
level: 1
prompt: A load of {load} takes {each} of a thing. ASKED
given: {load: [10, 20], each: [0.33, 0.41]}
answer: ANSWER
mistakes:
  load: That is the load.
  each: That is a single one.
hints: [Multiply., Round.]
solution: It takes {answer}.
sources: [https://example.org/]
quantity: count
"""


@pytest.mark.parametrize(
    ("asked", "answer", "is_found"),
    [
        ("How many replicas is that?", "load * each", True),
        ("How many H100 is that?", "load * each", True),
        ("How many replicas is that?", "ceil(load * each)", False),
        ("How many replicas is that on average?", "load * each", False),
        ("How many seconds is that?", "load * each", False),
    ],
)
def test_what_comes_whole_is_asked_for_whole(found: Lint, asked: str, answer: str, is_found: bool) -> None:
    problems = found(FILE.replace("ASKED", asked).replace("ANSWER", answer))
    assert [one.says for one in problems if "come whole" in one.says] == (
        ["answer: is 3.3: these come whole"] if is_found else []
    )


def test_no_exercise_of_the_course_asks_for_a_fraction_of_a_thing(catalog: Catalog) -> None:
    found = {one.id: list(prove_wholes(Script(one))) for one in catalog.exercises}
    assert {name: findings for name, findings in found.items() if findings} == {}


PLAIN = FILE.replace("ASKED", "How many is that?").replace("ANSWER", "load * each")
WHOLE = PLAIN.replace("load * each", "ceil(load * each)\ntolerance: exact").replace("quantity: count\n", "")


def said(problems: tuple[Problem, ...]) -> list[str]:
    return [one.says for one in problems]


def test_a_plain_number_of_no_kind_is_asked_for_its_kind(found: Lint) -> None:
    (problem,) = found(PLAIN.replace("quantity: count\n", ""))
    assert problem.says == "answer: is a plain number of no kind, so that feedback cannot go by it"
    assert problem.cure == "quantity: count, factor, share, probability, or number if it is none of these"


@pytest.mark.parametrize(
    "answer",
    ["ceil(load * each)\ntolerance: exact", "batching.accumulation_steps(load, 1, 1)", "load * each\nunit: GPUs"],
)
def test_a_kind_is_certain_from_the_expression_or_the_unit(found: Lint, answer: str) -> None:
    text = PLAIN.replace("answer: load * each", f"answer: {answer}").replace("quantity: count\n", "")
    assert "of no kind" not in str(said(found(text)))


@pytest.mark.parametrize(
    ("quantity", "answer", "says"),
    [
        ("probability", "load * each", "is 3.3, and a probability is from 0 to 1"),
        ("probability", "each", ""),
        ("share", "load * each", ""),
        ("count", "load * each\ntolerance: exact", "is 3.3, and a count that is exact is whole"),
        ("number", "load * each\ntolerance: exact", ""),
        ("factor", "load * each * 1 s\nunit: s", "s says what it is"),
    ],
)
def test_a_kind_that_cannot_be_is_found(found: Lint, quantity: str, answer: str, says: str) -> None:
    text = PLAIN.replace("load * each", answer).replace("quantity: count", f"quantity: {quantity}")
    problems = [one for one in said(found(text)) if one.startswith("quantity: ")]
    assert problems == ([f"quantity: {says}"] if says else [])


def test_a_mistake_of_a_whole_number_is_whole(found: Lint) -> None:
    assert "mistakes.each: is 0.33, and the answer is a whole number" in said(found(WHOLE))
    assert found(WHOLE.replace("  each: That", "  floor(100 * each): That")) == ()


def test_each_plain_number_of_the_course_is_of_a_kind(catalog: Catalog) -> None:
    found = {one.id: list(prove_quantities(Script(one))) for one in catalog.exercises}
    assert {name: findings for name, findings in found.items() if findings} == {}
