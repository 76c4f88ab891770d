"""A course that its platform copied for the next term: its old links find the copies."""

import re
from dataclasses import dataclass, field, replace
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from fastapi.testclient import TestClient

from app.classes.federation.lti.enrollment import enroll_launch, new_class, tie
from app.classes.federation.lti.launch_message import Launch, seal_ticket
from app.classes.federation.lti.platforms import Platform, register_platform
from app.classes.people.assignments import Assignment, AssignmentEntry, assignments_of, create_assignment
from app.classes.people.classes import Role, class_with, classes_of, create_class, enroll, members_of, number_of
from app.classes.people.policy import Policy
from app.server.db.session import open_writing_session
from app.site import Site
from app.site.web.frame.visitor import SESSION
from tests.web.a_class import browser
from tests.web.test_progress import words

RING, TREE = "collectives/ring-all-reduce-time", "collectives/ring-or-tree"
BERLIN = ZoneInfo("Europe/Berlin")
DUE = datetime(2026, 10, 2, 23, 59, tzinfo=BERLIN)


@dataclass
class Copied:
    """A course of last term, *old*, with two assignments, and the teacher who opened it."""

    client: TestClient
    site: Site
    platform: int
    old: int
    assignments: list[Assignment] = field(default_factory=list)

    def launch(self, number: int, role: str = "teacher", context: str = "c2") -> Launch:
        """A launch from the copied course by a link to the assignment *number*."""
        return Launch(
            platform=self.platform,
            deployment="1",
            subject=role,
            role=role,
            name=role.title(),
            context=context,
            title="Systems, spring",
            link=f"{context}-{number}",
            assignment=number,
        )

    def opened(self, launch: Launch, **said: str) -> str:
        """What the window of a launch shows, or where it leads."""
        data = {"ticket": seal_ticket(self.site.secret, launch), **said}
        answer = self.client.post("/lti/open", data=data)
        return answer.headers.get("location") or answer.text

    def assigned(self, class_id: int) -> list[Assignment]:
        with open_writing_session(self.site.engine) as session:
            return list(assignments_of(session, class_id))

    def classes(self) -> list[int]:
        """The classes of the teacher, the newest first."""
        with open_writing_session(self.site.engine) as session:
            person = enroll_launch(session, self.launch(0, context="c1")).person
            return [number_of(row) for row, _ in classes_of(session, person)]


@pytest.fixture
def copied(client: TestClient, site: Site, request: pytest.FixtureRequest) -> Copied:
    name = f"c{abs(hash(request.node.name)) % 10**9}"
    client.cookies.clear()
    with open_writing_session(site.engine) as session:
        platform = register_platform(
            session,
            Platform(
                name=name,
                issuer=f"https://{name}.example",
                client_id="c",
                auth_url="https://a.example",
                token_url="https://a.example/t",
                jwks_url="https://a.example/k",
            ),
        ).id
        made = Copied(client, site, platform, 0)
        launch = made.launch(0, context="c1")
        made.old = new_class(session, site.secret, launch, "Europe/Berlin")
        tie(session, launch, made.old)
        for week, exercises in enumerate(([RING], [RING, TREE]), 1):
            entries = [AssignmentEntry(one, 2.0) for one in exercises]
            create_assignment(session, made.old, f"Week {week}", Policy(due=DUE), entries)
        session.commit()
        enroll_launch(session, launch)
        made.assignments = list(assignments_of(session, made.old))
    return made


def test_the_teacher_is_asked_once_and_all_old_links_open_the_copies(copied: Copied) -> None:
    one, two = (assignment.id for assignment in copied.assignments)
    asked = copied.opened(copied.launch(one))
    assert "Copy the 2 assignments of Systems, spring" in words(asked)
    assert re.search(r'value="copy:\d+" required checked', asked), "it is the first answer"
    there = copied.opened(copied.launch(one), chosen=f"copy:{copied.old}", weeks="26")
    new = copied.classes()[0]
    assert new != copied.old
    first, second = copied.assigned(new)
    assert there == f"/assignments/{first.id}"
    assert first.policy.due == datetime(2027, 4, 2, 23, 59, tzinfo=BERLIN)
    assert first.policy.zone == BERLIN
    assert copied.opened(copied.launch(two)) == f"/assignments/{second.id}", "not asked again"
    assert copied.opened(copied.launch(two, "student")) == f"/assignments/{second.id}"
    assert len(copied.assigned(new)) == 2
    old = copied.opened(copied.launch(one, "student", "c1"))
    assert old == f"/assignments/{one}", "links of last term stay as they are"


