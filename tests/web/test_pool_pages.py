"""Pools of an assignment on its pages: set, drawn, shown to students and teachers, and graded."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime

import pytest
from fastapi.testclient import TestClient

from app.classes.people.assignments import Assignment, AssignmentEntry, assignment_with, create_assignment
from app.classes.people.gradebook import cells_of, total
from app.classes.people.members import students_in
from app.classes.people.policy import GroupDates, Policy
from app.classes.people.work import own_seed
from app.server.db.session import open_session, open_writing_session
from app.site import Site
from tests.web.a_class import Browser, a_class, browser, joined, words

RING = "collectives/ring-all-reduce-time"
POOL = ("collectives/ring-or-tree", "collectives/steps-of-a-ring", "memory/traffic-of-stage-3")
DUE = datetime(2097, 5, 7, 21, 59, tzinfo=UTC)


@dataclass(frozen=True)
class Room:
    """A class with an assignment of four exercises, and two students."""

    site: Site
    id: int
    teacher: Browser
    students: tuple[Browser, Browser]
    assignment: int

    @property
    def stored(self) -> Assignment:
        with open_session(self.site.engine) as session:
            return assignment_with(session, self.assignment)

    def pool(self, draw: str = "2", status: int = 303, pools: Collection[str] = ("", *"111")) -> str:
        data = {"exercise": [RING, *POOL], "draw-1": draw}
        data |= {f"pool-{place}": text for place, text in enumerate(pools, 1)}
        return self.teacher.post(f"/assignments/{self.assignment}/pools", data, status)

    def learner(self, one: Browser) -> str:
        with open_session(self.site.engine) as session:
            those = students_in(session, self.id)
        return next(student.learner for student in those if student.person == one.person)

    def drawn(self, one: Browser) -> Collection[str]:
        return self.stored.drawn(self.learner(one))


@pytest.fixture
def room(client: TestClient, site: Site) -> Room:
    class_id, teacher = a_class(client, site)
    ada, alan = (joined(site, class_id, browser(client, site, name)) for name in ("Ada", "Alan"))
    with open_writing_session(site.engine) as session:
        entries = [AssignmentEntry(name, 2.0) for name in (RING, *POOL)]
        number = create_assignment(session, class_id, "Week 1", Policy(due=DUE), entries)
        session.commit()
    return Room(site, class_id, teacher, (ada, alan), number)


def test_exercises_are_put_into_a_pool_and_students_see_what_was_drawn_alone(room: Room) -> None:
    room.pool()
    assert (room.stored.draws, room.stored.points) == ((2,), 6.0)
    for one in room.students:
        page = one.get(f"/assignments/{room.assignment}")
        for name in (RING, *POOL):
            assert (f"/exercises/{name}" in page) == (name in room.drawn(one)), name
        assert "of 6 points" in words(page)
        assert "0 of 3" in words(one.get(f"/classes/{room.id}"))
    card = words(room.teacher.get(f"/classes/{room.id}"))
    assert "3 exercises, 6 points" in card


def test_the_teacher_sees_who_has_which(room: Room) -> None:
    path = f"/assignments/{room.assignment}/pools"
    assert "Who has which" not in words(room.teacher.get(path))
    room.pool("1")
    page = room.teacher.get(path).partition("Who has which")[2]
    rows = {name: page.partition(f">{name}</th>")[2].partition("</tr>")[0] for name in ("Ada", "Alan")}
    for one, row in zip(room.students, rows.values(), strict=True):
        (own,) = set(room.drawn(one)) - {RING}
        assert [name for name in POOL if f"/exercises/{name}" in row] == [own]


def test_an_answer_counts_if_its_exercise_was_drawn(room: Room) -> None:
    room.pool("1")
    ada, _ = room.students
    learner, stored = room.learner(ada), room.stored
    for name in POOL[:2]:
        seed = own_seed(room.site.secret, stored, name, learner)
        assert seed is not None
        right = room.site.catalog.exercise(name).right_answer(seed)
        page = ada.get(f"/exercises/{name}?seed={seed}")
        assert ("Week 1" in words(page)) == (name in room.drawn(ada))
        assert right is not None
    with open_session(room.site.engine) as session:
        cells = cells_of(session, room.site.secret, stored, students_in(session, room.id))
    assert total(cells, ada.person, stored) == 0


def test_the_gradebook_marks_what_was_not_drawn_and_points_are_of_what_was(room: Room) -> None:
    room.pool("1")
    page = room.teacher.get(f"/classes/{room.id}/grades/{room.assignment}")
    assert page.count('aria-label="not drawn"') == 4
    assert "of 4" in words(page)
    ada, _ = room.students
    path = words(room.teacher.get(f"/classes/{room.id}/people/{ada.person}"))
    assert "of 4" in path
    cell = room.teacher.get(f"/classes/{room.id}/grades/{room.assignment}/{ada.person}")
    for name in POOL:
        assert (name in cell) == (name in room.drawn(ada))
    room.teacher.get(f"/classes/{room.id}/live?assignment={room.assignment}&names=yes")


def test_points_by_hand_need_an_exercise_that_was_drawn(room: Room) -> None:
    room.pool("1")
    ada, _ = room.students
    path = f"/classes/{room.id}/grades/{room.assignment}/{ada.person}"
    absent = next(name for name in POOL if name not in room.drawn(ada))
    page = room.teacher.post(path, {"exercise": absent, "points": "1", "why": "oral"}, 422)
    assert "was not drawn for this student" in words(page)


def test_an_assignment_that_is_edited_keeps_its_pools_and_groups_theirs(room: Room) -> None:
    room.pool()
    before = room.stored
    form = {
        "title": "Week 2",
        "due": "2097-05-07T23:59",
        "after": "late",
        "late": "0",
        "grace": "5",
        "attempts": "0",
        "variants": "own",
        "hints": "free",
        "hint_cost": "10",
        "solution": "due",
        "exercise": [RING, *POOL],
        **{f"points:{name}": "2" for name in (RING, *POOL)},
    }
    address = f"/assignments/{room.assignment}/edit"
    room.teacher.post(address, form)
    assert (room.stored.title, room.stored.draws) == ("Week 2", before.draws)
    assert {one.exercise for one in room.stored.entries if one.pool} == set(POOL)
    fewer = form | {"exercise": [RING, POOL[0]]}
    page = words(room.teacher.post(address, fewer, 422))
    assert "Pool 1 draws 2 of 1 exercises" in page
    room.teacher.post(address, form | {"exercise": [RING]})
    assert (room.stored.draws, room.stored.points) == ((), 2.0)


@pytest.mark.parametrize(
    ("draw", "pools", "says"),
    [
        ("4", ("", *"111"), "draws 4 of 3 exercises"),
        ("0", ("", *"111"), "draws 0 of 3 exercises"),
        ("-1", ("", *"111"), "whole numbers, not '-1'"),
        ("two", ("", *"111"), "whole numbers, not 'two'"),
        ("1", ("", "1", "1", "x"), "whole numbers, not 'x'"),
        ("1", ("", "1", "1", "1" * 9), "whole numbers, not '111111111'"),
    ],
)
def test_pools_that_cannot_be_are_shown_again_with_the_reason(
    room: Room, draw: str, pools: tuple[str, ...], says: str
) -> None:
    page = room.pool(draw, 422, pools)
    assert says in words(page)
    assert f'value="{draw}"' in page
    assert room.stored.draws == ()


def test_pools_are_numbered_without_gaps_and_one_without_a_number_draws_one(room: Room) -> None:
    room.pool("", pools=("7", "7", "3", "3"))
    assert (room.stored.draws, room.stored.points) == ((1, 1), 4.0)
    assert [one.pool for one in room.stored.entries] == [2, 2, 1, 1]
    room.pool("", pools=("", "", "", ""))
    assert room.stored.draws == ()


def test_dates_of_groups_stay_where_pools_change(room: Room) -> None:
    with open_writing_session(room.site.engine) as session:
        entries = [AssignmentEntry(name, 2.0) for name in (RING, *POOL)]
        own = GroupDates(group="Monday", due=DUE)
        number = create_assignment(session, room.id, "Week 2", Policy(due=DUE), entries, [own])
        session.commit()
    room.teacher.post(f"/assignments/{number}/pools", {"exercise": [RING], "pool-1": "1"})
    with open_session(room.site.engine) as session:
        stored = assignment_with(session, number)
    assert (stored.groups, stored.draws) == ((own,), (1,))
