"""The account of a person: what is said, asked and given out there."""

import re
from datetime import timedelta
from urllib.parse import parse_qs, urlsplit

import pytest
from fastapi.testclient import TestClient

from app.classes.pages.sign_in import own_path
from app.classes.people.classes import Role, enroll, member_of_seat_code, number_of
from app.classes.people.merges import merge_members
from app.classes.people.persons import new_person, open_browser
from app.server.db.people import IdentityRow, PersonRow
from app.server.db.session import open_session, open_writing_session
from app.site import Site
from app.site.web.frame.visitor import COOKIE, SESSION
from tests.each import each
from tests.people.school import School
from tests.web.a_class import words


@pytest.fixture
def school(site: Site) -> School:
    site.allowances.wrong_codes._table.clear()
    return School(site)


@each(
    ("text", "path"),
    [
        ("/classes/7?a=b", "/classes/7?a=b"), ("/" + "x" * 1_999, "/" + "x" * 1_999), ("/" + "x" * 2_000, ""),
        ("/é", ""), ("/a\tb", ""), ("", ""), ("classes", ""), ("//x", ""),
    ],
)  # fmt: skip
def test_a_path_of_this_site_is_plain_and_of_two_thousand_characters_at_most(text: str, path: str) -> None:
    assert own_path(text) == path


def test_what_was_just_done_is_said_and_nothing_else(client: TestClient, school: School) -> None:
    school.student(client)
    for done, says in (
        ("name", "Your name was changed."),
        ("left", "You left the class."),
        ("accounts", "sign you in again"),
    ):
        assert says in words(client.get(f"/me?done={done}").text)
    plain = words(client.get("/me").text)
    assert words(client.get("/me?done=other").text) == plain
    assert not any(says in plain for says in ("was changed", "You left", "sign you in again"))


def test_a_new_code_opens_the_class_it_is_for(client: TestClient, site: Site, school: School) -> None:
    person, other = school.student(client), School(site, "Networks")
    for number in (other.id, 0, 2**62):
        refused = client.post("/me/code", data={"class_id": str(number)})
        assert (refused.status_code, "not in that class" in refused.text) == (422, True)
        left = client.post("/me/leave", data={"class_id": str(number), "sure": "yes"})
        assert (left.status_code, "not in that class" in left.text) == (422, True)
    page = client.post("/me/code", data={"class_id": str(school.id)}).text
    code = re.search(r'class="seat-code">([^<]+)<', page)
    assert code is not None
    with open_session(site.engine) as session:
        seat = member_of_seat_code(session, code[1])
        assert seat is not None
        assert (seat.class_id, seat.person) == (school.id, person.person)
    assert "Systems" in words(page)


@pytest.mark.parametrize("path", ["leave", "delete"])
def test_nobody_leaves_without_a_tick(client: TestClient, school: School, path: str) -> None:
    person = school.student(client)
    for sure in ("", "no", "Yes"):
        refused = client.post(f"/me/{path}", data={"class_id": str(school.id), "sure": sure})
        assert (refused.status_code, "tick the box" in refused.text) == (422, True)
    assert school.membership(person) is not None
    assert client.get("/me").status_code == 200


def test_who_is_deleted_is_signed_out_and_told_what_stays(client: TestClient, site: Site, school: School) -> None:
    person = school.student(client)
    page = client.post("/me/delete", data={"sure": "yes"})
    assert (page.status_code, "session=" in page.headers["set-cookie"]) == (200, True)
    assert "Max-Age=0" in page.headers["set-cookie"]
    assert client.get("/me").status_code == 303
    with open_session(site.engine) as session:
        row = session.get(PersonRow, person.person)
        assert row is None or row.deleted is not None


def test_a_teachers_question_is_asked_first_and_answered_once(client: TestClient, site: Site, school: School) -> None:
    kept, cookie, _ = school.member("Grace")
    with open_writing_session(site.engine) as session:
        row = new_person(session, "Gracie")
        gone = number_of(row)
        enroll(session, school.id, gone, Role.STUDENT, "Gracie at Systems", "17")
        session.add(IdentityRow(issuer="https://idp", subject=f"g{kept.person}", person=kept.person))
        session.flush()
        merge = merge_members(session, school.id, kept.person, gone, own=[school.id], by="Ada Teacher")
        session.commit()
    client.cookies.set(SESSION, cookie)
    asked = client.get("/me")
    assert (asked.status_code, parse_qs(urlsplit(asked.headers["location"]).query)) == (303, {"next": ["/me"]})
    shown = words(client.get("/me/merges?next=/final").text)
    for says in ("Gracie at Systems (17)", "Ada Teacher", "Systems", "Grace"):
        assert says in shown
    wrong = client.post("/me/merges", data={"merge": str(merge), "mine": "perhaps", "next": "/final"})
    assert (wrong.status_code, "yes or no" in wrong.text) == (422, True)
    answered = client.post("/me/merges", data={"merge": str(merge), "mine": "no", "next": "/final"})
    assert answered.headers["location"] == "/me/merges?next=%2Ffinal"
    assert client.get("/me/merges?next=/final").headers["location"] == "/final"
    assert client.get("/me/merges").headers["location"] == "/me"
    assert client.get("/me/merges?next=//evil.example").headers["location"] == "/me"
    assert client.get("/me").status_code == 200


