"""The weekly goal: how it is set, what counts for it, and the file for a calendar."""

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime

import pytest
from fastapi.testclient import TestClient

from app.exporting.pages import Page, as_file
from app.main import create_app
from app.server.db.learner_cookie import new_learner, sign
from app.server.db.tables import Attempt
from app.server.db.writer import store
from app.site import Site
from app.site.web.frame.visitor import COOKIE
from app.site.web.progress.calendar_file import WeeklyEvent, calendar_file
from app.site.web.standing.weekly_goal import GOALS
from tests.each import each
from tests.web.test_progress import words

NOW = datetime(2026, 3, 4, 9, 30, tzinfo=UTC)  # a Wednesday
RING, SENT = "collectives/ring-all-reduce-time", "collectives/bytes-sent-by-a-ring"
Answered = Callable[..., None]


def visitor(site: Site) -> TestClient:
    """A browser of a server whose clock shows NOW."""
    here = replace(site, clock=lambda: NOW)
    return TestClient(create_app(site=here), follow_redirects=False)


@pytest.fixture
def client(site: Site) -> TestClient:
    return visitor(site)


@pytest.fixture
def answered(client: TestClient, site: Site) -> Answered:
    """Stores an answer of the visitor."""
    learner = new_learner()
    client.cookies.set(COOKIE, sign(learner, site.secret))

    def put(exercise: str, at: str, *, correct: bool = True, revealed: bool = False) -> None:
        row = Attempt(
            learner=learner, exercise=exercise, seed=0, answer="1", correct=correct, score=float(correct),
            digest="", drawn="{}", revealed=revealed, at=datetime.fromisoformat(f"{at}+00:00"),
        )  # fmt: skip
        store(site.engine, [row])

    return put


def of_week(client: TestClient) -> list[str]:
    """How much of the goal is done, as the home page and the page of progress say it."""
    pages = (words(client.get(path).text) for path in ("/", "/progress"))
    return [found for page in pages for found in re.findall(r"\d+ of \d+ this week\S*", page)]


def unfolded(content: bytes) -> list[str]:
    """The content lines of a calendar."""
    assert content.endswith(b"\r\n")
    assert b"\n" not in content.replace(b"\r\n", b"")
    lines = content.removesuffix(b"\r\n").split(b"\r\n")
    assert max(map(len, lines)) <= 75
    for line in lines:
        line.decode()  # no character is divided
    return b"\r\n".join(lines).replace(b"\r\n ", b"").decode().split("\r\n")


def property_values(content: bytes) -> dict[str, str]:
    return dict(line.split(":", 1) for line in unfolded(content) if not line.startswith(("BEGIN", "END")))


def test_a_goal_is_shown_until_it_is_removed(client: TestClient, answered: Answered) -> None:
    assert of_week(client) == []
    moved = client.post("/progress/goal", data={"goal": "3"})
    assert moved.headers["location"] == "/progress#goal"
    answered(RING, "2026-03-02T08:00")
    answered(SENT, "2026-03-03T08:00")
    assert of_week(client) == ["2 of 3 this week."] * 2
    assert '<option value="3" selected>' in client.get("/progress").text
    client.post("/progress/goal", data={"goal": ""})
    assert of_week(client) == []


def test_an_exercise_counts_once_in_the_week_in_which_it_is_solved(client: TestClient, answered: Answered) -> None:
    client.post("/progress/goal", data={"goal": "2"})
    answered(SENT, "2026-03-01T23:59")  # the Sunday before
    answered(RING, "2026-03-02T00:00")
    answered(RING, "2026-03-04T08:00")
    answered("memory/zero-stages", "2026-03-04T08:00", correct=False)
    answered("memory/model-states", "2026-03-04T08:00", revealed=True)
    assert of_week(client) == ["1 of 2 this week."] * 2
    answered(SENT, "2026-03-04T09:00")  # repeated
    assert of_week(client) == ["2 of 2 this week:"] * 2
    assert "2 of 2 this week: reached." in words(client.get("/").text)


