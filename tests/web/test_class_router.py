"""What all pages of classes and their forms have from one router."""

from fastapi.testclient import TestClient

from app.classes.people.classes import Role, members_of
from app.server.db.people import AssignmentRow
from app.server.db.session import open_session
from app.site import Site
from tests.web.a_class import a_class, browser, joined, words
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
