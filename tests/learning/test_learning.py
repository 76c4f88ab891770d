from datetime import UTC, date, datetime, timedelta

import pytest
from fsrs import Card, Rating, Scheduler

from app.course.content.catalog import Catalog, Topic
from app.course.kinds import Exercise
from app.course.learning import (
    Memory,
    Review,
    due_exercises,
    mastery_by_skill,
    mastery_of,
    memories,
    next_exercise,
    practice_exercises,
    review_session,
)
from tests.kinds.small import small

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
    assert later.date() <= failed.due < kept.due  # on a later day, not within minutes
    assert failed.chance < kept.chance


def test_no_review_is_more_than_a_year_away() -> None:
    days = [day(after) for after in (0, 10, 60, 400, 1500)]
    memory = memories(days, days[-1].at)[RING]
    assert memory.due - memory.last == timedelta(days=365)


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


def test_the_least_remembered_review_comes_first(catalog: Catalog) -> None:
    kept = memories([day(0), day(0, BYTES, at_once=False)], NOON + timedelta(days=9))
    reviews = due_exercises(catalog, kept, date(2026, 3, 10))
    assert [one.exercise.id for one in reviews] == [BYTES, RING]
    assert reviews[0].reason.startswith("last done 9 days ago")
    assert due_exercises(catalog, memories([day(0)], NOON), date(2026, 3, 1)) == ()


def test_a_session_has_so_many_reviews_and_counts_those_of_today(catalog: Catalog) -> None:
    names = [one.id for one in catalog.topic("collectives").exercises[:12]]
    today = date(2026, 5, 1)
    kept = {name: Memory(today, date(2026, 3, 1), 0.5, date(2026, 3, 1)) for name in names}
    kept |= {name: Memory(date(2026, 9, 1), today, 1.0, date(2026, 3, 1)) for name in names[:3]}
    new = {"memory/does-it-load": Memory(date(2026, 5, 3), today, 1.0, today)}  # no review
    new |= {"gone/away": Memory(date(2026, 9, 1), today, 1.0, date(2026, 3, 1))}  # no longer in the course
    session = review_session(catalog, kept | new, today, most=7)
    assert (session.done, len(session.left), session.total, session.later) == (3, 4, 7, 5)
    assert session.minutes == sum(one.exercise.minutes for one in session.left)
    tomorrow = review_session(catalog, kept | new, date(2026, 5, 2), most=7)
    assert (tomorrow.done, len(tomorrow.left), tomorrow.later) == (0, 7, 2)


def test_a_review_comes_after_those_that_it_builds_on(catalog: Catalog) -> None:
    long_ago, today = date(2026, 3, 1), date(2026, 5, 1)
    chapters = ("meshes", "attention", "hardware", "rates")
    chances = (0.1, 0.8, 0.9, 0.2)  # meshes needs attention, which needs hardware
    kept = {
        catalog.topic(name).exercises[0].id: Memory(today, long_ago, chance, long_ago)
        for name, chance in zip(chapters, chances, strict=True)
    }
    session = review_session(catalog, kept, today)
    order = [one.exercise.id.partition("/")[0] for one in session.left]
    assert order == ["hardware", "attention", "meshes", "rates"]


def chosen(catalog: Catalog, solved: set[str], chapter: str = "", current: str = "") -> str:
    found = next_exercise(catalog, solved, chapter, current)
    return found.exercise.id if found else ""


def path(catalog: Catalog, chapter: str) -> list[str]:
    return [exercise.id for exercise in catalog.topic(chapter).path]


def test_one_continues_with_the_first_open_exercise_of_the_path(catalog: Catalog) -> None:
    memory = path(catalog, "memory")
    assert chosen(catalog, set()) == path(catalog, "collectives")[0]
    assert chosen(catalog, {RING}, "memory") == memory[0]
    # From the last one, and from an extra, back to what was left out.
    assert chosen(catalog, {memory[0], memory[5]}, "memory", memory[5]) == memory[1]
    assert chosen(catalog, {"memory/does-it-load"}, "memory", "memory/does-it-load") == memory[0]


