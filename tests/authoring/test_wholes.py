"""A number of GPUs is never a fraction."""

import pytest

from app.authoring.texts import Script, prove_wholes
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
