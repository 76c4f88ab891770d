"""A board of schedules: open to those who solved it, with one entry a learner, and no names."""

import re

import pytest
from fastapi.testclient import TestClient

from app.content.catalog import Catalog
from app.db.boards import board_points, enter_schedule
from app.db.learner_cookie import new_learner, sign
from app.db.personal import delete_everything
from app.db.session import open_session
from app.db.tables import Reveal, now
from app.db.writer import store
from app.kinds.code.schedule import Schedule
from app.people.policy import Policy
from app.site import Site
from app.web.frame.visitor import COOKIE
from tests.people.school import DAY, School
from tests.web.course.test_map import words

PUZZLE = "puzzles/hide-the-sums"
PAGE, BOARD = f"/exercises/{PUZZLE}", f"/exercises/{PUZZLE}/board"


@pytest.fixture
def learner(client: TestClient, site: Site) -> str:
    made = new_learner()
    client.cookies.set(COOKIE, sign(made, site.secret))
    return made


@pytest.fixture
def puzzle(catalog: Catalog) -> Schedule:
    found = catalog.exercise(PUZZLE)
    assert isinstance(found, Schedule)
    return found


def test_a_board_opens_with_ones_own_solution(
    client: TestClient, site: Site, puzzle: Schedule, learner: str
) -> None:
    with open_session(site.engine) as session:
        enter_schedule(session, "another learner", PUZZLE, 987, 654)
    closed = client.get(BOARD).text
    assert "Solve it first" in words(closed)
    assert "987" not in closed
    client.post(PAGE, data={"answer": puzzle.wrong[0].code})
    assert "Solve it first" in words(client.get(BOARD).text)
    solved = client.post(PAGE, data={"answer": puzzle.right}).text
    assert f'href="{BOARD}"' in solved
    page = client.get(BOARD).text
    assert f"Yours takes {puzzle.targets.time} units of time" in words(page)
    assert "<td>987</td><td>654</td><td>1</td><td>no</td>" in re.sub(r"\s+(?=<)", "", page)
    assert "another learner" not in page
    assert learner not in page
    with open_session(site.engine) as session:
        before = sum(one.learners for one in board_points(session, PUZZLE))
        delete_everything(session, learner)
        assert sum(one.learners for one in board_points(session, PUZZLE)) == before - 1


def test_a_copied_solution_gets_no_place(
    client: TestClient, site: Site, puzzle: Schedule, learner: str
) -> None:
    store(site.engine, [Reveal(learner=learner, exercise=PUZZLE, seed=0, number=0)])
    client.post(PAGE, data={"answer": puzzle.right})
    assert "Solve it first" in words(client.get(BOARD).text)


def test_only_schedules_have_a_board(client: TestClient) -> None:
    refused = client.get("/exercises/collectives/ring-all-reduce-time/board")
    assert refused.status_code == 404
    assert "only exercises on schedules have one" in words(refused.text)
    assert client.get("/exercises/puzzles/nothing/board").status_code == 404
    assert "set-cookie" not in client.get(BOARD).headers


def test_a_hidden_verdict_gets_no_place(client: TestClient, site: Site, puzzle: Schedule) -> None:
    school = School(site)
    person = school.student(client)
    assignment = school.assign(Policy(due=now() + DAY, show_points=False), [PUZZLE])
    sent = client.post(school.address(assignment, person, PUZZLE), data={"answer": puzzle.right})
    assert "Your answer is stored." in words(sent.text)
    assert "Solve it first" in words(client.get(BOARD).text)
