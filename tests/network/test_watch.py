"""What the server tells its operator: metrics, the access log, and the ID of a fault."""

import json
import logging
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from prometheus_client.parser import text_string_to_metric_families
from pydantic import ValidationError

from app.core.folders import ROOT
from app.main import create_app
from app.server.config import Settings
from app.server.network.guard import GUARD, PEER, Guard, Limits
from app.server.network.watch import Lines, Objects, Watch, request_id
from tests.client import Client
from tests.each import each

NUMERIC = "/exercises/collectives/ring-all-reduce-time"
ALLOWED = "127.0.0.1,10.0.0.0/8,::1"
NAME = re.compile(r"wallclock_\w+")


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    folder = tmp_path_factory.mktemp("watched")
    settings = Settings(
        database=f"sqlite:///{folder / 'w.db'}",
        runs=folder / "runs",
        sandbox_workers=1,
        metrics=ALLOWED,
        access_log=True,
    )
    app = create_app(settings)

    @app.get("/labs/fault/{code}")
    async def fault(code: str) -> None:
        raise RuntimeError(f"a secret detail of {code}")

    app.router.routes.insert(0, app.router.routes.pop())
    with Client(app, raise_server_exceptions=False, follow_redirects=False) as client:
        yield client


@pytest.fixture
def client(watched: TestClient) -> TestClient:
    watched.cookies.clear()
    return watched


def value(client: TestClient, name: str, **labels: str) -> float:
    """The value of a sample; 0 if there is none."""
    found = [
        sample.value
        for family in text_string_to_metric_families(exposed(client))
        for sample in family.samples
        if sample.name == name and labels.items() <= sample.labels.items()
    ]
    return sum(found)


def exposed(client: TestClient, peer: str = "10.1.2.3") -> str:
    answer = answered(client, peer)
    assert answer[0] == 200, answer
    return answer[1]


def answered(client: TestClient, peer: str) -> tuple[int, str]:
    """The answer of /metrics to a client at the address *peer*."""
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    scope = {
        "type": "http", "method": "GET", "path": "/metrics", "query_string": b"", "headers": [],
        "client": (peer, 1), "server": ("testserver", 80), "scheme": "http", "root_path": "",
        "http_version": "1.1", "state": client.app_state.copy(),
    }  # fmt: skip
    assert client.portal
    client.portal.call(partial(client.app, scope, receive, send))  # type: ignore[call-arg, arg-type]
    return sent[0]["status"], b"".join(part.get("body", b"") for part in sent).decode()


def test_requests_are_counted_by_route_and_status(client: TestClient) -> None:
    labels = {"method": "GET", "route": "/exercises/{topic}/{slug}", "status": "200"}
    before = value(client, "wallclock_requests_total", **labels)
    client.get(NUMERIC)
    client.get("/exercises/collectives/bytes-sent-by-a-ring")
    assert value(client, "wallclock_requests_total", **labels) == before + 2
    timed = value(client, "wallclock_request_seconds_count", route=labels["route"])
    assert timed >= before + 2


def test_made_up_paths_and_methods_add_no_series(client: TestClient) -> None:
    client.get("/nothing/17")
    client.request("ODD", "/")
    before = len(exposed(client).splitlines())
    for number in range(30):
        client.get(f"/nothing/{number}")
        client.request(f"ODD{number}", "/")
    assert len(exposed(client).splitlines()) <= before + 2
    assert value(client, "wallclock_requests_total", route="none", status="404") >= 30


def test_made_up_methods_take_no_memory() -> None:
    watch = Watch(logs=False, secret="0123456789abcdef")
    for number in range(50):
        watch.note({}, f"ODD{number}", 405, 0.001)
    watch.note({}, "GET", 405, 0.001)
    assert len(watch._counters) == 1


@pytest.mark.parametrize(("text", "verdict"), [("70 ms", "correct"), ("1 s", "incorrect"), ("much", "unreadable")])  # fmt: skip
def test_verdicts_are_counted_by_kind(client: TestClient, text: str, verdict: str) -> None:
    labels = {"kind": "numeric", "verdict": verdict}
    before = value(client, "wallclock_verdicts_total", **labels)
    client.post(NUMERIC, data={"answer": right(client) if verdict == "correct" else text})
    assert value(client, "wallclock_verdicts_total", **labels) == before + 1


def right(client: TestClient) -> str:
    site = client.app.state.site  # type: ignore[attr-defined]
    answer = site.catalog.exercise("collectives/ring-all-reduce-time").right_answer(0)
    assert isinstance(answer, str)
    return answer


def test_stored_rows_are_counted_by_commit(client: TestClient) -> None:
    rows, commits = (value(client, f"wallclock_writer_rows_{name}") for name in ("sum", "count"))
    client.post(NUMERIC, data={"answer": "1 s"})
    assert value(client, "wallclock_writer_rows_sum") == rows + 1
    assert value(client, "wallclock_writer_rows_count") == commits + 1
    assert value(client, "wallclock_writer_waiting") == 0


@pytest.mark.parametrize(("peer", "status"), [("10.1.2.3", 200), ("::1", 200), ("11.0.0.1", 403), ("", 403), ("nonsense", 403)])  # fmt: skip
def test_only_the_addresses_that_are_allowed_may_read(client: TestClient, peer: str, status: int) -> None:
    code, text = answered(client, peer)
    assert code == status
    assert ("wallclock_requests_total" in text) == (status == 200)


