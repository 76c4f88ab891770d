"""The page of a class's platforms: who may see it, and what it does."""

import re
from pathlib import Path

import httpx2
import pytest
from fastapi.testclient import TestClient
from sqlmodel import Session, select

from app.classes.federation.lti.platforms import Platform, register_platform
from app.classes.people.assignments import AssignmentEntry, create_assignment
from app.classes.people.classes import Role, create_class, enroll, members_of, number_of
from app.classes.people.persons import new_person, open_browser
from app.classes.people.policy import Policy
from app.server.db.people import ContextRow, IdentityRow, LinkRow, OutboxRow, PlatformRow
from app.server.db.session import open_session
from app.site import Site
from app.site.web.frame.visitor import SESSION
from tests.federation.lti.fake_platform import fake_platform
from tests.federation.lti.serving import served

REFUSED = "this user is not in the course"


class Course:
    """A class that is a course of a platform; its student's score was refused."""

    def __init__(self, session: Session, secret: str, name: str) -> None:
        self.class_id = number_of(create_class(session, secret, name))
        self.assignment = create_assignment(
            session, self.class_id, "Week 1", Policy(), [AssignmentEntry("collectives/ring-all-reduce-time", 1.0)]
        )
        platform = register_platform(
            session,
            Platform(
                name=f"Campus of {name}",
                issuer=f"https://{name}.example",
                client_id="c",
                auth_url="https://a.example",
                token_url="https://a.example/t",
                jwks_url="https://a.example/k",
            ),
        )
        session.add(
            ContextRow(
                platform=platform.id, deployment="1", context="c1", class_id=self.class_id, title=f"Course {name}"
            )
        )
        link = LinkRow(platform=platform.id, deployment="1", resource_link="r", assignment=self.assignment)
        session.add(link)
        self.cookies: dict[Role, str] = {}
        for role in Role:
            number = number_of(new_person(session, role.word.capitalize()))
            enroll(session, self.class_id, number, role)
            self.cookies[role] = open_browser(session, number)
        session.add(IdentityRow(issuer=platform.identities, subject="s", person=number))
        session.flush()
        session.add(OutboxRow(link=link.id or 0, person=number, subject="s", points=0.5, said=REFUSED))
        session.commit()


@pytest.fixture
def course(site: Site, request: pytest.FixtureRequest) -> Course:
    with open_session(site.engine) as session:
        return Course(session, site.secret, f"x{abs(hash(request.node.name)) % 10**9}")


def visit(client: TestClient, cookie: str) -> TestClient:
    client.cookies.clear()
    client.cookies.set(SESSION, cookie)
    return client


def test_only_teachers_see_the_platforms_of_a_class(client: TestClient, site: Site, course: Course) -> None:
    href = f"/classes/{course.class_id}/platform"
    assert client.get(href).status_code == 303
    for role, status in ((Role.STUDENT, 404), (Role.ASSISTANT, 404), (Role.TEACHER, 200)):
        visit(client, course.cookies[role])
        assert client.get(href).status_code == status
        if role is not Role.TEACHER:
            assert client.post(href).status_code == 404
            assert client.post(f"{href}/roster", data={"course": "0"}).status_code == 404


def test_what_did_not_arrive_is_listed_with_its_reason_and_sent_again(
    client: TestClient, site: Site, course: Course
) -> None:
    visit(client, course.cookies[Role.TEACHER])
    href = f"/classes/{course.class_id}/platform"
    page = client.get(href).text
    assert REFUSED in page
    assert "0 arrived, 0 on the way, 1 not taken" in page
    sent = client.post(href)
    assert sent.headers["location"] == f"{href}?again=1"
    assert "0 arrived, 1 on the way, 0 not taken" in client.get(href).text


def test_a_class_says_which_course_it_is(client: TestClient, course: Course) -> None:
    visit(client, course.cookies[Role.TEACHER])
    page = client.get(f"/classes/{course.class_id}").text
    assert "Course x" in page
    assert f'href="/classes/{course.class_id}/platform"' in page