def test_after_a_path_comes_that_of_the_next_chapter(catalog: Catalog) -> None:
    memory, after = path(catalog, "memory"), path(catalog, "overlap")
    assert chosen(catalog, set(memory), "memory", memory[2]) == after[0]
    assert chosen(catalog, set(memory[:-1]), "memory", memory[-1]) == after[0]
    last = catalog.topics[-1].id
    assert chosen(catalog, set(path(catalog, last)), last) == BYTES


def test_extras_come_when_every_path_is_finished(catalog: Catalog) -> None:
    paths = {name for topic in catalog.topics for name in path(catalog, topic.id)}
    found = next_exercise(catalog, paths, "memory")
    assert found
    assert found.exercise in catalog.topic("memory").extras
    assert found.reason == "Still open in ZeRO memory."
    assert next_exercise(catalog, set(catalog.by_id), "memory") is None


def test_the_place_on_the_path_is_said(catalog: Catalog) -> None:
    found = next_exercise(catalog, {"memory/the-three-stages"}, "memory")
    assert found
    assert found.reason == "Number 2 of 7 on the path in ZeRO memory."


def test_a_known_chapter_comes_after_the_extras_of_all_others(catalog: Catalog) -> None:
    paths = {name for topic in catalog.topics for name in path(catalog, topic.id)}
    open_path = paths - {BYTES}
    known = next_exercise(catalog, open_path, "collectives", known={"collectives"})
    assert known
    assert known.exercise in catalog.topics[1].extras
    extra = catalog.topic("collectives").extras[-1].id
    last = next_exercise(catalog, set(catalog.by_id) - {BYTES, extra}, "memory", known={"collectives"})
    assert last
    assert last.exercise.id == BYTES


def test_practice_is_new_beside_the_path_and_near_what_was_missed(catalog: Catalog) -> None:
    for topic in catalog.topics:
        missed, bank = topic.path[0], [one for one in topic.extras if not one.runs_lab]
        new = bank[1::2]
        if not new:
            continue

        def distance(one: Exercise, missed: Exercise = missed) -> tuple[int, int]:
            return -len(set(one.skills) & set(missed.skills)), abs(one.level - missed.level)

        found = practice_exercises(topic, {one.id for one in bank[::2]}, missed)
        assert found == [one for one in new if distance(one) == min(map(distance, new))]
        assert all(one not in practice_exercises(topic, (), one) for one in bank)


def test_what_is_due_today_is_listed_and_of_equal_chances_the_first_id(catalog: Catalog) -> None:
    today = date(2026, 5, 1)
    names = [one.id for one in catalog.topic("collectives").exercises[:3]]
    dues = (today, date(2026, 4, 30), date(2026, 5, 2))
    kept = {name: Memory(due, today, 0.5) for name, due in zip(names, dues, strict=True)}
    assert {one.exercise.id for one in due_exercises(catalog, kept, today)} == set(names[:2])
    alike = {one.id: Memory(today, today, 0.5) for one in catalog.exercises}
    listed = [one.exercise.id for one in due_exercises(catalog, alike, today)]
    assert listed == sorted(listed)
    assert len(listed) == len(catalog.exercises)


def test_a_review_says_when_it_was_done_last_and_how_much_is_left(catalog: Catalog) -> None:
    today = date(2026, 5, 10)
    for last, says in ((10, "last done today; "), (9, "last done yesterday; "), (8, "last done 2 days ago; ")):
        (due,) = due_exercises(catalog, {RING: Memory(today, date(2026, 5, last), 0.876)}, today)
        assert due.reason == f"{says}about 88 % is left"


def test_a_memory_knows_its_first_day_and_its_last() -> None:
    found = memories([day(0, solved=False), day(3), day(9, solved=False), day(20)], NOON + timedelta(days=30))[RING]
    assert (found.first, found.last) == (date(2026, 3, 4), date(2026, 3, 21))
    assert memories([day(3)], NOON + timedelta(days=3))[RING].first == date(2026, 3, 4)


