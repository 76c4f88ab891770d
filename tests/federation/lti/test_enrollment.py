"""From a course of a platform to a class: rosters page by page, and what each launch changes or leaves."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from sqlmodel import Session, select

from app.classes.federation.http_client import HttpAnswer
from app.classes.federation.lti import enrollment
from app.classes.federation.lti.enrollment import (
    CourseDifference,
    Participant,
    RoleChange,
    apply_difference,
    class_of,
    compare_course,
    doubt_of,
    enroll_launch,
    free_id,
    name_link,
    new_class,
    participants,
    tie,
    unite,
)
from app.classes.federation.lti.launch_message import Launch
from app.classes.federation.lti.platforms import Platform
from app.classes.people.assignments import AssignmentEntry, create_assignment
from app.classes.people.classes import Role, class_with, create_class, enroll, members_of, number_of, role_in
from app.classes.people.members import member_row
from app.classes.people.persons import new_person
from app.classes.people.policy import Policy
from app.core.errors import RefusedError
from app.server.db.people import ContextRow, IdentityRow, LinkRow
from app.server.db.session import open_writing_session
from app.site.members import SignedIn
from tests.each import each
from tests.federation.lti.test_one_person import Tied, member, tied

__all__ = ("tied",)  # the fixture
LMS = "https://lms.example"
CAMPUS = Platform(id=7, name="Campus", issuer=LMS, client_id="c", auth_url=LMS, token_url=LMS, jwks_url=LMS)


class Pages:
    """Services of a platform whose members come in *pages*, each with the link to the next one."""

    def __init__(self, *pages: tuple[object, str], status: int = 200) -> None:
        self.pages, self.status, self.asked = list(pages), status, list[str]()

    async def call(self, platform: Platform, scope: str, method: str, url: str, *_: Any, **__: Any) -> HttpAnswer:
        self.asked.append(url)
        members, follow = self.pages.pop(0)
        headers: Mapping[str, str] = {"link": follow} if follow else {}
        return HttpAnswer(url, self.status, headers, json.dumps({"members": members}).encode())


def people(pages: Pages, url: str = f"{LMS}/members") -> list[Participant]:
    return list(asyncio.run(participants(pages, CAMPUS, url)))  # type: ignore[arg-type]


@each(
    ("link", "asked"),
    [
        (f'<{LMS}/members?page=2>; rel="next"', f"{LMS}/members?page=2"),
        ("</members?page=2>; rel=next", f"{LMS}/members?page=2"),
        (f'<{LMS}/members>; rel="first", <?page=2>; type="x"; rel="next"', f"{LMS}/members?page=2"),
        (f'<{LMS}/members?page=2>; rel="prev"', None),
        (f'<{LMS}/members?page=2>; rel="next-archive"', None),
        (f'<{LMS}/members?page=2>; rel="next last"', f"{LMS}/members?page=2"),
        ("", None),
    ],
)
def test_a_roster_goes_on_where_its_link_says(link: str, asked: str | None) -> None:
    pages = Pages(([{"user_id": "a"}], link), ([{"user_id": "b"}, {"user_id": "a", "name": "Ada"}], ""))
    found = people(pages)
    assert pages.asked == [f"{LMS}/members?limit=100", *([asked] if asked else [])]
    assert [(one.subject, one.name) for one in found] == ([("a", "Ada"), ("b", "")] if asked else [("a", "")])
    pages = Pages(([], ""))
    people(pages, f"{LMS}/members?course=1")
    assert pages.asked == [f"{LMS}/members?course=1&limit=100"]


def test_a_roster_that_is_too_long_or_elsewhere_or_refused_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RefusedError, match="Campus answered 403"):
        people(Pages(([], ""), status=403))
    with pytest.raises(RefusedError, match="goes on at https://evil.example"):
        people(Pages(([], '<https://evil.example/>; rel="next"')))
    monkeypatch.setattr(enrollment, "MOST_PEOPLE", 3)
    three, follow = [{"user_id": str(n)} for n in range(3)], f'<{LMS}/2>; rel="next"'
    assert len(people(Pages((three, follow), (three, "")))) == 3
    pages = Pages(([*three, {"user_id": "x"}], follow), ([], ""))
    with pytest.raises(RefusedError, match="more than 3 people"):
        people(pages)
    assert len(pages.asked) == 1, "what is too long already is not read on"


def test_a_roster_may_have_ten_thousand_people() -> None:
    assert enrollment.MOST_PEOPLE == 10_000


@each(
    ("given", "found"),
    [
        ({"user_id": "a", "roles": ["Learner"]}, (Role.STUDENT, "", "", True)),
        ({"user_id": "a", "roles": ["Instructor"], "status": "Active"}, (Role.TEACHER, "", "", True)),
        ({"user_id": "a", "status": "Inactive"}, (Role.STUDENT, "", "", False)),
        ({"user_id": "a", "status": "Deleted", "roles": ["Mentor"]}, (None, "", "", False)),
        ({"user_id": "a", "name": "Ada", "lis_person_sourcedid": "7"}, (Role.STUDENT, "Ada", "7", True)),
        ({"user_id": "a", "lis_person_sourcedid": "x" * 256}, (Role.STUDENT, "", "", True)),
        ({"user_id": "x" * 255, "lis_person_sourcedid": "a\nb"}, (Role.STUDENT, "", "", True)),
        ({"user_id": "x" * 256}, None),
        ({"user_id": ""}, None),
        ({"user_id": "a\nb"}, None),
        ({"user_id": 7}, None),
        ("a", None),
    ],
)
def test_a_person_of_a_roster_is_read_as_far_as_they_can_be(given: object, found: tuple[Any, ...] | None) -> None:
    those = [(one.role, one.name, one.outside_id, one.active) for one in people(Pages(([given], "")))]
    assert those == ([] if found is None else [found])
    assert people(Pages((7, ""))) == []


def test_a_difference_names_those_it_can_and_counts_the_others() -> None:
    known = RoleChange("a", "Ada", Role.STUDENT, None)
    new = [RoleChange(one, "", None, Role.STUDENT) for one in "bc"]
    found = CourseDifference((known, *new), 3)
    assert list(found.named) == [known]
    assert found.unnamed == {(None, Role.STUDENT): 2}
    assert found.digest == CourseDifference((known, *new), 9, ("x",)).digest != CourseDifference((known,), 3).digest
    same = RoleChange("a", "Ada", Role.STUDENT, Role.STUDENT)
    assert [one.differs for one in (same, replace(same, by_id=True), replace(same, new_name="x"), known)] == [
        False, True, True, True,
    ]  # fmt: skip
    assert replace(same, new_id="7").differs
    assert not replace(same, known=True).differs


def test_a_new_class_is_as_its_course_or_the_one_before(tied: Tied) -> None:
    with open_writing_session(tied.site.engine) as session:
        launch = replace(tied.launch(), context="c9", title="")
        for zone, expected in (("Europe/Berlin", "Europe/Berlin"), ("Mars/Base", "UTC"), ("", "UTC")):
            row = class_with(session, new_class(session, tied.site.secret, launch, zone))
            assert (row.name, row.zone, row.pseudonyms) == ("A course", expected, False)
        for pseudonyms in (True, False):
            like = create_class(session, tied.site.secret, "Old", "Asia/Tokyo", pseudonyms=pseudonyms)
            made = new_class(session, tied.site.secret, replace(launch, title="Systems"), "Europe/Berlin", like)
            row = class_with(session, made)
            assert (row.name, row.zone, row.pseudonyms) == ("Systems", "Asia/Tokyo", pseudonyms)
        session.rollback()


def test_a_course_is_tied_once_and_its_teacher_is_known_from_then_on(tied: Tied) -> None:
    with open_writing_session(tied.site.engine) as session:
        launch = replace(tied.launch("boss"), context="c2", role="teacher")
        assert class_of(session, launch) is None
        other = number_of(create_class(session, tied.site.secret, "Other"))
        ada = SignedIn(tied.ada, "l", "Ada")
        tie(session, launch, tied.class_id, ada)
        tie(session, launch, other, SignedIn(number_of(new_person(session, "Bo")), "m", "Bo"))
        assert class_of(session, launch) == tied.class_id
        assert session.get_one(IdentityRow, (tied.platform.identities, "boss")).person == tied.ada
        session.rollback()


def test_an_id_is_free_unless_another_member_has_it(tied: Tied) -> None:
    with open_writing_session(tied.site.engine) as session:
        bo = member(session, tied.class_id, "Bo")
        assert free_id(session, tied.class_id, tied.ada, "00020") == "00020"
        assert free_id(session, tied.class_id, bo, "00020") == ""
        assert (free_id(session, tied.class_id, bo, "7"), free_id(session, tied.class_id, bo, "")) == ("7", "")
        session.rollback()


def doubt(session: Session, school: Tied, launch: Launch, person: int) -> str:
    return doubt_of(session, launch, school.class_id, SignedIn(person, "l", "x", browser="b"))


def test_who_is_signed_in_is_connected_merged_or_left_alone(tied: Tied) -> None:
    with open_writing_session(tied.site.engine) as session:
        zed = member(session, tied.class_id, "Zed")
        launch = tied.launch("u9", outside_id="")
        assert doubt(session, tied, launch, zed) == "connect"
        assert doubt(session, tied, tied.launch("u9"), tied.ada) == "", "the roster says so already"
        assert doubt(session, tied, tied.launch("u9"), zed) == "connect"
        unite(session, launch, tied.class_id, SignedIn(zed, "l", "Zed", browser="b"))
        assert session.get_one(IdentityRow, (tied.platform.identities, "u9")).person == zed
        assert doubt(session, tied, tied.launch("u10", outside_id=""), zed) == "", "the platform calls them otherwise"
        boss = number_of(new_person(session, "Boss"))
        enroll(session, tied.class_id, boss, Role.TEACHER)
        assert doubt(session, tied, launch, boss) == "", "a teacher is no student"
        session.rollback()


def test_a_link_opens_an_assignment_of_its_own_class(tied: Tied) -> None:
    with open_writing_session(tied.site.engine) as session:
        other = number_of(create_class(session, tied.site.secret, "Other"))
        entries = [AssignmentEntry("a/one", 1.0)]
        mine, second, theirs = (
            create_assignment(session, one, "Week", Policy(), entries) for one in (tied.class_id, tied.class_id, other)
        )
        launch = replace(tied.launch(), link="r1", lineitem=f"{LMS}/i", lineitems=f"{LMS}/all")
        for wrong in (theirs, 0, 10**9):
            with pytest.raises(RefusedError, match="not one of this class"):
                name_link(session, launch, tied.class_id, wrong)
        for number in (mine, second):
            name_link(session, launch, tied.class_id, number)
            row = session.exec(select(LinkRow).where(LinkRow.platform == tied.platform.id)).one()
            assert (row.assignment, row.lineitem_url, row.lineitems_url) == (number, f"{LMS}/i", f"{LMS}/all")
        row.item_digest = "told"
        name_link(session, replace(launch, lineitem="", lineitems=""), tied.class_id, mine)
        assert (row.lineitem_url, row.lineitems_url, row.item_digest) == (f"{LMS}/i", f"{LMS}/all", "told")
        name_link(session, replace(launch, lineitem=f"{LMS}/j"), tied.class_id, mine)
        assert (row.lineitem_url, row.item_digest) == (f"{LMS}/j", "")
        with pytest.raises(RefusedError, match="another deployment"):
            name_link(session, replace(launch, deployment="2"), tied.class_id, mine)
        session.rollback()


def test_a_launch_refreshes_where_the_people_of_a_course_are(tied: Tied) -> None:
    with open_writing_session(tied.site.engine) as session:
        for memberships, title, found in (
            (f"{LMS}/m", "Systems", (f"{LMS}/m", "Systems")), ("", "", (f"{LMS}/m", "Systems")),
            (f"{LMS}/n", "Networks", (f"{LMS}/n", "Networks")),
        ):  # fmt: skip
            arrival = enroll_launch(session, replace(tied.launch(), memberships=memberships, title=title))
            row = session.get_one(ContextRow, (tied.platform.id, "1", "c1"))
            assert (row.memberships_url, row.title) == found
            assert (arrival.class_id, arrival.assignment) == (tied.class_id, 0)


def test_an_assistant_without_a_role_in_a_launch_stays_one_and_gets_no_more_time(tied: Tied) -> None:
    with open_writing_session(tied.site.engine) as session:
        launch = replace(tied.launch("tom", "Tom", ""), role="assistant", time_factor=2.0, group="Mon")
        tom = enroll_launch(session, launch).person
        for role in ("assistant", ""):
            enroll_launch(session, replace(launch, role=role))
            assert role_in(session, tied.class_id, tom) is Role.ASSISTANT
            row = member_row(session, tied.class_id, tom)
            assert (row.time_factor, row.group_name, row.launched) == (1.0, "", role)


def listed(subject: str, role: Role | None = Role.STUDENT, **more: Any) -> Participant:
    return Participant(**{"subject": subject, "role": role, "name": "", "outside_id": "", "active": True, **more})


def test_a_list_changes_those_of_the_platform_alone_and_an_inactive_one_leaves(tied: Tied) -> None:
    with open_writing_session(tied.site.engine) as session:
        first, second = listed("u1", outside_id="00020", name="Ada L."), listed("u2", name="Bo")
        apply_difference(session, tied.platform, tied.class_id, [first, second, listed("u3", None)], ["u2", "u1"])
        roles = {one.name: one.role for one in members_of(session, tied.class_id)}
        assert roles == {"Ada L.": Role.STUDENT, "Bo": Role.ASSISTANT}, "Ada was here before"
        zed = member(session, tied.class_id, "Zed")
        found = compare_course(session, tied.platform, tied.class_id, [replace(first, active=False)])
        assert [(one.subject, one.name, one.after) for one in found.changes] == [
            ("u1", "Ada L.", None),
            ("u2", "Bo", None),
        ]
        assert found.same == 0
        apply_difference(session, tied.platform, tied.class_id, [replace(first, active=False), second])
        assert {one.person for one in members_of(session, tied.class_id)} >= {zed}
        assert {one.name for one in members_of(session, tied.class_id)} == {"Bo", "Zed"}
        session.rollback()


def test_a_class_with_invented_names_learns_no_names_of_a_list(tied: Tied) -> None:
    with open_writing_session(tied.site.engine) as session:
        class_with(session, tied.class_id).pseudonyms = True
        both = [listed("u1", outside_id="00020", name="Ada L."), listed("u2", name="Bo")]
        found = compare_course(session, tied.platform, tied.class_id, both)
        assert [(one.new_name, one.by_id) for one in found.changes] == [("", True), ("", False)]
        apply_difference(session, tied.platform, tied.class_id, both)
        names = {one.name for one in members_of(session, tied.class_id)}
        assert "Ada Lovelace" in names
        assert not names & {"Bo", "Ada L."}
        session.rollback()


def test_two_of_a_list_with_one_id_are_one_member_and_a_new_one(tied: Tied) -> None:
    with open_writing_session(tied.site.engine) as session:
        both = [listed(subject, outside_id="00020", name=subject) for subject in ("u1", "u2")]
        found = compare_course(session, tied.platform, tied.class_id, both)
        assert [(one.by_id, one.before) for one in found.changes] == [(True, Role.STUDENT), (False, None)]
        apply_difference(session, tied.platform, tied.class_id, both)
        assert sorted(one.outside_id for one in members_of(session, tied.class_id)) == ["", "00020"]
        session.rollback()
