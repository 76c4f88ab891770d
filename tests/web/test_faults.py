"""Every statement of the database, and every operation of a worker, fails once in each journey.

As SQLite is tested: the first fails, then the second, until a journey ends before its turn to fail
comes. Whatever fails, the answer is a right one or says what is out of order, and the next request
is answered.
"""

import secrets
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from fastapi.testclient import TestClient
from httpx2 import Response
from sqlalchemy import Engine, event
from sqlalchemy.exc import OperationalError

from app.course.sandbox.runner import Runner
from app.main import create_app, create_site
from app.server.config import Settings
from app.server.db.learner_cookie import create_token
from app.server.db.session import open_session
from app.site import Site
from app.site.labs.queue import Dispatcher
from tests.client import until_ready
from tests.sandbox.faults import Fault, faulty

pytestmark = pytest.mark.slow(25)

NUMERIC = "collectives/ring-all-reduce-time"
FUNCTION = "collectives/write-ring-time"
RIGHT = (
    "def ring_allreduce_ms(size_gb, n, bw_gb_s, latency_us):\n"
    "    return 2 * (n - 1) * (size_gb / n / bw_gb_s * 1e3 + latency_us / 1e3)\n"
)
FILE = """{"attempts": [{
  "exercise": "a/b", "seed": 0, "answer": "1", "correct": false, "score": 0, "digest": "d", "drawn": "{}",
  "at": "2026-03-01T12:00:00Z"
}]}"""
RUN = {"run.ranks": "2", "run.size": "1 MiB", "guess": "1 MiB"}


class Unattended(Dispatcher):
    """A queue of labs that nobody looks after: what is asked for waits."""

    def start(self) -> None:
        """Do nothing; the statements that fail are those of requests."""


@contextmanager
def failing(engine: Engine, number: int) -> Iterator[Callable[[], bool]]:
    """Lets the *number*-th statement or commit fail, as on a faulty disk; yields whether it did."""
    count, met = 0, False
    lock = threading.Lock()

    def fail(what: str) -> None:
        nonlocal count, met
        with lock:
            count += 1
            if count != number:
                return
            met = True
        cause = sqlite3.OperationalError("disk I/O error")
        cause.sqlite_errorname = "SQLITE_IOERR"
        raise OperationalError(what, None, cause)

    def statement(_: Any, __: Any, text: str, *___: Any) -> None:
        fail(text)

    def commit(_: Any) -> None:
        fail("COMMIT")

    event.listen(engine, "before_cursor_execute", statement)
    event.listen(engine, "commit", commit)
    yield lambda: met
    event.remove(engine, "before_cursor_execute", statement)
    event.remove(engine, "commit", commit)


@pytest.fixture(scope="module")
def fault_and_app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Fault, TestClient]]:
    folder = tmp_path_factory.mktemp("faults")
    fault, workers = faulty()
    settings = Settings(database=f"sqlite:///{folder / 'w.db'}", sandbox_workers=2, runs=folder / "runs")
    made = create_site(settings)
    labs = Unattended(settings, made.engine)
    site = replace(made, runner=Runner(settings, workers), labs=labs)
    app = create_app(settings, site)
    with TestClient(app, follow_redirects=False) as client:
        until_ready(client)
        yield fault, client


@pytest.fixture
def fault(fault_and_app: tuple[Fault, TestClient]) -> Fault:
    return fault_and_app[0]


@pytest.fixture
def visitor(fault_and_app: tuple[Fault, TestClient]) -> TestClient:
    fault_and_app[1].cookies.clear()
    return fault_and_app[1]


@pytest.fixture
def here(visitor: TestClient) -> Site:
    site = visitor.app.state.site  # type: ignore[attr-defined]
    assert isinstance(site, Site)
    return site


@pytest.fixture
def token(here: Site) -> str:
    with open_session(here.engine) as session:
        return create_token(session, secrets.token_hex(8))


def page(client: TestClient, _: str) -> list[Response]:
    return [client.get(path) for path in (f"/exercises/{NUMERIC}", "/", "/chapters/memory")]


