"""Figures of exercises: the first try, the answers, and how well an exercise tells students apart."""

import csv
import io
from datetime import datetime, timedelta

import pytest
from fastapi.testclient import TestClient
from sqlmodel import Session

from app.classes.people.assignments import Assignment
from app.classes.people.classes import Member
from app.classes.people.exercise_statistics import (
    COLUMNS,
    ExerciseStatistics,
    statistics_csv,
    statistics_of,
    statistics_of_class,
)
from app.classes.people.policy import CountableAnswer, Policy
from app.server.db.people import OverrideRow, RegradeRow
from app.server.db.session import open_writing_session
from app.server.db.tables import AttemptRow
from app.site import Site
from app.site.web.frame.visitor import SESSION
from tests.each import each
from tests.people.school import RING, School
from tests.people.test_gradebook import DUE, HOUR, NAMES, SECRET, answer, assigned, own_seed, room
from tests.web.a_class import words

POLICY = Policy(due=DUE, closes=DUE)


def gives(session: Session, assignment: Assignment, member: Member, exercise: str, *scores: float) -> list[int]:
    """The numbers of answers with those *scores*, to the drawing that counts for *member*."""
    seed = own_seed(assignment, member.learner, exercise)
    return [
        answer(session, member.learner, exercise, seed, given(DUE - HOUR + timedelta(seconds=n), one))
        for n, one in enumerate(scores)
    ]


def given(at: datetime, score: float) -> CountableAnswer:
    return CountableAnswer(at, score, 0, revealed=False)


def figures(session: Session, assignment: Assignment, members: list[Member]) -> dict[str, ExerciseStatistics]:
    return {one.exercise: one for one in statistics_of(session, SECRET, assignment, members)}


def test_the_first_try_and_the_answers_are_of_those_who_answered(session: Session) -> None:
    class_id, members = room(session, 4)
    assignment = assigned(session, class_id, POLICY)
    gives(session, assignment, members[0], "a/one", 1)
    gives(session, assignment, members[1], "a/one", 0, 0, 1)
    gives(session, assignment, members[2], "a/one", 0, 0)
    found = figures(session, assignment, members)
    assert set(found) == {"a/one"}
    one = found["a/one"]
    assert (one.students, one.answers) == (3, 2.0)
    assert (one.first_try, one.solved, one.share) == pytest.approx((1 / 3, 2 / 3, 2 / 3))


@each("regraded", [False, True])
def test_an_answer_after_the_solution_is_not_right(session: Session, regraded: bool) -> None:
    class_id, members = room(session, 2)
    assignment = assigned(session, class_id, POLICY)
    (first,) = gives(session, assignment, members[0], "a/one", 1)
    number = gives(session, assignment, members[1], "a/one", 1)[0]
    session.get_one(AttemptRow, number).revealed = True
    if regraded:
        for attempt in (first, number):
            session.add(RegradeRow(attempt=attempt, digest="n", score=1.0, correct=True))
    session.flush()
    one = figures(session, assignment, members)["a/one"]
    assert (one.students, one.first_try, one.solved) == (2, 0.5, 0.5)


def test_points_by_hand_of_those_who_never_answered_are_no_answers(session: Session) -> None:
    class_id, members = room(session, 2)
    assignment = assigned(session, class_id, POLICY)
    gives(session, assignment, members[0], "a/one", 1)
    session.add(OverrideRow(assignment=assignment.id, person=members[1].person, exercise="a/one", points=1.0))
    session.flush()
    one = figures(session, assignment, members)["a/one"]
    assert (one.students, one.solved) == (1, 1.0)


