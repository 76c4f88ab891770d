"""What is measured at /metrics of the queues in the database, who may read it, and when a process is ready."""

import asyncio
from dataclasses import replace

import pytest
from sqlmodel import delete
from starlette.exceptions import HTTPException
from starlette.requests import Request

from app.core.errors import UnavailableError
from app.server.aside import run_beside
from app.server.db.people import OutboxRow
from app.server.db.run_state import RunState
from app.server.db.session import open_writing_session
from app.server.db.tables import LabRunRow
from app.server.network.drain import DrainState
from app.site import Site
from app.site.api.health import read_metrics, readyz, sample_queues
from tests.db.queue import run
from tests.each import each


def read(site: Site, allowed: str, peer: str | None = "10.0.0.7") -> str:
    settings = site.settings.model_copy(update={"metrics": allowed})
    client = (peer, 1) if peer is not None else None
    request = Request({"type": "http", "method": "GET", "headers": [], "client": client})
    return bytes(asyncio.run(read_metrics(request, replace(site, settings=settings))).body).decode()


@each(
    ("allowed", "peer", "status", "says"),
    [
        ("", "10.0.0.7", 404, "metrics are off"),
        (" ", "10.0.0.7", 404, "metrics are off"),
        ("10.0.0.8", "10.0.0.7", 403, "does not allow 10.0.0.7"),
        ("10.0.0.8", None, 403, "does not allow this address"),
    ],
)
def test_metrics_are_read_by_those_who_may(site: Site, allowed: str, peer: str | None, status: int, says: str) -> None:
    with pytest.raises(HTTPException, match=says) as refused:
        read(site, allowed, peer)
    assert refused.value.status_code == status


def test_runs_that_wait_and_that_run_are_counted_apart(site: Site) -> None:
    states = [RunState.QUEUED] * 3 + [RunState.RUNNING] * 2 + [RunState.DONE]
    with open_writing_session(site.engine) as session:
        session.connection().execute(delete(LabRunRow))
        session.connection().execute(delete(OutboxRow))
        session.add_all(run(state=state, pool=f"p{at}", host="elsewhere") for at, state in enumerate(states))
        session.commit()
    lines = read(site, "10.0.0.0/8").splitlines()
    assert "wallclock_lab_runs_waiting 3.0" in lines
    assert "wallclock_lab_runs_running 2.0" in lines
    assert "wallclock_outbox_waiting 0.0" in lines
    assert f"wallclock_sandbox_workers {float(len(site.runner.pool.workers))}" in lines
    with open_writing_session(site.engine) as session:
        session.connection().execute(delete(LabRunRow))
        session.commit()
    assert "wallclock_lab_runs_waiting 0.0" in read(site, "10.0.0.0/8").splitlines()


def test_a_server_that_stops_is_not_ready(site: Site) -> None:
    assert asyncio.run(readyz(site)).status == "ok"
    draining = DrainState(1)
    draining.has_begun = True
    with pytest.raises(UnavailableError, match="stopping"):
        asyncio.run(readyz(replace(site, draining=draining)))


def test_queues_are_sampled_only_where_another_process_may_answer(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    async def tasks(allowed: str) -> int:
        settings = site.settings.model_copy(update={"metrics": allowed})
        async with run_beside(sample_queues(replace(site, settings=settings))):
            await asyncio.sleep(0)
            return len(asyncio.all_tasks())

    monkeypatch.delenv("PROMETHEUS_MULTIPROC_DIR", raising=False)
    assert [asyncio.run(tasks(allowed)) for allowed in ("", "10.0.0.7")] == [1, 1]
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", "/nowhere")
    assert [asyncio.run(tasks(allowed)) for allowed in ("", "10.0.0.7")] == [1, 2]
