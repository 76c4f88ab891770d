"""What a learner did: answers as they were given, wrong ideas, and when the next review comes."""

import asyncio
import json
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from html import unescape

import pytest
from fastapi.testclient import TestClient

from app.classes.people.policy import Policy
from app.core.errors import AnswerError
from app.course.content.catalog import Catalog
from app.course.kinds import Answer, Exercise
from app.course.learning import Memory
from app.server.db.history import Effort, PastAnswer, Standing
from app.server.db.learner_cookie import new_learner, sign
from app.server.db.tables import Attempt, now
from app.server.db.writer import store
from app.site import Site
from app.site.web.exercise.views import view_of
from app.site.web.frame.visitor import COOKIE
from app.site.web.progress.page import ProgressRecord, progress_page, wrong_ideas
from app.site.web.standing.records import open_records, veil_of
from app.site.web.standing.view import LearnerHistory
from tests.each import each
from tests.people.school import School

RING = "collectives/ring-all-reduce-time"
Stored = Callable[..., None]


def words(page: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", page)).split())


def section(page: str, title: str) -> str:
    """The words under the heading *title*."""
    found = re.search(rf"<h2>{title}</h2>(.*?)<h2>", page, re.DOTALL)
    return words(found[1]) if found else ""


def text_of(answer: Answer) -> str:
    """*answer* as it is stored."""
    return answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)


def told(exercise: Exercise, answer: Answer, seed: int = 0) -> str:
    parts = view_of(exercise).told(exercise, seed, text_of(answer))
    return "; ".join(words(part) for part in parts)


@pytest.fixture
def answered(client: TestClient, site: Site, catalog: Catalog) -> Stored:
    """Stores an answer of the visitor, some days ago."""
    learner = new_learner()
    client.cookies.set(COOKIE, sign(learner, site.secret))

    def put(name: str, answer: Answer, *, correct: bool, ago: float = 0, drawn: str = "") -> None:
        shown, mistake = {}, ""
        if exercise := catalog.by_id.get(name):
            shown = dict(exercise.draw(0).shown)
            if not exercise.runs_code:
                with suppress(AnswerError):
                    mistake = asyncio.run(exercise.grade(0, answer, site.runner)).mistake
        row = Attempt(
            learner=learner, exercise=name, seed=0, answer=text_of(answer), correct=correct,
            score=float(correct), digest="", drawn=drawn or json.dumps(shown, ensure_ascii=False),
            at=now() - timedelta(days=ago), mistake=mistake or None,
        )  # fmt: skip
        assert store(site.engine, [row]) == [None]

    return put


TOLD: list[tuple[str, Answer, str]] = [
    (RING, "70 ms", "70 ms"),
    ("pipelines/bubble-two-ways", {"ratio": "25 %", "fraction": "1/5"},
     "Idle time divided by ideal compute time: 25 %; Idle time divided by the whole step: 1/5"),
    ("collectives/ring-or-tree", "ring", "The ring wins for all large messages, on any number of ranks, because it is bandwidth-optimal."),
    ("diagnosis/technique-and-lever", {"dp": "copy", "pp": "slice"},
     "Data parallelism → the whole model, from its own copy; "
     "Pipeline parallelism → some of the layers, each one whole"),
    ("memory/the-mildest-stage", {"stage": "2", "gpus": "64"}, "ZeRO stage: 2; GPUs: 64"),
    ("collectives/estimate-off-by-a-factor", "6", "line 6: return [2 * steps * per_step_time, steps, per_step_data, per_step_time]"),
    ("collectives/derive-the-volume", "2 * S * (N - 1) / N", "2 * S * (N - 1) / N"),
    ("collectives/write-ring-time", "def f():\n    return 1\n", "a program of 2 lines def f(): return 1"),
]  # fmt: skip


@each(("name", "answer", "says"), TOLD)
def test_an_answer_is_shown_as_its_learner_saw_it(catalog: Catalog, name: str, answer: Answer, says: str) -> None:
    assert told(catalog.exercise(name), answer) == says


def test_an_order_is_shown_as_statements_with_their_places(catalog: Catalog) -> None:
    exercise = catalog.exercise("collectives/steps-of-a-ring")
    shown = told(exercise, ["first", "cut"])
    assert shown.startswith("1. Rank r sends its chunk")
    assert "; 2. Every rank cuts" in shown


def test_a_prediction_is_shown_with_the_text_of_its_cause(catalog: Catalog) -> None:
    exercise = next(one for one in catalog.exercises if one.kind == "lab")
    right = exercise.right_answer(0)
    shown = told(exercise, right)
    assert isinstance(right, dict)
    assert right["cause"] not in shown.split("; ")
    assert all(right[name] in shown for name in right if name != "cause")