def test_a_wrong_network_is_refused() -> None:
    with pytest.raises(ValidationError, match="'monitoring' is neither an address such as"):
        Settings(metrics="10.0.0.1, monitoring")


def test_every_metric_of_the_dashboard_exists(client: TestClient) -> None:
    dashboard = json.loads((ROOT / "deploy/grafana/wallclock.json").read_text())
    asked = [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", ())]
    assert len(asked) >= 12
    known = {
        name
        for family in text_string_to_metric_families(exposed(client))
        for name in (family.name, *(sample.name for sample in family.samples))
    }
    exist = known | {f"{name}_total" for name in known} | {f"{name}_bucket" for name in known}
    assert {name for one in asked for name in NAME.findall(one)} - exist == set()
    drawn = {name for one in asked for name in NAME.findall(one)}
    for name in known:
        if name.startswith("wallclock_") and not name.endswith(("_sum", "_count", "_created")):
            ends = (name, f"{name}_total", f"{name}_bucket", f"{name}_count")
            assert drawn & set(ends), f"{name} is not on the dashboard"


def test_several_processes_add_up(tmp_path: Path) -> None:
    """Each process counts three requests; one that was killed has still counted them."""
    counting = (
        "from app.server import metrics; metrics.REQUESTS.labels('GET', '/', 200).inc(3);"
        "metrics.SANDBOX_WAITING.set(5); import os, sys;"
        "print(metrics.exposition().decode()) if len(sys.argv) > 1 else os.kill(os.getpid(), 9)"
    )
    environment = {**os.environ, "PROMETHEUS_MULTIPROC_DIR": str(tmp_path)}
    texts = [
        subprocess.run(
            [sys.executable, "-c", counting, *last], env=environment, stdout=subprocess.PIPE,
            text=True, check=False, cwd=ROOT,
        ).stdout
        for last in ((), ("last",))
    ]  # fmt: skip
    assert 'wallclock_requests_total{method="GET",route="/",status="200"} 6.0' in texts[1]
    assert "wallclock_sandbox_waiting 5.0" in texts[1], "what waited in the killed one is gone"


def logged(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    found = [record for record in caplog.records if record.name == "app.access"]
    return [json.loads(Objects().format(record)) for record in found]


def test_the_access_log_holds_no_answer_and_no_secret(client: TestClient, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "app.access")
    client.post(NUMERIC, data={"answer": "27.18281 s"})
    client.get("/join/s3cr3t-code")
    client.get("/search?q=private+words")
    client.get("/sign-in/back?code=s3cr3t-code&state=x")
    client.get("/joint/s3cr3t-code")
    client.get("/measured/s3cr3t-code")
    client.get("/labs/algorithms/s3cr3t-code")
    texts = [line for record in caplog.records for line in (Lines().format(record), Objects().format(record))]  # fmt: skip
    cookie = client.cookies["learner"]
    for secret in ("27.18281", "s3cr3t", "private", cookie, cookie.partition(".")[0]):
        assert not [text for text in texts if secret in text]
    posted, *_ = logged(caplog)
    assert (posted["method"], posted["path"], posted["status"]) == ("POST", NUMERIC, 200)
    assert posted["milliseconds"] > 0
    assert re.fullmatch(r"[0-9a-f]{16}", posted["request"])
    paths = {one["path"] for one in logged(caplog)}
    assert {"/join/{code}", "/measured/{name}", "/labs/algorithms/{run}", "/joint/..."} <= paths


def test_the_access_log_tells_learners_apart_by_digest(client: TestClient, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "app.access")
    client.post(NUMERIC, data={"answer": "1 s"})
    client.get(NUMERIC)
    client.get(NUMERIC)
    client.cookies.clear()
    client.get(NUMERIC)
    learners = [one["learner"] for one in logged(caplog)]
    assert re.fullmatch(r"[0-9a-f]{12}", learners[1])
    assert learners[1] == learners[2]
    assert learners[3] == ""


def test_a_fault_has_an_id_on_the_page_in_the_header_and_in_one_line_of_the_log(
    client: TestClient, caplog: pytest.LogCaptureFixture
) -> None:
    answer = client.get("/labs/fault/s3cr3t-code")
    number = answer.headers["x-request-id"]
    assert answer.status_code == 500
    assert f"under request {number}" in answer.text
    errors = [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert len(errors) == 1
    first = Lines().format(errors[0]).splitlines()[0]
    assert f"request {number} failed: GET /labs/fault/{{code}}: RuntimeError: a secret" in first
    entry = json.loads(Objects().format(errors[0]))
    assert (entry["request"], entry["level"]) == (number, "ERROR")
    assert "RuntimeError" in entry["traceback"]
    assert "\n" not in Objects().format(errors[0])


@each(
    ("peer", "given", "honored"),
    [
        ("127.0.0.1", b"4f2a-77.proxy_1", True),
        ("192.0.2.9", b"4f2a-77.proxy_1", False),
        ("127.0.0.1", b"short", False),
        ("127.0.0.1", b"with spaces in it", False),
        ("127.0.0.1", b"x" * 65, False),
        ("127.0.0.1", b"forged\x1b[2Jaaaa", False),
    ],
)
def test_the_id_of_a_trusted_proxy_is_honored(peer: str, given: bytes, honored: bool) -> None:
    guard = Guard(Limits.of(Settings()))
    scope = {"state": {GUARD: guard, PEER: peer}, "headers": [(b"x-request-id", given)]}
    found = request_id(scope)
    assert (found == given.decode("latin-1")) is honored
    assert request_id(scope) == found
