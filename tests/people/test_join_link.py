"""Joining by a link, signing in with a seat code, and signing out."""

import re
import time
from collections.abc import Callable, Iterator
from html import unescape

import pytest
from fastapi.testclient import TestClient
from sqlmodel import select

from app.classes.pages.sign_in import own_path
from app.classes.people.persons import code_digest, known_person, open_browser
from app.core.errors import RefusedError
from app.server.aside.payer import Payer, network
from app.server.db.people import IdentityRow, MemberRow, PersonRow, SessionRow
from app.server.db.session import open_session
from app.server.network.allowance import OWN_WRONG_CODES, WRONG_CODES_OF_CLASS
from app.site import Site
from app.site.web.frame.visitor import COOKIE, SESSION
from tests.client import Client
from tests.people.school import School
from tests.web.test_progress import words


@pytest.fixture
def school(site: Site) -> School:
    site.allowances.wrong_codes._table.clear()
    return School(site)


def form_of(page: str) -> str:
    found = re.search(r'name="form" value="([^"]+)"', page)
    return found[1] if found else ""


def seat_code(page: str) -> str:
    found = re.search(r'class="seat-code">([^<]+)<', page)
    assert found, words(page)
    return found[1]


def members(site: Site, school: School) -> int:
    with open_session(site.engine) as session:
        rows = session.exec(select(MemberRow).where(MemberRow.class_id == school.id)).all()
        return len(rows) - 1  # the teacher


def join(client: TestClient, school: School, name: str) -> str:
    form = form_of(client.get(f"/join/{school.code}").text)
    return client.post(f"/join/{school.code}", data={"name": name, "form": form}).text


def test_a_name_is_enough_to_join_and_the_seat_code_opens_another_browser(client: TestClient, school: School) -> None:
    code = seat_code(join(client, school, "Grace Hopper"))
    assert client.get(f"/classes/{school.id}").status_code == 200
    client.cookies.clear()
    assert client.get(f"/classes/{school.id}").headers["location"].startswith("/sign-in?next=")
    answer = client.post("/sign-in", data={"code": code.lower().replace("-", " ")})
    assert (answer.status_code, answer.headers["location"]) == (303, f"/classes/{school.id}")
    assert "Grace Hopper" in client.get("/me").text


def test_a_form_that_is_sent_twice_makes_one_person(client: TestClient, site: Site, school: School) -> None:
    form = form_of(client.get(f"/join/{school.code}").text)
    codes = []
    for _ in range(2):
        client.cookies.clear()  # the answer to the first one was lost
        sent = {"name": "Twice", "form": form}
        codes.append(seat_code(client.post(f"/join/{school.code}", data=sent).text))
    assert members(site, school) == 1
    client.cookies.clear()
    assert client.post("/sign-in", data={"code": codes[1]}).status_code == 303


def test_one_who_is_signed_in_joins_with_one_press_and_is_never_two(
    client: TestClient, site: Site, school: School
) -> None:
    other = School(site, "Networks")
    join(client, school, "Grace")
    page = client.get(f"/join/{other.code}").text
    assert "signed in as Grace" in words(page)
    assert seat_code(client.post(f"/join/{other.code}").text)
    again = client.post(f"/join/{other.code}", data={"name": "Someone else"})
    assert (again.status_code, members(site, other)) == (303, 1)


@pytest.mark.parametrize(
    ("change", "says"),
    [({"joining": "closed"}, "Nobody can join this class now"), ({"joining": "roster"}, "has a list of its students")],
)
def test_a_class_that_cannot_be_joined_says_so(
    client: TestClient, site: Site, school: School, change: dict[str, str], says: str
) -> None:
    school.change(**change)
    assert says in words(client.get(f"/join/{school.code}").text)
    answer = client.post(f"/join/{school.code}", data={"name": "Mallory"})
    assert (answer.status_code, members(site, school)) == (422, 0)


@pytest.mark.parametrize("name", ["", "   ", "x" * 101, "two\x07bells"])
def test_a_name_that_is_not_valid_stays_in_the_form(client: TestClient, site: Site, school: School, name: str) -> None:
    answer = client.post(f"/join/{school.code}", data={"name": name, "form": "f"})
    assert (answer.status_code, members(site, school)) == (422, 0)
    assert "printable characters" in answer.text
    assert SESSION not in answer.cookies


def test_a_class_of_pseudonyms_offers_an_invented_name(client: TestClient, site: Site) -> None:
    school = School(site, pseudonyms=True)
    page = client.get(f"/join/{school.code}").text
    offered = re.search(r'name="name" value="([A-Z]\w+ [A-Z]\w+ \d\d)"', page)
    assert offered
    assert unescape(offered[1]) in words(join(client, school, offered[1]))


def test_a_link_that_was_renewed_leads_nowhere(client: TestClient, school: School) -> None:
    school.change(join_digest=code_digest("another"))
    answer = client.get(f"/join/{school.code}")
    assert answer.status_code == 404
    assert "Systems" not in answer.text