OLD = [
    *("", "[]", "{}", "[1, 2]", '{"a": {"b": 1}}', "9" * 6000, "[" * 3000, "null", "gone"),
    *('{"gone": "x"}', '["gone"]', '{"dp": "gone", "gone": "copy"}', "<b>x</b>", "{size}", "$x"),
]


@each("stored", OLD)
def test_an_old_row_of_any_kind_is_shown_somehow(catalog: Catalog, stored: str) -> None:
    for kind in {exercise.kind for exercise in catalog.exercises}:
        exercise = next(one for one in catalog.exercises if one.kind == kind)
        shown = "".join(view_of(exercise).told(exercise, 3, stored))
        assert "<b>" not in shown
        assert len(shown) < 7000


def test_answers_to_what_is_no_longer_in_the_course_stay_listed(client: TestClient, answered: Stored) -> None:
    answered("gone/for-good", "42", correct=True)
    page = client.get("/progress").text
    assert "gone/for-good: 42" in words(page)
    assert "/exercises/gone" not in page


def test_nothing_is_told_of_a_verdict_that_an_assignment_hides(client: TestClient, site: Site) -> None:
    school = School(site)
    person = school.student(client)
    school.assign(Policy(due=now() + timedelta(days=1), show_points=False), [RING])
    assert "Wrong ideas" not in client.get("/progress").text  # from now on, this browser is known
    ((_, seed),) = veil_of(site, person.learner)
    row = Attempt(
        learner=person.learner, exercise=RING, seed=seed or 0, answer="70 ms", correct=True, score=1.0,
        digest="", drawn="{}",
    )  # fmt: skip
    store(site.engine, [row])
    with open_records(site, person.learner) as records:
        assert not records.standings()
    page = words(client.get("/progress").text)
    assert "70 ms" not in page


UNTRIED = ProgressRecord()
TODAY = date(2026, 3, 4)  # a Wednesday


def test_the_calendar_has_whole_weeks_and_a_shade_for_each_day(catalog: Catalog) -> None:
    counts = (0, 1, 3, 4, 9, 10)
    days = {TODAY - timedelta(days=n): count for n, count in enumerate(counts)}
    page = progress_page(catalog, replace(UNTRIED, days=days), TODAY)
    shown = [day for week in page.weeks for day in week]
    assert [day.shade for day in shown[-len(counts) :]] == [3, 2, 2, 1, 1, 0]
    assert [len(week) for week in page.weeks] == [7] * 25 + [3]
    assert [shown[0].date.weekday(), shown[-1].date] == [0, TODAY]
    assert [day.count for day in page.days] == [1, 3, 4, 9, 10], "the latest first, without the empty ones"


def test_progress_counts_the_paths_and_the_exercises_beside_them_apart(catalog: Catalog) -> None:
    topic = catalog.topic("collectives")
    alone, solved, tried = Standing(1, True, True), Standing(2, True), Standing(1)
    on = dict(zip((one.id for one in topic.path), (alone, solved, tried, solved), strict=False))
    beside = dict(zip((one.id for one in topic.extras), (alone, solved, tried), strict=False))
    page = progress_page(catalog, replace(UNTRIED, past=LearnerHistory({**on, **beside})), TODAY)
    assert (page.solved, page.unaided, page.tried, page.bonus) == (3, 1, 4, 2)
    assert page.total == sum(len(topic.path) for topic in catalog.topics)
    efforts = {RING: Effort(3, 1, 100.0), "memory/stage-1": Effort(2, 2, None)}
    page = progress_page(catalog, replace(UNTRIED, efforts=efforts), TODAY)
    assert (page.answers, page.right, page.time) == (5, 3, "1 min")


def test_a_review_is_due_from_its_day_on_and_the_next_eight_are_listed(catalog: Catalog) -> None:
    names = [one.id for one in catalog.exercises[:10]]
    dates = [TODAY + timedelta(days=n) for n in (5, 0, 1, -1, 9, 8, 7, 6, 4, 3)]
    memories = {name: Memory(due, TODAY, 0.9) for name, due in zip(names, dates, strict=True)}
    page = progress_page(catalog, replace(UNTRIED, past=LearnerHistory(memories=memories)), TODAY)
    assert page.due == 2
    assert [place.review for place in page.reviews] == sorted(dates)[:8]
    assert [place.is_due for place in page.reviews] == [True, True] + [False] * 6


