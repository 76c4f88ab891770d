"""The JSON API for graders and scripts, under /api/v1, and the health checks."""

from collections.abc import Sequence
from types import ModuleType

from fastapi import FastAPI
from starlette.routing import Route

from app.site.api import checks, documents, exercises, formulas, health
from app.site.api.documents import OWNED, describe_api, problem_for
from app.site.api.headers import token_name
from app.site.api.health import sample_queues

PARTS = (checks, exercises, formulas, documents, health)


def install_api(app: FastAPI, further: Sequence[ModuleType] = ()) -> None:
    """Install the routes and those of *further* modules, and the description.

    They are installed as they are: including a router builds each of its routes again, and FastAPI
    searches nested routers for as long as it takes to grade an answer.
    """
    for part in (*PARTS, *further):
        app.router.routes.extend(part.router.routes)
    app.openapi = describe_api(app)  # type: ignore[method-assign]


DIRECT = {checks.ONE: Route(checks.ONE, checks.check_one, methods=["POST"])}  # what is called most
STREAMED = frozenset({checks.BATCH, formulas.PREDICT})  # paths whose bodies are unlimited
HEALTH = health.PATHS

__all__ = [
    "DIRECT",
    "HEALTH",
    "OWNED",
    "PARTS",
    "STREAMED",
    "install_api",
    "problem_for",
    "sample_queues",
    "token_name",
]