def test_a_person_sees_what_the_platform_said_and_sends_again(client: TestClient, site: Site, course: Course) -> None:
    visit(client, course.cookies[Role.TEACHER])  # whose score was refused, here
    page = client.get(f"/assignments/{course.assignment}").text
    assert f"did not take these points: {REFUSED}" in " ".join(page.split())
    assert client.post(f"/assignments/{course.assignment}/send").status_code == 303
    page = client.get(f"/assignments/{course.assignment}").text
    assert "On the way to Campus" in page
    assert "/send" not in page
    visit(client, course.cookies[Role.STUDENT])
    assert "On the way" not in client.get(f"/assignments/{course.assignment}").text


def test_a_roster_that_cannot_be_read_says_why(client: TestClient, course: Course) -> None:
    visit(client, course.cookies[Role.TEACHER])
    page = client.post(f"/classes/{course.class_id}/platform/roster", data={"course": "0"})
    assert page.status_code == 422
    assert "let the tool read names and roles" in page.text
    assert client.post(f"/classes/{course.class_id}/platform/roster", data={"course": "9"}).status_code == 404


def test_a_class_without_a_course_says_how_it_gets_one(client: TestClient, site: Site) -> None:
    with open_session(site.engine) as session:
        class_id = number_of(create_class(session, site.secret, "Alone"))
        person = number_of(new_person(session, "T"))
        enroll(session, class_id, person, Role.TEACHER)
        cookie = open_browser(session, person)
        session.commit()
    page = visit(client, cookie).get(f"/classes/{class_id}/platform").text
    assert "not tied to a course" in page
    assert 'href="/lti"' in page


def test_forms_of_other_sites_are_refused(client: TestClient, course: Course) -> None:
    visit(client, course.cookies[Role.TEACHER])
    foreign = {"Origin": "https://evil.example"}
    for path in (
        f"/classes/{course.class_id}/platform",
        f"/assignments/{course.assignment}/send",
        "/lti/open",
        "/lti/choose",
        "/lti/register",
    ):
        assert client.post(path, headers=foreign).status_code == 403, path
    assert client.post("/lti/launch", headers=foreign).status_code == 400, "a launch comes from elsewhere"


@pytest.mark.slow(5)
def test_a_teacher_says_who_of_the_new_students_teaches(tmp_path: Path) -> None:
    """Moodle lists a teacher who may not edit as a learner."""
    with served(tmp_path) as service, fake_platform() as fake:
        fake.roster = [{"user_id": one, "roles": ["Learner"], "name": one.capitalize()} for one in ("ada", "tom")]
        fake.roster.append({"user_id": "s", "roles": ["Instructor"], "name": "Teacher"})
        fake.roster += [{"user_id": one, "roles": ["Learner"]} for one in ("x", "y")]
        with open_session(service.site.engine) as session:
            course = Course(session, service.site.secret, "x")
            row = session.exec(select(PlatformRow)).one()
            row.token_url, row.jwks_url = f"{fake.url}/token", f"{fake.url}/keys"
            tie = session.exec(select(ContextRow)).one()
            tie.memberships_url = f"{fake.url}/members"
            session.commit()
        cookies = {SESSION: course.cookies[Role.TEACHER]}
        href = f"/classes/{course.class_id}/platform/roster"
        with httpx2.Client(
            base_url=service.url, cookies=cookies, headers={"Origin": service.url}, timeout=60
        ) as teacher:
            page = teacher.post(href, data={"course": "0"}).text
            assert re.findall(r'name="assistant" value="(\w+)"', page) == ["ada", "tom"]
            assert "2 people without a name" in " ".join(page.split())
            (digest,) = re.findall(r'name="digest" value="(\w+)"', page)
            done = teacher.post(href, data={"course": "0", "digest": digest, "assistant": ["tom"]}).text
            assert "people have changed" in done
        with open_session(service.site.engine) as session:
            roles = {one.name: one.role for one in members_of(session, course.class_id)}
        assert (roles["Ada"], roles["Tom"]) == (Role.STUDENT, Role.ASSISTANT)
