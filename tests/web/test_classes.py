"""A class is made, found again, archived and deleted; nobody else learns of it."""

from dataclasses import replace
from urllib.parse import parse_qs, urlsplit

import pytest
from fastapi.testclient import TestClient

from app.classes.pages.class_router import qr_code
from app.classes.people.classes import Role, class_with, join_code_of
from app.server.db.people import ClassRow
from app.server.db.session import open_session
from app.site import Site
from tests.each import each
from tests.qr_codes import read_svg
from tests.web.a_class import Browser, a_class, browser, joined, words

TAUGHT = ("", "/people", "/slide", "/settings", "/assignments/new", "/people/roster", "/date")


def stored(site: Site, class_id: int) -> ClassRow:
    with open_session(site.engine) as session:
        return class_with(session, class_id)


def test_a_visitor_makes_a_class_in_one_step_and_sees_its_link(client: TestClient, site: Site) -> None:
    assert "Make a class" in client.get("/classes").text
    form = {"name": "Training 2026", "teacher": "Ada", "zone": "America/New_York"}
    answer = client.post("/classes", data=form)
    assert answer.status_code == 303
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith("session=")
    assert "HttpOnly" in cookie
    assert "samesite=lax" in cookie.lower()
    page = client.get(answer.headers["location"])
    class_id = int(answer.headers["location"].rpartition("/")[2])
    row = stored(site, class_id)
    assert (row.name, row.zone, row.pseudonyms) == ("Training 2026", "America/New_York", False)
    assert f"testserver/join/{join_code_of(site.secret, row)}" in words(page.text)
    assert "only this browser can open the class" in words(page.text)
    assert "Training 2026" in words(client.get("/classes").text)


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"name": "  "}, "A name must have 1 to 100 printable characters"),
        ({"name": "x" * 101}, "A name must have 1 to 100 printable characters"),
        ({"teacher": ""}, "A name must have 1 to 100 printable characters"),
        ({"zone": "Europe/Berlni"}, "did you mean 'Europe/Berlin'"),
    ],
)
def test_a_form_that_is_not_valid_is_shown_again_as_it_was_typed(
    client: TestClient, changed: dict[str, str], says: str
) -> None:
    form = {"name": "Training", "teacher": "Ada", "zone": "UTC", **changed}
    answer = client.post("/classes", data=form)
    assert answer.status_code == 422
    assert says in words(answer.text)
    assert "set-cookie" not in answer.headers
    assert all(f'value="{text}"' in answer.text for text in form.values())


def test_where_only_the_operator_makes_classes_the_page_says_so(client: TestClient, site: Site) -> None:
    only = replace(site, settings=site.settings.model_copy(update={"classes": "command"}))
    client.app.state.site = only  # type: ignore[attr-defined]
    try:
        assert "wallclock class create" in words(client.get("/classes").text)
        refused = client.post("/classes", data={"name": "X", "teacher": "Y", "zone": "UTC"})
    finally:
        client.app.state.site = site  # type: ignore[attr-defined]
    assert refused.status_code == 422
    assert "wallclock class create" in words(refused.text)


def test_a_visitor_is_asked_to_sign_in_and_comes_back(client: TestClient, site: Site) -> None:
    class_id, _ = a_class(client, site)
    client.cookies.clear()
    answer = client.get(f"/classes/{class_id}/people?q=ada&page=2")
    assert answer.status_code == 303
    location = urlsplit(answer.headers["location"])
    assert location.path == "/sign-in"
    assert parse_qs(location.query) == {"next": [f"/classes/{class_id}/people?q=ada&page=2"]}
    # The same of a class that does not exist; a form leads back to the class.
    assert client.get("/classes/999999").status_code == 303
    posted = client.post(f"/classes/{class_id}/people/codes", data={"which": "all"})
    assert parse_qs(urlsplit(posted.headers["location"]).query) == {"next": [f"/classes/{class_id}"]}


def test_a_stranger_cannot_tell_a_class_from_none(client: TestClient, site: Site) -> None:
    class_id, _ = a_class(client, site)
    stranger = browser(client, site, "Mallory")
    for end in TAUGHT:
        assert stranger.status(f"/classes/{class_id}{end}") == 404
    pages = [_refusal(stranger, number) for number in (class_id, 999_999, 2**70)]
    assert pages[0] == pages[1] == pages[2]


def _refusal(one: Browser, class_id: int) -> str:
    one.status("/classes")  # signs in
    return words(one.client.get(f"/classes/{class_id}").text)


def test_a_student_sees_what_is_due_and_no_page_of_the_teachers(client: TestClient, site: Site) -> None:
    class_id, _ = a_class(client, site)
    ada = joined(site, class_id, browser(client, site, "Ada"))
    assert "Ring all-reduce 101" in ada.get(f"/classes/{class_id}")
    assert [end for end in TAUGHT[1:] if ada.status(f"/classes/{class_id}{end}") != 404] == []