def test_discrimination_is_the_correlation_with_the_points_of_the_other_exercises(session: Session) -> None:
    class_id, members = room(session, 4)
    assignment = assigned(session, class_id, POLICY)  # 1, 2 and 4 points
    shares = ((0.0, 0.0, 0.0), (0.5, 0.5, 0.5), (1.0, 0.5, 0.0), (1.0, 1.0, 1.0))
    for member, scores in zip(members, shares, strict=True):
        for name, score in zip(NAMES, scores, strict=True):
            gives(session, assignment, member, name, score)
    # x = 0, .5, 1, 1 and y = 0, 3, 1, 6; means 0.625 and 2.5; sums of squares 0.6875 and 21,
    # and of products 8.5 - 4 * 0.625 * 2.5 = 2.25.
    expected = 2.25 / (0.6875 * 21) ** 0.5
    assert figures(session, assignment, members)["a/one"].discrimination == pytest.approx(expected)


def test_there_is_no_discrimination_among_too_few_or_equal_students(session: Session) -> None:
    class_id, members = room(session, 3)
    assignment = assigned(session, class_id, POLICY)
    for member in members[:2]:
        for name in NAMES:
            gives(session, assignment, member, name, 0.5 if member is members[0] else 1)
    assert figures(session, assignment, members)["a/one"].discrimination is None
    for name in NAMES:
        gives(session, assignment, members[2], name, 1)
    assert figures(session, assignment, members)["a/one"].discrimination == pytest.approx(1)
    for member in members:
        gives(session, assignment, member, "a/two", 1)
    assert figures(session, assignment, members)["a/two"].discrimination is None


def test_the_file_has_a_line_for_each_exercise(session: Session) -> None:
    class_id, members = room(session, 1)
    assignment = assigned(session, class_id, POLICY)
    gives(session, assignment, members[0], "a/one", 0, 1)
    text = statistics_csv(statistics_of(session, SECRET, assignment, members))
    head, line = csv.reader(io.StringIO(text))
    assert tuple(head) == COLUMNS
    assert line == [str(assignment.id), "Week 1", "a/one", "1", "0", "2", "1", "1", ""]


def test_the_latest_verdict_on_an_answer_counts(session: Session) -> None:
    class_id, members = room(session, 2)
    assignment = assigned(session, class_id, POLICY)
    (number,) = gives(session, assignment, members[0], "a/one", 0)
    gives(session, assignment, members[1], "a/one", 0, 1)
    session.add(RegradeRow(attempt=number, digest="new", score=1.0, correct=True))
    session.flush()
    one = figures(session, assignment, members)["a/one"]
    assert (one.students, one.first_try, one.solved) == (2, 0.5, 1.0)


def test_an_excused_exercise_is_in_no_sum(session: Session) -> None:
    class_id, members = room(session, 4)
    assignment = assigned(session, class_id, POLICY)  # 1, 2 and 4 points
    for member, scores in zip(members, ((0, 1, 0), (1, 0, 1), (1, 1, 1), (1, 1, 1)), strict=True):
        for name, score in zip(NAMES, scores, strict=True):
            gives(session, assignment, member, name, score)
    excused = OverrideRow(
        assignment=assignment.id, person=members[3].person, exercise=NAMES[0], excused=True, why="ill"
    )
    session.add(excused)
    session.flush()
    found = figures(session, assignment, members)
    assert found[NAMES[0]].share == pytest.approx(2 / 3)
    # x = 0, 1, 1 and y = 2, 4, 6: means 2/3 and 4; sums of squares 2/3 and 8, of products 10 - 8 = 2.
    assert found[NAMES[0]].discrimination == pytest.approx(2 / (2 / 3 * 8) ** 0.5)


def test_the_page_shows_the_figures(client: TestClient, site: Site) -> None:
    school = School(site)
    assignment = school.assign(Policy())
    student = school.student(client)
    address = school.address(assignment, student)
    client.post(address, data={"answer": "1 s"})
    client.cookies.clear()
    client.cookies.set(SESSION, school.teacher_cookie)
    page = client.get(f"/classes/{school.id}/statistics")
    assert page.status_code == 200
    assert "Discrimination" in words(page.text)
    with open_writing_session(site.engine) as session:
        (one,) = statistics_of_class(session, site.secret, school.id)
    assert (one.exercise, one.students, one.first_try) == (RING, 1, 0.0)
    file = client.get(f"/classes/{school.id}/statistics.csv")
    assert file.text.removeprefix("\ufeff") == statistics_csv([one])
