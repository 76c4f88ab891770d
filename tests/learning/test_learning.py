from datetime import UTC, date, datetime, timedelta

import pytest
from fsrs import Card, Rating, Scheduler

from app.content.catalog import Catalog
from app.learning import Review, due, mastery_by_skill, mastery_of, memories, suggestion

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
RING = "collectives/ring-all-reduce-time"
BYTES = "collectives/bytes-sent-by-a-ring"


def day(after: int, exercise: str = RING, *, solved: bool = True, at_once: bool = True) -> Review:
    return Review(exercise, NOON + timedelta(days=after), solved, solved and at_once)


def test_an_exercise_is_due_when_the_model_says_ninety_per_cent() -> None:
    # By the library alone: three good reviews, each when it was due.
    scheduler = Scheduler(learning_steps=(), relearning_steps=(), enable_fuzzing=False)
    card, days = Card(card_id=1, due=NOON), []
    for _ in range(3):
        days.append(Review(RING, card.due, solved=True, at_once=True))
        card, _ = scheduler.review_card(card, Rating.Good, card.due)
    memory = memories(days, card.due)[RING]
    assert memory.due == card.due.date()
    assert memory.chance == pytest.approx(0.9, abs=0.02)
    gaps = [(b.at - a.at).days for a, b in zip(days, days[1:], strict=False)]
    assert gaps == sorted(gaps)
    assert (card.due - days[-1].at).days > gaps[-1] > gaps[0] >= 1


def test_what_was_never_solved_is_not_remembered() -> None:
    assert memories([day(0, solved=False), day(1, solved=False)], NOON) == {}
    assert RING in memories([day(0, solved=False), day(1)], NOON + timedelta(days=2))


def test_the_harder_it_was_the_sooner_it_comes_again() -> None:
    now = NOON + timedelta(days=1)
    easy = memories([day(0)], now)[RING]
    hard = memories([day(0, at_once=False)], now)[RING]
    assert date(2026, 3, 1) < hard.due < easy.due
    assert hard.chance < easy.chance


def test_a_failed_review_comes_again_soon() -> None:
    later = NOON + timedelta(days=31)
    kept = memories([day(0), day(10), day(30)], later)[RING]
    failed = memories([day(0), day(10), day(30, solved=False)], later)[RING]
    assert failed.due < kept.due
    assert failed.chance < kept.chance


def test_mastery_is_the_mean_chance_of_solving(catalog: Catalog) -> None:
    topic = catalog.topic("collectives")
    at_once = memories([day(0), day(0, BYTES)], NOON)
    mastery = mastery_of(topic.exercises, at_once)
    assert (mastery.solved, mastery.total) == (2, len(topic.exercises))
    assert mastery.share == pytest.approx(2 / len(topic.exercises), rel=0.01)
    later = memories([day(0), day(0, BYTES)], NOON + timedelta(days=60))
    assert 0 < mastery_of(topic.exercises, later).share < mastery.share
    assert mastery_of([], {}).share == 0


def test_only_skills_that_were_begun_are_listed(catalog: Catalog) -> None:
    found = mastery_by_skill(catalog.exercises, memories([day(0)], NOON))
    assert set(found) == set(catalog.exercise(RING).skills)
    assert mastery_by_skill(catalog.exercises, {}) == {}


def test_a_due_review_comes_before_the_path(catalog: Catalog) -> None:
    kept = memories([day(0), day(0, BYTES, at_once=False)], NOON + timedelta(days=9))
    today = date(2026, 3, 10)
    assert [one.exercise.id for one in due(catalog, kept, today)] == [BYTES, RING]
    first = suggestion(catalog, {RING, BYTES}, kept, today)
    assert first
    assert first.review
    assert "you last did it 9 days ago" in first.reason
    after = suggestion(catalog, {RING, BYTES}, kept, today, current=BYTES)
    assert after
    assert after.exercise.id == RING


def test_the_path_goes_on_where_one_is(catalog: Catalog) -> None:
    today = date(2026, 3, 1)
    kept = memories([day(0)], NOON)
    assert due(catalog, kept, today) == ()
    found = suggestion(catalog, {RING}, kept, today, current="memory/stage-1")
    assert found
    assert found.exercise.id == "memory/stage-2"
    assert found.reason == "It is the next on the path, in ZeRO memory."
    core = {e.id for e in catalog.exercises if e.core}
    extra = suggestion(catalog, core, {}, today)
    assert extra
    assert not extra.exercise.core
    assert "still open in" in extra.reason
    assert suggestion(catalog, set(catalog.by_id), {}, today) is None