def test_an_assistant_sees_the_class_and_changes_nothing(client: TestClient, site: Site) -> None:
    class_id, _ = a_class(client, site)
    ada = joined(site, class_id, browser(client, site, "Ada"), Role.ASSISTANT)
    assert "New assignment" not in ada.get(f"/classes/{class_id}")
    people = ada.get(f"/classes/{class_id}/people")
    assert "Import a roster" not in people
    assert "Change" not in words(people)
    for end, form in (
        ("/settings", {"name": "Mine", "zone": "UTC"}),
        ("/archive", {"archived": "yes"}),
        ("/delete", {"sure": "Ring all-reduce 101"}),
        ("/people/link", {"do": "closed"}),
        ("/people/codes", {"which": "all"}),
        ("/people/roster", {"text": "Eve"}),
        ("/people/roster/apply", {"text": "Eve"}),
        (f"/people/{ada.person}/edit", {"name": "Ada", "role": "teacher"}),
        (f"/people/{ada.person}/remove", {"sure": "yes"}),
        ("/assignments/new", {"title": "Mine"}),
    ):
        ada.post(f"/classes/{class_id}{end}", form, status=404)
    assert stored(site, class_id).joining == "open"


def test_the_slide_has_the_link_as_text_and_as_a_qr_code(client: TestClient, site: Site) -> None:
    class_id, grace = a_class(client, site)
    code = join_code_of(site.secret, stored(site, class_id))
    page = grace.get(f"/classes/{class_id}/slide")
    assert f"testserver /join/{code}" in words(page)
    assert read_svg(page) == f"http://testserver/join/{code}"
    grace.post(f"/classes/{class_id}/people/link", {"do": "closed"})
    assert code not in grace.get(f"/classes/{class_id}/slide")


@each("length", (1, 100, 1_000, 2_331))
def test_the_qr_code_of_a_long_address_is_whole(length: int) -> None:
    address = "https://example.org/".ljust(length, "z")[:length]
    assert read_svg(f'<div class="qr">{qr_code(address)}') == address


def test_an_address_too_long_for_any_qr_code_has_none() -> None:
    assert qr_code("z" * 2_332) == ""


def test_a_form_of_another_site_is_refused(client: TestClient, site: Site) -> None:
    class_id, grace = a_class(client, site)
    grace.get("/classes")
    headers = {"Origin": "https://evil.example"}
    sent = client.post(f"/classes/{class_id}/delete", data={"sure": "Ring all-reduce 101"}, headers=headers)
    assert sent.status_code == 403
    assert client.post("/classes", data={"name": "X"}, headers=headers).status_code == 403


def test_the_settings_change_the_class(client: TestClient, site: Site) -> None:
    class_id, grace = a_class(client, site)
    path = f"/classes/{class_id}/settings"
    grace.post(path, {"name": "Tree 102", "zone": "Asia/Tokyo", "pseudonyms": "yes"})
    row = stored(site, class_id)
    assert (row.name, row.zone, row.pseudonyms) == ("Tree 102", "Asia/Tokyo", True)
    page = grace.post(path, {"name": "Tree", "zone": "Mars/Base"}, status=422)
    assert "The time zone 'Mars/Base' does not exist" in words(page)
    assert stored(site, class_id).name == "Tree 102"


def test_an_archived_class_is_closed_until_it_is_opened_again(client: TestClient, site: Site) -> None:
    class_id, grace = a_class(client, site)
    grace.post(f"/classes/{class_id}/archive", {"archived": "yes"})
    assert stored(site, class_id).joining == "closed"
    assert "Archived" in words(grace.get(f"/classes/{class_id}"))
    page = grace.post(f"/classes/{class_id}/people/link", {"do": "open"}, status=422)
    assert "take it out of the archive first" in words(page)
    grace.post(f"/classes/{class_id}/archive", {"archived": "no"})
    grace.post(f"/classes/{class_id}/people/link", {"do": "open"})
    assert stored(site, class_id).archived is None


def test_a_class_is_deleted_only_when_its_name_is_typed(client: TestClient, site: Site) -> None:
    class_id, grace = a_class(client, site)
    for sure in ("", "yes", "Ring all-reduce 10"):
        page = grace.post(f"/classes/{class_id}/delete", {"sure": sure}, status=422)
        assert "nothing was deleted" in words(page).lower()
    assert grace.post(f"/classes/{class_id}/delete", {"sure": " ring  ALL-reduce 101 "}) == "/classes"
    assert grace.status(f"/classes/{class_id}") == 404
    assert grace.status("/classes") == 200
