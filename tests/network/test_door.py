"""Every response, also to a fault or a refusal, has the same headers and tells the truth."""

import asyncio
import logging
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy.exc import OperationalError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Scope

from app.main import create_app
from app.server.aside.payer import Payer
from app.server.config import Settings
from app.server.db.session import unavailable_error
from app.server.network.allowance import Allowance, Budget
from app.server.network.door import Door, LimitedBody, Rules, _inside
from app.server.network.response_policy import MOST, PageLimit, keep_opener, let_frame, let_post, redirect_beyond
from app.server.network.watch import Lines
from tests.each import each

RING = "/exercises/collectives/ring-all-reduce-time"
ORDER = "/exercises/collectives/steps-of-a-ring"
HOST, DRIVER = "db.school.example", "password authentication failed"
ALWAYS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
}


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> FastAPI:
    folder = tmp_path_factory.mktemp("door")
    return create_app(Settings(database=f"sqlite:///{folder / 'w.db'}", sandbox_workers=1))


@pytest.fixture(scope="module")
def visitor(app: FastAPI) -> Iterator[TestClient]:
    with TestClient(app, follow_redirects=False) as client:
        yield client


@pytest.fixture
def faulty(visitor: TestClient, monkeypatch: pytest.MonkeyPatch) -> TestClient:
    """A site with faults in two pages, a form and a call."""

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("secret detail \x1b[31m")

    monkeypatch.setattr("app.site.web.home.page.read_learner_history", fail)
    monkeypatch.setattr("app.site.web.exercise.routes.exercise_page", fail)
    monkeypatch.setattr("app.site.api.exercises.ExerciseSummary", fail)
    return visitor


@pytest.fixture
def without_database(visitor: TestClient, monkeypatch: pytest.MonkeyPatch) -> TestClient:
    cause = OperationalError("", {}, Exception(f'connection to "{HOST}" failed: {DRIVER}'))

    def fail(*_: object, **__: object) -> None:
        raise unavailable_error(cause)

    monkeypatch.setattr("app.site.web.home.page.read_learner_history", fail)
    monkeypatch.setattr("app.site.web.exercise.routes.exercise_page", fail)
    monkeypatch.setattr("app.site.api.exercises.ExerciseSummary", fail)
    return visitor


def assert_headers(answer: Any) -> None:
    for name, value in ALWAYS.items():
        assert answer.headers.get_list(name) == [value]
    (policy,) = answer.headers.get_list("content-security-policy")
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy


def test_a_redirect_leads_to_another_host_only_where_a_page_has_chosen_it() -> None:
    there = "https://idp.example/auth?x=1&y=%2F"

    async def chosen(request: Request) -> Response:
        return redirect_beyond(request, there)

    async def careless(request: Request) -> Response:
        response = redirect_beyond(request, there)
        response.headers["location"] = f"https://evil.example{request.url.path}"
        return response

    async def respond(request: Request, error: Exception) -> Response:
        raise error

    inside = Starlette(routes=[Route("/chosen", chosen), Route("/careless", careless)])
    rules = Rules(owns=lambda path: False, respond=respond, body_limit=1, streamed=())
    with TestClient(Door(inside, rules), follow_redirects=False) as client:
        assert client.get("/chosen").headers.get_list("location") == [there]
        assert client.get("/careless").headers.get_list("location") == ["/careless"]


@each(
    ("written", "sent"),
    [
        ("https://evil.example/\\\\evil.example", "/evil.example"),
        ("https://evil.example/\\/evil.example/a", "/evil.example/a"),
        ("https://evil.example//evil.example", "/evil.example"),
        ("https://evil.example", "/"),
        ("https://evil.example/a\\b?to=//c", "/a\\b?to=//c"),
        ("https://evil.example/a?", "/a"),
        ("evil.example/a", "/evil.example/a"),
        ("/a?b#c", "/a?b#c"),
        ("//evil.example/a", "/evil.example/a"),
        ("/\\evil.example", "/evil.example"),
        ("/", "/"),
    ],
)
def test_a_location_that_no_page_chose_names_no_host_whatever_its_slashes(written: str, sent: str) -> None:
    assert _inside([(b"location", written.encode()), (b"x-other", b"//kept")]) == [
        (b"location", sent.encode()),
        (b"x-other", b"//kept"),
    ]


