"""A board of schedules: open to those who solved it, with one entry a learner, and no names."""

import asyncio
import re
from dataclasses import replace

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import delete
from sqlmodel import col

from app.classes.people.policy import Policy
from app.course.content.catalog import Catalog
from app.course.kinds.code.schedule import Schedule
from app.course.sandbox.runner import Runner
from app.server.db.boards import BoardRow, board_points, enter_schedule
from app.server.db.history import Drawing, ExerciseHistory, LastAnswer, LastAnswers
from app.server.db.learner_cookie import new_learner, sign
from app.server.db.personal import delete_everything
from app.server.db.session import open_session
from app.server.db.tables import Reveal, now
from app.server.db.writer import store
from app.site import Site
from app.site.web.course.kept_schedules import kept_schedules
from app.site.web.frame.visitor import COOKIE
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


def test_a_board_opens_with_ones_own_solution(client: TestClient, site: Site, puzzle: Schedule, learner: str) -> None:
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


def rows_of(page: str) -> list[list[str]]:
    """The cells of each row of the tables of a board."""
    rows = re.findall(r"<tr>(<td.*?)</tr>", page.replace("\xa0", " "), re.DOTALL)
    return [[words(cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", row, re.DOTALL)] for row in rows]


def test_a_board_shows_the_best_and_the_median_on_each_axis(
    client: TestClient, site: Site, catalog: Catalog, learner: str
) -> None:
    name = "puzzles/two-chunks"
    exercise = catalog.exercise(name)
    assert isinstance(exercise, Schedule)
    with open_session(site.engine) as session:  # others who solved it in tests before this one
        session.connection().execute(delete(BoardRow).where(col(BoardRow.exercise) == name))
        session.commit()
    client.post(f"/exercises/{name}", data={"answer": exercise.right})
    alone = client.get(f"/exercises/{name}/board").text
    assert not [row for row in rows_of(alone) if "learners" in row[0]]
    with open_session(site.engine) as session:
        for number, (time, memory) in enumerate([(57, 12), (60, 11), (66, 9), (60, 9)]):
            enter_schedule(session, f"other {number}", name, time, memory)
    rows = rows_of(client.get(f"/exercises/{name}/board").text)
    assert ["Best of 5 learners", "57", "15.8 %", "9", "–"] in rows
    assert ["Median of 5 learners", "60", "20 %", "11", "–"] in rows


def test_ones_own_right_schedules_are_kept_once_each_with_a_picture(
    client: TestClient, puzzle: Schedule, learner: str
) -> None:
    again = f"{puzzle.right}\n# the same, written otherwise"
    for answer in (puzzle.right, puzzle.wrong[0].code, again):
        client.post(PAGE, data={"answer": answer})
    page = client.get(BOARD).text
    kept = [row[1:] for row in rows_of(page) if "Picture" in row]
    assert kept == [["Picture", "18", "33.3 %", "16"]]
    assert ["Yours", "18", "33.3 %", "16"] in rows_of(page)
    (href,) = re.findall(r'href="([^"]*/schedule\?of=[^"]*)"', page)
    assert "It is right" in words(client.get(href).text)


KEPT = LastAnswer(0, now(), "", correct=True)


@pytest.mark.parametrize(
    ("answer", "veil", "kept"),
    [
        (KEPT, frozenset(), 1),
        (replace(KEPT, revealed=True), frozenset(), 0),
        (replace(KEPT, correct=False), frozenset(), 0),
        (KEPT, frozenset({(PUZZLE, None)}), 0),
    ],
)
def test_only_what_counts_and_is_not_hidden_is_kept(
    puzzle: Schedule,
    runner: Runner,
    loop: asyncio.AbstractEventLoop,
    answer: LastAnswer,
    veil: frozenset[Drawing],
    kept: int,
) -> None:
    last = LastAnswers((replace(answer, answer=puzzle.right),))
    history = ExerciseHistory(last=last, veil=veil)
    found = loop.run_until_complete(kept_schedules(puzzle, history, runner, "learner"))
    assert len(found) == kept


def test_an_answer_that_is_right_no_more_is_not_kept(
    puzzle: Schedule, runner: Runner, loop: asyncio.AbstractEventLoop
) -> None:
    for answer in (puzzle.wrong[0].code, "def program(rank):\n    return rank.x"):
        history = ExerciseHistory(last=LastAnswers((replace(KEPT, answer=answer),)))
        assert not loop.run_until_complete(kept_schedules(puzzle, history, runner, "learner"))


def test_a_copied_solution_gets_no_place(client: TestClient, site: Site, puzzle: Schedule, learner: str) -> None:
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
