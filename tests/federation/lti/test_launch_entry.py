"""What the window of a launch asks, and what is done with the answer; and the choice of links for a course."""

import re
from dataclasses import replace
from html import unescape

import pytest
from fastapi.testclient import TestClient
from sqlmodel import select

from app.classes.federation.lti.enrollment import class_of
from app.classes.federation.lti.launch_message import Launch, seal_ticket
from app.classes.people.assignments import assignments_of
from app.classes.people.classes import (
    Role,
    class_with,
    create_class,
    enroll,
    members_of,
    number_of,
    role_in,
    set_archived,
)
from app.classes.people.persons import WayIn, code_digest
from app.server.db.people import LinkRow
from app.server.db.session import open_session, open_writing_session
from app.site.web.frame.visitor import SESSION
from tests.each import each
from tests.federation.lti.test_course_copies import Copied, copied
from tests.web.a_class import browser
from tests.web.test_progress import words

__all__ = ("copied",)  # the fixture


def options(page: str) -> dict[str, str]:
    """What can be chosen on a page, and what each is called."""
    found = re.findall(r'value="((?:class|assignment|copy|person):[^"]*)"[^>]*>(.*?)</label>', page, re.DOTALL)
    return {value: words(f"<main>{unescape(text)}</main>") for value, text in found}


def test_a_new_course_is_a_new_class_or_one_that_its_teacher_has_open_here(copied: Copied) -> None:
    ada = browser(copied.client, copied.site, "Ada")
    with open_writing_session(copied.site.engine) as session:
        numbers = {}
        for name, role in (("Taught", Role.TEACHER), ("Helped", Role.ASSISTANT), ("Old", Role.TEACHER)):
            row = create_class(session, copied.site.secret, name, "Europe/Berlin")
            numbers[name] = number_of(row)
            enroll(session, number_of(row), ada.person, role, way=WayIn(browser=code_digest(ada.cookie)))
        set_archived(session, class_with(session, numbers["Old"]))
        session.commit()
    launch = replace(copied.launch(0), subject="new teacher", link="")
    assert list(options(copied.opened(launch))) == ["class:new"]
    copied.client.cookies.clear()
    copied.client.cookies.set(SESSION, ada.cookie)
    page = copied.opened(launch)
    assert list(options(page)) == ["class:new", f"class:{numbers['Taught']}"]
    for wrong in (numbers["Helped"], copied.old, 10**9):
        answer = copied.opened(launch, chosen=f"class:{wrong}")
        assert "you do not teach a class" in words(answer).lower()
    for text in ("class:", "class:x", "class:" + "9" * 19):
        assert "choose one of those" in words(copied.opened(launch, chosen=text)).lower()
    there = copied.opened(launch, chosen=f"class:{numbers['Taught']}")
    assert there == f"/classes/{numbers['Taught']}"
    with open_session(copied.site.engine) as session:
        assert class_of(session, launch) == numbers["Taught"]
        assert role_in(session, numbers["Taught"], ada.person) is Role.TEACHER


@each(("zone", "expected"), [("America/New_York", "America/New_York"), ("", "UTC"), ("Mars/Base", "UTC")])
def test_a_new_class_has_the_zone_that_its_teacher_says(copied: Copied, zone: str, expected: str) -> None:
    copied.client.cookies.clear()
    launch = replace(copied.launch(0, context=f"z{expected}{zone}"), link="", title="Trees")
    there = copied.opened(launch, chosen="class:new", zone=zone)
    with open_session(copied.site.engine) as session:
        row = class_with(session, int(there.rpartition("/")[2]))
        assert (row.name, row.zone) == ("Trees", expected)


def test_a_link_that_says_nothing_is_named_once_by_a_teacher(copied: Copied) -> None:
    one, two = (assignment.id for assignment in copied.assignments)
    launch = replace(copied.launch(0, context="c1"), link="nameless", link_title="Homework")
    page = copied.opened(launch)
    assert list(options(page)) == [f"assignment:{one}", f"assignment:{two}", "assignment:none"]
    assert ("1 exercise" in words(page), "2 exercises" in words(page), "Homework" in words(page)) == (True,) * 3
    assert copied.opened(launch, chosen="assignment:none") == f"/classes/{copied.old}"
    student = replace(launch, subject="student", role="student")
    assert copied.opened(student, chosen=f"assignment:{two}") == f"/classes/{copied.old}", "students do not choose"
    assert copied.opened(launch, chosen=f"assignment:{two}") == f"/assignments/{two}"
    assert copied.opened(student) == f"/assignments/{two}"
    assert copied.opened(launch) == f"/assignments/{two}", "asked once"
    assert copied.opened(launch, chosen=f"assignment:{one}") == f"/assignments/{one}", "and changed if it is said again"
    with open_session(copied.site.engine) as session:
        (row,) = session.exec(
            select(LinkRow).where(LinkRow.resource_link == "nameless", LinkRow.platform == copied.platform)
        )
        assert row.assignment == one
    assert copied.opened(replace(launch, link="")) == f"/classes/{copied.old}"


