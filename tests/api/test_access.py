"""What a token opens, who is named, and lists in pages: without a request over the wire."""

from urllib.parse import parse_qsl, urlsplit

import pytest
from fastapi import HTTPException, Request, Response
from sqlmodel import Session

from app.classes.api.access import ClassCall, Paging, administrative, class_for, class_to_change, persons_called
from app.classes.people.classes import class_with, enroll, number_of, set_archived
from app.classes.people.persons import new_person
from app.core.errors import InputError, NotFoundError
from app.server.db.learner_cookie import Grant
from app.site import Site
from tests.each import each
from tests.people.crowd import Crowd, crowd_of


@pytest.fixture
def crowd(site: Site) -> Crowd:
    return crowd_of(site, "Bo", "Cleo", "Dan")


@each(
    ("scope", "own", "opens"),
    [("admin", None, True), ("class", True, True), ("class", False, False), ("check", None, False)],
)
def test_a_class_is_opened_by_its_token_and_that_of_an_administrator(
    session: Session, crowd: Crowd, scope: str, own: bool | None, opens: bool
) -> None:
    number = None if own is None else crowd.class_id if own else crowd.class_id + 1
    grant = Grant("t", scope, number)
    for find in (class_for, class_to_change):
        try:
            assert number_of(find(session, grant, crowd.class_id)) == crowd.class_id
        except NotFoundError as error:
            assert (opens, "or this token does not open it" in str(error)) == (False, True)
        else:
            assert opens
    try:
        administrative(grant, "delete")
    except HTTPException as error:
        assert (scope == "admin", error.status_code, "admin is required to delete" in error.detail) == (
            False,
            403,
            True,
        )
    else:
        assert scope == "admin"
    with pytest.raises(NotFoundError):
        class_for(session, Grant("t", "admin"), 2**62)


def test_an_archived_class_is_read_and_not_changed(site: Site, session: Session, crowd: Crowd) -> None:
    grant, other = Grant("t", "admin"), crowd_of(site)
    set_archived(session, class_with(session, crowd.class_id))
    assert number_of(class_for(session, grant, crowd.class_id)) == crowd.class_id
    with pytest.raises(InputError, match="is archived"):
        class_to_change(session, grant, crowd.class_id)
    call = ClassCall(site, grant, session, class_for(session, grant, crowd.class_id))
    assert (call.by, call.class_id, call.assignment(crowd.assignment.id).title) == ("token t", crowd.class_id, "Week 1")
    for number in (other.assignment.id, 2**62):
        with pytest.raises(NotFoundError):
            call.assignment(number)


def test_people_are_called_by_id_or_by_number(session: Session, crowd: Crowd) -> None:
    bo, cleo, dan = (crowd.persons[name] for name in ("Bo", "Cleo", "Dan"))
    assert persons_called(session, crowd.class_id, ["id-2", str(cleo), "id-2"]) == {bo, cleo}
    assert persons_called(session, crowd.class_id, []) == frozenset()
    for text, near in (("id-22", "did you mean 'id-2'"), ("", "is called ''"), (str(10**9), "nobody")):
        with pytest.raises(InputError, match=near):
            persons_called(session, crowd.class_id, ["id-2", text])
    twice = number_of(new_person(session, "Eve"))
    enroll(session, crowd.class_id, twice, outside_id="id-2")
    with pytest.raises(InputError, match="several people are called 'id-2'; send the number"):
        persons_called(session, crowd.class_id, ["id-2"])
    nameless = number_of(new_person(session, "Flo"))
    enroll(session, crowd.class_id, nameless)
    assert persons_called(session, crowd.class_id, [str(dan), str(nameless)]) == {dan, nameless}


@each(
    ("after", "limit", "part", "next_after"),
    [
        (0, 2, [1, 2], "2"), (2, 2, [4, 9], None), (1, 2, [2, 4], "4"), (3, 9, [4, 9], None), (9, 2, [], None),
        (0, 4, [1, 2, 4, 9], None), (0, 3, [1, 2, 4], "4"),
    ],
)  # fmt: skip
def test_a_part_of_a_list_follows_the_number_that_is_known(
    after: int, limit: int, part: list[int], next_after: str | None
) -> None:
    query = b"group=A%26B&after=77&limit=88"
    request = Request({"type": "http", "path": "/x", "query_string": query, "headers": [], "server": ("s", 80)})
    response = Response()
    assert Paging(request, response, after, limit).cut([9, 2, 1, 4], lambda one: one) == part
    link = response.headers.get("link")
    if next_after is None:
        assert link is None
    else:
        assert link is not None
        assert link.endswith('>; rel="next"')
        parts = urlsplit(link[1:].partition(">")[0])
        assert (parts.path, parse_qsl(parts.query)) == (
            "/x", [("group", "A&B"), ("after", next_after), ("limit", str(limit))],
        )  # fmt: skip