FORM, PARTS = b"application/x-www-form-urlencoded", b"multipart/form-data; boundary=X"


def read(*pieces: bytes, limit: int = 1_000_000, kind: bytes = b"", length: str = "", file: bool = False) -> str:
    """Whether a body in *pieces* is read; if not, how it is refused."""
    headers = [(b"content-type", kind), (b"content-length", length.encode())]

    async def receive() -> dict[str, object]:
        return {"type": "http.request", "body": left.pop(0)}

    async def all_of_it() -> None:
        body = LimitedBody({"headers": headers}, receive, limit, file=file)
        while left:
            await body()

    left = list(pieces)
    try:
        asyncio.run(all_of_it())
    except HTTPException as error:
        return f"{error.status_code} {error.detail}"
    return "read"


@each(
    ("reading", "expected"),
    [
        (partial(read, b"x" * 10, limit=10), "read"),
        (partial(read, b"x" * 11, limit=10), "413 the body is too large: at most 10 bytes are read"),
        (partial(read, b"x" * 6, b"x" * 5, limit=10), "413 the body is too large: at most 10 bytes are read"),
        (partial(read, length="10", limit=10), "read"),
        (partial(read, length="11", limit=10), "413 the body is too large: at most 10 bytes are read"),
        (partial(read, kind=FORM, length=str(512 << 10)), "read"),
        (
            partial(read, kind=FORM, length=str((512 << 10) + 1)),
            "413 the body is too large: at most 524,288 bytes are read",
        ),
        (partial(read, kind=FORM, length="11", limit=10), "413 the body is too large: at most 10 bytes are read"),
        (partial(read, kind=PARTS, length=str((512 << 10) + 1)), "read"),
        (partial(read, b"%" * 50_000, b"%" * 50_000, kind=FORM), "read"),
        (partial(read, b"%" * 50_000, b"%" * 50_001, kind=FORM), "413 the form is too large"),
        (partial(read, b"&" * 500, b"&" * 500, kind=FORM), "read"),
        (partial(read, b"&" * 500, b"&" * 501, kind=FORM), "413 the form is too large"),
        (partial(read, b"%" * 100_001 + b"&" * 1_001, kind=PARTS), "read"),
        (partial(read, b"a=%00", kind=FORM), "422 the form contains the character NUL"),
        (partial(read, b"a=%0", b"0", kind=FORM), "422 the form contains the character NUL"),
        (partial(read, b"a=%", b"0", b"0", kind=FORM), "422 the form contains the character NUL"),
        (partial(read, b"a=%0", b"", b"0", kind=FORM), "422 the form contains the character NUL"),
        (partial(read, b"a=\0", kind=FORM), "read"),
        (partial(read, b"a\0", kind=PARTS), "422 the form contains the character NUL"),
        (partial(read, b"%00", kind=PARTS), "read"),
        (partial(read, b"a\0", kind=PARTS, file=True), "read"),
        (partial(read, b"a\0%00", kind=b"application/json"), "read"),
    ],
)
def test_a_body_is_read_up_to_its_limits_and_a_form_without_nul(reading: Callable[[], str], expected: str) -> None:
    assert reading().startswith(expected)


@each(("status", "moves"), [(200, False), (299, False), (300, True), (303, True), (399, True), (400, False)])
def test_a_location_is_looked_at_where_a_browser_follows_it(status: int, moves: bool) -> None:
    async def page(request: Request) -> Response:
        return Response(status_code=status, headers={"location": "https://evil.example/a"})

    found = through(Starlette(routes=[Route("/", page)])).headers["location"]
    assert found == ("/a" if moves else "https://evil.example/a")


def test_a_private_page_is_stored_nowhere_and_another_as_it_says() -> None:
    async def page(request: Request) -> Response:
        return Response("page", headers={"cache-control": "max-age=60", "x-a": "b"})

    inside = Starlette(routes=[Route("/", page)])
    open_, private = through(inside), through(inside, private=lambda path: path == "/")
    assert (open_.headers["cache-control"], open_.headers["x-a"]) == ("max-age=60", "b")
    assert private.headers.get_list("cache-control") == ["no-store"]
    assert private.headers["x-a"] == "b"


