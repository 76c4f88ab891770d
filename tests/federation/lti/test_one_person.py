"""One student is one member, whether a roster, a link or a platform brings them."""

from dataclasses import dataclass, replace

import pytest
from fastapi.testclient import TestClient
from sqlmodel import Session

from app.classes.federation.lti.enrollment import Participant, apply_difference, compare_course, enroll_launch
from app.classes.federation.lti.launch_message import Launch, seal_ticket
from app.classes.federation.lti.platforms import Platform, register_platform
from app.classes.people.classes import (
    Member,
    Role,
    class_with,
    create_class,
    enroll,
    members_of,
    number_of,
    role_in,
    set_archived,
)
from app.classes.people.persons import new_person, open_browser
from app.core.errors import RefusedError
from app.server.db.people import ContextRow, IdentityRow, MemberRow
from app.server.db.session import open_session, open_writing_session
from app.site import Site
from app.site.web.frame.visitor import SESSION
from tests.web.test_progress import words


@dataclass
class Tied:
    """A class with a roster of its own that was tied to a course of a platform later."""

    site: Site
    platform: Platform
    class_id: int
    ada: int

    def launch(self, subject: str = "u1", name: str = "Ada L.", outside_id: str = "00020") -> Launch:
        return Launch(
            platform=self.platform.id,
            deployment="1",
            subject=subject,
            role="student",
            name=name,
            outside_id=outside_id,
            context="c1",
            title="Course",
        )

    def members(self) -> list[Member]:
        with open_session(self.site.engine) as session:
            return list(members_of(session, self.class_id))

    def enter(self, launch: Launch) -> int:
        with open_writing_session(self.site.engine) as session:
            return enroll_launch(session, launch).person


def member(session: Session, class_id: int, name: str, outside: str = "") -> int:
    person = number_of(new_person(session, name))
    enroll(session, class_id, person, Role.STUDENT, name, outside)
    return person


@pytest.fixture
def tied(site: Site, request: pytest.FixtureRequest) -> Tied:
    name = f"p{abs(hash(request.node.name)) % 10**9}"
    with open_session(site.engine) as session:
        class_id = number_of(create_class(session, site.secret, "Systems"))
        ada = member(session, class_id, "Ada Lovelace", "00020")
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
        )
        session.add(ContextRow(platform=platform.id, deployment="1", context="c1", class_id=class_id, title="C"))
        session.commit()
    return Tied(site, platform, class_id, ada)


def test_a_launch_finds_the_member_of_the_roster_by_id(tied: Tied) -> None:
    assert tied.enter(tied.launch()) == tied.ada
    assert tied.enter(tied.launch()) == tied.ada
    assert [one.outside_id for one in tied.members()] == ["00020"]


def test_a_launch_puts_a_student_without_a_group_into_that_of_the_course(tied: Tied) -> None:
    ada = tied.launch()
    for sent, expected in (("", ""), ("Monday", "Monday"), ("Tuesday", "Monday"), ("", "Monday")):
        tied.enter(replace(ada, group=sent))
        assert [one.group for one in tied.members()] == [expected]
    teacher = replace(tied.launch("u3", "Grace", ""), role="teacher", group="Monday")
    tied.enter(teacher)
    assert {one.name: one.group for one in tied.members()} == {"Ada L.": "Monday", "Grace": ""}
    with open_session(tied.site.engine) as session:
        row = session.get(MemberRow, (tied.class_id, tied.ada))
        assert row is not None
        assert row.launched == "student"


def test_a_launch_gives_a_student_more_time_in_exams_and_never_less(tied: Tied) -> None:
    for sent, expected in ((1.0, 1.0), (1.5, 1.5), (1.25, 1.5), (1.0, 1.5), (2.0, 2.0)):
        tied.enter(replace(tied.launch(), time_factor=sent))
        assert [one.time_factor for one in tied.members()] == [expected]


def test_two_members_never_have_one_id(tied: Tied) -> None:
    tied.enter(tied.launch())
    other = tied.enter(tied.launch("u2", name="Impostor"))
    assert other != tied.ada
    assert sorted(one.outside_id for one in tied.members()) == ["", "00020"]


def test_a_platform_signs_nobody_in_to_another_class(tied: Tied) -> None:
    with open_writing_session(tied.site.engine) as session:
        elsewhere = number_of(create_class(session, tied.site.secret, "Elsewhere"))
        enroll(session, elsewhere, tied.ada)
        session.commit()
    assert tied.enter(tied.launch()) != tied.ada


