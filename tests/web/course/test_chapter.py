"""The page of a chapter as plain values, and what schedules cost beside each other."""

from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any

import pytest

from app.core.errors import NotFoundError
from app.course.content.catalog import Catalog, Topic
from app.course.kinds.base import ExerciseFigure
from app.course.kinds.code.schedule import Schedule
from app.server.db.history import Effort, Standing
from app.server.db.tables import Attempt
from app.site.web.course.chapter import (
    ChapterPage,
    ChapterWork,
    chapter_page,
    figure_beside,
    opening_views,
    unplaced_figures,
)
from app.site.web.course.schedule import NamedMeasures, measures_table, schedule_exercise
from app.site.web.standing.view import LearnerHistory
from tests.each import each

TODAY = date(2026, 3, 10)
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
ALONE = Standing(tried=1, solved=True, unaided=True)


def page(
    catalog: Catalog, topic: Topic, past: LearnerHistory | None = None, work: ChapterWork | None = None
) -> ChapterPage:
    past, work = past or LearnerHistory(), work or ChapterWork()
    return chapter_page(catalog, topic, past, work, TODAY, choice=None, seed=0, typed={})


def right(topic: Topic, *seeds: int) -> dict[str, Attempt]:
    """A right answer to the first exercises of *topic*, the first one last."""
    return {
        exercise.id: Attempt(
            learner="l", exercise=exercise.id, seed=seed, answer=str(exercise.right_answer(seed)), correct=True, score=1.0,
            at=NOON.replace(hour=23 - number), digest=exercise.digest, drawn=exercise.draw(seed).as_json,
        )
        for number, (exercise, seed) in enumerate(zip(topic.path, seeds, strict=False))
    }  # fmt: skip


def test_a_chapter_has_its_number_its_part_and_the_minutes_of_its_path(catalog: Catalog) -> None:
    for number, topic in enumerate(catalog.topics, 1):
        found = page(catalog, topic)
        assert (found.number, found.part, found.title) == (number, catalog.part_title(topic), topic.title)
        assert found.total == sum(one.minutes for one in topic.path) == found.path.minutes
        assert (found.practice != "") == bool(topic.extras)
        assert len(found.extras.rows) == len(topic.extras)
    hidden = replace(catalog, topics=catalog.topics[1:])
    assert page(hidden, catalog.topics[0]).number == 0


def test_what_one_has_computed_is_told_only_once_the_path_is_finished(catalog: Catalog) -> None:
    topic = catalog.topics[0]
    work = ChapterWork(right(topic, 0, 0), {one.id: Effort(3, 2, 61.0) for one in topic.path})
    known = {one.id: ALONE for one in topic.path}
    (first, second) = page(catalog, topic, LearnerHistory(known), work).results
    assert (first.answers, first.right, first.time) == (3, 2, "1 min")
    assert [one.row.title for one in (first, second)] == [one.title for one in topic.path[:2]]
    del known[topic.path[-1].id]
    assert page(catalog, topic, LearnerHistory(known), work).results == ()


def test_the_last_right_answer_has_the_seed_that_was_chosen_last(catalog: Catalog) -> None:
    topic = catalog.topics[0]
    assert ChapterWork(right(topic, 7, 9)).last_seed == 7
    assert ChapterWork().last_seed == 0


def test_the_first_figure_that_moves_stands_beside_the_text_and_others_have_one_place(catalog: Catalog) -> None:
    sides = 0
    for topic in catalog.topics:
        beside = figure_beside(topic)
        moving = [at for at, figure in enumerate(topic.figures) if isinstance(figure, ExerciseFigure)]
        assert beside == (moving[0] if moving else None)
        sides += beside is not None
        placed = [one.figure for one in opening_views(topic, {}) if one.figure]
        assert len(placed) + len(unplaced_figures(topic)) + (beside is not None) == len(topic.figures), topic.id
        assert (page(catalog, topic).side is None) == (beside is None)
    assert sides