def test_no_page_before_joining_sets_a_cookie(client: TestClient, school: School) -> None:
    for address in (f"/join/{school.code}", "/sign-in", "/", "/exercises/collectives/ring-all-reduce-time"):
        assert "set-cookie" not in client.get(address).headers


@pytest.mark.parametrize(
    ("code", "says"), [("K7M2", "this one has 4"), ("ZZZZ-ZZZZ", "no seat has the code ZZZZ-ZZZZ"), ("", "has 0")]
)
def test_a_wrong_code_says_what_is_wrong(client: TestClient, school: School, code: str, says: str) -> None:
    answer = client.post("/sign-in", data={"code": code})
    assert answer.status_code == 422
    assert says in words(answer.text).replace("No seat", "no seat")
    assert SESSION not in answer.cookies


def test_a_right_code_opens_whatever_was_typed_at_its_address(client: TestClient, school: School) -> None:
    _, _, code = school.member("Grace")
    for number in range(10):
        wrong = client.post("/sign-in", data={"code": f"ZZZZ-ZZ{number:02}"})
        assert wrong.status_code == 422
    begin = time.monotonic()
    late = client.post("/sign-in", data={"code": "ZZZZ-ZZZZ"})
    assert (late.status_code, int(late.headers["retry-after"]) <= 6) == (429, True)
    assert time.monotonic() - begin > 0.4, "the answers to more wrong codes come late"
    assert "This code is wrong" in words(late.text)
    assert client.get("/join/nothing").status_code == 429
    assert client.get(f"/join/{school.code}").status_code == 200
    assert client.post("/sign-in", data={"code": code}).status_code == 303


def test_right_codes_are_not_counted(client: TestClient, school: School) -> None:
    _, _, code = school.member("Grace")
    for _ in range(12):  # a lecture hall behind one address
        client.cookies.clear()
        assert client.get(f"/join/{school.code}").status_code == 200
        assert client.post("/sign-in", data={"code": code}).status_code == 303


WRONG = {"code": "ZZZZ-ZZZZ"}


@pytest.fixture
def sign_in(client: TestClient, site: Site) -> Iterator[Callable[..., int]]:
    """Signs in from an address, a minute after the time before, and says the status."""
    assert isinstance(client, Client)

    def send(address: str, **sent: str) -> int:
        site.allowances.wrong_codes.charge(Payer(network(address)), -100)
        client.cookies.clear()
        client.address = address
        return client.post("/sign-in", data=sent).status_code

    yield send
    client.address = Client.address


def test_wrong_codes_of_others_never_lock_out_the_right_one(
    sign_in: Callable[..., int], site: Site, school: School
) -> None:
    _, _, code = school.member("Grace")
    link = {"join": school.code}
    site.allowances.own_wrong_codes.charge(Payer("198.51.100.1"), OWN_WRONG_CODES - 2)
    for given in (link, {}):
        assert sign_in("198.51.100.1", **WRONG, **given) == 422
        assert sign_in("198.51.100.1", code=code, **given) == 303
    for given in (link, {}):
        for _ in range(WRONG_CODES_OF_CLASS):
            assert sign_in("198.51.100.1", **WRONG, **given) == 422
        assert sign_in("198.51.100.1", **WRONG, **given) == 429, "the bucket of the class is empty"
        assert sign_in("198.51.100.1", code=code, **given) == 429
    for given in ({}, link):
        assert sign_in("192.0.2.1", code=code, **given) == 303
        assert sign_in("2001:db8:7::1", code=code, **given) == 303
    for _ in range(20):  # a lecture hall behind one address mistypes as well
        assert sign_in("192.0.2.2", **WRONG, **link) == 422
    assert sign_in("192.0.2.1", code=code, **link) == 303


@pytest.mark.parametrize(
    ("addresses", "other"),
    [
        ([f"2001:db8:1:{number:x}::1" for number in range(9)], "2001:db8:2::1"),
        ([f"203.0.113.{number}" for number in range(20)], "203.0.114.1"),
    ],
)
def test_many_addresses_of_one_party_guess_no_more_than_a_few(
    sign_in: Callable[..., int], site: Site, school: School, addresses: list[str], other: str
) -> None:
    for address in addresses:
        site.allowances.own_wrong_codes.charge(Payer(network(address)), OWN_WRONG_CODES / 2)
    site.allowances.wrong_codes_of_class.charge(f"class {school.id}", WRONG_CODES_OF_CLASS)
    assert sign_in(addresses[0], join=school.code, **WRONG) == 429
    assert sign_in(other, join=school.code, **WRONG) == 422


def test_a_wrong_join_link_is_counted_at_sign_in_as_at_its_own_address(client: TestClient, school: School) -> None:
    assert client.get(f"/sign-in?join={school.code}").status_code == 200
    for number in range(10):
        assert client.get(f"/sign-in?join=nothing{number}").status_code == 200
    for address, status in (("/sign-in?join=", 429), ("/join/", 429)):
        assert client.get(f"{address}nothing").status_code == status
        assert client.get(f"{address}{school.code}").status_code == 200