def test_the_least_remembered_skill_comes_first() -> None:
    exercises = [small_one("a", skills=["s", "t"]), small_one("b", skills=["s"]), small_one("c", skills=["u", "new"])]
    kept = {name: Memory(NOON.date(), NOON.date(), chance) for name, chance in (("a", 0.9), ("b", 0.3), ("c", 0.6))}
    found = mastery_by_skill(exercises, {f"chapter/{name}": memory for name, memory in kept.items()})
    assert list(found) == ["new", "s", "u", "t"]
    assert found["s"].share == pytest.approx(0.6)
    assert [one.solved for one in found.values()] == [1, 2, 1, 1]


def test_a_day_has_ten_reviews_and_none_more_once_they_are_done(catalog: Catalog) -> None:
    today, before = date(2026, 5, 1), date(2026, 3, 1)
    names = [one.id for one in catalog.exercises[:30]]
    kept = {name: Memory(today, before, 0.5, before) for name in names[:12]}
    assert (len(review_session(catalog, kept, today).left), review_session(catalog, kept, today).later) == (10, 2)
    kept |= {name: Memory(date(2026, 9, 1), today, 1.0, before) for name in names[12:26]}
    over = review_session(catalog, kept, today)
    assert (over.done, over.left, over.later, over.total) == (14, (), 12, 14)


def small_one(name: str, **fields: object) -> Exercise:
    """An exercise of the chapter "chapter"."""
    options = {key: {"text": f"Text {key}.", "says": f"Says {key}."} for key in "ab"}
    return small("choice", **{"id": f"chapter/{name}", "options": options, "correct": "a", **fields})


def practice(
    path: list[Exercise], extras: list[Exercise], solved: set[str], after: Exercise | None = None
) -> list[str]:
    on_path = frozenset(one.id for one in path)
    topic = Topic(id="chapter", title="Chapter", position=1, exercises=(*path, *extras), on_path=on_path)
    return [one.id.partition("/")[2] for one in practice_exercises(topic, {f"chapter/{n}" for n in solved}, after)]


def test_practice_is_of_the_level_that_was_reached_on_the_path() -> None:
    path = [small_one("p1", level=1), small_one("p2", level=3)]
    extras = [small_one(f"e{level}", level=level) for level in (1, 2, 3, 4)]
    assert practice(path, extras, set()) == ["e1"]
    assert practice(path, extras, {"p1"}) == ["e1"]
    assert practice(path, extras, {"p1", "p2"}) == ["e3"]
    assert practice(path, extras, {"p2", "e3"}) == ["e2", "e4"]  # both are one level away
    assert practice(path, extras, {"p2", "e1", "e2", "e3", "e4"}) == ["e3"]  # once more, if all are solved
    assert practice([], [], set()) == []


def test_practice_after_a_miss_has_its_skills_then_its_level() -> None:
    missed = small_one("p1", level=2, skills=["ring", "tree"])
    extras = [
        small_one("both", level=4, skills=["tree", "ring"]),
        small_one("one", level=2, skills=["ring"]),
        small_one("none", level=2, skills=["cost"]),
    ]
    assert practice([missed], extras, set(), missed) == ["both"]
    assert practice([missed], extras, {"both"}, missed) == ["one"]
    assert practice([missed], extras, set(), extras[0]) == ["one"], "not the one that was missed"
    assert practice([missed], extras, set()) == ["one", "none"]


def test_a_chapter_without_more_is_practiced_on_its_path() -> None:
    path = [small_one("p1", level=1), small_one("p2", level=1)]
    assert practice(path, [], {"p1"}) == ["p2"]
    assert practice(path, [], set(), path[0]) == ["p2"]


def test_on_a_route_its_chapters_come_first_after_the_present_one(catalog: Catalog) -> None:
    on = [topic.id for topic in catalog.topics if "serve" in topic.routes]
    off = next(topic.id for topic in catalog.topics if "serve" not in topic.routes)

    def chapter_after(done: set[str], chapter: str = "") -> str:
        found = next_exercise(catalog, done, chapter, route="serve")
        assert found
        return catalog.topic_of(found.exercise).id

    assert chapter_after(set()) == on[0]
    assert chapter_after(set(path(catalog, on[0]))) == on[1]
    assert chapter_after(set(), off) == off
    finished = {name for chapter in on for name in path(catalog, chapter)}
    assert chapter_after(finished) == off
