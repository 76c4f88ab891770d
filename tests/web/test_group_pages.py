"""Groups of a class on its pages: made, filled, renamed, given dates, and dissolved."""

from dataclasses import dataclass
from datetime import UTC, datetime

import pytest
from fastapi.testclient import TestClient

from app.classes.people.assignments import Assignment, AssignmentEntry, assignment_with, create_assignment
from app.classes.people.counted_answers import dates_for
from app.classes.people.members import class_groups
from app.classes.people.policy import GroupDates, Policy
from app.server.db.session import open_session, open_writing_session
from app.site import Site
from tests.web.a_class import Browser, a_class, browser, joined, words

RING = "collectives/ring-all-reduce-time"
DUE = datetime(2097, 5, 7, 21, 59, tzinfo=UTC)  # 23:59 in Berlin
EARLY = datetime(2097, 5, 5, 21, 59, tzinfo=UTC)


@dataclass(frozen=True)
class Room:
    """A class with an assignment and two students, of whom Ada is in a group."""

    site: Site
    id: int
    teacher: Browser
    ada: Browser
    alan: Browser
    assignment: int

    @property
    def stored(self) -> Assignment:
        with open_session(self.site.engine) as session:
            return assignment_with(session, self.assignment)

    @property
    def groups(self) -> list[tuple[str, int]]:
        with open_session(self.site.engine) as session:
            return [(one.name, one.students) for one in class_groups(session, self.id)]

    def due(self, one: Browser) -> datetime | None:
        with open_session(self.site.engine) as session:
            return dates_for(session, self.stored, one.person).due

    def fill(self, name: str, *persons: Browser, status: int = 303) -> str:
        data = {"name": name, "person": [one.person for one in persons]}
        return self.teacher.post(f"/classes/{self.id}/groups", data, status)

    def set_dates(self, status: int = 303, **dates: str) -> str:
        data = {"group": "Monday", **{name.replace("_", "-"): at for name, at in dates.items()}}
        return self.teacher.post(f"/assignments/{self.assignment}/groups", data, status)


@pytest.fixture
def room(client: TestClient, site: Site) -> Room:
    class_id, teacher = a_class(client, site)
    ada, alan = (joined(site, class_id, browser(client, site, name)) for name in ("Ada", "Alan"))
    with open_writing_session(site.engine) as session:
        policy = Policy(due=DUE, closes=DUE)
        entries = [AssignmentEntry(RING, 2.0)]
        number = create_assignment(session, class_id, "Week 1", policy, entries)
        session.commit()
    made = Room(site, class_id, teacher, ada, alan, number)
    made.fill("Monday", ada)
    return made


def test_students_are_put_into_a_group_and_taken_out(room: Room) -> None:
    assert room.groups == [("Monday", 1)]
    room.fill(" Monday", room.alan)
    assert room.groups == [("Monday", 2)]
    page = words(room.teacher.get(f"/classes/{room.id}/people"))
    assert page.count("Monday") == 2
    room.fill("", room.ada, room.alan)
    assert room.groups == []


def test_nobody_chosen_and_strangers_are_refused(room: Room, client: TestClient) -> None:
    assert "nobody is chosen" in words(room.fill("Tuesday", status=422)).lower()
    stranger = browser(client, room.site, "Eve")
    page = words(room.fill("Tuesday", room.ada, stranger, status=422))
    assert "has left the class" in page
    assert "1 to 100 printable characters" in words(room.fill("x" * 101, room.ada, status=422))
    assert room.groups == [("Monday", 1)]


def test_a_group_is_renamed_and_dissolved(room: Room) -> None:
    room.fill("Tuesday", room.alan)
    room.set_dates(due_1="2097-05-05T23:59")
    href = f"/classes/{room.id}/groups"
    page = room.teacher.post(f"{href}/rename", {"group": "Monday", "name": "Tuesday"}, 422)
    assert "Another group is called Tuesday" in words(page)
    room.teacher.post(f"{href}/rename", {"group": "Monday", "name": "Early"})
    assert room.stored.groups == (GroupDates(group="Early", due=EARLY),)
    room.teacher.post(f"{href}/dissolve", {"group": "Early"})
    assert room.groups == [("Tuesday", 1)]
    assert not room.stored.groups
    for end in ("rename", "dissolve"):
        room.teacher.post(f"{href}/{end}", {"group": "Early", "name": "Late"}, 404)


