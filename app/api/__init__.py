"""The JSON API for graders and scripts, under /api/v1, and the health checks."""

from fastapi import FastAPI
from starlette.routing import Route

from app.api import chapters, checks, documents, exercises, formulas, health, metrics, parameters, people, predictions
from app.api.documents import describing
from app.api.headers import token_name
from app.api.metrics import sampling
from app.api.problems import OWNED, problem_for

PARTS = (checks, exercises, chapters, parameters, formulas, predictions, documents, *people.PARTS, health, metrics)


def install_api(app: FastAPI) -> None:
    """Install the routes, the one that is called most first, and the OpenAPI description.

    They are installed as they are: including a router builds each of its routes again, and FastAPI
    searches nested routers for as long as it takes to grade an answer.
    """
    app.router.routes.append(Route(checks.ONE, checks.check_one, methods=["POST"]))
    for part in PARTS:
        app.router.routes.extend(part.router.routes)
    app.openapi = describing(app)  # type: ignore[method-assign]


PRIVATE = "/api/v1/classes"  # how the paths begin of what is about persons
STREAMED = frozenset({checks.BATCH, predictions.PREDICT})  # paths whose bodies are unlimited
HEALTH = health.PATHS

__all__ = ["HEALTH", "OWNED", "PARTS", "PRIVATE", "STREAMED", "install_api", "problem_for", "sampling", "token_name"]
