"""Groups of a class over the JSON interface: in rosters, assignments, extensions and grades."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from app.classes.people.policy import DATES
from tests.api.class_api import RING, Api
from tests.each import each

PEOPLE = [
    {"id": "1", "name": "Ada", "group": "Monday"},
    {"id": "2", "name": "Alan", "group": "Tuesday"},
    {"id": "3", "name": "Grace", "group": ""},
    {"id": "4", "name": "Edsger"},
]
DUE, EARLY, LATE = "2097-05-07T21:59:00Z", "2097-05-05T21:59:00Z", "2097-05-09T21:59:00Z"
MONDAY = {"group": "Monday", "opens": None, "due": EARLY, "closes": None}
BODY = {"title": "Week 1", "due": DUE, "exercises": [{"exercise": RING, "points": 2.0}]}


@pytest.fixture
def api(made: Callable[[], Api]) -> Api:
    """A class with people in groups."""
    api = made()
    api.send("PUT", "/roster", json=PEOPLE)
    return api


def groups(api: Api) -> Mapping[str, str]:
    return {one["name"]: one["group"] for one in api.send("GET", "/roster")}


def test_a_roster_that_was_read_is_put_back_with_its_groups(api: Api) -> None:
    expected = {"Ada": "Monday", "Alan": "Tuesday", "Grace": "", "Edsger": ""}
    assert {name: groups(api)[name] for name in expected} == expected
    stored = api.send("GET", "/roster")
    assert api.send("PUT", "/roster", json=stored)["same"] == len(stored)
    file = api.send("GET", "/roster.csv")
    assert api.send("PUT", "/roster.csv", content=file)["same"] == len(stored)


def test_a_person_changes_group_by_roster_alone_where_it_says_so(api: Api) -> None:
    api.send("PUT", "/roster", json=[{"id": "1", "name": "Ada"}, {**PEOPLE[1], "group": ""}])
    assert (groups(api)["Ada"], groups(api)["Alan"]) == ("Monday", "")
    api.send("POST", "/roster", json={"id": "2", "name": "Alan", "group": " Monday "})
    assert groups(api)["Alan"] == "Monday"


def test_an_assignment_with_groups_is_put_back_as_it_was_read(api: Api) -> None:
    stored = api.send("POST", "/assignments", 201, json={**BODY, "groups": [MONDAY]})
    assert stored["groups"] == [MONDAY]
    address = f"/assignments/{stored['id']}"
    assert api.send("PUT", address, json=stored) == stored
    assert api.send("PUT", address, json=BODY)["groups"] == []


def test_groups_that_were_given_dates_may_lose_their_members(api: Api) -> None:
    stored = api.send("POST", "/assignments", 201, json={**BODY, "groups": [MONDAY]})
    api.send("PUT", "/roster", json=[{**PEOPLE[0], "group": "Friday"}])
    api.send("PUT", f"/assignments/{stored['id']}", json=stored)


@each(
    ("given", "says"),
    [
        ([{"group": "Mondy", "due": EARLY}], "no group 'Mondy'; did you mean 'Monday'"),
        ([{"group": "Monday"}], "needs a date of its own"),
        ([MONDAY, MONDAY], "the group Monday is there twice"),
        ([{"group": "", "due": EARLY}], "a name must have 1 to 100"),
        ([{"group": "Monday", "due": EARLY, "closes": "2097-05-04T00:00:00Z"}], "group Monday: "),
        ([{"group": "Monday", "due": "2097-05-05"}], "body.groups.0.due"),
        ([{"group": "Monday", "until": EARLY}], "body.groups.0.until"),
        ("Monday", "body.groups"),
        ([{"due": EARLY}], "body.groups.0.group"),
    ],
)
def test_groups_that_cannot_be_are_refused_in_a_sentence(made: Callable[[], Api], given: Any, says: str) -> None:
    api = made()
    api.send("PUT", "/roster", json=PEOPLE)
    answer = api.send("POST", "/assignments", 422, json={**BODY, "groups": given})
    assert says in answer["detail"]
    assert api.send("GET", "/assignments") == []


def test_an_extension_is_later_than_the_date_of_the_group(api: Api) -> None:
    late = {**MONDAY, "due": LATE}
    number = api.send("POST", "/assignments", 201, json={**BODY, "groups": [late]})["id"]
    address = f"/assignments/{number}/extensions"
    between = "2097-05-08T21:59:00Z"
    answer = api.send("POST", address, 422, json={"people": ["1"], "until": between})
    assert "until 2097-05-09T21:59Z already" in answer["detail"]
    api.send("POST", address, json={"people": ["2"], "until": between})


def test_copies_have_the_dates_of_groups(api: Api) -> None:
    api.send("POST", "/assignments", 201, json={**BODY, "groups": [MONDAY]})
    api.send("POST", "/copies", json={"source": api.class_id, "weeks": 1})
    _, copy = api.send("GET", "/assignments")
    assert copy["groups"] == [{**MONDAY, "due": "2097-05-12T21:59:00Z"}]


def test_grades_of_one_group(api: Api) -> None:
    def names(group: str) -> list[str]:
        return [one["name"] for one in api.send("GET", f"/grades{group}")["people"]]

    assert names("") == ["Ada", "Alan", "Grace", "Edsger"]
    assert names("?group=Monday") == ["Ada"]
    assert names("?group=") == ["Grace", "Edsger"]
    assert "did you mean 'Monday'" in api.send("GET", "/grades?group=Mon.", 422)["detail"]
    assert len(api.send("GET", "/grades.csv?group=Tuesday").splitlines()) == 2
    (ada,) = api.send("GET", "/grades?group=Monday")["people"]
    assert ada["group"] == "Monday"


def test_all_dates_of_an_assignment_can_be_those_of_a_group(api: Api) -> None:
    own = {"group": "Monday", "opens": "2097-01-01T00:00:00Z", "due": EARLY, "closes": DUE}
    assert set(own) == {"group", *DATES}
    stored = api.send("POST", "/assignments", 201, json={**BODY, "groups": [own]})
    assert stored["groups"] == [own]


def test_a_group_is_renamed_with_its_dates_and_dissolved(api: Api) -> None:
    number = api.send("POST", "/assignments", 201, json={**BODY, "groups": [MONDAY]})["id"]
    listed = [{"name": "Monday", "students": 1, "assignments": 1}, {"name": "Tuesday", "students": 1, "assignments": 0}]
    assert api.send("GET", "/groups") == listed
    renamed = api.send("PUT", "/groups?group=Monday", json={"name": " Mon/day & co "})
    assert renamed == [{**listed[0], "name": "Mon/day & co"}, listed[1]]
    assert groups(api)["Ada"] == "Mon/day & co"
    assert api.send("GET", f"/assignments/{number}")["groups"][0]["group"] == "Mon/day & co"
    api.send("DELETE", "/groups?group=Mon%2Fday+%26+co", 204)
    assert api.send("GET", "/groups") == listed[1:]
    assert groups(api)["Ada"] == ""
    assert api.send("GET", f"/assignments/{number}")["groups"] == []


@each(
    ("method", "path", "body", "status", "says"),
    [
        ("PUT", "?group=Mondy", {"name": "A"}, 404, "no group 'Mondy'; did you mean 'Monday'"),
        ("DELETE", "?group=Mondy", None, 404, "did you mean 'Monday'"),
        ("DELETE", "?group=", None, 404, "this class has no group ''"),
        ("PUT", "?group=Monday", {"name": "Tuesday"}, 422, "another group is called Tuesday"),
        ("PUT", "?group=Monday", {"name": " "}, 422, "a name must have 1 to 100"),
        ("PUT", "?group=Monday", {"group": "A"}, 422, "body.name"),
        ("PUT", "", {"name": "A"}, 404, "this class has no group ''"),
        ("DELETE", "", None, 404, "this class has no group ''"),
    ],
)
def test_groups_that_cannot_be_changed_say_why(
    made: Callable[[], Api], method: str, path: str, body: Any, status: int, says: str
) -> None:
    api = made()
    api.send("PUT", "/roster", json=PEOPLE)
    what = {} if body is None else {"json": body}
    assert says in api.send(method, f"/groups{path}", status, **what)["detail"]
    assert [one["name"] for one in api.send("GET", "/groups")] == ["Monday", "Tuesday"]


def test_groups_of_an_archived_class_stay(api: Api) -> None:
    api.send("PUT", "/archive")
    assert "archived" in api.send("DELETE", "/groups?group=Monday", 422)["detail"]
    assert len(api.send("GET", "/groups")) == 2
