"""Hostile texts, headers, charsets and bodies, and what no response to them may be."""

import asyncio
import gzip
from collections.abc import Collection, Iterable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, urlencode

from fastapi.testclient import TestClient
from starlette.datastructures import Headers

TEXTS = [
    "", "0", "-1", "1", "9007199254740992", "99999999999999999999", "1e309", "nan", "inf", "0x10",
    "²", "٣", "null", "[]", "a" * 3000, "\0", "\x01", "%", "%zz", "\u202e", "😀", "../../../etc/passwd",
    "//evil.example", "/\\evil.example", "javascript:alert(1)", "<script>alert(1)</script>",
    "'; drop table attempt; --", "{{7*7}}", "{0.__class__}", "\r\nSet-Cookie: a=b", "70 ms", "1,2,3",
    "1..2", "4KiB..64MiB", "(" * 999, "light",
]  # fmt: skip
CHARSETS = ["utf-8", "undefined", "idna", "punycode", "rot13", "hex", "utf-16", "unicode_escape"]
FORM = "application/x-www-form-urlencoded"
# What may have a charset, and a body of it.
WITH_CHARSET = {
    "application/json": b'{"answer":"1"}', FORM: b"answer=1&seed=2",
    "text/csv": b"id,name\n1,Ada\n", "text/plain": b"<script>alert(1)</script>",
}  # fmt: skip
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
    *(("Content-Type", f"{FORM}; charset={charset}") for charset in CHARSETS),
]  # fmt: skip
JSON = [
    b"", b"[", b"[" * 5_000, b"{" * 5_000, b"1" * 5_000, b'"\\ud800"', b'{"exercise":NaN}', b"\xff",
    b'{"exercise":"\\u0000","answer":"1"}', b'{"exercise":"a/b","answer":"\\u0000"}', b"null", b"[1]",
    b'{"exercise":"collectives/ring-all-reduce-time","answer":"\\u0000"}',
    b'{"exercise":"collectives/ring-all-reduce-time","answer":{"\\u0000":1e308}}',
    b'{"exercise":"collectives/ring-all-reduce-time","seed":1e999,"answer":1}',
    b'{"size":"\\u0000","ranks":1e400,"bandwidth":[1,2]}', b'{"ranks":' + b"9" * 5_000 + b"}",
]  # fmt: skip
FIELDS = (
    "answer", "action", "seed", "run.ranks", "guess", "back", "run", "name", "title", "text", "why",
    "digest", "until", "due", "person", "zone", "teacher", "seal", "code", "next", "sure",
)  # fmt: skip


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


def queries(names: Collection[str]) -> Iterator[str]:
    """Every text as the value of all *names* at once with some that are not read, and of each alone."""
    for text in TEXTS:
        yield urlencode(dict.fromkeys(("seed", "ranks", "size", "q", *names), text))
        yield from (urlencode({name: text}) for name in names)


def bodies() -> Iterator[tuple[str, bytes]]:
    """Types and bodies: JSON, tables, and every text in the fields of a form, in every charset."""
    yield from (("application/json", raw) for raw in JSON)
    for kind, body in WITH_CHARSET.items():
        yield from ((f"{kind}; charset={charset}", body) for charset in CHARSETS)
    for text in TEXTS:
        yield "text/csv", f"id,name\n{text},{text}\n".encode()
        yield FORM, urlencode(dict.fromkeys(FIELDS, text)).encode()
        parts = _multipart(text)
        for charset in CHARSETS:
            yield f"multipart/form-data; charset={charset}; boundary=X", parts


def _multipart(text: str) -> bytes:
    """A form with *text* in all fields, and in a file."""
    places = [*(f'name="{name}"' for name in FIELDS), 'name="file"; filename="a.csv"']
    parts = [f"--X\r\nContent-Disposition: form-data; {at}\r\n\r\n{text}\r\n" for at in places]
    return "".join([*parts, "--X--\r\n"]).encode()


def survives(client: TestClient, requests: Iterable[Sent]) -> set[int]:
    """The statuses of the responses: none is a fault, runs a script, redirects elsewhere or echoes a header.

    All are sent in one visit to the event loop of the app, as bytes: there are 70,000 of them.
    """

    async def answer() -> set[int]:
        return {_checked(request, *await _answered(client, request)) for request in requests}

    assert client.portal
    return client.portal.call(answer)


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


def _checked(request: Sent, status: int, headers: Headers, text: str) -> int:
    if status == 503:  # only if this site is configured to run no labs
        assert "/labs/" in request.path, request
    else:
        assert status < 500, request
    if headers.get("content-type", "").startswith("text/html"):
        assert "<script>alert(1)</script>" not in text, request
    assert "a=b" not in headers.get("set-cookie", ""), request
    assert "root:x:" not in text[:1000], request
    location = headers.get("location", "/")
    assert location.startswith("/"), request
    assert not location.startswith(("//", "/\\")), request
    assert headers["x-content-type-options"] == "nosniff", request
    return status
