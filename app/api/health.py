"""Whether this server can do its work: three things, told apart.

The process answers (`/livez`), the database can be used (`/readyz`), programs can be run (a word of
`/readyz`). A site whose sandbox alone is off still serves pages and checks numbers, so that no
balancer should drop it.
"""

from typing import Literal

from fastapi import APIRouter
from fastapi.concurrency import run_in_threadpool
from pydantic import BaseModel

from app.api.documents import responses
from app.db.health import probe
from app.site import Here

router = APIRouter(tags=["health"])


class Alive(BaseModel):
    """The answer of a process that answers."""

    status: Literal["ok"] = "ok"


class Health(Alive):
    """The answer of a server that can do its work; *sandbox* says whether it can run programs."""

    sandbox: Literal["ready", "off", "starting"]


@router.get("/livez", summary="Whether the process answers")
async def livez() -> Alive:
    """200 while it does; nothing else is looked at."""
    return Alive()


@router.get("/readyz", summary="Whether pages and checks work", responses=responses(503))
@router.get("/healthz", summary="The same as /readyz", responses=responses(503))
async def readyz(site: Here) -> Health:
    """200 when the database can be read and written, whether or not the sandbox can run programs.

    While the sandbox is off, checks of programs alone are answered 503.
    """
    await run_in_threadpool(probe, site.engine)
    return Health(sandbox=site.runner.health.state)
