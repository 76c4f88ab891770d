"""The people of a class: the link, rosters, codes, roles."""

import re
from html import unescape

from fastapi.testclient import TestClient
from sqlmodel import select

from app.classes.people.classes import Role, class_of_code, class_with, join_code_of, member_of_seat_code, members_of
from app.server.db.people import ClassRow, MemberRow
from app.server.db.session import open_session
from app.site import Site
from tests.web.a_class import Browser, a_class, browser, joined, words

CODE = re.compile(r'class="seat-code">([0-9A-Z]{4}-[0-9A-Z]{4})<')
ROSTER = "id;name\n1;Ada Lovelace\n2;Alan Turing\n1;Ada L.\n"


def compared(grace: Browser, class_id: int, text: str) -> str:
    return grace.post(f"/classes/{class_id}/people/roster", {"text": text}, status=200)


def hidden(page: str) -> dict[str, str]:
    found = re.findall(r'<input type="hidden" name="([\w-]+)" value="([^"]*)"', page)
    return {name: unescape(value) for name, value in found}


def imported(grace: Browser, class_id: int, text: str, **more: str) -> str:
    page = compared(grace, class_id, text)
    return grace.post(f"/classes/{class_id}/people/roster/apply", {**hidden(page), **more})


def named(site: Site, class_id: int) -> dict[str, str]:
    with open_session(site.engine) as session:
        return {one.name: one.role.word for one in members_of(session, class_id)}


def test_a_roster_is_shown_as_a_difference_before_anything_changes(client: TestClient, site: Site) -> None:
    class_id, grace = a_class(client, site)
    page = compared(grace, class_id, ROSTER)
    assert "2 new" in words(page)
    assert "Line 4: Ada L. 1 , as on line 2 (Ada Lovelace)" in words(page)
    assert list(named(site, class_id)) == ["Grace Hopper"]
    grace.post(f"/classes/{class_id}/people/roster/apply", hidden(page))
    assert list(named(site, class_id)) == ["Ada Lovelace", "Alan Turing", "Grace Hopper"]
    again = words(compared(grace, class_id, ROSTER))
    assert "The class is as the roster says" in again


def test_a_file_of_moodle_is_read_and_shown_as_it_is_read(client: TestClient, site: Site) -> None:
    class_id, grace = a_class(client, site)
    content = "Last name;First name;ID number;Groups\r\nMüller;Zoë;017;A\r\n".encode("utf-16")
    path = f"/classes/{class_id}/people/roster"
    page = words(grace.post(path, {}, 200, files={"file": ("liste.csv", content, "text/csv")}))
    assert "It is read as a file of Moodle." in page
    assert "Line Name Id Group Role 2 Zoë Müller 017 A" in page


def test_a_teacher_says_which_column_of_a_file_is_what(client: TestClient, site: Site) -> None:
    class_id, grace = a_class(client, site)
    path = f"/classes/{class_id}/people/roster"
    content = "Kurs 7;;\r\nMatr.-Nr.;Nachname;Vorname\r\n017;Müller;Zoë\r\n1,00E+06;Ek;Bo\r\n".encode("cp1252")
    page = grace.post(path, {}, 200, files={"file": ("liste.csv", content, "text/csv")})
    assert "Which column is what?" in words(page)
    assert "3 017 Müller Zoë" in words(page)
    assert "Change the class" not in page
    text = hidden(page)["text"]
    wrong = grace.post(path, {"text": text, "column-group": "1", "first_line": "3"}, 422)
    assert "Say which column has the names" in words(wrong)
    assert '<option value="1" selected>1: Matr.-Nr.</option>' in wrong
    said = {"text": text, "column-id": "1", "column-last": "2", "column-first": "3", "first_line": "3"}
    page = grace.post(path, said, 200)
    assert "Line Name Id Group Role 3 Zoë Müller 017" in words(page)
    assert "line 4, column Matr.-Nr.: the id is" in words(page)
    assert "read as a file of" not in words(page)
    assert list(named(site, class_id)) == ["Grace Hopper"]
    grace.post(f"{path}/apply", hidden(page))
    assert list(named(site, class_id)) == ["Grace Hopper", "Zoë Müller"]


