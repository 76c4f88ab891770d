"""The JSON interface for graders and scripts, under /api/v1, and /healthz."""

from fastapi import APIRouter, FastAPI

from app.api import checks, exercises, formulas, health
from app.api.limits import BodyLimit
from app.api.problems import owns, problem_for

router = APIRouter()
for part in (checks, exercises, formulas, health):
    router.include_router(part.router)


def install(app: FastAPI) -> None:
    """Refuse bodies that are too large, at every address."""
    limit = app.state.site.settings.body_limit
    app.add_middleware(BodyLimit, limit=limit, streamed=frozenset({checks.BATCH}))


__all__ = ["install", "owns", "problem_for", "router"]
