"""Where a learner stands, worked out from what is stored, without a server."""

from dataclasses import replace

import pytest

from app.course.content.catalog import Catalog, Topic
from app.server.db.history import Standing
from app.site.web.standing.view import LearnerHistory, card_of, is_solved, mark_of, row_of
from app.site.web.urls import exercise_url
from tests.each import each

TRIED = Standing(tried=2)
SOLVED = Standing(tried=3, solved=True)
ALONE = Standing(tried=1, solved=True, unaided=True)


@pytest.fixture
def topic(catalog: Catalog) -> Topic:
    return catalog.topic("collectives")


@each(
    ("standing", "mark"), [(None, "new"), (Standing(), "new"), (TRIED, "tried"), (SOLVED, "solved"), (ALONE, "unaided")]
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
    assert (row.href, row.title, row.mark) == (f"/exercises/{exercise.id}", exercise.title, "unaided")
    assert row_of(exercise, {}).mark == "new"


def test_every_kind_has_a_name_in_a_list(catalog: Catalog) -> None:
    rows = {exercise.kind: row_of(exercise, {}).kind for exercise in catalog.exercises}
    assert len(set(rows.values())) == len(rows) == 11


def test_a_chapter_counts_its_path_and_the_extras_apart(topic: Topic) -> None:
    core = [exercise for exercise in topic.exercises if exercise.id in topic.on_path]
    extra = [exercise for exercise in topic.exercises if exercise.id not in topic.on_path]
    known = {one.id: ALONE for one in (*core[:2], *extra[:3])} | {core[2].id: TRIED}
    card = card_of(topic, LearnerHistory(known))
    assert (card.path.solved, len(card.path.rows)) == (2, len(core))
    assert (card.extras.solved, len(card.extras.rows)) == (3, len(extra))
    assert card.path.minutes == sum(one.minutes for one in core[2:])
    assert card_of(replace(topic, exercises=()), LearnerHistory(known)).path.rows == ()


def test_the_path_of_a_chapter_that_names_none_is_all_of_it(catalog: Catalog) -> None:
    topic = replace(catalog.topic("hardware"), on_path=frozenset())
    assert topic.path == topic.exercises
    assert topic.extras == ()


def test_a_harder_exercise_takes_longer_and_a_program_longer_than_a_choice(catalog: Catalog) -> None:
    longest_first = sorted(catalog.exercises, key=lambda one: one.minutes, reverse=True)
    least = {(one.kind, one.level): one.minutes for one in longest_first}
    assert least["numeric", 1] < least["numeric", 3] < least["numeric", 4]
    assert least["choice", 2] < least["numeric", 2] < least["function", 2]


def test_values_that_decide_which_option_is_right_take_longer(catalog: Catalog) -> None:
    assert catalog.exercise("diagnosis/one-hundred-percent").minutes == 1
    assert catalog.exercise("diagnosis/does-it-fit").minutes == 4


def test_an_exercise_that_asks_for_more_takes_longer(catalog: Catalog) -> None:
    five, two = (catalog.exercise(f"precision/{one}") for one in ("mixed-or-full", "rounded-by-chance"))
    assert five.level == two.level
    assert five.minutes == two.minutes + 1  # two boxes more
    many = catalog.exercise("tensor/seventy-one-seconds")
    assert many.minutes > 4


def test_the_first_variant_has_the_plain_address(topic: Topic) -> None:
    exercise = topic.exercises[0]
    assert exercise_url(exercise.id) == exercise_url(exercise.id, 0) == f"/exercises/{exercise.id}"
    assert exercise_url(exercise.id, 7) == f"/exercises/{exercise.id}?seed=7"