def test_a_path_of_files_has_a_limit_of_its_own_whatever_its_number() -> None:
    async def page(request: Request) -> Response:
        return Response(str(len(await request.body())))

    inside = Starlette(routes=[Route("/{rest:path}", page, methods=["POST"])])

    def status(path: str, size: int) -> int:
        files = {"/classes/*/file": 20, "/file": 30}
        rules = Rules(owns=bool, respond=refused, body_limit=10, streamed=("/all",), files=files)
        with TestClient(Door(inside, rules)) as client:
            return client.post(path, content=b"x" * size).status_code

    assert [status("/classes/12/file", size) for size in (20, 21)] == [200, 413]
    assert [status("/classes/a/file", size) for size in (10, 11)] == [200, 413]
    assert [status("/file", size) for size in (30, 31)] == [200, 413]
    assert status("/all", 1_000) == 200


async def refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return Response(error.detail, error.status_code)


def through(inside: Starlette, **rules: Any) -> Any:
    """The answer at the root of *inside*, behind a door with *rules*."""
    made = Rules(**{"owns": lambda path: False, "respond": refused, "body_limit": 1, "streamed": (), **rules})
    with TestClient(Door(inside, made), follow_redirects=False) as client:
        return client.get("/")


def test_a_name_that_is_not_the_server_s_is_refused_before_anything_is_done() -> None:
    inside = Starlette(routes=[Route("/", lambda request: Response("page"))])
    assert through(inside, admits=lambda scope: True).text == "page"
    answer = through(inside, admits=lambda scope: False)
    assert (answer.status_code, "WALLCLOCK_HOSTS" in answer.text) == (421, True)


def test_what_is_free_is_handled_whatever_the_budget_and_the_database_say() -> None:
    inside = Starlette(routes=[Route("/", lambda request: Response("page"))])

    async def ruin(_: Scope) -> Payer:
        raise HTTPException(429)

    async def outage() -> None:
        raise HTTPException(503)

    for status, rules in ((429, {"budget": Budget(Allowance(1, 60), ruin)}), (503, {"ready": outage})):
        assert through(inside, **rules).status_code == status
        assert through(inside, free=("/other",), **rules).status_code == status
        assert through(inside, free=("/",), **rules).text == "page"


def test_the_page_that_refuses_a_head_reads_none_of_its_cookies() -> None:
    async def cookies(request: Request, error: Exception) -> Response:
        return Response(request.headers.get("cookie", "none"), getattr(error, "status_code", 500))

    inside = Starlette(routes=[Route("/", lambda request: Response("page"))])
    made = Rules(owns=bool, respond=cookies, body_limit=1, streamed=())
    with TestClient(Door(inside, made)) as client:
        answers = [client.get("/", headers={"cookie": "a" * size}) for size in (4_096, 4_097)]
    assert [(answer.status_code, answer.text) for answer in answers] == [(200, "page"), (431, "none")]


def test_pages_may_be_in_frames_of_ours_where_they_are() -> None:
    inside = Starlette(routes=[Route("/", lambda request: Response("page"))])
    for framed, frames in ((True, "'self'"), (False, "'none'")):
        policy = through(inside, framed=framed).headers["content-security-policy"]
        assert f"; frame-src {frames}; frame-ancestors {frames}; " in policy

    async def framed_elsewhere(request: Request) -> Response:
        let_frame(request, ["https://lms.example/course", "https://LMS.example:8443"])
        return Response()

    shown = through(Starlette(routes=[Route("/", framed_elsewhere)]), framed=True).headers
    policy = shown["content-security-policy"]
    assert "; frame-src 'self'; frame-ancestors https://lms.example https://lms.example:8443; " in policy
    assert shown["cross-origin-opener-policy"] == "same-origin", "to be in a frame is not to reach an opener"
    program = through(inside, owns=lambda path: True).headers["content-security-policy"]
    assert program == "default-src 'none'; frame-ancestors 'none'; base-uri 'none'"


ODD = (
    "https://x; script-src-elem *", "https://x script-src *", "https://x,https://y", "https://x'*",
    "https://u@x", "https://x:y", "https://x\n;y", "https://", "javascript:1", "//x", "*", "https://*",
    "https://xé", "https://[", "",
)  # fmt: skip


