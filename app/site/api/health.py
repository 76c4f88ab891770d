"""Health checks, and /metrics for Prometheus."""

import asyncio
from typing import Literal

from fastapi import Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import PlainTextResponse
from pydantic import BaseModel
from sqlmodel import col, func, select
from starlette.exceptions import HTTPException

from app.core.errors import UnavailableError
from app.server import metrics
from app.server.config.checks import is_within
from app.server.db.migrations import probe
from app.server.db.people import OutboxRow
from app.server.db.run_state import RunState
from app.server.db.session import impatient, open_session
from app.server.db.tables import LabRunRow
from app.server.network.routes import Router
from app.site import Here, Site
from app.site.api.documents import responses

router = Router(tags=["health"])

PATHS = frozenset({"/livez", "/readyz", "/healthz"})


class Liveness(BaseModel):
    """The process answers."""

    status: Literal["ok"] = "ok"


class Readiness(Liveness):
    """The server works; *sandbox* says whether it can run programs."""

    sandbox: Literal["ready", "off", "starting"]


@router.get("/livez", summary="Liveness: the process answers")
async def livez() -> Liveness:
    """Returns 200 while the process answers; nothing else is checked."""
    return Liveness()


@router.get("/readyz", summary="Readiness: pages and checks work", responses=responses(503))
@router.get("/healthz", summary="The same as /readyz", responses=responses(503), operation_id="healthz")
async def readyz(site: Here) -> Readiness:
    """Returns 200 if the database can be read and written, even if the sandbox is off.

    While the sandbox is off, only checks of programs return 503.
    """
    if site.draining.has_begun:
        raise UnavailableError("this server is stopping; send requests to another one")
    with impatient():
        await asyncio.to_thread(probe, site.engine)  # not in a thread that others may wait in
    return Readiness(sandbox=site.runner.health.state)


PATH = "/metrics"
_PAUSE = 5.0  # seconds between two looks at the queues of a process that shares its counts


@router.get(PATH, summary="Metrics for Prometheus", response_class=PlainTextResponse, responses=responses(403, 404))
async def read_metrics(request: Request, site: Here) -> Response:
    """Every metric, for the addresses that the settings allow."""
    allowed = site.settings.metrics
    if not allowed.strip():
        raise HTTPException(404, "metrics are off; WALLCLOCK_METRICS says who may read them")
    client = request.client.host if request.client else ""
    if not is_within(client, allowed):
        raise HTTPException(403, f"WALLCLOCK_METRICS does not allow {client or 'this address'}")
    measure_queues(site)
    await run_in_threadpool(_count, site)
    return Response(await run_in_threadpool(metrics.exposition), media_type=metrics.TYPE)


async def sample_queues(site: Site) -> None:
    """Look at the queues of this process at intervals, if another may answer for it."""
    while site.settings.metrics and metrics.is_shared():
        measure_queues(site)
        await asyncio.sleep(_PAUSE)


def measure_queues(site: Site) -> None:
    """Measure the queues of this process."""
    pool = site.runner.pool
    metrics.SANDBOX_WAITING.set(pool.waiting)
    metrics.SANDBOX_BUSY.set(pool.busy)
    metrics.SANDBOX_WORKERS.set(len(pool.workers))
    metrics.WRITER_WAITING.set(site.writer.waiting)


def _count(site: Site) -> None:
    """Measure the queues in the database."""
    with open_session(site.engine) as session:
        runs = dict(session.exec(select(LabRunRow.state, func.count()).group_by(col(LabRunRow.state))).all())
        due = select(func.count()).select_from(OutboxRow).where(col(OutboxRow.next).is_not(None))
        refused = (
            select(func.count()).select_from(OutboxRow).where(col(OutboxRow.next).is_(None), col(OutboxRow.said) != "")
        )
        metrics.LAB_RUNS_WAITING.set(runs.get(RunState.QUEUED, 0))
        metrics.LAB_RUNS_RUNNING.set(runs.get(RunState.RUNNING, 0))
        metrics.OUTBOX_WAITING.set(session.exec(due).one())
        metrics.OUTBOX_REFUSED.set(session.exec(refused).one())