def test_compare_shows_who_was_found_by_id_and_what_changed(tied: Tied) -> None:
    one = Participant(subject="u1", role=Role.STUDENT, name="Ada King", outside_id="00020", active=True)
    new = replace(one, subject="u2", name="Bo", outside_id="00021")
    with open_writing_session(tied.site.engine) as session:
        found = compare_course(session, tied.platform, tied.class_id, [one, new])
        by_id, added = found.changes
        assert (by_id.by_id, by_id.name, by_id.new_name) == (True, "Ada Lovelace", "Ada King")
        assert (added.by_id, added.before, added.after) == (False, None, Role.STUDENT)
        apply_difference(session, tied.platform, tied.class_id, [one, new])
        session.commit()
        assert compare_course(session, tied.platform, tied.class_id, [one, new]).changes == ()
        married = replace(one, name="Ada Byron", outside_id="00022")
        (change,) = compare_course(session, tied.platform, tied.class_id, [married, new]).changes
        assert (change.new_name, change.new_id) == ("Ada Byron", "00022")
    assert tied.enter(tied.launch()) == tied.ada
    assert len(tied.members()) == 2


def test_an_archived_class_lets_nobody_new_in(tied: Tied) -> None:
    tied.enter(tied.launch())
    with open_writing_session(tied.site.engine) as session:
        set_archived(session, class_with(session, tied.class_id))
        session.commit()
    assert tied.enter(tied.launch()) == tied.ada
    with pytest.raises(RefusedError, match="is archived"):
        tied.enter(tied.launch("u3", outside_id=""))
    assert len(tied.members()) == 1


def signed_in(client: TestClient, tied: Tied, name: str) -> int:
    """A student of the class who joined by its link, in the browser of *client*."""
    with open_session(tied.site.engine) as session:
        person = member(session, tied.class_id, name)
        client.cookies.set(SESSION, open_browser(session, person))
        session.commit()
    return person


def opened(client: TestClient, tied: Tied, launch: Launch, chosen: str = "") -> str:
    """What the window of a launch shows, or where it leads."""
    data = {"ticket": seal_ticket(tied.site.secret, launch), "chosen": chosen}
    answer = client.post("/lti/open", data=data)
    return answer.headers.get("location") or words(answer.text)


def test_a_browser_that_is_signed_in_is_asked_and_not_replaced(client: TestClient, tied: Tied) -> None:
    zed = signed_in(client, tied, "Zed Local")
    launch = tied.launch("u9", name="Óscar Straße", outside_id="")
    asked = opened(client, tied, launch)
    assert "This browser is signed in as Zed Local" in asked
    assert "Óscar Straße" in asked
    assert len(tied.members()) == 2, "nobody is enrolled before the answer"
    assert opened(client, tied, launch, "person:same") == f"/classes/{tied.class_id}"
    with open_session(tied.site.engine) as session:
        identity = session.get(IdentityRow, (tied.platform.identities, "u9"))
        assert identity is not None
        assert identity.person == zed
    assert len(tied.members()) == 2
    assert opened(client, tied, launch) == f"/classes/{tied.class_id}", "asked once"


def test_one_who_is_somebody_else_is_signed_in_as_such(client: TestClient, tied: Tied) -> None:
    zed = signed_in(client, tied, "Zed Local")
    launch = tied.launch("u9", name="Óscar Straße", outside_id="")
    assert opened(client, tied, launch, "person:other") == f"/classes/{tied.class_id}"
    assert len(tied.members()) == 3
    assert "Óscar" in client.get("/me").text
    with open_session(tied.site.engine) as session:
        assert role_in(session, tied.class_id, zed) is Role.STUDENT


def test_a_student_who_came_both_ways_becomes_one(client: TestClient, tied: Tied) -> None:
    launch = tied.launch("u9", name="Zed of the LMS", outside_id="")
    kept = tied.enter(launch)
    zed = signed_in(client, tied, "Zed Local")
    assert "Is this you?" in opened(client, tied, launch)
    assert opened(client, tied, launch, "person:same") == f"/classes/{tied.class_id}"
    with open_session(tied.site.engine) as session:
        row = session.get(MemberRow, (tied.class_id, zed))
        assert row is not None
        assert row.left is not None
        assert role_in(session, tied.class_id, kept) is Role.STUDENT


def test_another_user_of_the_platform_at_the_same_computer_is_not_asked(client: TestClient, tied: Tied) -> None:
    first = tied.launch("u1")
    assert opened(client, tied, first) == f"/classes/{tied.class_id}"
    second = tied.launch("u2", name="Bo", outside_id="00021")
    assert opened(client, tied, second) == f"/classes/{tied.class_id}"
    assert len(tied.members()) == 2