@pytest.mark.parametrize("address", ODD)
def test_nothing_but_an_origin_gets_into_the_policy(address: str) -> None:
    async def page(request: Request) -> Response:
        let_frame(request, [address])
        let_post(request, [address, "https://LMS.example:8443/back?x=1"])
        return Response()

    async def respond(request: Request, error: Exception) -> Response:
        raise error

    rules = Rules(owns=lambda path: False, respond=respond, body_limit=1, streamed=())
    with TestClient(Door(Starlette(routes=[Route("/", page)]), rules)) as client:
        policy = client.get("/").headers["content-security-policy"]
    assert "; form-action 'self' https://lms.example:8443; " in policy
    assert "; frame-ancestors 'none'; " in policy


def test_a_page_reaches_the_window_that_opened_it_only_where_it_has_asked_to() -> None:
    async def page(request: Request) -> Response:
        if "asks" in request.query_params:
            keep_opener(request)
        return Response()

    async def respond(request: Request, error: Exception) -> Response:
        raise error

    rules = Rules(owns=lambda path: False, respond=respond, body_limit=1, streamed=())
    with TestClient(Door(Starlette(routes=[Route("/", page)]), rules)) as client:
        asking, other = client.get("/?asks"), client.get("/")
    assert_headers(other)
    assert asking.headers.get_list("cross-origin-opener-policy") == ["unsafe-none"]
    for answer in (asking, other):
        del answer.headers["cross-origin-opener-policy"], answer.headers["content-security-policy"]
    assert asking.headers == other.headers


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/", 200), ("GET", "/nothing", 404), ("PUT", "/", 405), ("GET", "/healthz", 200),
        ("GET", "/api/v1/nothing", 404), ("POST", "/api/v1/check", 401), ("GET", "/api/docs", 200),
        ("GET", "/robots.txt", 200), ("GET", f"{RING}/another", 303), ("GET", "/progress/", 307),
    ],
)  # fmt: skip
def test_every_answer_has_the_headers_once(visitor: TestClient, method: str, path: str, status: int) -> None:
    answer = visitor.request(method, path)
    assert answer.status_code == status
    assert_headers(answer)