def questions(topic: Topic, **typed: str) -> list[Any]:
    return [one.question for one in opening_views(topic, typed) if one.question]


def test_a_question_is_answered_by_its_own_field_and_keeps_the_others(catalog: Catalog) -> None:
    topic = next(one for one in catalog.topics if len(one.questions) > 1)
    blank = questions(topic)
    assert [(one.number, one.typed, one.right, one.says) for one in blank] == [
        (number, "", None, "") for number in range(1, len(topic.questions) + 1)
    ]
    key = topic.questions[0].key()
    first, second, *_ = questions(topic, q1=f" {key.shown()} ", q2="much", q99="x")
    assert (first.right, first.typed, first.others) == (True, key.shown(), (("q2", "much"),))
    assert first.says
    assert (second.right, second.says) == (None, "")
    assert second.verdict
    shown, _, *_ = questions(topic, q1=" ")
    assert (shown.right, "The answer is" in shown.verdict, bool(shown.says)) == (None, True, True)
    wrong, *_ = questions(topic, q1="123456789")
    assert (wrong.right, "The answer is" in wrong.verdict) == (False, True)
    assert len(questions(topic, q1="9" * 99)[0].typed) == 60


def test_a_page_knows_what_is_on_it(catalog: Catalog) -> None:
    found = page(catalog, catalog.topics[0])
    assert found.has("p")
    assert not found.has("video")
    assert found.draws == (bool(found.figures or found.side) or any(not part.text for part in found.opening))


def puzzles(catalog: Catalog) -> list[Schedule]:
    return [one for one in catalog.exercises if isinstance(one, Schedule)]


def test_a_table_of_schedules_has_the_columns_in_which_they_differ(catalog: Catalog) -> None:
    row = NamedMeasures(name="Mine", time=20.0, memory=None, sends=3.0)
    columns = set()
    for exercise in puzzles(catalog):
        machine, targets = exercise.machine, exercise.targets
        target = NamedMeasures(name="Target", time=targets.time, memory=targets.memory)
        header, *rows = measures_table(machine, (row, target))
        assert [one[0] for one in rows] == ["Mine", "Target"]
        found = dict(zip(header, rows[0], strict=True))
        columns |= set(header)
        assert found["Time, in units"] == "20"
        if machine.work:
            bubble = max(0.0, 1 - machine.work / (machine.ranks * 20))
            assert float(found["Bubble: share of time without new work"].split()[0]) == pytest.approx(
                100 * bubble, abs=0.1
            )
        assert ("Bubble: share of time without new work" in header) == bool(machine.work)
        assert ("Memory of the fullest rank, in units" in header) == bool(machine.size)
        if machine.size:
            assert found["Memory of the fullest rank, in units"] == "–"
        if "Sends of all ranks" in header:
            assert found["Sends of all ranks"] == "3"
    assert len(columns) >= 4


def test_time_that_is_none_has_no_bubble_and_no_share_is_below_zero(catalog: Catalog) -> None:
    exercise = next(one for one in puzzles(catalog) if one.machine.work)
    for time, share in ((0.0, "0 %"), (1e-3, "0 %")):
        row = NamedMeasures(name="x", time=time, memory=1)
        header, cells = measures_table(exercise.machine, (row,))
        assert dict(zip(header, cells, strict=True))["Bubble: share of time without new work"] == share


def test_an_exercise_of_another_kind_has_no_schedule(catalog: Catalog) -> None:
    assert schedule_exercise(catalog, puzzles(catalog)[0].id)
    with pytest.raises(NotFoundError, match="is not an exercise on schedules"):
        schedule_exercise(catalog, "collectives/ring-all-reduce-time")


@each("typed", [{}, {"q0": "1"}, {"x": "1"}])
def test_fields_that_are_no_question_are_left(catalog: Catalog, typed: dict[str, str]) -> None:
    topic = next(one for one in catalog.topics if one.questions)
    assert all(one.others == () for one in questions(topic, **typed))
