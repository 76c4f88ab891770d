"""Who may do what: six visitors at every address of a class, over pages and programs.

An address without a row here fails. Whoever is refused changes nothing that is stored.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import IntEnum
from typing import Any

import pytest
from fastapi.routing import APIRoute
from fastapi.testclient import TestClient
from sqlalchemy import select
from sqlmodel import SQLModel

from app.classes.people.assignments import AssignmentEntry, create_assignment
from app.classes.people.classes import Role, create_class, enroll, join_code_of, number_of
from app.classes.people.policy import Policy
from app.server.db.learner_cookie import create_token
from app.server.db.people import SessionRow
from app.server.db.session import open_writing_session
from app.site import Site
from app.site.web.frame.visitor import SESSION
from tests import parts
from tests.web.a_class import browser

RING = "collectives/ring-all-reduce-time"
# What begins so is about persons and classes, and must be in the tables below.
OURS = ("/classes", "/assignments", "/join", "/sign-", "/me", "/lti", "/api/v1/classes")


class Who(IntEnum):
    """A visitor; *other* is a student of another class."""

    NOBODY = 0
    STRANGER = 1
    OTHER = 2
    STUDENT = 3
    ASSISTANT = 4
    TEACHER = 5


CLASS, ASSIGNMENT = "/classes/{class_id}", "/assignments/{assignment}"
PAGES: Mapping[str, Mapping[str, Who]] = {
    "/classes": {"GET": Who.NOBODY, "POST": Who.NOBODY},
    CLASS: {"GET": Who.STUDENT},
    f"{CLASS}/slide": {"GET": Who.ASSISTANT},
    f"{CLASS}/settings": {"GET": Who.TEACHER, "POST": Who.TEACHER},
    f"{CLASS}/archive": {"POST": Who.TEACHER},
    f"{CLASS}/copy": {"GET": Who.TEACHER, "POST": Who.TEACHER},
    f"{CLASS}/delete": {"POST": Who.TEACHER},
    f"{CLASS}/assignments/new": {"GET": Who.TEACHER, "POST": Who.TEACHER},
    f"{CLASS}/date": {"GET": Who.ASSISTANT},
    f"{CLASS}/people": {"GET": Who.ASSISTANT},
    f"{CLASS}/groups": {"GET": Who.TEACHER, "POST": Who.TEACHER},
    f"{CLASS}/groups/rename": {"POST": Who.TEACHER},
    f"{CLASS}/groups/dissolve": {"POST": Who.TEACHER},
    f"{CLASS}/people/link": {"POST": Who.TEACHER},
    f"{CLASS}/people/codes": {"POST": Who.TEACHER},
    f"{CLASS}/people/roster": {"GET": Who.TEACHER, "POST": Who.TEACHER},
    f"{CLASS}/people/roster/apply": {"POST": Who.TEACHER},
    f"{CLASS}/people/{{person}}": {"GET": Who.ASSISTANT},
    f"{CLASS}/people/{{person}}/edit": {"GET": Who.TEACHER, "POST": Who.TEACHER},
    f"{CLASS}/people/{{person}}/remove": {"POST": Who.TEACHER},
    f"{CLASS}/people/{{person}}/code": {"POST": Who.TEACHER},
    f"{CLASS}/people/{{person}}/merge": {"POST": Who.TEACHER},
    f"{CLASS}/people/{{person}}/everything": {"POST": Who.TEACHER},
    f"{CLASS}/people/{{person}}/delete": {"POST": Who.TEACHER},
    f"{CLASS}/people/merges/{{number}}/undo": {"POST": Who.TEACHER},
    f"{CLASS}/live": {"GET": Who.ASSISTANT},
    f"{CLASS}/grades": {"GET": Who.ASSISTANT},
    f"{CLASS}/grades.csv": {"GET": Who.ASSISTANT},
    f"{CLASS}/grades/files": {"GET": Who.ASSISTANT, "POST": Who.TEACHER},
    f"{CLASS}/grades/files/apply": {"POST": Who.TEACHER},
    f"{CLASS}/grades/rule": {"GET": Who.TEACHER, "POST": Who.TEACHER},
    f"{CLASS}/grades/{{assignment}}": {"GET": Who.ASSISTANT},
    f"{CLASS}/grades/{{assignment}}/{{person}}": {"GET": Who.ASSISTANT, "POST": Who.TEACHER},
    f"{CLASS}/statistics": {"GET": Who.ASSISTANT},
    f"{CLASS}/statistics.csv": {"GET": Who.ASSISTANT},
    f"{CLASS}/regrade": {"GET": Who.ASSISTANT, "POST": Who.TEACHER},
    f"{CLASS}/platform": {"GET": Who.TEACHER, "POST": Who.TEACHER},
    f"{CLASS}/platform/roster": {"POST": Who.TEACHER},
    ASSIGNMENT: {"GET": Who.STUDENT},
    f"{ASSIGNMENT}/begin": {"POST": Who.STUDENT},
    f"{ASSIGNMENT}/send": {"POST": Who.STUDENT},
    f"{ASSIGNMENT}/edit": {"GET": Who.TEACHER, "POST": Who.TEACHER},
    f"{ASSIGNMENT}/delete": {"POST": Who.TEACHER},
    f"{ASSIGNMENT}/pools": {"GET": Who.TEACHER, "POST": Who.TEACHER},
    f"{ASSIGNMENT}/groups": {"GET": Who.TEACHER, "POST": Who.TEACHER},
    f"{ASSIGNMENT}/extensions": {"GET": Who.ASSISTANT, "POST": Who.ASSISTANT},
    f"{ASSIGNMENT}/extensions/end": {"POST": Who.ASSISTANT},
    "/join/{code}": {"GET": Who.NOBODY, "POST": Who.NOBODY},
    "/sign-in": {"GET": Who.NOBODY, "POST": Who.NOBODY},
    "/sign-in/{provider}": {"GET": Who.NOBODY},
    "/sign-in/back": {"GET": Who.NOBODY},
    "/sign-in/proxy": {"GET": Who.NOBODY},
    "/sign-in/name": {"GET": Who.NOBODY, "POST": Who.NOBODY},
    "/sign-in/connect": {"GET": Who.NOBODY, "POST": Who.NOBODY},
    "/sign-out": {"POST": Who.NOBODY},
    "/me": {"GET": Who.STRANGER},
    "/me/claim": {"GET": Who.STRANGER, "POST": Who.STRANGER},
    "/me/name": {"POST": Who.STRANGER},
    "/me/everywhere": {"POST": Who.STRANGER},
    "/me/code": {"POST": Who.STRANGER},
    "/me/export": {"GET": Who.STRANGER},
    "/me/merges": {"GET": Who.STRANGER, "POST": Who.STRANGER},
    "/me/accounts": {"POST": Who.STRANGER},
    "/me/leave": {"POST": Who.STRANGER},
    "/me/delete": {"POST": Who.STRANGER},
    "/measured": {"GET": Who.NOBODY, "POST": Who.NOBODY},
    "/measured/save": {"POST": Who.NOBODY},
    "/measured/{name}": {"GET": Who.NOBODY},
    "/measured/{name}/delete": {"POST": Who.NOBODY},
    "/measured/{name}/{number}.{form}": {"GET": Who.NOBODY},
    "/measured/traces": {"GET": Who.NOBODY, "POST": Who.NOBODY},
    "/measured/traces/{name}": {"GET": Who.NOBODY},
    "/lti": {"GET": Who.NOBODY},
    "/lti/jwks": {"GET": Who.NOBODY},
    "/lti/canvas.json": {"GET": Who.NOBODY},
    "/lti/login": {"GET": Who.NOBODY, "POST": Who.NOBODY},
    "/lti/launch": {"POST": Who.NOBODY},
    "/lti/open": {"POST": Who.NOBODY},
    "/lti/choose": {"POST": Who.NOBODY},
    "/lti/register": {"GET": Who.NOBODY, "POST": Who.NOBODY},
}
# 404 without a platform, a group or a merge, for its teacher as well.
ABSENT = {
    f"{CLASS}/groups/rename",
    f"{CLASS}/groups/dissolve",
    f"{CLASS}/platform/roster",
    f"{CLASS}/people/merges/{{number}}/undo",
}
# Addresses that are about the visitor alone: what they do is tested where they are.
OWN = ("/join", "/sign-", "/me", "/lti", "/classes")

API = "/api/v1/classes/{class_id}"
GET, ALL = ("GET",), ("GET", "PUT", "DELETE")
PROGRAMS: Mapping[str, tuple[str, ...]] = {
    "/api/v1/classes": ("GET", "POST"),
    API: ("GET", "DELETE"),
    f"{API}/archive": ("PUT", "DELETE"),
    f"{API}/roster": ("GET", "PUT", "POST"),
    f"{API}/roster.csv": ("GET", "PUT"),
    f"{API}/roster/{{person}}": ("GET", "DELETE"),
    f"{API}/merges": ("GET", "POST"),
    f"{API}/merges/{{merge}}": ("DELETE",),
    f"{API}/groups": ALL,
    f"{API}/assignments": ("GET", "POST"),
    f"{API}/copies": ("POST",),
    f"{API}/assignments/{{assignment}}": ALL,
    f"{API}/assignments/{{assignment}}/extensions": ("GET", "POST"),
    f"{API}/assignments/{{assignment}}/extensions/{{person}}": ("DELETE",),
    f"{API}/assignments/{{assignment}}/overrides": ("GET", "POST"),
    f"{API}/assignments/{{assignment}}/overrides/{{person}}": ("DELETE",),
    f"{API}/assignments/{{assignment}}/variants": GET,
    f"{API}/grades": GET,
    f"{API}/grades.csv": ("GET", "PUT"),
    f"{API}/grades/rule": ("GET", "PUT"),
    f"{API}/results": GET,
    f"{API}/statistics": GET,
}
ADMIN = {("POST", "/api/v1/classes"), ("DELETE", API)}  # not for a token of one class
# A roster is sent as grades, somebody is merged with themselves, a copy without a class, and no
# merge is there; no group is named.
REFUSED = {
    ("PUT", f"{API}/grades.csv"): 422,
    ("POST", f"{API}/merges"): 422,
    ("POST", f"{API}/copies"): 404,
    ("DELETE", f"{API}/merges/{{merge}}"): 404,
    ("PUT", f"{API}/groups"): 404,
    ("DELETE", f"{API}/groups"): 404,
}
LAST = {("PUT", f"{API}/archive"): 1, ("DELETE", f"{API}/archive"): 2}  # the rest changes the class
DUE = datetime(2099, 1, 1, tzinfo=UTC)
NEW = {"title": "New", "due": DUE.isoformat(), "exercises": [{"exercise": RING, "points": 1}]}
BODIES: Mapping[str, Any] = {
    f"{API}/grades/rule": {"PUT": {"lowest": 1}},
    f"{API}/roster": {"PUT": [], "POST": {"name": "New"}},
    f"{API}/merges": {"POST": {"kept": "4711", "gone": "4711"}},
    f"{API}/groups": {"PUT": {"name": "New"}},
    f"{API}/assignments": {"POST": NEW},
    f"{API}/copies": {"POST": {"source": 2**62}},
    f"{API}/assignments/{{assignment}}": {"PUT": NEW},
    f"{API}/assignments/{{assignment}}/extensions": {"POST": {"people": ["4711"], "until": "2099-02-01T00:00:00Z"}},
    f"{API}/assignments/{{assignment}}/overrides": {"POST": {"people": ["4711"], "points": 1, "why": "oral"}},
}


@dataclass(frozen=True)
class Place:
    """A class with everyone in it, and who else there is: cookies, and tokens of programs."""

    client: TestClient
    site: Site
    values: Mapping[str, object]
    cookies: Mapping[Who, str]
    tokens: Mapping[Who, str]

    def path(self, pattern: str) -> str:
        return pattern.format(**self.values)

    def page(self, who: Who, method: str, pattern: str) -> tuple[int, str]:
        """The status of a page for *who*, and where it leads to."""
        self.client.cookies.clear()
        if self.cookies[who]:
            self.client.cookies.set(SESSION, self.cookies[who])
        sent = {"data": {"class_id": self.values["class_id"]}} if method == "POST" else {}
        answer = self.client.request(method, self.path(pattern), **sent)  # type: ignore[arg-type]
        return answer.status_code, answer.headers.get("location", "")

    def program(self, who: Who, method: str, pattern: str) -> int:
        """The status of a call with the token of *who*; without one, with the session."""
        self.client.cookies.clear()
        if cookie := self.cookies[who]:
            self.client.cookies.set(SESSION, cookie)
        headers = {"Authorization": f"Bearer {self.tokens[who]}"} if who in self.tokens else {}
        body = BODIES.get(pattern, {}).get(method)
        sent = {"json": body} if body is not None else {"content": b"name\nAda Lovelace\n"}
        return self.client.request(method, self.path(pattern), headers=headers, **sent).status_code

    def caching(self, who: Who, pattern: str) -> str:
        """What *who* is told about storing what is at an address."""
        self.client.cookies.clear()
        self.client.cookies.set(SESSION, self.cookies[who])
        headers = {"Authorization": f"Bearer {self.tokens[who]}"} if who in self.tokens else {}
        answer = self.client.get(self.path(pattern), headers=headers)
        return ", ".join(answer.headers.get_list("cache-control"))

    def stored(self) -> Mapping[str, object]:
        """Every row of every table, but for when a session was used last.

        Of the outbox, whose row is for which cell: the delivery goes on meanwhile.
        """
        tables = dict(SQLModel.metadata.tables)
        cells = tables.pop("outbox").c
        with self.site.engine.connect() as connection:
            queued = connection.execute(select(cells.link, cells.person)).all()
            return {"outbox": sorted(map(repr, queued))} | {
                name: sorted(map(repr, connection.execute(select(table))))
                for name, table in tables.items()
                if name not in ("lab_run", SessionRow.__tablename__)
            }


@pytest.fixture(scope="module")
def place(_client: TestClient, site: Site) -> Place:
    people = {who: browser(_client, site, who.name.title()) for who in Who if who}
    with open_writing_session(site.engine) as session:
        row = create_class(session, site.secret, "Roles")
        elsewhere = number_of(create_class(session, site.secret, "Elsewhere"))
        class_id = number_of(row)
        enroll(session, elsewhere, people[Who.OTHER].person)
        for who, role in zip((Who.STUDENT, Who.ASSISTANT, Who.TEACHER), Role, strict=True):
            outside = "4711" if who is Who.STUDENT else ""
            enroll(session, class_id, people[who].person, role, outside_id=outside)
        assignment = create_assignment(session, class_id, "Ring", Policy(due=DUE), [AssignmentEntry(RING, 1.0)])
        code = join_code_of(site.secret, row)
        session.commit()
        tokens = {
            Who.STRANGER: create_token(session, "roles: check"),
            Who.OTHER: create_token(session, "roles: other", "class", elsewhere),
            Who.TEACHER: create_token(session, "roles: class", "class", class_id),
        }
    values = {
        "class_id": class_id,
        "assignment": assignment,
        "code": code,
        "person": people[Who.STUDENT].person,
        "provider": "none",
        "name": "none",
        "number": 1,
        "merge": 1,
        "form": "svg",
    }
    cookies = {Who.NOBODY: ""} | {who: one.cookie for who, one in people.items()}
    return Place(_client, site, values, cookies, tokens)


def routes(parts: Callable[[], Iterator[Any]]) -> set[tuple[str, str]]:
    """The methods and patterns of the addresses that are about persons and classes."""
    return {
        (method, route.path.replace(":int}", "}"))
        for route in parts()
        if isinstance(route, APIRoute) and route.path.startswith(OURS) and not route.path.startswith("/metrics")
        for method in route.methods or ()
    }


def pages() -> Iterator[Any]:
    return (route for part in parts.PAGES for route in part.router.routes)


def programs() -> Iterator[Any]:
    return (route for part in parts.CALLS for route in part.router.routes)


def test_every_address_has_a_row() -> None:
    rows = {(method, path) for path, row in PAGES.items() for method in row}
    assert sorted(routes(pages) - rows) == []
    called = {(method, path) for path, methods in PROGRAMS.items() for method in methods}
    assert sorted(routes(programs) ^ called) == []


def test_no_answer_about_persons_is_stored_on_the_way_or_by_a_browser(place: Place) -> None:
    """The next one at a computer goes back, or opens what was downloaded there."""
    found = {path for method, path in routes(pages) | routes(programs) if method == "GET"}
    stored = set()
    for pattern in sorted(found - {"/lti/jwks"}):
        for who in (Who.TEACHER, Who.STUDENT, Who.NOBODY):
            caching = place.caching(who, pattern)
            stored |= {(pattern, who.name, caching)} if caching != "no-store" else set()
    assert stored == set()
    for path in ("/classes/nothing", "/assignments/0", "/api/v1/classes/0", "/me/nothing"):
        assert place.client.get(path).headers.get_list("cache-control") == ["no-store"], path
    assert place.client.get("/lti/jwks").headers["cache-control"] == "public, max-age=3600"
    assert place.client.get("/").headers["cache-control"] == "private, no-cache"


def _refuses(who: Who, status: int, location: str) -> bool:
    if who is Who.NOBODY:
        return status == 303 and location.startswith("/sign-in?next=")
    return status == 404


def test_each_page_is_for_those_who_may_see_it_and_no_one_else_changes_anything(place: Place) -> None:
    before = place.stored()
    found = routes(pages)
    closed = {pair for pair in found if not pair[1].startswith(OWN) or "{class_id}" in pair[1]}
    assert len(closed) > 30
    for method, pattern in sorted(closed):
        least = PAGES[pattern][method]
        for who in (who for who in Who if who < least):
            status, location = place.page(who, method, pattern)
            assert _refuses(who, status, location), (who.name, method, pattern, status, location)
    assert place.stored() == before, "a request that was refused changed something"
    for method, pattern in sorted(closed, key=lambda pair: (pair[0], "delete" in pair[1], pair)):
        for who in (who for who in Who if who >= PAGES[pattern][method]):
            status, location = place.page(who, method, pattern)
            allowed = (404,) if pattern in ABSENT else (200, 303, 422)
            assert status in allowed, (who.name, method, pattern, status)
            assert not location.startswith("/sign-in"), (who.name, method, pattern)


def test_what_is_one_s_own_asks_those_without_a_session_to_sign_in(place: Place) -> None:
    for method, pattern in sorted(routes(pages)):
        if PAGES[pattern][method] is Who.STRANGER:
            found = place.page(Who.NOBODY, method, pattern)
            assert found[0] == 303, (method, pattern, found)
            assert found[1].startswith("/sign-in"), (method, pattern, found)


def test_a_session_opens_nothing_to_programs_and_a_token_its_own_class_alone(place: Place) -> None:
    before = place.stored()
    expected = {Who.STRANGER: 403, Who.OTHER: 404}
    for method, pattern in sorted(routes(programs)):
        inside = "{class_id}" in pattern
        for who in (who for who in Who if who is not Who.TEACHER):
            status = place.program(who, method, pattern)
            least = expected.get(who, 401)
            if who is Who.OTHER and not inside:
                least = 200 if method == "GET" else 403
            assert status == least, (who.name, method, pattern, status)
    assert place.stored() == before, "a request that was refused changed something"
    for method, pattern in sorted(
        routes(programs),
        key=lambda pair: (LAST.get(pair, 3 if pair == ("DELETE", API) else 0), pair[0] == "DELETE", -len(pair[1])),
    ):
        status = place.program(Who.TEACHER, method, pattern)
        allowed = (403,) if (method, pattern) in ADMIN else (200, 201, 204)
        if refused := REFUSED.get((method, pattern)):
            allowed = (refused,)
        assert status in allowed, (method, pattern, status)
