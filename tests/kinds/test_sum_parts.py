"""A wrong answer that counts some parts of the right one, drawn beside it."""

import re
from collections.abc import Callable
from pathlib import Path

from fastapi.testclient import TestClient

from app.authoring.proofs import figure_texts
from app.course.content.catalog import Catalog
from app.course.content.translations import read_exercise
from app.course.illustrations.base import counted_sketch
from tests.content.test_catalog import GOOD

ADDED = "parts: {one: x, another: x}\nmistakes:"
RING = "/exercises/collectives/bytes-sent-by-a-ring"


def test_every_exercise_with_parts_draws_a_listed_mistake_and_never_the_answer(catalog: Catalog) -> None:
    drawing = [one for one in catalog.exercises if one.draws_mistakes]
    assert len(drawing) >= 12
    for exercise in drawing:
        for seed in range(4):
            assert exercise.counted(seed, exercise.right_answer(seed)) is None
            found = [exercise.counted(seed, wrong) for wrong, _ in exercise.mistakes(seed)]
            assert any(found), exercise.id
            for one in filter(None, found):
                texts = figure_texts(counted_sketch(one, finished=False))
                assert not any(re.search(r"\d", text) for text in texts), texts
                shown = figure_texts(counted_sketch(one, finished=True))
                assert f"right: {one.right}" in shown


def test_of_two_sums_the_nearer_one_is_meant(catalog: Catalog) -> None:
    bill = catalog.exercise("experts/cost-of-a-run")
    wrong = next(answer for answer, says in bill.mistakes(0) if "pre-training alone" in says)
    found = bill.counted(0, wrong)
    assert found
    assert [part.name for part in found.parts if part.counted] == ["pre-training"]


def test_parts_must_add_up(exercise_file: Callable[[str], Path]) -> None:
    for parts, says in (
        (ADDED, ""),
        (ADDED.replace("another: x", "another: 3 * x"), "add up to 4, not to the answer, 2"),
        (ADDED.replace(", another: x", ""), "must have 2 to 6 parts, not 1"),
    ):
        path = exercise_file(GOOD.replace("mistakes:", parts, 1))
        exercise = read_exercise(path, "chapter")[0]
        found = [one.says for one in exercise.prove(exercise.draw(0))]
        assert any(says in one for one in found) if says else not found, found


def test_a_wrong_answer_is_drawn_without_sizes_until_it_is_solved(client: TestClient) -> None:
    origin = {"Origin": "http://testserver"}
    half = {"answer": "0.875 GB", "action": "check"}
    page = client.post(RING, data=half, headers=origin).text
    assert "What your answer counts" in page
    assert "all-gather: left out" in page
    assert "1.75" not in page
    client.post(RING, data={"action": "solution"}, headers=origin)
    assert "right: 1.75 GB" in client.post(RING, data=half, headers=origin).text