def answers(client: TestClient, _: str) -> list[Response]:
    address = f"/exercises/{NUMERIC}"
    posts = [{"answer": "70 ms"}, {"action": "hint"}, {"action": "solution"}, {"answer": "1"}]
    return [client.post(address, data=data) for data in posts] + [client.get(address)]


def program(client: TestClient, _: str) -> list[Response]:
    address = f"/exercises/{FUNCTION}"
    posts = [{"answer": RIGHT, "action": action} for action in ("run", "check")]
    return [client.post(address, data=data) for data in posts]


def checks(client: TestClient, token: str) -> list[Response]:
    headers = {"Authorization": f"Bearer {token}"}
    bodies = [{"exercise": NUMERIC, "answer": "70 ms"}, {"exercise": FUNCTION, "answer": RIGHT}]
    return [client.post("/api/v1/check", json=body, headers=headers) for body in bodies]


def progress(client: TestClient, _: str) -> list[Response]:
    client.post(f"/exercises/{NUMERIC}", data={"answer": "70 ms"})
    pages = [client.get(f"/progress{path}") for path in ("", "/export")]
    return [*pages, client.post("/progress/delete", data={"sure": "yes"}), client.get("/progress")]


def take(client: TestClient, _: str) -> list[Response]:
    files = {"file": ("wallclock.json", FILE, "application/json")}
    return [client.post("/progress/import", files=files), client.get("/progress")]


def queue(client: TestClient, _: str) -> list[Response]:
    asked = client.post("/labs/ring-bytes", data=RUN)
    if asked.status_code != 303:
        return [asked, client.get("/labs"), client.get("/labs/ring-bytes")]
    run = asked.headers["location"]
    return [asked, client.get(run), client.post(f"{run}/cancel"), client.get(run)]


def health(client: TestClient, _: str) -> list[Response]:
    return [client.get(path) for path in ("/livez", "/readyz", "/healthz")]


JOURNEYS = [
    page,
    answers,
    program,
    checks,
    progress,
    take,
    pytest.param(queue, marks=pytest.mark.needs("torch")),
    health,
]


def assert_told(answer: Response) -> None:
    """It worked, or it says in words that something is out of order; no fault of ours."""
    assert answer.status_code in (200, 303, 503), (answer.request.url, answer.text[:2000])
    assert "Traceback" not in answer.text
    if answer.status_code == 503 and answer.request.url.path.startswith(("/api", "/livez", "/r")):
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["detail"]


@pytest.mark.parametrize("journey", JOURNEYS)
def test_every_statement_of_a_journey_may_fail(
    visitor: TestClient,
    here: Site,
    token: str,
    journey: Callable[[TestClient, str], list[Response]],
    caplog: pytest.LogCaptureFixture,
) -> None:
    number, met = 0, True
    while met:
        number += 1
        visitor.cookies.clear()
        visitor.post(f"/exercises/{NUMERIC}", data={"answer": "35"})  # somebody who is known
        with failing(here.engine, number) as failed:
            for answer in journey(visitor, token):
                assert_told(answer)
            met = failed()
        assert journey is health or all(answer.status_code in (200, 303) for answer in page(visitor, token))
    assert number > 1
    visitor.cookies.clear()
    assert {answer.status_code for answer in journey(visitor, token)} <= {200, 303}
    assert not [record for record in caplog.records if record.exc_info]


@pytest.mark.parametrize("operation", ["spawn", "write", "broken write", "read"])
@pytest.mark.parametrize("journey", [program, checks])
def test_every_operation_of_a_worker_may_fail(
    visitor: TestClient,
    fault: Fault,
    token: str,
    operation: str,
    journey: Callable[[TestClient, str], list[Response]],
    caplog: pytest.LogCaptureFixture,
) -> None:
    number, met = 0, True
    while met:
        number += 1
        with fault.at(operation, number):
            for answer in journey(visitor, token):
                assert_told(answer)
            met = fault.met
        assert {answer.status_code for answer in journey(visitor, token)} == {200}
        until_ready(visitor)
    assert not [record for record in caplog.records if record.exc_info]
