"""The head of a request: the names by which a browser may ask, and its size."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from starlette.exceptions import HTTPException

from app.main import create_app
from app.server.config import Settings
from app.server.network.head import HEADERS, Hosts, check_head
from tests.client import Client
from tests.each import each

PUBLIC = "https://wallclock.example.org/under"
OURS = (
    "localhost", "localhost:8000", "LOCALHOST.", "127.0.0.1", "127.0.0.1:8702", "[::1]", "[::1]:8000",
    "10.1.2.3:8000", "[fd00::7]:80", "box", "wallclock:8000", "a.localhost:8000", "",
)  # fmt: skip
OTHERS = (
    "evil.example", "evil.example:8000", "evil.example.", "localhost.evil.example", "127.0.0.1.evil.example",
    "127.0.0.1.nip.io", "xlocalhost.example", "evil.example@localhost", "localhost:8000.evil.example",
    "localhost/evil.example", "[::1].evil.example", "[::1", "::1:80:x", "wallclock.example.org.evil.example",
    "1.2.3", "999.1.1.1", "localhost, evil.example", "xn--a.example",
)  # fmt: skip


def admits(asked: str, path: str = "/", **settings: object) -> bool:
    made = Settings(**settings)  # type: ignore[arg-type]
    scope = {"path": path, "headers": [(b"host", asked.encode())]}
    return Hosts(made, {"/livez"}).admit(scope)


@each("host", OURS)
def test_a_name_that_no_other_site_can_have_is_ours(host: str) -> None:
    assert admits(host)
    assert admits(host, url=PUBLIC)
    assert admits(host, host="0.0.0.0")


@each("host", OTHERS)
def test_a_name_that_another_site_can_have_is_not(host: str) -> None:
    assert not admits(host)
    assert not admits(host, url=PUBLIC)
    assert not admits(host, host="0.0.0.0")
    assert admits(host, path="/livez"), "a probe learns nothing but that the process answers"
    assert admits(host, hosts="*")


@each(
    ("host", "settings"),
    [
        ("wallclock.example.org", {"url": PUBLIC}),
        ("Wallclock.Example.org:8443", {"url": PUBLIC}),
        ("wallclock.lan", {"hosts": "wallclock.lan, Other.lan"}),
        ("other.lan:8000", {"hosts": "wallclock.lan, Other.lan"}),
        ("box.campus.example", {"host": "box.campus.example"}),
        (f"{socket.gethostname()}.local", {}),
    ],
)
def test_the_names_that_the_operator_gave_are_ours(host: str, settings: dict[str, str]) -> None:
    assert admits(host, **settings)
    assert admits("evil.example", **settings) is False


def test_every_name_in_a_request_must_be_ours() -> None:
    headers = [(b"host", b"localhost"), (b"host", b"evil.example")]
    assert not Hosts(Settings()).admit({"path": "/", "headers": headers})
    assert Hosts(Settings()).admit({"path": "/", "headers": []})


@pytest.fixture(scope="module")
def laptop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    database: Path = tmp_path_factory.mktemp("hosts") / "w.db"
    with Client(create_app(Settings(database=f"sqlite:///{database}", sandbox_workers=1))) as made:
        yield made


def test_a_page_that_rebinds_its_name_reads_nothing_and_starts_nothing(laptop: TestClient) -> None:
    evil = {"Host": "evil.example:8000", "Origin": "http://evil.example:8000"}
    for path in ("/", "/labs", "/me", "/static/app.js", "/api/v1/exercises", "/metrics"):
        answer = laptop.get(path, headers=evil | {"Sec-Fetch-Site": "same-origin"})
        assert answer.status_code == 421, path
        assert "evil" not in answer.text
    for path in ("/labs/all-reduce", "/exercises/collectives/ring-all-reduce-time"):
        answer = laptop.post(path, data={"answer": "1 s"}, headers=evil)
        assert (answer.status_code, "set-cookie" in answer.headers) == (421, False)
        assert "WALLCLOCK_HOSTS" in answer.text
    assert laptop.get("/readyz", headers=evil).status_code == 200
    assert laptop.get("/", headers={"Host": "127.0.0.1:8000"}).status_code == 200


def refusal(path: str = "/", query: bytes = b"", **headers: str) -> int:
    """The status with which a head is refused; 0 if it is not."""
    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    try:
        check_head({"path": path, "query_string": query, "headers": raw})
    except HTTPException as error:
        return error.status_code
    return 0


def test_a_head_is_read_up_to_its_limits() -> None:
    assert [refusal("/" + "a" * 5_000, b"b" * size) for size in (3_191, 3_192)] == [0, 414]
    assert [refusal(cookie="a" * size) for size in (4_096, 4_097)] == [0, 431]
    assert [refusal(x="a" * size) for size in (HEADERS - 1, HEADERS)] == [0, 431]
    assert [refusal(x="a" * 9_000, y="a" * size) for size in (HEADERS - 9_002, HEADERS - 9_001)] == [0, 431]
    assert [refusal("/\0"), refusal(query=b"a=%00"), refusal(query=b"a=%01")] == [404, 400, 0]
    kinds = ("text/plain; charset=hex", "multipart/form-data; charset='UTF-8'", "Multipart/form-data; charset=hex")
    assert [refusal(content_type=kind) for kind in kinds] == [0, 0, 415]
