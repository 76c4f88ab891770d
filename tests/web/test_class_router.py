"""What all pages of classes and their forms have from one router."""

import asyncio
from urllib.parse import parse_qs, urlsplit

import pytest
from fastapi import Request
from fastapi.testclient import TestClient
from starlette.datastructures import FormData

from app.classes.pages.class_router import ClassForm, class_head, csv_response, in_assignment, in_class, sign_in_first
from app.classes.people.classes import Role, members_of
from app.core.errors import NotFoundError
from app.server.aside.payer import Payer
from app.server.db.people import AssignmentRow
from app.server.db.session import open_session, open_writing_session
from app.site import Site
from app.site.web.frame.visitor import Visitor
from tests.each import each
from tests.people.crowd import crowd_of
from tests.web.a_class import a_class, browser, joined, visit, words
from tests.web.test_assigning import new, stored


def test_a_form_that_fails_in_its_second_change_stores_not_even_the_first(client: TestClient, site: Site) -> None:
    class_id, grace = a_class(client, site)
    ada = joined(site, class_id, browser(client, site, "Ada"))
    path = f"/classes/{class_id}/people/{ada.person}/edit"
    page = grace.post(path, {"name": "Augusta", "outside_id": "", "role": "dean"}, 422)
    assert "A role is student, assistant or teacher" in words(page)
    with open_session(site.engine) as session:
        assert "Augusta" not in {one.name for one in members_of(session, class_id)}
    grace.post(path, {"name": "Augusta", "outside_id": "", "role": "student"})
    with open_session(site.engine) as session:
        assert "Augusta" in {one.name for one in members_of(session, class_id)}


def test_a_page_with_several_forms_shows_the_problem_of_any_of_them(client: TestClient, site: Site) -> None:
    class_id, grace = a_class(client, site)
    page = words(grace.post(f"/classes/{class_id}/groups/rename", {"group": "Mon", "name": " "}, 404))
    assert "no group" in page
    ada = joined(site, class_id, browser(client, site, "Ada"))
    grace.post(f"/classes/{class_id}/groups", {"person": str(ada.person), "name": "Mon"})
    page = words(grace.post(f"/classes/{class_id}/groups/rename", {"group": "Mon", "name": " "}, 422))
    assert "Nothing was changed" in page
    assert "1 to 100 printable characters" in page


def test_a_page_that_an_address_asks_too_much_of_says_so_and_shows_its_form(client: TestClient, site: Site) -> None:
    class_id, grace = a_class(client, site)
    new(grace, class_id)
    grace._sign_in()
    answer = client.get(f"/classes/{class_id}/copy?weeks=soon")
    assert answer.status_code == 422
    assert "The number of weeks must be a whole number, not 'soon'" in words(answer.text)
    assert 'value="soon"' in answer.text


def test_a_form_that_has_no_page_answers_with_the_sentence(client: TestClient, site: Site) -> None:
    class_id, grace = a_class(client, site)
    new(grace, class_id)
    number = stored(site, class_id).id
    page = grace.post(f"/assignments/{number}/delete", {"sure": "Week 2"}, 422)
    assert "nothing was deleted" in words(page).lower()
    assert grace.status(f"/classes/{class_id}/people/merges/1/undo") == 405
    grace.post(f"/classes/{class_id}/people/merges/99/undo", {}, 404)


def test_as_many_fields_are_read_as_the_door_lets_through(client: TestClient, site: Site) -> None:
    class_id, grace = a_class(client, site)
    ada = joined(site, class_id, browser(client, site, "Ada"))
    path = f"/classes/{class_id}/groups"
    grace.post(path, {"name": "Mon", "person": [str(ada.person)] * 1_000})
    grace.post(path, {"name": "Tue", "person": [str(ada.person)] * 1_001}, 413)
    with open_session(site.engine) as session:
        assert {one.group for one in members_of(session, class_id)} == {"", "Mon"}


def test_only_a_teacher_makes_codes_of_others_and_an_assistant_their_own(client: TestClient, site: Site) -> None:
    class_id, _ = a_class(client, site)
    ada = joined(site, class_id, browser(client, site, "Ada"))
    tom = joined(site, class_id, browser(client, site, "Tom"), Role.ASSISTANT)
    code = f"/classes/{class_id}/people/{{}}/code"
    tom.post(code.format(ada.person), {}, 404)
    ada.post(code.format(ada.person), {}, 404)
    assert "Your code" in words(tom.post(code.format(tom.person), {}, 200))
    with open_session(site.engine) as session:
        assert [one.name for one in members_of(session, class_id) if one.has_code] == ["Tom"]


def test_what_is_archived_is_changed_by_no_form_but_that_of_its_archive(client: TestClient, site: Site) -> None:
    class_id, grace = a_class(client, site)
    new(grace, class_id)
    number = stored(site, class_id).id
    grace.post(f"/classes/{class_id}/archive", {"archived": "yes"})
    with open_session(site.engine) as session:
        assert session.get_one(AssignmentRow, number).changed  # its scores are sent once more
    for path in ("groups", "settings", "grades/rule", "people/link"):
        assert "is archived" in words(grace.post(f"/classes/{class_id}/{path}", {}, 422))
    assert "is archived" in words(grace.post(f"/assignments/{number}/pools", {}, 422))
    grace.post(f"/classes/{class_id}/archive", {"archived": "no"})
    grace.post(f"/classes/{class_id}/settings", {"name": "Again", "zone": "UTC"})


