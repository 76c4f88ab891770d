"""The page that copies the assignments of a class into another one."""

import re

from fastapi.testclient import TestClient

from app.classes.pages.classes import CopyForm, copy_page
from app.classes.people.assignments import Assignment, assignments_of
from app.classes.people.classes import Role, class_with, members_of, set_archived
from app.classes.people.members import remove_members
from app.server.db.session import open_session, open_writing_session
from app.site import Site
from tests.web.a_class import Browser, a_class, browser, joined, visit, words
from tests.web.test_assigning import new

SHOWN = "weeks=26&into=0&name=Spring"


def digest_of(page: str) -> str:
    found = re.search(r'name="digest" value="(\w+)"', page)
    assert found is not None
    return found[1]


def assigned(site: Site, class_id: int) -> list[Assignment]:
    with open_session(site.engine) as session:
        return list(assignments_of(session, class_id))


def copied(grace: Browser, class_id: int, query: str, **data: object) -> str:
    """Where the copies are that the page shows for *query*."""
    page = grace.get(f"/classes/{class_id}/copy?{query}")
    fields = dict(part.split("=") for part in query.split("&"))
    return grace.post(f"/classes/{class_id}/copy", {**fields, "digest": digest_of(page), **data})


def test_a_class_is_copied_once_its_new_dates_were_shown(client: TestClient, site: Site) -> None:
    class_id, grace = a_class(client, site)
    new(grace, class_id, opens="2036-09-25T08:00")
    page = words(grace.get(f"/classes/{class_id}/copy?{SHOWN}"))
    assert "due Thursday, Oct 2, 2036, 23:59" in page
    assert "due Thursday, Apr 2, 2037, 23:59" in page
    assert "Moved by 26 weeks" in page
    there = copied(grace, class_id, SHOWN)
    assert there != f"/classes/{class_id}"
    made = words(grace.get(there))
    assert "Spring" in made
    assert "due Thursday, Apr 2, 2037, 23:59" in made
    assert len(assigned(site, class_id)) == 1


def test_some_assignments_go_into_another_class_that_one_teaches(client: TestClient, site: Site) -> None:
    class_id, grace = a_class(client, site)
    new(grace, class_id)
    new(grace, class_id, title="Week 2")
    target, _ = a_class(client, site)
    joined(site, target, grace, Role.TEACHER)
    second = assigned(site, class_id)[1].id
    query = f"weeks=0&into={target}&assignment={second}"
    assert copied(grace, class_id, query) == f"/classes/{target}"
    assert [one.title for one in assigned(site, target)] == ["Week 2"]


def test_a_class_of_others_gets_nothing(client: TestClient, site: Site) -> None:
    class_id, grace = a_class(client, site)
    new(grace, class_id)
    target, _ = a_class(client, site)
    joined(site, target, grace, Role.ASSISTANT)
    assert grace.status(f"/classes/{class_id}/copy?weeks=0&into={target}") == 404
    grace.post(f"/classes/{class_id}/copy", {"weeks": "0", "into": str(target)}, 404)
    assert assigned(site, target) == []


def test_what_changed_since_it_was_shown_is_shown_again(client: TestClient, site: Site) -> None:
    class_id, grace = a_class(client, site)
    new(grace, class_id)
    page = grace.get(f"/classes/{class_id}/copy?{SHOWN}")
    new(grace, class_id, title="Week 2")
    sent = {"weeks": "26", "into": "0", "name": "Spring", "digest": digest_of(page)}
    again = grace.post(f"/classes/{class_id}/copy", sent, 200)
    assert "The class has changed meanwhile" in words(again)
    assert digest_of(again) != digest_of(page)