def test_a_group_gets_dates_of_its_own_and_its_students_see_them(room: Room) -> None:
    before = room.teacher.get(f"/assignments/{room.assignment}/groups")
    assert "Monday" in words(before)
    assert "For everyone: due Tuesday, May 7, 2097, 23:59" in words(before)
    room.set_dates(due_1="2097-05-05T23:59")
    assert (room.due(room.ada), room.due(room.alan)) == (EARLY, DUE)
    for one, day in ((room.ada, "May 5"), (room.alan, "May 7")):
        page = words(one.get(f"/assignments/{room.assignment}"))
        assert f"{day}, 2097, 23:59" in page
        assert "extended" not in page
    assert "other dates for Monday" in words(room.teacher.get(f"/classes/{room.id}"))
    page = words(room.teacher.get(f"/assignments/{room.assignment}/extensions"))
    assert "Monday: due Sunday, May 5, 2097, 23:59" in page
    again = room.teacher.get(f"/assignments/{room.assignment}/groups")
    assert 'value="2097-05-05T23:59"' in again
    room.set_dates()
    assert room.stored.groups == ()


def test_a_due_date_may_be_that_of_a_group_alone(room: Room) -> None:
    room.set_dates(opens_1="2097-01-01T00:00", due_1="2097-05-05T23:59", closes_1="2097-05-06T23:59")
    (own,) = room.stored.groups
    assert (own.due, own.closes and own.closes - EARLY, own.opens is not None) == (
        EARLY,
        DUE - DUE.replace(day=6),
        True,
    )


@pytest.mark.parametrize(
    ("dates", "says"),
    [
        ({"due_1": "2097-05-05"}, "group Monday"),
        ({"opens_1": "2097-05-06T00:00", "due_1": "2097-05-05T23:59"}, "must not be before"),
        ({"due_1": "1997-05-05T23:59"}, "the year must be from"),
    ],
)
def test_dates_that_cannot_be_are_shown_again_with_the_reason(room: Room, dates: dict[str, str], says: str) -> None:
    page = room.set_dates(422, **dates)
    assert says.lower() in words(page).lower()
    assert dates["due_1"] in page
    assert room.stored.groups == ()


def test_an_unknown_group_is_refused(room: Room) -> None:
    data = {"group": "Mondy", "due-1": "2097-05-05T23:59"}
    page = room.teacher.post(f"/assignments/{room.assignment}/groups", data, 422)
    assert "did you mean 'Monday'" in words(page)


def test_a_class_without_groups_says_where_they_are_made(room: Room) -> None:
    room.fill("", room.ada)
    page = room.teacher.get(f"/assignments/{room.assignment}/groups")
    assert f'href="/classes/{room.id}/groups"' in page
    assert "other dates" not in words(room.teacher.get(f"/classes/{room.id}"))


def test_the_gradebook_is_that_of_a_group_where_one_is_chosen(room: Room) -> None:
    for path in (f"/classes/{room.id}/grades", f"/classes/{room.id}/grades/{room.assignment}"):
        assert {"Ada", "Alan"} <= set(words(room.teacher.get(path)).split())
        page = room.teacher.get(f"{path}?group=Monday")
        assert "Ada" in words(page)
        assert "Alan" not in words(page)
        assert "group=Monday" in page.partition('class="sort"')[2]
    assert room.teacher.status(f"/classes/{room.id}/grades?group=Mondy") == 422


def test_an_extension_must_be_later_than_the_date_of_the_group(room: Room) -> None:
    room.set_dates(due_1="2097-05-09T23:59")
    path = f"/assignments/{room.assignment}/extensions"
    data = {"until": "2097-05-08T23:59", "why": ""}
    page = room.teacher.post(path, {**data, "person": [room.ada.person]}, 422)
    assert "an extension must be later" in words(page)
    room.teacher.post(path, {**data, "person": [room.alan.person]})
    assert room.due(room.alan) == DUE.replace(day=8)


def test_a_roster_shows_who_changes_group_before_it_does(room: Room) -> None:
    path = f"/classes/{room.id}/people/roster"
    text = "name,Section\nAda,Tuesday\n"
    page = room.teacher.post(path, {"text": text}, 200)
    assert "Tuesday" in words(page)
    digest = page.partition('name="digest" value="')[2].partition('"')[0]
    room.teacher.post(f"{path}/apply", {"text": text, "digest": digest})
    assert room.groups == [("Tuesday", 1)]