def test_a_difference_that_is_another_by_now_is_shown_again(client: TestClient, site: Site) -> None:
    class_id, grace = a_class(client, site)
    sent = hidden(compared(grace, class_id, ROSTER))
    imported(grace, class_id, "id,name\n2,Alan M. Turing\n")
    page = grace.post(f"/classes/{class_id}/people/roster/apply", sent, status=200)
    assert "The class has changed meanwhile" in words(page)
    assert list(named(site, class_id)) == ["Alan M. Turing", "Grace Hopper"]


def test_what_is_no_roster_is_refused_with_its_line_and_shown_again(client: TestClient, site: Site) -> None:
    class_id, grace = a_class(client, site)
    path = f"/classes/{class_id}/people/roster"
    page = grace.post(path, {"text": "id,name,role\n1,Ada,boss\n"}, status=422)
    assert "Line 2, column role: a role is student, assistant or teacher, not 'boss'" in words(page)
    assert "1,Ada,boss" in page
    assert "This file is empty" in words(grace.post(path, {"text": "  "}, status=422))


def test_those_who_are_missing_are_removed_only_if_ticked(client: TestClient, site: Site) -> None:
    class_id, grace = a_class(client, site)
    imported(grace, class_id, ROSTER)
    imported(grace, class_id, "id,name\n1,Ada Lovelace\n")
    assert "Alan Turing" in named(site, class_id)
    imported(grace, class_id, "id,name\n1,Ada Lovelace\n3,Kim\n", remove="yes")
    assert list(named(site, class_id)) == ["Ada Lovelace", "Grace Hopper", "Kim"]


def test_codes_are_shown_once_and_stored_as_digests(client: TestClient, site: Site) -> None:
    class_id, grace = a_class(client, site)
    imported(grace, class_id, ROSTER)
    grace.get("/classes")
    answer = client.post(f"/classes/{class_id}/people/codes", data={"which": "missing"})
    assert answer.headers["cache-control"] == "no-store"
    codes = CODE.findall(answer.text)
    assert len(codes) == 2
    assert "testserver/sign-in" in words(answer.text)
    with open_session(site.engine) as session:
        assert all(member_of_seat_code(session, code) for code in codes)
        digests = session.exec(select(MemberRow.code_digest).where(MemberRow.class_id == class_id))
        assert not {code.replace("-", "") for code in codes} & set(digests)
    page = grace.get(f"/classes/{class_id}/people")
    assert not any(code in page for code in codes)
    # Nobody is without one anymore; all get others, and the first ones end.
    none = grace.post(f"/classes/{class_id}/people/codes", {"which": "missing"}, status=200)
    assert "No code was made" in words(none)
    renewed = grace.post(f"/classes/{class_id}/people/codes", {"which": "all"}, status=200)
    assert len(set(CODE.findall(renewed)) | set(codes)) == 4
    with open_session(site.engine) as session:
        assert not any(member_of_seat_code(session, code) for code in codes)


def test_a_code_of_one_who_is_elsewhere_is_not_made_and_it_is_said(client: TestClient, site: Site) -> None:
    class_id, grace = a_class(client, site)
    other, _ = a_class(client, site)
    ada = joined(site, class_id, joined(site, other, browser(client, site, "Ada")))
    page = grace.post(f"/classes/{class_id}/people/{ada.person}/code", {}, status=200)
    assert not CODE.findall(page)
    assert "No code for 1" in words(page)


def test_everyone_who_teaches_gets_a_code_of_their_own(client: TestClient, site: Site) -> None:
    class_id, grace = a_class(client, site)
    helper = joined(site, class_id, browser(client, site, "Helper"), Role.ASSISTANT)
    assert "only this browser can open the class" in words(helper.get(f"/classes/{class_id}"))
    for one in (grace, helper):
        page = one.post(f"/classes/{class_id}/people/{one.person}/code", {}, status=200)
        assert len(CODE.findall(page)) == 1
    assert "only this browser" not in words(helper.get(f"/classes/{class_id}"))
    helper.post(f"/classes/{class_id}/people/{grace.person}/code", {}, status=404)


