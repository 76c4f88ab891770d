"""Hostile requests to every address: the response is never a fault of the server.

After the raw-socket fuzz of the audit (8,000 requests, of which 13 were answered 500), bounded and
the same each time: every route with every hostile text in each place, then drawn mixtures.
"""

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from starlette.routing import Route

from app.classes.people.policy import Policy
from app.main import create_app
from app.server.config import Settings
from app.server.db.learner_cookie import create_token
from app.server.db.session import open_session
from app.site.web.frame.visitor import SESSION
from tests.client import Client
from tests.each import each
from tests.network.addresses import PLACE, ROUTES, names_in_queries, names_of
from tests.network.hostile import HEADERS, TEXTS, Sent, bodies, queries, survives
from tests.people.school import School

pytestmark = [pytest.mark.slow(200), pytest.mark.sweep]

DRAWN = 1_000
# What needs another service, a setting or a chapter with images.
ELSEWHERE = {
    "/lti/canvas.json",
    "/lti/login",
    "/lti/register",
    "/sign-in/back",
    "/sign-in/{provider}",
    "/images/{chapter}/{name}",
    "/sitemap.xml",
    "/metrics",
    "/exercises/{topic}/{slug}/schedule.svg",
}


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> FastAPI:
    folder = tmp_path_factory.mktemp("fuzz")
    settings = Settings(
        database=f"sqlite:///{folder / 'w.db'}", runs=folder / "runs", sandbox_workers=1, answers_allowed=0, lab_queue=0
    )
    return create_app(settings)


@pytest.fixture(scope="module")
def visitor(app: FastAPI) -> Iterator[TestClient]:
    with Client(app, follow_redirects=False) as client:
        yield client


@pytest.fixture(scope="module")
def bearer(app: FastAPI, visitor: TestClient) -> str:
    with open_session(app.state.site.engine) as session:
        return f"Bearer {create_token(session, 'fuzz', 'admin')}"


@dataclass(frozen=True)
class Target:
    """A route, with a class of its own where the route needs one, for someone who may use it."""

    method: str
    path: str
    places: dict[str, str]
    headers: dict[str, str]

    def at(self, **places: str) -> str:
        """Its address, with these texts at its places in place of good ones."""
        values = {**self.places, **places}
        return PLACE.sub(lambda found: quote(values[found[1]], safe="/"), self.path)

    def sent(self, address: str, body: bytes | None = None, **headers: str) -> Sent:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return Sent(self.method, address, {**self.headers, **named}, body)


Aim = Callable[[str, str], Target]


@pytest.fixture
def aim(app: FastAPI, visitor: TestClient, bearer: str) -> Aim:
    """At a route, by its method and path; what a request deletes is there again for the next route."""

    def target(method: str, path: str) -> Target:
        school = School(app.state.site)
        student, _, _ = school.member("Grace")
        assignment = school.assign(Policy())
        places = {
            **names_of(path),
            "class_id": str(school.id),
            "person": str(student.person),
            "assignment": str(assignment.id),
            "merge": str(school.merge()),
            "code": school.code,
            "number": str(school.merge()) if "/merges/" in path else names_of(path)["number"],
            "day": f"{app.state.site.clock():%Y-%m-%d}",
        }
        signed_in = {"Cookie": f"{SESSION}={school.teacher_cookie}", "Authorization": bearer}
        return Target(method, path, places, signed_in)

    return target


def test_all_routes_are_known_here(app: FastAPI) -> None:
    app.state.routes.install_all()
    served = {
        (method, route.path) for route in app.routes if isinstance(route, Route) for method in route.methods or ()
    }
    assert served == set(ROUTES)


def test_good_addresses_lead_to_what_is_there(visitor: TestClient, aim: Aim) -> None:
    """So hostile ones meet the code of their routes, and not a door before it."""
    away = set()
    for method, path in ROUTES:
        if method == "GET":
            target = aim(method, path)
            (status,) = survives(visitor, [target.sent(target.at())])
            if status >= 400:
                away.add(target.path)
    assert sorted(away ^ ELSEWHERE) == []


@each(("method", "path"), ROUTES)
def test_hostile_places_in_an_address(visitor: TestClient, aim: Aim, method: str, path: str) -> None:
    target = aim(method, path)
    places = PLACE.findall(target.path)
    survives(visitor, (target.sent(target.at(**{place: text})) for text in TEXTS for place in places))


@each(("method", "path"), ROUTES)
def test_hostile_queries(visitor: TestClient, aim: Aim, method: str, path: str) -> None:
    target = aim(method, path)
    good = target.at()
    every = queries(names_in_queries(method, path))
    survives(visitor, (target.sent(f"{good}?{query}") for query in every))


@each(("method", "path"), ROUTES)
def test_hostile_headers(visitor: TestClient, aim: Aim, method: str, path: str) -> None:
    target = aim(method, path)
    body = None if target.method == "GET" else b"{}"
    usual = {**target.headers, "Content-Type": "application/json"}
    good = target.at()
    survives(visitor, (Sent(target.method, good, {**usual, n: text}, body) for n, text in HEADERS))


@each(("method", "path"), [one for one in ROUTES if one[0] not in ("GET", "HEAD")])
def test_hostile_bodies(visitor: TestClient, aim: Aim, method: str, path: str) -> None:
    target = aim(method, path)
    good = target.at()
    survives(visitor, (target.sent(good, body, Content_Type=kind) for kind, body in bodies()))


def drawn(source: random.Random, token: str, exercise: Any, shown: dict[str, Any]) -> Sent:
    """One mixture: an exercise's own fields, odd values, odd headers."""
    names, values = ["answer", "action", "begun", "seed", "answer.cause"], list(TEXTS)
    for many in shown.values():
        for one in many if isinstance(many, list) else ():
            key = (one.get("key") or one.get("name")) if isinstance(one, dict) else None
            if key:
                names += [f"answer.{key}", f"place.{key}"]
                values.append(str(key))
    fields = [(source.choice(names), source.choice(values)) for _ in range(source.randint(0, 6))]
    headers = dict([source.choice(HEADERS)]) if source.random() < 0.3 else {}
    if source.random() < 0.3:
        answer = source.choice([dict(fields), [v for _, v in fields], source.choice(values), 10**300])
        body = json.dumps({"exercise": exercise["id"], "seed": source.choice([0, 7]), "answer": answer})
        given = {"Authorization": token, "Content-Type": "application/json", **headers}
        return Sent("POST", "/api/v1/check", given, body.encode())
    if exercise["kind"] not in {"function", "buggy_line"}:
        fields += [("action", source.choice(["hint", "solution", "predict", "check", "run", "x"]))]
    given = {"Content-Type": "application/x-www-form-urlencoded", **headers}
    path = f"/exercises/{exercise['id']}"
    return Sent("POST", path, given, urlencode(fields).encode())


def test_drawn_mixtures(visitor: TestClient, bearer: str) -> None:
    exercises = visitor.get("/api/v1/exercises").json()
    by_kind = {row["kind"]: [e for e in exercises if e["kind"] == row["kind"]] for row in exercises}
    source = random.Random(13)
    shown = cache(lambda one: visitor.get(f"/api/v1/exercises/{one}").json())
    mixtures = []
    for _ in range(DRAWN):
        exercise = source.choice(source.choice(list(by_kind.values())))
        mixtures.append(drawn(source, bearer, exercise, shown(exercise["id"])))
    survives(visitor, mixtures)