def test_weeks_and_days_that_cannot_be_read_say_so(client: TestClient, site: Site) -> None:
    class_id, grace = a_class(client, site)
    new(grace, class_id)
    for query, says in (
        ("weeks=two", "must be a whole number, not 'two'"),
        ("weeks=9999", "at most 1,000 weeks"),
        ("start=April", "annot read 'April' as a day"),
    ):
        answer = client.get(f"/classes/{class_id}/copy?{query}")
        assert answer.status_code == 422, query
        assert says in words(answer.text)
    nameless = grace.get(f"/classes/{class_id}/copy?weeks=0")
    answer_page = grace.post(f"/classes/{class_id}/copy", {"weeks": "0", "digest": digest_of(nameless)}, 422)
    assert "A name must have 1 to 100" in words(answer_page)


def test_an_archived_class_can_be_copied_and_gets_nothing(client: TestClient, site: Site) -> None:
    class_id, grace = a_class(client, site)
    new(grace, class_id)
    grace.post(f"/classes/{class_id}/archive", {"archived": "yes"})
    there = copied(grace, class_id, "start=2037-01-05&into=0&name=Spring")
    assert "due Thursday, Jan 8, 2037, 23:59" in words(grace.get(there))
    archived = {"weeks": "0", "into": str(class_id)}
    assert "is archived" in words(grace.post(f"/classes/{class_id}/copy", archived, 422))


def test_a_student_copies_nothing(client: TestClient, site: Site) -> None:
    class_id, grace = a_class(client, site)
    new(grace, class_id)
    linus = joined(site, class_id, browser(client, site, "Linus"))
    assert linus.status(f"/classes/{class_id}/copy") == 404


def test_only_classes_that_one_teaches_and_that_are_open_may_get_copies(client: TestClient, site: Site) -> None:
    class_id, grace = a_class(client, site)
    new(grace, class_id)
    helped, archived, taught = (a_class(client, site)[0] for _ in range(3))
    for number, role in ((helped, Role.ASSISTANT), (archived, Role.TEACHER), (taught, Role.TEACHER)):
        joined(site, number, grace, role)
    with open_writing_session(site.engine) as session:
        set_archived(session, class_with(session, archived))
        page = copy_page(visit(site, session, class_id, grace.person), CopyForm())
        assert {row.id for row in page.targets} == {class_id, taught}
        assert (page.rows, page.weeks, page.moved, page.makes, len(page.assignments)) == ((), 0, False, True, 1)
        for form, weeks in (
            (CopyForm(weeks="-2"), -2), (CopyForm(weeks="0"), 0), (CopyForm(weeks="3", start="2036-10-06"), 1),
        ):  # fmt: skip
            page = copy_page(visit(site, session, class_id, grace.person), form)
            assert (page.weeks, len(page.rows)) == (weeks, 1)
        session.rollback()


def test_a_class_like_another_adds_up_and_names_its_students_as_that_does(client: TestClient, site: Site) -> None:
    class_id, grace = a_class(client, site, "Asia/Tokyo")
    new(grace, class_id)
    with open_writing_session(site.engine) as session:
        row = class_with(session, class_id)
        row.lowest, row.pseudonyms = 2, True
        session.commit()
    made = int(copied(grace, class_id, SHOWN).rpartition("/")[2])
    with open_writing_session(site.engine) as session:
        row = class_with(session, made)
        assert (row.name, row.zone, row.lowest, row.pseudonyms) == ("Spring", "Asia/Tokyo", 2, True)
        assert [(one.person, one.role) for one in members_of(session, made)] == [(grace.person, Role.TEACHER)]


def test_the_list_of_classes_counts_the_students_who_are_there(client: TestClient, site: Site) -> None:
    class_id, grace = a_class(client, site)
    for name, role in (("Ada", Role.STUDENT), ("Alan", Role.STUDENT), ("Tom", Role.ASSISTANT)):
        left = joined(site, class_id, browser(client, site, name), role)
    with open_writing_session(site.engine) as session:
        remove_members(session, class_id, [left.person])
        session.commit()
    assert "2 students" in words(grace.get("/classes"))
    with open_writing_session(site.engine) as session:
        alan = next(one.person for one in members_of(session, class_id) if one.name == "Alan")
        remove_members(session, class_id, [alan])
        session.commit()
    assert "1 student" in words(grace.get("/classes"))
