"""Figures of exercises: the first try, the answers, and how well an exercise tells students apart."""

import csv
import io
from datetime import datetime, timedelta

import pytest
from fastapi.testclient import TestClient
from sqlmodel import Session, select

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
        for one in (first, number):
            session.add(RegradeRow(attempt=one, digest="n", score=1.0, correct=True))
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


def test_drawings_with_the_same_values_are_counted_together(session: Session) -> None:
    class_id, members = room(session, 3)
    assignment = assigned(session, class_id, POLICY)
    numbers = [
        *gives(session, assignment, members[0], "a/one", 1),
        *gives(session, assignment, members[1], "a/one", 0, 1),
        *gives(session, assignment, members[2], "a/one", 0),
    ]
    hard = {members[1].learner, members[2].learner}
    for row in session.exec(select(AttemptRow)):
        row.drawn = "8" if row.learner in hard else "4"
    session.flush()

    def values(_: str, drawn: str) -> str:
        return f"ranks {drawn}"

    found = list(statistics_of(session, SECRET, assignment, members, values))
    assert [(one.values, one.students, one.first_try, one.answers, one.solved) for one in found] == [
        ("", 3, 1 / 3, 4 / 3, 2 / 3),
        ("ranks 8", 2, 0, 1.5, 0.5),
        ("ranks 4", 1, 1, 1, 1),
    ]
    session.add(RegradeRow(attempt=numbers[-1], digest="new", score=1.0, correct=True))
    session.flush()
    again = list(statistics_of(session, SECRET, assignment, members, values))[1]
    assert (again.first_try, again.solved) == (0.5, 1.0), "the latest verdict counts"


def test_the_file_has_a_line_for_each_exercise(session: Session) -> None:
    class_id, members = room(session, 1)
    assignment = assigned(session, class_id, POLICY)
    gives(session, assignment, members[0], "a/one", 0, 1)
    text = statistics_csv(statistics_of(session, SECRET, assignment, members))
    head, line = csv.reader(io.StringIO(text))
    assert tuple(head) == COLUMNS
    assert line == [str(assignment.id), "Week 1", "a/one", "", "1", "0", "2", "1", "1", ""]


def test_the_page_shows_the_figures_and_those_by_drawing(client: TestClient, site: Site) -> None:
    school = School(site)
    assignment = school.assign(Policy())
    student = school.student(client)
    address = school.address(assignment, student)
    client.post(address, data={"answer": "1 s"})
    client.cookies.clear()
    client.cookies.set(SESSION, school.teacher_cookie)
    page = client.get(f"/classes/{school.id}/statistics?drawings=yes")
    assert page.status_code == 200
    with open_writing_session(site.engine) as session:
        whole, *drawings = statistics_of_class(session, site.secret, site.catalog, school.id, drawings=True)
    assert (whole.exercise, whole.students, whole.first_try) == (RING, 1, 0.0)
    assert len(drawings) == 1
    assert "ranks" in drawings[0].values
    assert drawings[0].values in words(page.text)
    file = client.get(f"/classes/{school.id}/statistics.csv?drawings=yes")
    assert file.text.removeprefix("\ufeff") == statistics_csv([whole, *drawings])
