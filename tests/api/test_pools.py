"""Pools of exercises over the JSON interface: made, read, put back, drawn, graded, copied."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.api.class_api import RING, Api
from tests.each import each

POOL = ["collectives/ring-or-tree", "collectives/steps-of-a-ring", "memory/traffic-of-stage-3"]
DUE = "2097-05-07T21:59:00Z"
BODY: dict[str, Any] = {
    "title": "Week 1",
    "due": DUE,
    "exercises": [{"exercise": RING, "points": 3.0}],
    "pools": [{"draw": 2, "of": POOL, "points": 1.5}],
}


@pytest.fixture
def api(made: Callable[[], Api]) -> Api:
    """A class with three students."""
    api = made()
    people = [{"id": str(number), "name": f"Student {number}"} for number in (1, 2, 3)]
    api.send("PUT", "/roster", json=people)
    return api


def make(api: Api, **change: Any) -> Any:
    return api.send("POST", "/assignments", 201, json=BODY | change)


def test_an_assignment_with_pools_is_put_back_as_it_was_read(api: Api) -> None:
    stored = make(api)
    assert (stored["exercises"], stored["pools"]) == (BODY["exercises"], BODY["pools"])
    assert stored["points"] == 6.0
    address = f"/assignments/{stored['id']}"
    assert api.send("PUT", address, json=stored) == stored
    without = api.send("PUT", address, json=BODY | {"pools": []})
    assert (without["pools"], without["points"]) == ([], 3.0)


def test_an_assignment_may_be_pools_alone(api: Api) -> None:
    stored = make(api, exercises=[])
    assert (stored["exercises"], stored["points"]) == ([], 3.0)


def test_the_teacher_sees_who_has_which(api: Api) -> None:
    one = make(api)
    address = f"/assignments/{one['id']}"
    everyone = api.send("GET", f"{address}/variants")
    for student in everyone:
        assert student["exercises"][0] == RING
        assert len(set(student["exercises"])) == 3
        assert set(student["seeds"]) == set(student["exercises"])
    any_drawing = api.send("PUT", address, json={**one, "variants": "many"})
    assert any_drawing["variants"] == "many"
    again = api.send("GET", f"{address}/variants")
    assert [one["exercises"] for one in again] == [one["exercises"] for one in everyone]
    assert all(one["seeds"] == {} for one in again)


def test_points_by_hand_of_what_was_not_drawn_are_refused(api: Api) -> None:
    address = f"/assignments/{make(api)['id']}"
    first = api.send("GET", f"{address}/variants")[0]
    (absent,) = set(POOL) - set(first["exercises"])
    given = {"people": [str(first["number"])], "exercise": absent, "points": 1, "why": "oral"}
    answer = api.send("POST", f"{address}/overrides", 422, json=given)
    assert f"{absent} was not drawn for this student" in answer["detail"]
    api.send("POST", f"{address}/overrides", json=given | {"exercise": first["exercises"][1]})


def test_a_file_gives_points_for_what_was_drawn_alone(api: Api) -> None:
    number = make(api)["id"]
    first = api.send("GET", f"/assignments/{number}/variants")[0]
    (absent,) = set(POOL) - set(first["exercises"])
    present = first["exercises"][1]
    file = f"id,{absent},{present}\n{first['id']},1,1\n"
    found = api.send("PUT", "/grades.csv?why=oral", content=file)
    assert [one["exercise"] for one in found["changes"]] == [present], found
    assert found["left_out"] == [f"line 2: {absent} was not drawn for this student"]


def test_copies_draw_the_same(api: Api) -> None:
    make(api)
    api.send("POST", "/copies", json={"source": api.class_id, "weeks": 1})
    one, copy = api.send("GET", "/assignments")
    assert copy["pools"] == one["pools"]
    drawn = [
        [each["exercises"] for each in api.send("GET", f"/assignments/{number}/variants")]
        for number in (one["id"], copy["id"])
    ]
    assert drawn[0] == drawn[1]


@each(
    ("change", "says"),
    [
        ({"pools": [{"draw": 4, "of": POOL}]}, "draws 4 of 3 exercises"),
        ({"pools": [{"draw": 0, "of": POOL}]}, "draws 0 of 3 exercises"),
        ({"pools": [{"draw": -1, "of": POOL}]}, "draws -1 of 3 exercises"),
        ({"pools": [{"draw": 1, "of": []}]}, "pool 1 has no exercises"),
        ({"pools": [{"draw": 1, "of": [POOL[0], POOL[0]]}]}, "body.pools.0.of.1"),
        ({"pools": [{"draw": 1, "of": [RING]}]}, "is already in this assignment"),
        ({"pools": [{"draw": 1, "of": POOL}, {"draw": 1, "of": POOL[:1]}]}, "body.pools.1.of.0"),
        ({"pools": [{"draw": 1, "of": ["collectives/ring-or-tre"]}]}, "did you mean"),
        ({"pools": [{"draw": 1, "of": POOL, "points": -1}]}, "points must be from 0"),
        ({"pools": [{"draw": 1.5, "of": POOL}]}, "body.pools.0.draw"),
        ({"pools": [{"draw": 10**400, "of": POOL}]}, "body.pools.0.draw"),
        ({"pools": [{"of": POOL}]}, "body.pools.0.draw"),
        ({"pools": [{"draw": 1, "of": POOL, "count": 1}]}, "body.pools.0.count"),
        ({"exercises": [], "pools": []}, "an assignment has 1 to 200 exercises, not 0"),
        ({"points": 7.5}, "the sum of the exercises"),
    ],
)
def test_pools_that_cannot_be_are_refused_in_a_sentence(
    made: Callable[[], Api], change: dict[str, Any], says: str
) -> None:
    api = made()
    answer = api.send("POST", "/assignments", 422, json=BODY | change)
    assert says in answer["detail"]
    assert api.send("GET", "/assignments") == []
