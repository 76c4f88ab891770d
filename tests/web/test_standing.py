"""Where a learner stands, worked out from what is stored, without a server."""

from dataclasses import replace

import pytest

from app.content.catalog import Catalog, Topic
from app.db.queries import Standing
from app.web.progress.standing import card_of, is_solved, mark_of, row_of
from app.web.urls import exercise_url

TRIED = Standing(tried=2)
SOLVED = Standing(tried=3, solved=True)
ALONE = Standing(tried=1, solved=True, unaided=True)


@pytest.fixture
def topic(catalog: Catalog) -> Topic:
    return catalog.topic("collectives")


@pytest.mark.parametrize(
    ("standing", "mark"),
    [
        (None, "new"),
        (Standing(), "new"),
        (TRIED, "tried"),
        (SOLVED, "solved"),
        (ALONE, "unaided"),
    ],
)
def test_a_mark_tells_how_an_exercise_was_solved(standing: Standing | None, mark: str) -> None:
    assert mark_of(standing) == mark


def test_a_solution_that_was_only_read_is_not_a_solved_exercise(topic: Topic) -> None:
    exercise = topic.exercises[0]
    assert not is_solved(exercise, {})
    assert not is_solved(exercise, {exercise.id: TRIED})
    assert is_solved(exercise, {exercise.id: SOLVED})
    assert not is_solved(exercise, {"another/one": ALONE})


def test_a_row_leads_to_its_exercise(topic: Topic) -> None:
    exercise = topic.exercises[0]
    row = row_of(exercise, {exercise.id: ALONE})
    assert (row.href, row.title, row.mark) == (
        f"/exercises/{exercise.id}", exercise.title, "unaided",
    )  # fmt: skip
    assert row_of(exercise, {}).mark == "new"


def test_every_kind_has_a_name_in_a_list(catalog: Catalog) -> None:
    rows = {exercise.kind: row_of(exercise, {}).kind for exercise in catalog.exercises}
    assert len(set(rows.values())) == len(rows) == 9


def test_a_chapter_counts_core_and_extra_exercises_apart(topic: Topic) -> None:
    core = [exercise for exercise in topic.exercises if exercise.core]
    extra = [exercise for exercise in topic.exercises if not exercise.core]
    known = {one.id: ALONE for one in (*core[:2], *extra[:3])} | {core[2].id: TRIED}
    card = card_of(topic, known)
    assert (card.solved, card.core) == (2, len(core))
    assert (card.extra_solved, card.extras) == (3, len(extra))
    assert card_of(replace(topic, exercises=()), known).core == 0


def test_the_first_variant_has_the_plain_address(topic: Topic) -> None:
    exercise = topic.exercises[0]
    assert exercise_url(exercise.id) == exercise_url(exercise.id, 0) == f"/exercises/{exercise.id}"
    assert exercise_url(exercise.id, 7) == f"/exercises/{exercise.id}?seed=7"
