"""Hostile requests to every address: the response is never a fault of the server.

After the raw-socket fuzz of the audit (8,000 requests, of which 13 were answered 500), bounded and
the same each time: every route with every hostile text in each place, then drawn mixtures.
"""

import asyncio
import gzip
import json
import random
import re
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass, field
from functools import cache
from types import ModuleType
from typing import Any
from urllib.parse import quote, unquote, urlencode

import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute
from fastapi.testclient import TestClient
from starlette.datastructures import Headers

from app import api, web
from app.config import Settings
from app.db.session import open_session
from app.db.tokens import create_token
from app.main import create_app
from tests.client import Client
from tests.each import each

pytestmark = pytest.mark.slow(60)

DRAWN = 1_000
TEXTS = [
    "", "0", "-1", "1", "9007199254740992", "99999999999999999999", "1e309", "nan", "inf", "0x10",
    "²", "٣", "null", "[]", "a" * 3000, "\0", "\x01", "%", "%zz", "\u202e", "😀", "../../../etc/passwd",
    "//evil.example", "/\\evil.example", "javascript:alert(1)", "<script>alert(1)</script>",
    "'; drop table attempt; --", "{{7*7}}", "{0.__class__}", "\r\nSet-Cookie: a=b", "70 ms", "1,2,3",
    "1..2", "4KiB..64MiB", "(" * 999, "light",
]  # fmt: skip
HEADERS = [
    ("Host", "evil.example\"><script>"), ("Host", ""), ("Host", "[::1"), ("Host", "x:99999"),
    ("Origin", "null"), ("Origin", "http://["), ("Origin", "http://a:b:c"), ("Origin", "http://\xff"),
    ("Cookie", "learner=\xff\xfe"), ("Cookie", "learner=" + "a" * 3_900), ("Cookie", ";;;="),
    ("Cookie", "learner=.;learner=.."), ("Cookie", "theme=<script>alert(1)</script>"),
    ("X-Forwarded-For", "a\xffb"), ("X-Forwarded-Proto", "javascript"), ("X-Fragment", "1"),
    ("Accept-Encoding", "gzip;q=nope"), ("If-None-Match", "\xff"), ("Range", "bytes=0-1,5-99999999"),
    ("Content-Length", "-1"), ("Content-Length", "99999999999999999999"), ("Content-Length", "abc"),
    ("Content-Type", "multipart/form-data"), ("Content-Type", "multipart/form-data; boundary=\xff"),
    ("Content-Type", "application/json; charset=utf-7"), ("Content-Type", ""),
    ("Authorization", "Bearer"), ("Authorization", "Bearer \xff"), ("Authorization", "Basic aaaa"),
    ("Idempotency-Key", "\xff"), ("Idempotency-Key", "a" * 300),
]  # fmt: skip
CHARSETS = ["utf-8", "undefined", "idna", "punycode", "rot13", "hex", "utf-16", "unicode_escape"]
JSON = [
    b"", b"[", b"[" * 5_000, b"{" * 5_000, b"1" * 5_000, b'"\\ud800"', b'{"exercise":NaN}', b"\xff",
    b'{"exercise":"\\u0000","answer":"1"}', b'{"exercise":"a/b","answer":"\\u0000"}', b"null", b"[1]",
    b'{"exercise":"collectives/ring-all-reduce-time","answer":"\\u0000"}',
    b'{"exercise":"collectives/ring-all-reduce-time","answer":{"\\u0000":1e308}}',
    b'{"exercise":"collectives/ring-all-reduce-time","seed":1e999,"answer":1}',
    b'{"size":"\\u0000","ranks":1e400,"bandwidth":[1,2]}', b'{"ranks":' + b"9" * 5_000 + b"}",
]  # fmt: skip
NONCE = re.compile(r'(?:content|nonce)="[\w+/=-]{16,}"')
PLACES = {
    "topic": "collectives", "slug": "ring-all-reduce-time", "id": "memory/adam-states", "number": "0",
    "form": "svg", "run": "x",
}  # fmt: skip