def test_a_page_keeps_its_own_fields_where_another_of_its_forms_fails(client: TestClient, site: Site) -> None:
    class_id, grace = a_class(client, site)
    page = grace.post(f"/classes/{class_id}/delete", {"sure": "Ring"}, 422)
    assert "type the name" in words(page)
    assert 'name="name" value="Ring all-reduce 101"' in page


@each(
    ("method", "path", "query", "back"),
    [
        ("GET", "/classes/7/people", "", "/classes/7/people"),
        ("GET", "/classes/7/people", "q=a&page=2", "/classes/7/people?q=a&page=2"),
        ("POST", "/classes/7/people/codes", "q=a", "/classes/7"),
        ("POST", "/classes/7", "", "/classes/7"),
        ("POST", "/assignments/9/extensions/end", "", "/assignments/9/extensions/end"),
        ("POST", "/me/leave", "", "/me/leave"),
    ],
)
def test_one_who_signs_in_comes_back_to_the_page_or_to_the_class_of_a_form(
    method: str, path: str, query: str, back: str
) -> None:
    scope = {"type": "http", "method": method, "path": path, "query_string": query.encode(), "headers": []}
    error = sign_in_first(Request(scope))
    assert error.headers is not None
    assert (error.status_code, parse_qs(urlsplit(error.headers["Location"]).query)) == (303, {"next": [back]})


class _Fields(ClassForm):
    """A form of the tests."""

    name: str = "none"
    person: list[str] = []


def test_a_form_takes_every_field_of_a_list_and_the_last_of_another() -> None:
    sent = FormData([("person", "1"), ("name", "a"), ("person", "2"), ("name", "b"), ("other", "x")])
    assert _Fields.read(sent) == _Fields(name="b", person=["1", "2"])
    assert _Fields.read(FormData([("person", "1")])) == _Fields(person=["1"])
    assert _Fields.read(FormData()).model_fields_set == set()


def test_the_head_of_a_page_has_the_tabs_of_those_who_teach(site: Site) -> None:
    crowd = crowd_of(site, "Bo")
    with open_session(site.engine) as session:
        found = {
            name: class_head(visit(site, session, crowd.class_id, crowd.persons[name]).member, "People")
            for name in ("Bo", "Tom Assistant", "Ada Teacher")
        }
        file = csv_response(visit(site, session, crowd.class_id, crowd.persons["Bo"]), "a,b\r\n", "grades")
    assert [(head.role, head.teaches, len(head.tabs)) for head in found.values()] == [
        ("student", False, 0), ("assistant", False, 4), ("teacher", True, 4),
    ]  # fmt: skip
    assert [(tab.href, tab.here) for tab in found["Ada Teacher"].tabs] == [
        (crowd.href, False), (f"{crowd.href}/people", True), (f"{crowd.href}/live", False),
        (f"{crowd.href}/grades", False),
    ]  # fmt: skip
    head = found["Bo"]
    assert (head.name, head.href, head.zone, head.archived) == (
        "Systems", crowd.href, "Europe/Berlin", False,
    )  # fmt: skip
    assert file.headers["content-disposition"] == 'attachment; filename="Systems-grades.csv"'


@each(("title", "stem"), [("Ring all-reduce: 101!", "Ring-all-reduce-101"), ("系统", "class"), ("--a--", "a")])
def test_a_file_is_called_as_its_class(site: Site, title: str, stem: str) -> None:
    crowd = crowd_of(site)
    with open_writing_session(site.engine) as session:
        teacher = visit(site, session, crowd.class_id, crowd.persons["Ada Teacher"])
        teacher.row.name = title
        file = csv_response(teacher, "", "grades")
        session.rollback()
    assert file.headers["content-disposition"] == f'attachment; filename="{stem}-grades.csv"'


@each(
    ("role", "allowed"),
    [(Role.STUDENT, [True, False, False]), (Role.ASSISTANT, [True, True, False]), (Role.TEACHER, [True, True, True])],
)
def test_a_page_is_for_members_with_at_least_its_role(site: Site, role: Role, allowed: list[bool]) -> None:
    crowd = crowd_of(site, "Bo")
    name = {Role.STUDENT: "Bo", Role.ASSISTANT: "Tom Assistant", Role.TEACHER: "Ada Teacher"}[role]
    with open_session(site.engine) as session:
        member = visit(site, session, crowd.class_id, crowd.persons[name]).member
    request = Request({"type": "http", "method": "GET", "path": "/", "query_string": b"", "headers": []})
    visitor = Visitor("l", Payer("192.0.2.1").lane, member.person)
    for least, may in zip(Role, allowed, strict=True):
        for entered in (
            in_class(request, site, visitor, crowd.class_id, least),
            in_assignment(request, site, visitor, crowd.assignment.id, least),
        ):
            try:
                asyncio.run(entered)
            except NotFoundError:
                assert not may
            else:
                assert may
    for number in (0, 2**63 - 1, 2**63):
        for entered in (
            in_class(request, site, visitor, number, Role.STUDENT),
            in_assignment(request, site, visitor, number, Role.STUDENT),
        ):
            with pytest.raises(NotFoundError):
                asyncio.run(entered)