def test_a_code_of_another_class_does_not_open_the_one_of_the_link(
    client: TestClient, site: Site, school: School
) -> None:
    _, _, code = School(site, "Networks").member("Eve")
    answer = client.post("/sign-in", data={"code": code, "join": school.code})
    assert answer.status_code == 422


@pytest.mark.parametrize(
    "elsewhere", ["https://evil.example", "//evil.example", "/\\evil.example", "javascript:alert(1)", "/a\nb"]
)
def test_one_is_never_sent_to_another_site(client: TestClient, school: School, elsewhere: str) -> None:
    _, _, code = school.member("Grace")
    answer = client.post("/sign-in", data={"code": code, "next": elsewhere})
    assert answer.headers["location"] == f"/classes/{school.id}"
    assert own_path(elsewhere) == ""
    assert own_path("/classes/7?a=b") == "/classes/7?a=b"


def test_the_session_is_stored_as_a_digest_and_its_cookie_is_out_of_reach(
    client: TestClient, site: Site, school: School
) -> None:
    _, _, code = school.member("Grace")
    answer = client.post("/sign-in", data={"code": code})
    header = answer.headers["set-cookie"].lower()
    assert "httponly" in header
    assert "samesite=lax" in header
    cookie = client.cookies[SESSION]
    with open_session(site.engine) as session:
        assert session.get(SessionRow, cookie) is None
        assert session.get(SessionRow, code_digest(cookie)) is not None


def test_signing_out_ends_this_session_alone_and_everywhere_ends_all(
    client: TestClient, site: Site, school: School
) -> None:
    person = school.student(client)
    here = client.cookies[SESSION]
    with open_session(site.engine) as session:
        there = open_browser(session, person.person)
        session.commit()
    assert client.post("/sign-out").status_code == 303
    client.cookies.clear()
    client.cookies.set(SESSION, here)
    assert client.get("/me").status_code == 303
    client.cookies.set(SESSION, there)
    assert client.get("/me").status_code == 200
    assert client.post("/me/everywhere").status_code == 303
    client.cookies.set(SESSION, there)
    assert client.get("/me").status_code == 303


@pytest.mark.parametrize(
    "path", ["/sign-in", "/sign-out", "/me/claim", "/me/name", "/me/code", "/me/leave", "/me/delete"]
)
def test_forms_of_other_sites_are_refused(client: TestClient, school: School, path: str) -> None:
    school.student(client)
    sent = {"code": "x", "mine": "yes", "sure": "yes", "class_id": str(school.id), "name": "Evil"}
    headers = {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}
    assert client.post(path, data=sent, headers=headers).status_code == 403
    assert client.get("/me").status_code == 200


def test_the_menu_has_the_name_of_the_person_and_nobody_else_a_question(client: TestClient, school: School) -> None:
    assert 'href="/me"' not in client.get("/").text
    school.student(client, "Grace & <b>Co</b>")
    page = client.get("/").text
    assert ">Grace &amp; &lt;b&gt;Co&lt;/b&gt;</a>" in page
    assert "/sign-in" not in page


def test_the_learner_of_a_browser_stays_when_a_person_signs_in_and_out(client: TestClient, school: School) -> None:
    client.post("/exercises/collectives/ring-all-reduce-time", data={"action": "hint"})
    before = client.cookies[COOKIE]
    join(client, school, "Grace")
    client.post("/sign-out")
    assert client.cookies[COOKIE] == before


def test_a_stored_person_has_no_learner_of_a_browser(site: Site, school: School) -> None:
    person, _, _ = school.member("Grace")
    with open_session(site.engine) as session:
        row = session.get(PersonRow, person.person)
        assert row is not None
        assert len(row.learner) == 32


def signed_in_as(client: TestClient, cookie: str) -> bool:
    client.cookies.clear()
    client.cookies.set(SESSION, cookie)
    return client.get("/me").status_code == 200


def test_who_enters_another_class_leaves_every_way_in_that_others_may_have(
    client: TestClient, site: Site, school: School
) -> None:
    person, own, code = school.member("Vic")
    other = School(site, "Networks")
    with open_session(site.engine) as session:
        by_code = open_browser(session, person.person)
        session.add_all(
            IdentityRow(issuer="https://idp", subject=f"{who} {person.person}", person=person.person, own=who == "vic")
            for who in ("vic", "teacher")
        )
        session.commit()
    assert signed_in_as(client, by_code)
    assert signed_in_as(client, own)
    assert client.post(f"/join/{other.code}", data={"name": "Vic"}).status_code == 200
    assert signed_in_as(client, own)
    assert "Accounts to confirm" in client.get("/me").text
    assert not signed_in_as(client, by_code), "at once, though it was used a moment ago"
    assert client.post("/sign-in", data={"code": code}).status_code == 422
    with open_session(site.engine) as session:
        assert known_person(session, "https://idp", f"vic {person.person}") is not None
        with pytest.raises(RefusedError, match="confirm the account"):
            known_person(session, "https://idp", f"teacher {person.person}")
    client.cookies.set(SESSION, own)
    assert client.post("/me/accounts").headers["location"] == "/me?done=accounts"
    with open_session(site.engine) as session:
        assert known_person(session, "https://idp", f"teacher {person.person}") is not None