def test_the_join_link_is_renewed_and_closed(client: TestClient, site: Site) -> None:
    class_id, grace = a_class(client, site)
    with open_session(site.engine) as session:
        code = join_code_of(site.secret, class_with(session, class_id))
    path = f"/classes/{class_id}/people"
    assert code in grace.get(path)
    grace.post(f"{path}/link", {"do": "renew"})
    with open_session(site.engine) as session:
        assert class_of_code(session, code) is None
    assert code not in grace.get(path)
    for do in ("roster", "closed", "open"):
        grace.post(f"{path}/link", {"do": do})
        with open_session(site.engine) as session:
            assert session.get_one(ClassRow, class_id).joining == do
    assert "not 'burn'" in words(grace.post(f"{path}/link", {"do": "burn"}, status=422))


def test_a_member_is_renamed_gets_a_role_and_is_removed(client: TestClient, site: Site) -> None:
    class_id, grace = a_class(client, site)
    ada = joined(site, class_id, browser(client, site, "Ada"))
    path = f"/classes/{class_id}/people/{ada.person}"
    grace.post(f"{path}/edit", {"name": "Ada L.", "outside_id": "7", "role": "assistant"})
    assert named(site, class_id)["Ada L."] == "assistant"
    page = grace.post(f"{path}/edit", {"name": "", "outside_id": "", "role": "boss"}, status=422)
    assert "A name must have 1 to 100" in words(page)
    long = {"name": "Ada", "outside_id": "x" * 256, "role": "student"}
    assert "at most 255" in words(grace.post(f"{path}/edit", long, status=422))
    assert "tick the box" in words(grace.post(f"{path}/remove", {}, status=422))
    grace.post(f"{path}/remove", {"sure": "yes"})
    assert "Ada L." not in named(site, class_id)
    assert grace.status(f"{path}/edit") == 404
    for nobody in (0, 2**63, 10**40):
        where = f"/classes/{class_id}/people/{nobody}"
        assert grace.status(f"{where}/edit") == 404
        grace.post(f"{where}/remove", {"sure": "yes"})
        grace.post(f"{where}/code", {}, status=422)
    own = f"/classes/{class_id}/people/{grace.person}"
    page = grace.post(f"{own}/remove", {"sure": "yes"}, status=422)
    assert "needs a teacher" in words(page)


def test_a_large_class_is_shown_in_pages_and_searched(client: TestClient, site: Site) -> None:
    class_id, grace = a_class(client, site)
    rows = "\n".join(f"{n},Student {n:03}" for n in range(305))
    imported(grace, class_id, f"id,name\n{rows}\n")
    path = f"/classes/{class_id}/people"
    assert "Page 1 of 2, 306 people" in words(grace.get(path))
    assert "Student 304" in grace.get(f"{path}?page=2")
    assert "Page 2 of 2" in words(grace.get(f"{path}?page=99"))
    found = words(grace.get(f"{path}?q=student 30"))
    assert "Student 303" in found
    assert "Student 299" not in found


def test_a_name_that_is_markup_is_shown_as_it_is(client: TestClient, site: Site) -> None:
    class_id, grace = a_class(client, site)
    imported(grace, class_id, "id,name\n1,<script>alert(1)</script>\n")
    page = grace.get(f"/classes/{class_id}/people")
    assert "&lt;script&gt;alert(1)" in page
    assert "<script>alert(1)" not in page


def test_last_seen_is_the_last_answer_or_the_last_sign_in(client: TestClient, site: Site) -> None:
    class_id, grace = a_class(client, site)
    joined(site, class_id, browser(client, site, "Ada"))
    imported(grace, class_id, "name\nAda\nAlan\n")
    page = words(grace.get(f"/classes/{class_id}/people"))
    assert re.search(r"Ada student now no", page)
    assert re.search(r"Alan student never no", page)
