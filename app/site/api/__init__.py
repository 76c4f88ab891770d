"""The JSON API for graders and scripts, under /api/v1, and the health checks."""

from starlette.routing import Route

from app.server.network.routes import LateModule
from app.site.api import checks, health
from app.site.api.documents import OWNED, describe_api, problem_for
from app.site.api.headers import token_name
from app.site.api.health import sample_queues

PARTS = (
    LateModule("app.site.api.checks", ("api",)),
    LateModule("app.site.api.exercises", ("api",)),
    LateModule("app.site.api.formulas", ("api",)),
    LateModule("app.site.api.documents", ("api",)),
    LateModule("app.site.api.health", ("livez", "readyz", "healthz", "metrics")),
)
DIRECT = {checks.ONE: Route(checks.ONE, checks.check_one, methods=["POST"])}  # what is called most
STREAMED = frozenset({checks.BATCH, checks.PREDICT})  # paths whose bodies are unlimited
HEALTH = health.PATHS

__all__ = [
    "DIRECT",
    "HEALTH",
    "OWNED",
    "PARTS",
    "STREAMED",
    "describe_api",
    "problem_for",
    "sample_queues",
    "token_name",
]
