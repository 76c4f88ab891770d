"""Whether this server can do its work."""

from fastapi import APIRouter
from fastapi.concurrency import run_in_threadpool
from pydantic import BaseModel

from app.api.documents import responses
from app.db.health import probe
from app.errors import UnavailableError
from app.site import Here

router = APIRouter()


class Health(BaseModel):
    """The answer of a healthy server; *sandbox* says whether it is still being prepared."""

    status: str = "ok"
    sandbox: str = "ready"


@router.get("/healthz", summary="Whether the server can do its work", responses=responses(503))
async def healthz(site: Here) -> Health:
    """200 when the database can be written and the sandbox runs code or is being prepared."""
    await run_in_threadpool(probe, site.engine)
    if site.runner.health.state == "off":
        raise UnavailableError(site.runner.health.says)
    return Health(sandbox=site.runner.health.state)
