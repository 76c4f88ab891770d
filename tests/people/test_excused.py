"""Excused: a cell that is left out of every sum, on pages, in files, in JSON and at a platform."""

import random

import pytest
from fastapi.testclient import TestClient
from sqlmodel import Session

from app.classes.people.assignments import AssignmentEntry, create_assignment
from app.classes.people.cells import Cell
from app.classes.people.classes import create_class, enroll, number_of
from app.classes.people.csv_grades import columns_of, difference_in, grades_file, store_difference
from app.classes.people.gradebook import (
    WHOLE,
    Grades,
    Override,
    StudentPoints,
    cells_of,
    grades_of,
    override,
    overrides_in_force,
    possible_in,
)
from app.classes.people.persons import new_person
from app.classes.people.policy import Policy
from app.core.errors import InputError
from app.site import Site
from app.site.web.frame.visitor import SESSION
from tests.people.school import RING, School, due
from tests.web.a_class import Browser, words

NAMES = ("a/one", "a/two", "b/three")
POINTS = (1.0, 2.0, 4.0)


class Room:
    """A class of three students with two assignments of seven points, where all points are given by hand."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.id = number_of(create_class(session, "secret", "Systems"))
        self.people = [number_of(new_person(session, name)) for name in ("Ada", "Alan", "Grace")]
        for place, person in enumerate(self.people):
            enroll(session, self.id, person, outside_id=f"00{place}")
        entries = [AssignmentEntry(*one) for one in zip(NAMES, POINTS, strict=True)]
        self.weeks = [create_assignment(session, self.id, f"Week {n}", Policy(), entries) for n in (1, 2)]
        session.commit()

    def give(self, week: int, person: int, exercise: str, points: float | None, *, excused: bool = False) -> None:
        one = next(one for one in self.grades().assignments if one.id == self.weeks[week])
        override(self.session, one, [Override(self.people[person], exercise, points, excused)], "Grace", "ill")
        self.session.commit()

    def excuse(self, week: int, person: int, exercise: str = WHOLE) -> None:
        self.give(week, person, exercise, None, excused=True)

    def grades(self) -> Grades:
        return grades_of(self.session, "secret", self.id)

    def of(self, person: int) -> StudentPoints:
        return self.grades().of(self.people[person])


@pytest.fixture
def room(session: Session) -> Room:
    return Room(session)


def test_an_excused_exercise_is_left_out_of_points_and_of_what_is_possible(room: Room) -> None:
    for exercise, points in zip(NAMES, (1.0, 0.0, 2.0), strict=True):
        room.give(0, 0, exercise, points)
    assert room.of(0).overall == pytest.approx(100 * 3 / 14)
    room.excuse(0, 0, "b/three")
    room.excuse(1, 0)
    own = room.of(0)
    assert (own.points, own.possible) == ([1.0, None], [3.0, 0.0])
    assert own.total == 1.0
    assert own.overall == pytest.approx(100 / 3)


def test_who_is_excused_from_everything_has_no_overall_grade(room: Room) -> None:
    for exercise in NAMES:
        room.excuse(0, 1, exercise)
    room.excuse(1, 1)
    described = next(one for one in room.grades().described()["people"] if one["number"] == room.people[1])  # type: ignore[attr-defined]
    assert described["excused"] == room.weeks
    assert described["points"] == {str(week): None for week in room.weeks}
    assert (described["total"], described["overall_percent"]) == (0.0, None)


def test_points_by_hand_end_an_excuse_and_so_does_taking_it_back(room: Room) -> None:
    room.give(0, 0, "a/one", 1.0)
    room.excuse(0, 0, "a/one")
    assert room.of(0).possible[0] == 6.0
    room.give(0, 0, "a/one", 0.5)
    assert (room.of(0).points[0], room.of(0).possible[0]) == (0.5, 7.0)
    room.excuse(0, 0, "a/one")
    room.give(0, 0, "a/one", None)
    assert (room.of(0).points[0], room.of(0).possible[0]) == (None, 7.0)


def test_points_by_hand_for_all_of_an_assignment_are_of_all_of_it(room: Room) -> None:
    room.excuse(0, 0, "b/three")
    room.give(0, 0, WHOLE, 6.0)
    assert (room.of(0).points[0], room.of(0).possible[0]) == (6.0, 7.0)


def test_an_excused_cell_changes_no_other_cell_and_no_other_student(room: Room) -> None:
    draw = random.Random(11)

    def cells() -> dict[tuple[int, int, str], Cell]:
        grades = room.grades()
        return {(one.id, *key): cell for one in grades.assignments for key, cell in grades.cells[one.id].items()}

    def sums() -> list[tuple[float, float | None]]:
        return [(room.of(place).total, room.of(place).overall) for place in range(3)]

    for _ in range(60):
        week, person, exercise = draw.randrange(2), draw.randrange(3), draw.choice((*NAMES, WHOLE))
        before, others = cells(), sums()
        if draw.random() < 0.5:
            room.give(week, person, exercise, draw.choice((None, 0.0, 0.5, 1.0)))
        key = (room.weeks[week], room.people[person], exercise)
        before, others = cells(), sums()
        room.excuse(week, person, exercise)
        after = cells()
        assert after.pop(key).excused
        before.pop(key, None)
        assert after == before
        assert [one for place, one in enumerate(sums()) if place != person] == [
            one for place, one in enumerate(others) if place != person
        ]


def test_a_file_says_excused_and_is_read_back_as_it_was_written(room: Room) -> None:
    room.give(0, 0, WHOLE, 6.0)
    room.excuse(1, 0)
    room.excuse(0, 1)
    grades = room.grades()

    def file(form: str) -> list[list[str]]:
        text = grades_file(columns_of(grades.assignments), grades.members, grades.cells, form, grades.lowest)  # type: ignore[arg-type]
        return [line.split(",") for line in text.splitlines()]

    ours = file("ours")
    assert [row[3:] for row in ours[1:]] == [
        ["6", "excused", "6", "85.714286"],
        ["excused", "", "0", "0"],
        ["", "", "0", "0"],
    ]
    assert [row[-2:] for row in file("canvas")[2:]] == [["6", "EX"], ["EX", ""], ["", ""]]
    assert [row[-2:] for row in file("moodle")[1:]] == [["6", ""], ["", ""], ["", ""]]
    text = "\n".join(",".join(row) for row in ours)
    found = difference_in(room.session, "secret", room.id, text)
    assert (found.changes, found.same, found.left_out) == ((), 3, ())
    sent = "id,Week 1,Week 2\n000,excused,3\n002,Excused,\n"
    found = difference_in(room.session, "secret", room.id, sent)
    assert [(one.member.outside_id, one.before, one.after) for one in found.changes] == [
        ("000", 6.0, None), ("000", None, 3.0), ("002", None, None),
    ]  # fmt: skip
    store_difference(room.session, found, "Grace", "ill")
    assert room.of(0).points == [None, 3.0]
    assert room.of(2).possible == [0.0, 7.0]


def test_only_what_a_student_has_is_excused(session: Session) -> None:
    room = Room(session)
    entries = [AssignmentEntry(name, 1.0, pool=1) for name in NAMES]
    number = create_assignment(session, room.id, "Pool", Policy(), entries, draws=[1])
    one = next(one for one in room.grades().assignments if one.id == number)
    member = room.grades().members[0]
    (drawn,) = one.drawn(member.learner)
    other = next(name for name in NAMES if name != drawn)
    with pytest.raises(InputError, match="was not drawn for this student"):
        override(session, one, [Override(member.person, other, None, excused=True)], "Grace", "ill")
    override(session, one, [Override(member.person, drawn, 1.0, excused=True)], "Grace", "ill")
    assert [row.points for row in overrides_in_force(session, one.id)] == [None], "what is excused has no points"
    assert possible_in(cells_of(session, "secret", one, [member]), member.person, one) == 0.0


def test_a_teacher_excuses_on_the_page_and_the_student_sees_why(client: TestClient, site: Site) -> None:
    school = School(site)
    one = school.assign(due(3))
    grace, cookie, _ = school.member("Grace")
    teacher = Browser(client, school.teacher.person, school.teacher_cookie)
    href = f"/classes/{school.id}/grades/{one.id}/{grace.person}"
    both = {"exercise": RING, "excused": "yes", "points": "1", "why": "ill"}
    assert "excused or has points, not both" in words(teacher.post(href, both, 422))
    teacher.post(href, {**both, "points": ""})
    assert "excused, of 2" in words(teacher.get(href))
    assert "Grace excused 0" in words(teacher.get(f"/classes/{school.id}/grades"))
    assert "Grace excused 0" in words(teacher.get(f"/classes/{school.id}/grades/{one.id}"))
    client.cookies.clear()
    client.cookies.set(SESSION, cookie)
    assert "excused: ill" in words(client.get(f"/assignments/{one.id}").text)