@each("goal", ["4", "-3", "03", "three", "3x", "9" * 5000])
def test_a_goal_that_cannot_be_chosen_is_none(client: TestClient, goal: str) -> None:
    client.cookies.clear()
    client.post("/progress/goal", data={"goal": goal})
    assert "goal" not in client.cookies
    client.cookies.set("goal", goal)
    assert of_week(client) == []


def test_a_form_of_another_site_sets_no_goal(client: TestClient) -> None:
    headers = {"Sec-Fetch-Site": "cross-site", "Origin": "https://other.example"}
    assert client.post("/progress/goal", data={"goal": "3"}, headers=headers).status_code == 403


def test_the_calendar_file_says_the_goal_and_where_to_go(site: Site) -> None:
    settings = site.settings.model_copy(update={"url": "https://example.org/wallclock"})
    client = visitor(replace(site, settings=settings))
    client.cookies.set("goal", "3")
    assert '/progress/goal.ics"' in client.get("/progress").text
    answer = client.get("/progress/goal.ics")
    assert answer.headers["content-type"] == "text/calendar; charset=utf-8"
    assert answer.headers["content-disposition"] == 'attachment; filename="wallclock.ics"'
    lines = unfolded(answer.content)
    assert lines[:2] == ["BEGIN:VCALENDAR", "VERSION:2.0"]
    assert lines[5] == "BEGIN:VEVENT"
    assert lines[-2:] == ["END:VEVENT", "END:VCALENDAR"]
    found = property_values(answer.content)
    assert re.fullmatch(r"[0-9a-f-]{36}", found.pop("UID"))
    assert found == {
        "VERSION": "2.0",
        "PRODID": "-//Wallclock//Weekly goal//EN",
        "CALSCALE": "GREGORIAN",
        "METHOD": "PUBLISH",
        "DTSTAMP": "20260304T093000Z",
        "DTSTART;VALUE=DATE": "20260302",
        "RRULE": "FREQ=WEEKLY",
        "SUMMARY": "Wallclock: 3 exercises this week",
        "DESCRIPTION": r"3 exercises this week\nhttps://example.org/wallclock/",
        "URL": "https://example.org/wallclock/",
        "TRANSP": "TRANSPARENT",
    }


def test_another_goal_is_a_change_of_the_same_event(site: Site) -> None:
    client = visitor(replace(site, settings=site.settings.model_copy(update={"url": ""})))
    events = []
    for goal in GOALS:
        client.cookies.set("goal", str(goal))
        events.append(property_values(client.get("/progress/goal.ics").content))
    assert len({event["UID"] for event in events}) == 1
    assert len({event["SUMMARY"] for event in events}) == len(GOALS)
    assert not any("URL" in event for event in events)  # the server does not know its address


def test_without_a_goal_the_calendar_file_leads_to_where_one_is_set(client: TestClient) -> None:
    answer = client.get("/progress/goal.ics")
    assert answer.headers["location"] == "/progress#goal"


@each("text", ["a, b; c\\d\ne", "每周三道题，" * 30, "x" * 300, "é" * 38, "𝑥" * 60, "\\n", ""])
def test_lines_are_escaped_and_folded_between_characters(text: str) -> None:
    event = WeeklyEvent(uid="u", first=date(2026, 3, 2), summary=text, description=text, url="")
    found = property_values(calendar_file(event, NOW))
    plain = re.sub(r"\\(.)", lambda one: "\n" if one[1] == "n" else one[1], found["SUMMARY"])
    assert plain == text
    assert not re.search(r"(?<!\\)(?:\\\\)*[;,]", found["DESCRIPTION"])


def test_an_exported_course_offers_no_goal(client: TestClient) -> None:
    html = client.get("/progress").text
    assert "Set the goal" in html
    page = as_file(Page("/progress", html), pages={"/", "/progress"}, core={}, scripts="x")
    assert "Set the goal" not in page
    assert "Your data" in page