def test_work_is_declined_by_no_alone_and_for_this_browser(client: TestClient, site: Site, school: School) -> None:
    for mine, declined in (("", False), ("yes", False), ("perhaps", False), ("no", True)):
        client.cookies.clear()
        client.post("/exercises/collectives/ring-all-reduce-time", data={"answer": "1 s"})
        assert COOKIE in client.cookies
        _, cookie, _ = school.member("Grace")
        client.cookies.set(SESSION, cookie)
        answer = client.post("/me/claim", data={"mine": mine, "next": "/final"})
        assert (answer.status_code, answer.headers["location"]) == (303, "/final")
        sent = answer.headers.get("set-cookie", "")
        assert ("declined=" in sent) is declined
        if declined:
            assert "httponly" in sent.lower()
            assert "samesite=lax" in sent.lower()
            assert int(re.findall(r"Max-Age=(\d+)", sent)[0]) > timedelta(days=30).total_seconds()


def test_the_page_for_signing_in_says_who_is_signed_in_and_keeps_what_was_typed(
    client: TestClient, site: Site, school: School
) -> None:
    assert "signed in as" not in words(client.get("/sign-in").text)
    school.student(client, "Grace Hopper")
    page = client.get(f"/sign-in?next=/final&join={school.code}").text
    assert "Grace Hopper" in words(page)
    assert ('value="/final"' in page, f'value="{school.code}"' in page, "Systems" in words(page)) == (True, True, True)
    wrong = client.post("/sign-in", data={"code": "ZZZZ-ZZZZ", "join": school.code, "next": "/final"})
    assert "No seat in Systems has the code ZZZZ-ZZZZ" in words(wrong.text)
    assert 'value="ZZZZ-ZZZZ"' in wrong.text
    _, _, code = school.member("Bo")
    for sent, to in (
        ({"next": "/final"}, "/final"),
        ({}, f"/classes/{school.id}"),
        ({"next": "//x"}, f"/classes/{school.id}"),
    ):
        assert client.post("/sign-in", data={"code": code, **sent}).headers["location"] == to


def test_another_sign_in_ends_the_session_before(client: TestClient, site: Site, school: School) -> None:
    school.student(client)
    old, (_, _, code) = client.cookies[SESSION], school.member("Bo")
    entered = client.post("/sign-in", data={"code": code}).cookies[SESSION]
    assert entered != old
    client.cookies.clear()
    client.cookies.set(SESSION, entered)
    assert "Bo" in client.get("/me").text
    client.cookies.clear()
    client.cookies.set(SESSION, old)
    assert client.get("/me").status_code == 303


def test_a_join_link_leads_members_to_their_class_and_shows_others_a_form(
    client: TestClient, site: Site, school: School
) -> None:
    grace = school.student(client)
    there = f"/classes/{school.id}"
    for answer in (client.get(f"/join/{school.code}"), client.post(f"/join/{school.code}", data={"name": "X"})):
        assert (answer.status_code, answer.headers["location"]) == (303, there)
    other = School(site, "Networks")
    assert "<title>Join Networks" in client.get(f"/join/{other.code}").text
    with open_session(site.engine) as session:
        nameless = number_of(new_person(session, ""))
        cookie = open_browser(session, nameless)
        session.commit()
    client.cookies.clear()
    client.cookies.set(SESSION, cookie)
    wrong = client.post(f"/join/{other.code}", data={"name": " "})
    assert (wrong.status_code, "printable characters" in wrong.text) == (422, True)
    seat = client.post(f"/join/{other.code}", data={"name": "Kim"})
    assert (seat.status_code, "You are in Networks" in seat.text, "Kim" in words(seat.text)) == (200, True, True)
    assert SESSION not in seat.cookies, "the session stays"
    assert grace.name == "Grace"


def test_ways_that_are_not_there_say_so(client: TestClient, school: School) -> None:
    missing = client.get("/sign-in/campus")
    assert (missing.status_code, "no way to sign in is called" in missing.text.lower()) == (404, True)
    former = client.get("/sign-in/proxy")
    assert (former.status_code, former.headers["location"]) == (308, "/sign-in")
    late = client.post("/sign-in/connect", data={"mine": "yes"})
    assert (late.status_code, "longer than ten minutes" in late.text) == (400, True)
    for path in ("/sign-in/name", "/sign-in/connect"):
        assert client.get(path).headers["location"].startswith("/sign-in?next=")
    school.student(client)
    assert 'value="Grace"' in client.get("/sign-in/name").text
    wrong = client.post("/sign-in/name", data={"name": " ", "next": "/final"})
    assert (wrong.status_code, 'value="/final"' in wrong.text) == (422, True)
    right = client.post("/sign-in/name", data={"name": " Grace  H. ", "next": "//x"})
    assert right.headers["location"] == "/me"
    assert "Grace H." in client.get("/me").text