def routes() -> Iterator[APIRoute]:
    for room in (web, api):
        for part in vars(room).values():
            found = getattr(part, "router", None) if isinstance(part, ModuleType) else None
            yield from (route for route in getattr(found, "routes", ()) if _is_route(route))


def _is_route(route: object) -> bool:
    return isinstance(route, APIRoute)


ROUTES = sorted({(method, route.path) for route in routes() for method in route.methods or ()})


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> FastAPI:
    folder = tmp_path_factory.mktemp("fuzz")
    settings = Settings(
        database=f"sqlite:///{folder / 'w.db'}",
        runs=folder / "runs",
        sandbox_workers=1,
        answers_allowed=0,
        lab_queue=0,
    )
    return create_app(settings)


@pytest.fixture(scope="module")
def visitor(app: FastAPI) -> Iterator[TestClient]:
    with Client(app, follow_redirects=False) as client:
        yield client


@pytest.fixture(scope="module")
def bearer(app: FastAPI) -> str:
    with open_session(app.state.site.engine) as session:
        return f"Bearer {create_token(session, 'fuzz')}"


def names_of(path: str) -> dict[str, str]:
    first = {
        "/labs": "all-reduce",
        "/explore": "ring",
        "/formulas": "collectives.ring_all_reduce_time",
    }
    named = next((name for start, name in first.items() if start in path), "collectives")
    return {**PLACES, "name": named}


def filled(path: str, values: dict[str, str]) -> str:
    for name, value in values.items():
        for place in (f"{{{name}}}", f"{{{name}:path}}"):
            path = path.replace(place, quote(value, safe="/"))
    return path


@dataclass(frozen=True, slots=True)
class Sent:
    """A request as bytes; what a client would refuse to send is what is tried here."""

    method: str
    path: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None

    def scope(self) -> dict[str, Any]:
        """What the ASGI server makes of it."""
        path, _, query = self.path.partition("?")
        headers = {b"host": b"testserver"}
        if self.body is not None:
            headers[b"content-length"] = str(len(self.body)).encode()
        for name, value in self.headers.items():
            headers[name.lower().encode()] = value.encode("latin-1")
        return {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "scheme": "http",
            "method": self.method, "path": unquote(path), "raw_path": path.encode(), "root_path": "",
            "query_string": query.encode(), "headers": list(headers.items()),
            "client": ("testclient", 50000), "server": ("testserver", 80),
        }  # fmt: skip


def survives(client: TestClient, requests: Iterable[Sent]) -> None:
    """Each response is no fault, runs no script, redirects nowhere else and echoes no header.

    All are sent in one visit to the event loop of the app, as bytes: there are 40,000 of them.
    """

    async def answer() -> None:
        for request in requests:
            _check(request, *await _answered(client, request))

    assert client.portal
    client.portal.call(answer)


async def _answered(client: TestClient, request: Sent) -> tuple[int, Headers, str]:
    messages = [{"type": "http.request", "body": request.body or b""}]
    answers: list[MutableMapping[str, Any]] = []

    async def receive() -> MutableMapping[str, Any]:
        if messages:
            return messages.pop()
        await asyncio.Event().wait()  # the client stays
        raise AssertionError

    async def send(message: MutableMapping[str, Any]) -> None:
        answers.append(message)

    scope = {**request.scope(), "state": client.app_state.copy()}
    await client.app(scope, receive, send)
    body = b"".join(message.get("body", b"") for message in answers[1:])
    headers = Headers(raw=answers[0]["headers"])
    if headers.get("content-encoding") == "gzip":
        body = gzip.decompress(body)
    return answers[0]["status"], headers, body.decode(errors="replace")


def _check(request: Sent, status: int, headers: Headers, text: str) -> None:
    if status == 503:  # only if this site is configured to run no labs
        assert "/labs/" in request.path
    else:
        assert status < 500, request
    if headers.get("content-type", "").startswith("text/html"):
        assert "<script>alert(1)</script>" not in text
    assert "a=b" not in headers.get("set-cookie", "")
    assert "root:x:" not in text[:1000]
    location = headers.get("location", "/")
    assert location.startswith("/")
    assert not location.startswith(("//", "/\\"))
    assert headers["x-content-type-options"] == "nosniff"