def test_the_copy_of_a_class_with_invented_names_stores_no_others(copied: Copied) -> None:
    with open_writing_session(copied.site.engine) as session:
        class_with(session, copied.old).pseudonyms = True
        session.commit()
    copied.opened(copied.launch(copied.assignments[0].id), chosen=f"copy:{copied.old}")
    new = copied.classes()[0]
    with open_writing_session(copied.site.engine) as session:
        assert new != copied.old
        assert class_with(session, new).pseudonyms
        assert [one.name for one in members_of(session, new)] == ["Teacher"]


def test_the_weeks_that_are_suggested_bring_the_first_date_into_this_week(copied: Copied) -> None:
    asked = copied.opened(copied.launch(copied.assignments[0].id))
    found = re.search(r'id="weeks" name="weeks" value="(\d+)"', asked)
    assert found is not None
    days = (copied.site.clock().date() - DUE.date()).days
    assert abs(7 * int(found[1]) - days) <= 7


def test_the_copy_of_a_copy_is_found_by_the_first_links(copied: Copied) -> None:
    number = copied.assignments[0].id
    copied.opened(copied.launch(number), chosen=f"copy:{copied.old}")
    second = copied.classes()[0]
    third = copied.launch(number, context="c3")
    offers = re.findall(r'value="copy:(\d+)"', copied.opened(third))
    assert offers == [str(second), str(copied.old)], "the newest first"
    there = copied.opened(third, chosen=f"copy:{second}")
    assert there == f"/assignments/{copied.assigned(copied.classes()[0])[0].id}"


def test_a_class_that_was_copied_here_first_is_found_without_a_question(copied: Copied) -> None:
    number = copied.assignments[0].id
    copied.opened(copied.launch(number), chosen=f"copy:{copied.old}")
    new = copied.classes()[0]
    with open_writing_session(copied.site.engine) as session:
        launch = copied.launch(number, context="c4")
        tie(session, launch, new)
        session.commit()
    there = copied.opened(launch)
    assert there == f"/assignments/{copied.assigned(new)[0].id}"


def test_a_course_that_was_made_empty_is_offered_the_copies_too(copied: Copied) -> None:
    number = copied.assignments[1].id
    launch = copied.launch(number)
    asked = copied.opened(launch, chosen="class:new", zone="America/New_York")
    assert "Copy the 2 assignments" in words(asked)
    there = copied.opened(launch, chosen=f"copy:{copied.old}")
    second = copied.assigned(copied.classes()[0])[1]
    assert there == f"/assignments/{second.id}"
    assert second.policy.due == datetime(2026, 10, 2, 23, 59, tzinfo=ZoneInfo("America/New_York"))


def test_nobody_copies_a_class_that_they_do_not_teach(copied: Copied) -> None:
    number = copied.assignments[0].id
    stranger = replace(copied.launch(number), subject="stranger")
    assert "copy:" not in copied.opened(stranger)
    copied.opened(stranger, chosen=f"copy:{copied.old}")
    assert copied.classes() == [copied.old]
    student = copied.opened(copied.launch(number, "student"))
    assert "not set up here yet" in words(student)


def test_a_teacher_who_is_signed_in_is_asked_for_the_class_once(copied: Copied) -> None:
    """Also if the platform calls them for the first time, so that they are asked who they are."""
    ada = browser(copied.client, copied.site, "Ada")
    copied.client.cookies.set(SESSION, ada.cookie)
    launch = copied.launch(0)
    asked = copied.opened(replace(launch, subject="new"), chosen="class:new")
    assert "Is this you?" in asked
    there = copied.opened(replace(launch, subject="new"), chosen="person:same")
    assert there.startswith("/classes/")


def test_a_teacher_who_is_signed_in_copies_what_they_taught_here(copied: Copied) -> None:
    ada = browser(copied.client, copied.site, "Ada")
    with open_writing_session(copied.site.engine) as session:
        taught = number_of(create_class(session, copied.site.secret, "Local", "Europe/Berlin"))
        enroll(session, taught, ada.person, Role.TEACHER)
        number = create_assignment(session, taught, "Here", Policy(due=DUE), [AssignmentEntry(RING, 1.0)])
        session.commit()
    copied.client.cookies.set(SESSION, ada.cookie)
    launch = copied.launch(number)
    there = copied.opened(replace(launch, subject="ada"), chosen=f"copy:{taught}")
    assert there.startswith("/assignments/")