def test_a_server_that_stops_is_not_ready_and_closes_its_connections(
    visitor: TestClient, app: FastAPI, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "connection" not in visitor.get("/readyz").headers
    monkeypatch.setattr(app.state.site.draining, "has_begun", True)
    ready, alive, page = (visitor.get(path) for path in ("/readyz", "/livez", "/errata"))
    assert [answer.status_code for answer in (ready, alive, page)] == [503, 200, 200]
    assert "this server is stopping" in ready.json()["detail"]
    assert {answer.headers["connection"] for answer in (ready, alive, page)} == {"close"}


def test_a_fault_has_the_headers_too_and_says_what_was_stored(faulty: TestClient) -> None:
    page = faulty.get("/")
    sent = faulty.post(RING, data={"answer": "70 ms"})
    called = faulty.get("/api/v1/exercises")
    for answer in (page, sent, called):
        assert answer.status_code == 500
        assert_headers(answer)
        assert "secret detail" not in answer.text
    assert "Nothing was lost" in page.text
    assert "may not have been stored" in sent.text
    assert "Progress" in sent.text
    assert "was lost" not in sent.text
    nonce = re.findall(r"'nonce-([^']+)'", page.headers["content-security-policy"])
    assert f'content="{nonce[0]}"' in page.text


def test_the_answer_to_a_post_that_failed_is_there_on_progress(faulty: TestClient) -> None:
    """The sentence must not deny it: what failed came after the answer was stored."""
    faulty.post(RING, data={"answer": "71 ms"})
    attempts = faulty.app.state.site.engine.connect().exec_driver_sql(  # type: ignore[attr-defined]
        "SELECT count(*) FROM attempt WHERE answer = '71 ms'"
    )
    assert attempts.scalar() == 1
    attempts.connection.close()


def test_a_fault_is_in_the_log_once_and_cannot_write_to_a_terminal(
    faulty: TestClient, caplog: pytest.LogCaptureFixture
) -> None:
    faulty.get("/?%1b[2J")
    records = [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert len(records) == 1
    line = Lines().format(records[0])
    assert "secret detail" in line
    assert "RuntimeError" in line
    assert "\x1b" not in line
    assert re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z ERROR app\.", line)
    assert all(part.startswith("  ") for part in line.splitlines()[1:])


def test_what_the_driver_says_is_for_the_log_alone(
    without_database: TestClient, caplog: pytest.LogCaptureFixture
) -> None:
    page = without_database.get("/")
    sent = without_database.post(RING, data={"answer": "70 ms"})
    called = without_database.get("/api/v1/exercises")
    for answer in (page, sent, called):
        assert answer.status_code == 503
        assert_headers(answer)
        assert HOST not in answer.text
        assert DRIVER not in answer.text
        assert "database cannot be reached" in answer.text
    assert "Nothing was lost" in page.text
    assert "may not have been stored" in sent.text
    logged = [record.getMessage() for record in caplog.records if HOST in record.getMessage()]
    assert len(logged) == 3
    assert all(DRIVER in line for line in logged)


@pytest.mark.parametrize("name", ["\x1b[31mred", "a\nb", "\u202egnp.exe", "\x9b2J"])
def test_an_address_reaches_the_log_without_control_characters(
    visitor: TestClient, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    record = logging.LogRecord("app", logging.ERROR, "", 0, "GET %s", (f"/{name}",), None)
    assert name not in Lines().format(record)
    assert len(Lines().format(record).splitlines()) == 1


PATHS = [
    "/", "/nothing", RING, "/api/v1/exercises", "/api/v1/formulas", "/healthz", "/api/docs", "/labs",
    "/progress", "/progress/export", "/robots.txt", "/favicon.ico", "/api/v1/openapi.json",
    "/explore/ring", "/formulas", "/api/v1/exercises/collectives/ring-all-reduce-time",
    "/labs/all-reduce",
]  # fmt: skip


@pytest.mark.parametrize("path", PATHS)
def test_head_is_get_without_the_body(visitor: TestClient, path: str) -> None:
    plain = {"Accept-Encoding": "identity"}  # a nonce changes how small a page gets
    got, head = visitor.get(path, headers=plain), visitor.head(path, headers=plain)
    assert head.status_code == got.status_code
    assert head.content == b""
    changing = {"content-security-policy"}  # its nonce
    assert {k: v for k, v in head.headers.items() if k not in changing} == {
        k: v for k, v in got.headers.items() if k not in changing
    }


def test_head_changes_nothing_and_does_not_bypass_a_method(visitor: TestClient) -> None:
    assert visitor.head("/api/v1/check").status_code == 405
    assert visitor.head("/progress/delete").status_code == 405


@pytest.mark.parametrize(
    ("headers", "status", "says"),
    [
        ({"Cookie": 'a="' + "\\" * 4_100 + '"'}, 431, "4,096"),
        ({"A": "a" * 17_000}, 431, "16,384"),
        ({f"A{n}": "b" * 10 for n in range(2_000)}, 431, "16,384"),
        ({"Cookie": "a=" + "b" * 4_000, "A": "a" * 11_000}, 200, ""),
    ],
)
def test_headers_have_a_limit(visitor: TestClient, headers: dict[str, str], status: int, says: str) -> None:
    answer = visitor.get("/", headers=headers)
    assert (answer.status_code, says in answer.text) == (status, True)
    assert_headers(answer)


def test_an_address_has_a_limit(visitor: TestClient) -> None:
    assert visitor.get("/explore/ring?" + "a=1&" * 3_000).status_code == 414


@pytest.mark.parametrize("origin", ["http://[", "http://]", "//", "null", "http://a:b:c", "\xff"])
def test_an_odd_origin_is_foreign(visitor: TestClient, origin: str) -> None:
    headers = {b"Origin": origin.encode("latin-1")}
    answer = visitor.post(RING, data={"answer": "1"}, headers=headers)
    assert answer.status_code == 403
    assert "open the page here" in answer.text


@pytest.mark.parametrize(
    "charset", ["undefined", "idna", "punycode", "rot13", "hex", "utf-16", "unicode_escape", "utf-7", "nope"]
)
def test_a_form_is_utf_8(visitor: TestClient, charset: str) -> None:
    kind = f"multipart/form-data; charset={charset}; boundary=X"
    body = b'--X\r\nContent-Disposition: form-data; name="answer"\r\n\r\n\\x00+2AA-xn--a-\r\n--X--\r\n'
    answer = visitor.post(RING, content=body, headers={"Content-Type": kind})
    assert answer.status_code == 415
    good = kind.replace(charset, "UTF-8")
    assert visitor.post(RING, content=body, headers={"Content-Type": good}).status_code == 200


@pytest.mark.parametrize(
    "path",
    ["/labs/all-reduce/%00", "/exercises/%00/x", "/api/v1/exercises/a%00", "/static/%00", "/%00",
     "/explore/ring/%00.svg", "/labs/all-reduce?ranks=%00", f"{RING}?seed=%00"],
)  # fmt: skip
def test_a_nul_in_an_address_is_refused(visitor: TestClient, path: str) -> None:
    assert visitor.get(path).status_code in (400, 404)


def test_a_nul_in_a_form_is_refused_in_whatever_pieces(visitor: TestClient) -> None:
    kind = {"Content-Type": "application/x-www-form-urlencoded"}
    for pieces in ([b"answer=%00"], [b"answer=%", b"00"], [b"answer=%0", b"0"], [b"a%00=1"]):
        for path in (RING, "/labs/all-reduce", "/theme", "/progress/delete"):
            answer = visitor.post(path, content=iter(pieces), headers=kind)
            assert answer.status_code == 422
    assert "Not graded" in visitor.post(RING, content=b"answer=%2500", headers=kind).text


def test_places_that_are_not_numbers_are_reported(visitor: TestClient) -> None:
    fields = {"answer": "no such thing", "place.cut": "abc"}
    answer = visitor.post(ORDER, data=fields)
    assert answer.status_code == 200
    assert "no such thing" in answer.text


@pytest.mark.parametrize("host", ["evil.example", 'evil.example"><script>', "x:99999", "[::1"])
def test_the_host_that_a_visitor_names_is_nowhere_in_the_answer(visitor: TestClient, host: str) -> None:
    for path in ("/", "/progress/", "/formulas/", "//evil.example/progress/", f"{RING}/another"):
        answer = visitor.get(path, headers={"Host": host})
        assert answer.status_code < 500
        assert "evil" not in answer.text.replace("//evil.example/progress/", "")
        location = answer.headers.get("location", "/")
        assert location.startswith("/")
        assert not location.startswith(("//", "/\\"))


def test_the_address_that_was_set_is_in_previews_of_links(tmp_path: Path) -> None:
    address = "https://wallclock.example.org/"
    settings = Settings(database=f"sqlite:///{tmp_path / 'w.db'}", sandbox_workers=1, address=address)
    with TestClient(create_app(settings)) as client:
        page = client.get("/formulas", headers={"Host": "evil"}).text
    assert 'property="og:url" content="https://wallclock.example.org/formulas"' in page


@each(
    ("body", "status"),
    [
        (b"answer=" + b"%F0%9F%98%80" * 20_000, 200),
        (b"answer=" + b"%" * 200_000, 413),
        (b"&" * 100_000, 413),
        (b"answer=" + b"a" * 600_000, 413),
    ],
)
def test_a_form_that_takes_long_to_decode_is_refused(body: bytes, status: int, visitor: TestClient) -> None:
    kind = {"Content-Type": "application/x-www-form-urlencoded"}
    assert visitor.post(RING, content=body, headers=kind).status_code == status
    pieces = (body[at : at + 9_999] for at in range(0, len(body), 9_999))
    assert visitor.post(RING, content=pieces, headers=kind).status_code == status


def page_of(size: int, kind: str = "text/html", **headers: str) -> Response:
    return Response("a" * size, media_type=kind, headers=headers)


@each(
    ("response", "status"),
    [
        (page_of(MOST), 200),
        (page_of(MOST + 1), 422),
        (page_of(MOST + 1, "application/json"), 422),
        (page_of(MOST + 1, "text/csv"), 200),
        (page_of(MOST + 1, "text/html", **{"Content-Disposition": "attachment"}), 200),
    ],
)
def test_a_page_that_is_too_large_is_refused_with_a_page(response: Response, status: int) -> None:
    site = Starlette(routes=[Route("/", lambda _: response)])
    site.add_middleware(PageLimit)
    site.add_exception_handler(HTTPException, told)
    site.add_middleware(Door, rules=Rules(owns=bool, respond=told, body_limit=9, streamed=()))
    found = TestClient(site).get("/")
    assert found.status_code == status
    assert len(found.content) == (20 if status != 200 else len(response.body))


async def told(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return Response("b" * 20, error.status_code)
