"""The JSON API for graders and scripts, under /api/v1, and the health checks."""

from starlette.routing import Route

from app.server.network.routes import LateModule
from app.site.api import checks, health
from app.site.api.documents import OWNED as OWNED
from app.site.api.documents import describe_api as describe_api
from app.site.api.documents import problem_for as problem_for
from app.site.api.headers import token_name as token_name
from app.site.api.health import sample_queues as sample_queues

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
