"""Launches from a second platform: logins by POST, no roles, no services."""

import re
from collections.abc import Callable, Iterator

import pytest
from sqlmodel import select

from app.classes.federation.lti.platforms import Platform, allow_deployment, platform_named, register_platform
from app.classes.people.classes import Role, create_class, members_of, number_of
from app.server.db.people import ContextRow, IdentityRow
from app.server.db.session import open_session, open_writing_session
from tests.federation.lti.mock_platform import CLIENT, COURSE, DEPLOYMENT, Student, platform
from tests.federation.lti.serving import Service, served

pytestmark = pytest.mark.slow(6)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with served(tmp_path_factory.mktemp("mock")) as made:
        yield made


@pytest.fixture(scope="module")
def there(service: Service) -> Iterator[str]:
    with platform(service.url) as made:
        with open_session(service.site.engine) as session:
            row = register_platform(
                session,
                Platform(
                    name="Mock Campus",
                    issuer=made,
                    client_id=CLIENT,
                    auth_url=f"{made}/authorize",
                    token_url=f"{made}/token",
                    jwks_url=f"{made}/jwks",
                ),
            )
            session.commit()
            assert row.id
        yield made


@pytest.fixture(scope="module")
def course(service: Service, there: str) -> int:
    """The class that the course of the platform is."""
    with open_writing_session(service.site.engine) as session:
        number = number_of(create_class(session, service.site.secret, "Introduction"))
        platform = platform_named(session, "Mock Campus")
        allow_deployment(session, platform, DEPLOYMENT)
        session.add(ContextRow(platform=platform.id, deployment=DEPLOYMENT, context=COURSE, class_id=number))
        session.commit()
    return number


@pytest.fixture
def student(service: Service, there: str) -> Iterator[Callable[[str], Student]]:
    """Opens the browser of a student."""
    opened: list[Student] = []

    def open_one(subject: str) -> Student:
        opened.append(Student(there, service.url, subject))
        return opened[-1]

    yield open_one
    for one in opened:
        one.there.close()


def why(page: str) -> str:
    found = re.search(r'id="why">([^<]*)', page)
    return found[1] if found else ""


def test_a_launch_by_post_without_roles_makes_a_student_once(
    service: Service, course: int, student: Callable[[str], Student]
) -> None:
    mina = student("id-7")
    for _ in range(2):
        opened = mina.open(mina.post("/lti/launch", mina.begin()))
        assert (opened.status_code, opened.headers["location"]) == (303, f"/classes/{course}")
    noor = student("id-8")
    noor.open(noor.post("/lti/launch", noor.begin()))
    with open_session(service.site.engine) as session:
        members = members_of(session, course)
        known = session.exec(select(IdentityRow.subject)).all()
    assert sorted((one.name, one.role) for one in members) == [
        ("Mina Maier", Role.STUDENT),
        ("Noor Aziz", Role.STUDENT),
    ]
    assert sorted(known) == ["id-7", "id-8"]


def test_what_is_not_from_this_launch_and_browser_is_refused(student: Callable[[str], Student]) -> None:
    mina, noor = (student(subject) for subject in ("id-7", "id-8"))
    sent, other = mina.begin(), noor.begin()
    stolen = student("id-8").post("/lti/launch", sent)
    mixed = mina.post("/lti/launch", {**sent, "id_token": other["id_token"]})
    head, claims, signature = sent["id_token"].split(".")
    changed = ".".join((head, claims[:-2] + ("AA" if claims[-2:] != "AA" else "BB"), signature))
    forged = mina.post("/lti/launch", {**sent, "id_token": changed})
    for answer in (stolen, mixed, forged):
        assert answer.status_code == 400
        assert why(answer.text)
    assert mina.post("/lti/launch", sent).status_code == 200
    again = mina.post("/lti/launch", sent)
    assert (again.status_code, bool(why(again.text))) == (400, True)