def test_one_without_a_role_or_before_the_teacher_is_told_so(copied: Copied) -> None:
    launch = replace(copied.launch(0, context="nobody"), subject="x")
    for role, says in (
        ("", "neither a student nor a teacher"),
        ("student", "not set up here yet"),
        ("assistant", "not set up"),
    ):
        assert says in words(copied.opened(replace(launch, role=role), chosen="class:new"))
    with open_session(copied.site.engine) as session:
        assert class_of(session, launch) is None


def choose(client: TestClient, school: Copied, launch: Launch, **sent: object) -> tuple[int, str]:
    data = {"ticket": seal_ticket(school.site.secret, launch), **sent}
    answer = client.post("/lti/choose", data=data)
    return answer.status_code, words(answer.text)


@pytest.mark.parametrize("several", [True, False])
def test_a_teacher_chooses_one_or_up_to_fifty_assignments_of_the_course(
    client: TestClient, copied: Copied, several: bool
) -> None:
    mine = [one.id for one in copied.assignments]
    launch = replace(copied.launch(0, context="c1"), answer_to="https://a.example/back", several=several)
    nothing = choose(client, copied, launch)
    asked = "at least one assignment, and at most 50" if several else "an assignment"
    assert (nothing[0], f"choose {asked}: 0 were chosen" in nothing[1]) == (422, True)
    many = choose(client, copied, launch, assignment=[mine[0]] * 51)
    assert (many[0], f"choose {asked}: 51 were chosen" in many[1]) == (422, True)
    two = choose(client, copied, launch, assignment=mine)
    assert ("2 were chosen" in two[1]) is not several
    gone = choose(client, copied, launch, assignment=[10**6])
    assert (gone[0], "was deleted in the meantime" in gone[1]) == (422, True)
    assert choose(client, copied, launch, chapter=["nothing"])[0] == 400
    listed = choose(client, copied, launch, again="yes")
    assert (listed[0], all(f"Week {n}" in listed[1] for n in (1, 2))) == (200, True)
    assert choose(client, copied, replace(launch, context="new"), again="yes")[0] == 200


def test_a_chapter_that_is_chosen_becomes_an_assignment_of_a_point_an_exercise(
    client: TestClient, copied: Copied
) -> None:
    topic = copied.site.catalog.topics[0]
    launch = replace(copied.launch(0, context="chosen"), answer_to="https://a.example/back")
    client.post(
        "/lti/choose",
        data={"ticket": seal_ticket(copied.site.secret, launch), "chapter": [topic.id], "zone": "Asia/Tokyo"},
    )
    with open_session(copied.site.engine) as session:
        class_id = class_of(session, launch)
        assert class_id is not None
        (made,) = assignments_of(session, class_id)
        assert (made.title, made.policy.zone.key) == (topic.title, "Asia/Tokyo")
        assert [(one.exercise, one.points) for one in made.entries] == [(one.id, 1.0) for one in topic.exercises]
        assert [one.role for one in members_of(session, class_id)] == [Role.TEACHER]


def test_a_ticket_that_is_not_ours_is_refused(client: TestClient, copied: Copied) -> None:
    for ticket in ("", "x"):
        for path in ("/lti/open", "/lti/choose"):
            answer = client.post(path, data={"ticket": ticket})
            assert (answer.status_code in (400, 422), "open it again" in answer.text) == (True, True), path
    launch = copied.launch(copied.assignments[0].id, context="c1")
    data = {"ticket": seal_ticket(copied.site.secret, launch)}
    assert client.post("/lti/open", data=data).status_code == 303
    again = client.post("/lti/open", data=data)
    assert "was used already" in again.text
    for weeks, status in (("1000", 303), ("-1000", 303), ("1001", 422), ("-1001", 422)):
        data = {"ticket": seal_ticket(copied.site.secret, launch), "weeks": weeks}
        assert client.post("/lti/open", data=data).status_code == status
