"""Health checks: liveness, readiness, and the state of the sandbox.

The process answers (`/livez`), the database can be used (`/readyz`), and programs can be run (a
field of `/readyz`). A site of which only the sandbox is off still serves pages and checks numbers,
so a load balancer should not drop it.
"""

import asyncio
from typing import Literal

from pydantic import BaseModel

from app.core.errors import UnavailableError
from app.server.db.migrations import probe
from app.server.db.outage import impatient
from app.server.network.routes import Router
from app.site import Here
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
