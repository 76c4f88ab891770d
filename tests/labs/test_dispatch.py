"""Runs that are asked for in the browser, from the queue to their end."""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from app.labs.machines.devices import join_sources
from app.main import create_app, create_site
from app.server.config import Settings
from app.server.db.lab_runs import claim_run, enqueue, lab_run
from app.server.db.migrations import migrate
from app.server.db.session import connect
from app.server.db.tables import LabRunRow, now
from app.site.labs.queue import Dispatcher
from tests.db.queue import run
from tests.labs.conftest import PATIENCE, is_alive
from tests.labs.gpus import TOO_OLD, known, listing, seen
from tests.waiting import wait_until

pytestmark = pytest.mark.slow(100)

RING = {"run.ranks": "2", "run.size": "1 MiB", "guess": "1 MiB"}
# A minute, and it is never awaited.
SLOW = {"run.ranks": "2", "run.sizes": "13MiB,14MiB,15MiB,16MiB", "run.bandwidth": "5 MB/s"}
SLOW |= {"guess": "1 s"}


def made(tmp_path: Path, **more: Any) -> Settings:
    return Settings(database=f"sqlite:///{tmp_path}/w.db", runs=tmp_path / "runs", sandbox_workers=1, **more)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the server that the tests share."""
    return tmp_path_factory.mktemp("shared")


@pytest.fixture(scope="module")
def _served(folder: Path) -> Iterator[TestClient]:
    """One server, and so one process with torch, for the tests that need no settings of their own."""
    with TestClient(create_app(made(folder)), follow_redirects=False) as opened:
        yield opened


@pytest.fixture
def client(_served: TestClient) -> TestClient:
    """A visitor whom that server has never seen; every test waits for the end of its runs."""
    _served.cookies.clear()
    return _served


def asked(client: TestClient, lab: str, **fields: str) -> str:
    answer = client.post(f"/labs/{lab}", data=fields)
    assert answer.status_code == 303, re.findall(r'role="alert">.*', answer.text)
    return str(answer.headers["location"])


def state(client: TestClient, page: str) -> str:
    found = re.search(r'id="run" data-state="(\w+)"', client.get(page).text)
    assert found
    return found[1]


def wait(client: TestClient, page: str, *states: str) -> str:
    wait_until(lambda: state(client, page) in states, PATIENCE)
    return state(client, page)


@pytest.mark.needs("torch")
def test_a_run_is_predicted_queued_followed_and_kept(client: TestClient, folder: Path, tmp_path: Path) -> None:
    first, second = asked(client, "algorithms", **SLOW), asked(client, "ring-bytes", **RING)
    wait(client, first, "running")
    assert "1 run is ahead of it" in client.get(second).text
    assert 'http-equiv="refresh"' in client.get(second).text  # without scripts
    fragment = client.get(second, headers={"X-Fragment": "1"}).text
    assert fragment.lstrip().startswith('<div id="run" data-state="queued" data-waits')
    client.post(f"{first}/cancel")
    assert wait(client, first, "cancelled", "done") == "cancelled"
    wait(client, second, "done")
    page = client.get(second).text
    assert "<td>1 MiB</td><td>1 MiB</td><td>1 MiB</td><td>1.000</td><td>1.000</td>" in page  # all three agree
    assert client.get(f"{second}/samples.json").json()["measures"]
    assert second in client.get("/labs/ring-bytes").text
    # What was found is in the database: another server has no folder of it.
    other = made(tmp_path).model_copy(update={"database": made(folder).database})
    with TestClient(create_app(other)) as again:
        assert state(again, second) == "done"
        assert state(again, first) == "cancelled"


@pytest.mark.needs("torch")
def test_a_run_keeps_why_it_takes_processors(
    client: TestClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known(monkeypatch, tmp_path, join_sources(seen(error=TOO_OLD), listing(), {}))
    run = asked(client, "all-reduce", **{"run.sizes": "4KiB", "guess": "1 ms"})
    assert wait(client, run, "done", "failed") == "done"
    why = "On processors, over gloo: torch 2.13.0, built for CUDA 13.0, cannot use this machine"
    assert why in client.get(run).text
    report = client.get(f"{run}/samples.json").json()
    assert report["notes"][0].startswith(why)
    assert (report["backend"], report["machine"]["gpus"]) == ("gloo", [])


@pytest.mark.needs("torch")
def test_somebody_elses_run_cannot_be_cancelled(client: TestClient) -> None:
    page = asked(client, "algorithms", **SLOW)
    own = dict(client.cookies)
    client.cookies.clear()
    assert client.post(f"{page}/cancel").status_code == 404
    assert "Cancel" not in client.get(page).text
    client.cookies.update(own)
    assert client.post(f"{page}/cancel").status_code == 303
    wait(client, page, "cancelled")


@pytest.mark.needs("torch")
@pytest.mark.parametrize(
    ("fields", "status", "says"),
    [
        ({"run.size": "9 TiB"}, 422, "Size must be from 1 KiB to 64 MiB, not 9 TiB"),
        ({"run.sise": "1 MiB"}, 422, "ring-bytes has no &#39;sise&#39;; did you mean &#39;size&#39;"),
        ({"run.ranks": "64"}, 422, "Ranks must be from 2 to 8, not 64"),
        ({"guess": "two"}, 422, "Your prediction: cannot read &#39;two&#39;"),
        ({"guess": "2 s"}, 422, "Your prediction: cannot read &#39;2 s&#39;: s given, B expected"),
    ],
)
def test_what_cannot_be_run_is_told_and_what_was_typed_stays(
    client: TestClient, fields: dict[str, str], status: int, says: str
) -> None:
    answer = client.post("/labs/ring-bytes", data={**RING, **fields})
    assert answer.status_code == status
    assert says.casefold() in answer.text.casefold()
    if "run.sise" not in fields:
        assert f'value="{next(iter(fields.values()))}"' in answer.text


@pytest.mark.needs("torch")
def test_strangers_of_one_address_fill_half_of_the_queue_at_most(tmp_path: Path) -> None:
    """Twenty requests without a cookie once filled all of it."""
    settings = made(tmp_path, lab_queue=6)
    app = create_app(settings)
    other = TestClient(app, client=("192.0.2.9", 1), follow_redirects=False)
    with TestClient(app, follow_redirects=False) as client:
        client.app.state.site.labs.close()  # type: ignore[attr-defined]  # nothing is started
        answers = []
        for _ in range(6):
            client.cookies.clear()
            answers.append(client.post("/labs/ring-bytes", data=RING))
        assert [one.status_code for one in answers] == [303, 303, 303, 503, 503, 503]
        assert "half of the queue is taken by runs from your" in answers[-1].text.casefold()
        assert other.post("/labs/ring-bytes", data=RING).status_code == 303


@pytest.mark.needs("torch")
def test_an_address_asks_for_so_many_runs_in_an_hour(tmp_path: Path) -> None:
    with TestClient(create_app(made(tmp_path, runs_allowed=2)), follow_redirects=False) as client:
        client.app.state.site.labs.close()  # type: ignore[attr-defined]
        answers = [client.post("/labs/ring-bytes", data=RING) for _ in range(3)]
        assert [one.status_code for one in answers] == [303, 303, 429]
        assert "retry-after" in answers[-1].headers


def test_a_page_of_another_site_starts_nothing(client: TestClient) -> None:
    headers = {"Origin": "https://elsewhere.example"}
    assert client.post("/labs/ring-bytes", data=RING, headers=headers).status_code == 403


def test_where_labs_are_switched_off_the_page_says_so(tmp_path: Path) -> None:
    with TestClient(create_app(made(tmp_path, lab_queue=0))) as client:
        assert "labs run from the command line only" in client.get("/labs/ring-bytes").text
        assert client.post("/labs/ring-bytes", data=RING).status_code == 503


def test_without_torch_the_page_says_how_to_get_it(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.labs.launch.local.find_spec", lambda _: None)
    page = client.get("/labs/ring-bytes").text
    assert "labs need torch: pip install &#39;wallclock[lab]&#39;" in page
    assert "recorded" in page
    asked = client.get("/labs/ring-bytes?ranks=12345").text
    assert "12345" not in asked.partition("<main")[2].partition("</main>")[0]  # the defaults are


@pytest.mark.needs("torch")
def test_a_run_that_cannot_start_has_failed_with_its_cause(client: TestClient, folder: Path) -> None:
    runs = folder / "runs"
    if runs.exists():
        runs.rename(folder / "away")
    runs.write_text("in the way of the folder")
    page = asked(client, "ring-bytes", **RING)
    wait(client, page, "failed")
    assert "the run cannot be stored" in client.get(page).text
    runs.unlink()
    assert wait(client, asked(client, "ring-bytes", **RING), "done") == "done"


@contextlib.contextmanager
def serve(settings: Settings) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    environment = {**os.environ, "WALLCLOCK_DATABASE": settings.database, "WALLCLOCK_RUNS": str(settings.runs)}
    command = [sys.executable, "-m", "app", "serve", "--port", "0"]
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as server:
        try:
            assert server.stderr
            found = re.search(r"http://\S+", server.stderr.readline())
            assert found
            yield server, found[0]
        finally:
            server.kill()


def children(parent: int) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = path.read_text().rpartition(")")[2].split()
            found += [int(path.parent.name)] if int(fields[1]) == parent else []
    return found


@pytest.mark.needs("torch")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_server_that_ends_leaves_no_process_and_the_next_finds_its_runs(
    tmp_path: Path, number: signal.Signals
) -> None:
    import httpx2

    settings = made(tmp_path)
    with serve(settings) as (server, address), httpx2.Client(base_url=address, timeout=PATIENCE) as browser:
        assert browser.get("/livez").status_code == 200
        pages = [browser.post("/labs/algorithms", data=SLOW).headers["location"] for _ in range(2)]
        folder = settings.runs / pages[0].rpartition("/")[2]
        wait_until(lambda: len(list(folder.glob("rank*.log"))) == 2, PATIENCE)
        leader = int((folder / "alive").read_text())
        pids = [leader, *children(leader)]
        assert len(pids) == 3
        assert "libtorch" in Path(f"/proc/{pids[-1]}/maps").read_text()
        assert "libtorch" not in Path(f"/proc/{server.pid}/maps").read_text()  # it forks no ranks
        server.send_signal(number)
        server.wait(timeout=PATIENCE)
    wait_until(lambda: not any(map(is_alive, pids)))
    site = create_site(settings)
    impatient = Dispatcher(settings, site.engine, beat=0.2, silent=1)
    with TestClient(create_app(settings, replace(site, labs=impatient))) as client:
        wait(client, pages[0], "lost")  # its server has been silent for a while
        wait(client, pages[1], "running")  # it had waited, and goes on waiting
        assert "its ranks were" in client.get(pages[0]).text


@pytest.mark.needs("torch")
def test_a_run_whose_learner_deletes_everything_is_ended(client: TestClient, folder: Path) -> None:
    page = asked(client, "algorithms", **SLOW)
    wait(client, page, "running")
    outcome = folder / "runs" / page.rpartition("/")[2] / "outcome.json"
    client.post("/progress/delete", data={"sure": "yes"})
    wait_until(outcome.exists, PATIENCE)
    assert json.loads(outcome.read_text())["state"] == "cancelled"


def stored(engine: Engine, name: str) -> LabRunRow:
    row = lab_run(engine, name)
    assert row
    return row


def test_a_run_that_never_began_is_lost_and_one_of_no_known_lab_fails(tmp_path: Path) -> None:
    settings = made(tmp_path)
    migrate(settings.database)
    engine = connect(settings.database)
    begun = run(host=socket.gethostname(), state="running", worker="dead")
    begun.beat = now() - timedelta(seconds=60)
    unknown = run(lab="gone", host=socket.gethostname(), pool="x")
    page, name = f"/labs/ring-bytes/{begun.name}", unknown.name
    for row in (begun, unknown):
        enqueue(engine, row, most=9)
    with TestClient(create_app(settings)) as client:
        wait(client, page, "lost")
        assert "the server stopped before it could start the run" in client.get(page).text
        wait_until(lambda: stored(engine, name).state not in ("queued", "running"), PATIENCE)
    found = stored(engine, name)
    assert found.state == "failed"
    assert "no lab is called 'gone'" in found.says
    assert claim_run(engine, socket.gethostname(), "x") is None
    engine.dispose()