@each(
    ("right", "fate"),
    [((), "open"), ((0,), "open"), ((-1,), "open"), ((1,), "corrected"), ((1, 24), "gone"), ((12,), "gone")],
)
def test_an_idea_is_gone_with_a_right_answer_of_a_later_day(
    catalog: Catalog, right: tuple[int, ...], fate: str
) -> None:
    noon = datetime(2026, 3, 1, 12, tzinfo=UTC)
    exercise = catalog.exercise(RING)
    mistake = asyncio.run(exercise.grade(0, "35 ms", None)).mistake  # type: ignore[arg-type]
    wrong = Attempt(
        learner="l", exercise=RING, seed=0, answer="35 ms", correct=False, score=0.0, digest="",
        drawn=exercise.draw(0).as_json, at=noon, mistake=mistake,
    )  # fmt: skip
    answers = [PastAnswer(RING, noon + timedelta(hours=hours), own=True, unaided=True) for hours in right]
    (idea,) = wrong_ideas(catalog, [wrong], [*answers, PastAnswer("memory/stage-1", noon + timedelta(9), True, True)])
    assert (idea.fate, idea.times) == (fate, 1)
    changed = Attempt.model_validate({**wrong.model_dump(), "drawn": "{}"})
    assert wrong_ideas(catalog, [changed], []) == ()


def test_a_wrong_idea_is_named_until_it_is_gone(client: TestClient, answered: Stored) -> None:
    says = "That is the reduce-scatter alone."
    answered(RING, "35 ms", correct=False, ago=3.2)
    answered(RING, "36 ms", correct=False, ago=3.15)  # no idea behind it
    answered(RING, "35 ms", correct=False, ago=3.1)
    ideas = section(client.get("/progress").text, "Wrong ideas")
    assert ideas.count(says) == 1
    assert "2 times, last on" in ideas
    assert "no right answer since" in ideas
    answered(RING, "70 ms", correct=True, ago=3.09)
    assert "right since, on the same day" in section(client.get("/progress").text, "Wrong ideas")
    answered(RING, "70 ms", correct=True, ago=1)
    assert "gone: right on a later day" in section(client.get("/progress").text, "Wrong ideas")
    answered(RING, "35 ms", correct=False)
    again = section(client.get("/progress").text, "Wrong ideas")
    assert "3 times, last on" in again
    assert "no right answer since" in again


IDEAS: list[tuple[str, Answer, str]] = [
    ("collectives/ring-or-tree", "ring", "Bandwidth-optimal is not the same as time-optimal"),
    ("diagnosis/technique-and-lever", {"dp": "shard"}, "Plain data parallelism keeps everything"),
    ("pipelines/bubble-two-ways", {"ratio": "33.33 %"}, "A stage waits for the 3 others"),
]


@pytest.mark.parametrize(("name", "answer", "says"), IDEAS)
def test_ideas_are_found_in_answers_of_every_form(
    client: TestClient, answered: Stored, name: str, answer: Answer, says: str
) -> None:
    answered(name, answer, correct=False)
    assert says in section(client.get("/progress").text, "Wrong ideas")


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("collectives/write-ring-time", "def f(): return 1"),
        ("diagnosis/technique-and-lever", "5"),
        ("diagnosis/technique-and-lever", '{"gone": "copy"}'),
        ("gone/for-good", "5"),
    ],
)
def test_an_answer_that_cannot_be_judged_again_has_no_idea(
    client: TestClient, answered: Stored, name: str, answer: str
) -> None:
    answered(name, answer, correct=False)
    assert "Wrong ideas" not in client.get("/progress").text


def test_an_answer_to_other_numbers_is_not_judged_by_those_of_today(client: TestClient, answered: Stored) -> None:
    answered(RING, "35 ms", correct=False, drawn='{"ranks": "9"}')
    assert "Wrong ideas" not in client.get("/progress").text


def test_the_date_of_each_next_review_is_said(client: TestClient, answered: Stored) -> None:
    answered(RING, "70 ms", correct=True, ago=40)
    answered("memory/optimizer-shard", "1", correct=True)
    page = client.get("/progress").text
    reviews = section(page, "Next reviews")
    assert reviews.startswith("due now Time of a ring all-reduce")
    dates = re.findall(r"(\d+ \w+ \d{4})", reviews)
    assert len(dates) == 1
    assert datetime.strptime(dates[0], "%d %b %Y").replace(tzinfo=UTC) > now()
    table = words(page[page.index("Exercises tried, as a table") :])
    assert dates[0] in table


def test_the_time_is_that_with_the_page_open(client: TestClient) -> None:
    begun = str(int(now().timestamp()) - 130)
    client.post(f"/exercises/{RING}", data={"answer": "70 ms", "begun": begun})
    client.post("/exercises/memory/stage-1", data={"answer": "1", "begun": ""})
    page = words(client.get("/progress").text)
    assert "Page open" in page
    assert "Exercises open 2 min" in page