def test_all_routes_are_known_here() -> None:
    assert len(ROUTES) > 35
    assert {("POST", "/api/v1/check"), ("POST", "/labs/{name}/board")} <= set(ROUTES)


@each(("method", "path"), ROUTES)
def test_hostile_places_in_an_address(visitor: TestClient, method: str, path: str) -> None:
    good = names_of(path)
    places = [name for name in good if f"{{{name}" in path]
    survives(
        visitor,
        (Sent(method, filled(path, {**good, name: text})) for text in TEXTS for name in places),
    )


@each(("method", "path"), ROUTES)
def test_hostile_queries(visitor: TestClient, method: str, path: str) -> None:
    """All of them where the query is read; elsewhere a few of them in turn, which meet all."""
    address = filled(path, names_of(path))
    sent = [Sent(method, f"{address}?{_query(text)}") for text in TEXTS]
    if not _reads_its_query(visitor, method, address):
        sent = sent[ROUTES.index((method, path)) % 6 :: 6]
    survives(visitor, sent)


def _query(text: str) -> str:
    return urlencode({"seed": text, "ranks": text, "size": text, "q": text})


def _reads_its_query(client: TestClient, method: str, address: str) -> bool:
    plain, *others = (
        NONCE.sub("", client.request(method, f"{address}{query}").text)
        for query in ("", f"?{_query('3')}", f"?{_query('x')}")
    )
    return any(other != plain for other in others)


def test_queries_that_are_read_are_known_here(visitor: TestClient) -> None:
    read = {"/search", "/exercises/collectives/ring-all-reduce-time", "/explore/ring"}
    assert all(_reads_its_query(visitor, "GET", address) for address in read)
    assert not _reads_its_query(visitor, "GET", "/glossary")


@each(("method", "path"), ROUTES)
def test_hostile_headers(visitor: TestClient, bearer: str, method: str, path: str) -> None:
    body = b"{}" if method == "POST" else None
    address = filled(path, names_of(path))
    usual = {"Authorization": bearer, "Content-Type": "application/json"}
    # Pages read headers in one place: each meets every second one, and every one meets pages.
    part = HEADERS if body else HEADERS[ROUTES.index((method, path)) % 2 :: 2]
    survives(visitor, (Sent(method, address, {**usual, n: value}, body) for n, value in part))


@each(("turn", "path"), enumerate(path for method, path in ROUTES if method == "POST"))
def test_hostile_bodies(visitor: TestClient, bearer: str, turn: int, path: str) -> None:
    survives(visitor, _filled_in(filled(path, names_of(path)), bearer, turn))


def _filled_in(address: str, bearer: str, turn: int) -> Iterator[Sent]:
    """Bodies for an address; by its *turn*, a text is sent in two of the charsets."""
    for raw in JSON:
        headers = {"Authorization": bearer, "Content-Type": "application/json"}
        yield Sent("POST", address, headers, raw)
    for number, text in enumerate(TEXTS, turn):
        fields = dict.fromkeys(
            ("answer", "action", "seed", "run.ranks", "guess", "back", "run"), text
        )
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        yield Sent("POST", address, headers, urlencode(fields).encode())
        for charset in CHARSETS[number % 4 :: 4]:
            headers = {"Content-Type": f"multipart/form-data; charset={charset}; boundary=X"}
            yield Sent("POST", address, headers, multipart({"answer": text}))


def multipart(fields: dict[str, str], boundary: str = "X") -> bytes:
    parts = [
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{text}\r\n'
        for name, text in fields.items()
    ]
    return "".join([*parts, f"--{boundary}--\r\n"]).encode("utf-8", "surrogatepass")


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
        answer = source.choice(
            [dict(fields), [v for _, v in fields], source.choice(values), 10**300]
        )
        body = json.dumps(
            {"exercise": exercise["id"], "seed": source.choice([0, 7]), "answer": answer}
        )
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
