"""Where a learner stands, worked out from what is stored, without a server."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest
from starlette.requests import Request
from starlette.responses import Response

from app.core.errors import NotFoundError
from app.course.content.catalog import Catalog, Topic
from app.course.kinds import SEEDS
from app.course.learning import Memory, Review
from app.server.db.history import PastAnswer, Standing
from app.site.web.standing.history import reviews_of
from app.site.web.standing.next_steps import (
    chapter_on_route,
    keep_route,
    next_steps,
    review_place,
    route_progress,
    topics_on,
)
from app.site.web.standing.view import LearnerHistory, card_of, clock, has_finished, is_solved, mark_of, path_of, row_of
from app.site.web.urls import exercise_url, path_inside, seed_of
from tests.each import each

RING, BYTES = "collectives/ring-all-reduce-time", "collectives/bytes-sent-by-a-ring"
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


def test_a_row_has_the_seed_of_its_chapter_where_that_draws_it(catalog: Catalog) -> None:
    own, drawn = catalog.exercise(RING), catalog.topic("your-cluster").path[0]
    assert [row_of(one, {}, 7).href for one in (own, drawn)] == [exercise_url(own.id), exercise_url(drawn.id, 7)]


def test_a_stretch_is_around_one_exercise_and_inside_the_path(topic: Topic) -> None:
    solved = {one.id: ALONE for one in topic.path[:3]} | {topic.path[3].id: TRIED}
    path = path_of(topic.path, solved)
    count, hrefs = len(path.rows), [row.href for row in path.rows]
    assert count == 8

    def numbers(href: str, most: int) -> tuple[int, int]:
        found = path.near(href, most)
        assert [row.href for row in found.rows] == hrefs[found.first - 1 : found.first - 1 + len(found.rows)]
        return found.first, len(found.rows)

    assert numbers(hrefs[5], 5) == (4, 5)
    assert numbers(hrefs[1], 5) == (1, 5)
    assert numbers(hrefs[-1], 5) == (count - 4, 5)
    assert numbers("/elsewhere", 3) == (3, 3), "around the first that is not solved, tried or not"
    assert numbers(hrefs[-1], count + 5) == (1, count)
    assert path_of((), {}).near("", 5).rows == ()


def test_a_chapter_is_finished_by_the_last_that_its_path_needed(topic: Topic) -> None:
    *others, last = topic.path
    before = {one.id: SOLVED for one in others}
    after = {**before, last.id: ALONE}
    assert has_finished(topic, last, before, after)
    assert not has_finished(topic, last, after, after), "it was solved before"
    assert not has_finished(topic, others[0], {one.id: SOLVED for one in others[1:]}, before)
    extra = topic.extras[0]
    assert not has_finished(topic, extra, after, {**after, extra.id: ALONE}), "it is not on the path"
    assert not has_finished(topic, last, before, {**before, last.id: TRIED})


@each(
    ("seconds", "says"),
    [
        ((), ""), ((None,), ""), ((0.4,), "0 s"), ((29.4, None, 30.2), "1 min"), ((59.4,), "59 s"),
        ((3_599.0,), "59 min"), ((3_599.5,), "1 h 0 min"), ((7_380.0,), "2 h 3 min"),
    ],
)  # fmt: skip
def test_a_time_is_told_in_its_largest_units(seconds: Sequence[float | None], says: str) -> None:
    assert clock(seconds) == says


NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
TODAY = NOON.date()
DAY = timedelta(days=1)


def answer(exercise: str, at: datetime = NOON, *, own: bool = True, unaided: bool = True) -> PastAnswer:
    return PastAnswer(exercise, at, own, unaided)


def due(*exercises: str, first: date = TODAY - 40 * DAY, last: date = TODAY - 20 * DAY) -> dict[str, Memory]:
    return {name: Memory(TODAY, last, 0.5, first) for name in exercises}


def test_a_day_of_an_exercise_is_one_review(catalog: Catalog) -> None:
    missed = answer(RING, own=False, unaided=False)
    given = [missed, answer(BYTES), answer(RING, NOON + timedelta(hours=1)), answer(RING, NOON + DAY), missed]
    assert list(reviews_of(given)) == [
        Review(RING, NOON, solved=True, at_once=False),
        Review(BYTES, NOON, solved=True, at_once=True),
        Review(RING, NOON + DAY, solved=True, at_once=True),
    ]


def test_one_goes_on_in_the_chapter_of_the_last_answer_if_it_is_on_the_route(catalog: Catalog) -> None:
    off = next(topic for topic in catalog.topics if "serve" not in topic.routes)
    on = topics_on(catalog, "serve")[0]

    def chapter(*answers: str, route: str = "") -> str:
        return chapter_on_route(catalog, LearnerHistory(answers=[answer(one) for one in answers], route=route))

    assert chapter() == chapter("no/such") == ""
    assert chapter(on.path[0].id, off.path[0].id) == off.id
    assert chapter(on.path[0].id, off.path[0].id, route="serve") == ""
    assert chapter(off.path[0].id, on.path[0].id, route="serve") == on.id


def test_a_chapter_of_a_route_is_done_once_it_is_finished_or_known(catalog: Catalog) -> None:
    first, second, *rest = topics_on(catalog, "train")
    known = {one.id: SOLVED for one in first.path} | {second.path[0].id: SOLVED}
    progress = route_progress(catalog, LearnerHistory(known, chapters=frozenset({rest[0].id}), route="train"))
    assert progress is not None
    assert (progress.done, progress.total) == (2, len(rest) + 2)
    assert route_progress(catalog, LearnerHistory(known)) is None
    with pytest.raises(NotFoundError, match="did you mean 'train'"):
        topics_on(catalog, "trains")


def test_a_route_is_kept_by_the_browser_until_it_is_left() -> None:
    for scheme, route, cookie in (
        ("http", "serve", "route=serve; HttpOnly; Max-Age=34560000"),
        ("https", "serve", "Secure"),
        ("http", "", "Max-Age=0"),
    ):
        response = Response()
        keep_route(
            Request({"type": "http", "scheme": scheme, "server": ("a", 1), "headers": [], "path": "/"}), response, route
        )
        assert cookie in response.headers["set-cookie"]


def test_a_suggestion_has_the_seed_of_its_chapter_and_is_on_the_route(catalog: Catalog) -> None:
    cluster = catalog.topic("your-cluster")
    steps = next_steps(catalog, LearnerHistory(), cluster.id, TODAY, seed=7)
    assert (steps.begun, steps.review, steps.is_review_first) == (False, None, False)
    assert steps.following is not None
    assert steps.following.href == exercise_url(cluster.path[0].id, 7)
    plain = next_steps(catalog, LearnerHistory(), "collectives", TODAY, seed=7).following
    assert plain is not None
    assert plain.href == exercise_url(catalog.topic("collectives").path[0].id)
    for route in ("", "serve"):
        past = LearnerHistory({one.id: ALONE for one in catalog.topics[0].path}, route=route)
        following = next_steps(catalog, past, catalog.topics[0].id, TODAY).following
        after = next(topic for topic in catalog.topics[1:] if not route or route in topic.routes)
        assert following is not None
        assert following.href == exercise_url(after.path[0].id)


def test_a_review_has_its_number_new_numbers_and_its_turn(catalog: Catalog) -> None:
    one, other = RING, BYTES
    done = {"memory/does-it-load": Memory(TODAY + 30 * DAY, TODAY, 1.0, TODAY - 40 * DAY)}
    past = LearnerHistory(answers=[answer(one)], memories=due(one, other) | done)
    steps = next_steps(catalog, past, catalog.topics[-1].id, TODAY)
    assert steps.begun
    assert steps.review is not None
    assert (steps.review.number, steps.review.total, steps.review.later) == (2, 3, 0)
    assert steps.review.minutes == sum(catalog.exercise(name).minutes for name in (one, other))
    seed = int(steps.review.exercise.href.partition("seed=")[2].partition("&")[0])
    assert seed > 0, "with numbers that were not answered yet"
    assert next_steps(catalog, past, "memory", TODAY).review == steps.review, "the same ones until it is done"
    assert next_steps(catalog, past, catalog.topic_of(catalog.exercise(one)).id, TODAY, reviewing=True).is_review_first


def test_what_comes_next_waits_for_reviews_of_what_it_builds_on(catalog: Catalog) -> None:
    needed, other = catalog.topic("hardware"), catalog.topic("rates")
    assert "hardware" in catalog.topic("attention").needs
    for topic, first in ((needed, True), (other, False)):
        past = LearnerHistory(memories=due(topic.path[0].id))
        assert next_steps(catalog, past, "attention", TODAY).is_review_first is first


def test_a_review_of_the_day_has_a_place_before_and_after_it_is_done(catalog: Catalog) -> None:
    past = LearnerHistory(memories=due(RING, BYTES))
    assert review_place(catalog, past, RING, TODAY) == "Review 1 of 2"
    assert review_place(catalog, past, "memory/does-it-load", TODAY) == ""
    later = Memory(TODAY + 30 * DAY, TODAY, 1.0, TODAY - 40 * DAY)
    reviewed = LearnerHistory(memories={RING: later, **due(BYTES)})
    assert review_place(catalog, reviewed, RING, TODAY) == "Review 1 of 2"
    assert review_place(catalog, reviewed, BYTES, TODAY) == "Review 2 of 2"
    solved_today = replace(later, first=TODAY)
    assert review_place(catalog, LearnerHistory(memories={RING: solved_today}), RING, TODAY) == "", "it was new today"


def test_a_page_of_a_known_chapter_goes_on_in_it(catalog: Catalog) -> None:
    past = LearnerHistory(chapters=frozenset({"memory", "tensor"}))
    assert past.within("memory").chapters == {"tensor"}
    assert past.within("memory").known is past.known


def test_a_seed_is_a_short_number_that_exists() -> None:
    assert [seed_of(text) for text in ("0", "007", f"{SEEDS - 1}")] == [0, 7, SEEDS - 1]
    for text in ("", "-1", "1.0", f"{SEEDS}", "٣", "1" * 17, " 1"):
        with pytest.raises(NotFoundError, match=f"from 0 to {SEEDS - 1}"):
            seed_of(text)


def test_a_path_is_one_of_this_site() -> None:
    outside = ("//evil.example", "/\\evil.example", "https://evil.example/", "labs", "")
    assert [path_inside(one) for one in ("/", "/labs?page=//x", *outside)] == ["/", "/labs?page=//x", *[""] * 5]


def test_the_first_variant_has_the_plain_address(topic: Topic) -> None:
    exercise = topic.exercises[0]
    assert exercise_url(exercise.id) == exercise_url(exercise.id, 0) == f"/exercises/{exercise.id}"
    assert exercise_url(exercise.id, 7) == f"/exercises/{exercise.id}?seed=7"
