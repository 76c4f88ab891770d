"""The sandbox as a server of its own: a fair queue and its workers behind HTTP."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from hmac import compare_digest
from importlib.metadata import version

from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from app.core.errors import UnavailableError
from app.course.sandbox import remote
from app.course.sandbox.pool import Pool
from app.course.sandbox.process import DiedError, StarvedError, WorkerLostError
from app.server import metrics
from app.server.config import Settings
from app.server.config.checks import is_within

_JSON = "application/json"
_KINDS: Mapping[type[WorkerLostError], str] = {DiedError: "died", StarvedError: "busy"}


def create_service(settings: Settings, state: Mapping[str, object]) -> Starlette:
    """The application of a sandbox server; *state* is what its connections need."""
    pool = Pool(settings)
    service = _Service(settings, pool)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[Mapping[str, object]]:
        pool.start()
        yield state
        await pool.close()

    return Starlette(
        lifespan=lifespan,
        routes=[
            Route("/livez", service.live),
            Route("/readyz", service.ready),
            Route("/metrics", service.metrics),
            Route(remote.STATE, service.state),
            Route(remote.RUN, service.run, methods=["POST"]),
        ],
    )


class _Service:
    """What a sandbox server answers."""

    def __init__(self, settings: Settings, pool: Pool) -> None:
        self._settings = settings
        self._pool = pool
        self._bearer = f"Bearer {settings.sandbox_token}".encode()

    async def live(self, _request: Request) -> Response:
        """The process answers."""
        return PlainTextResponse("ok\n")

    async def ready(self, _request: Request) -> Response:
        """Whether programs can run; the reason is in the log."""
        state = self._pool.health.state
        return JSONResponse({"sandbox": state}, 200 if state == "ready" else 503)

    async def metrics(self, request: Request) -> Response:
        """Every metric, for the addresses that the settings allow."""
        client = request.client.host if request.client else ""
        if not is_within(client, self._settings.metrics):
            return PlainTextResponse("WALLCLOCK_METRICS says who may read them\n", 403)
        metrics.SANDBOX_WAITING.set(self._pool.waiting)
        metrics.SANDBOX_BUSY.set(self._pool.busy)
        metrics.SANDBOX_WORKERS.set(len(self._pool.workers))
        return Response(metrics.exposition(), media_type=metrics.TYPE)

    async def state(self, request: Request) -> Response:
        """How it is, for web servers."""
        if not self._is_trusted(request):
            return _refusal(401, "this address needs the token of the sandbox")
        health = self._pool.health
        state = remote.SandboxState(
            protocol=remote.PROTOCOL,
            version=version("wallclock"),
            state=health.state,
            says=health.says,
            cause=health.cause,
            wall=self._settings.sandbox_wall,
            workers=len(self._pool.workers),
            busy=self._pool.busy,
            waiting=self._pool.waiting,
        )
        return Response(state.model_dump_json(), media_type=_JSON)

    async def run(self, request: Request) -> Response:
        """Run a program; the response begins at once, and ends with the reply."""
        if not self._is_trusted(request):
            return _refusal(401, "this address needs the token of the sandbox")
        body = await _body(request)
        if body is None:
            return _refusal(413, f"an order has at most {remote.ORDER_LIMIT} bytes")
        try:
            order = remote.SandboxOrder.model_validate(json.loads(body))
        except (ValidationError, ValueError, RecursionError):
            return _refusal(422, "the body is not the order of a web server of this version")
        if order.wall > self._settings.sandbox_wall:
            return _refusal(422, f"WALLCLOCK_SANDBOX_WALL is {self._settings.sandbox_wall:g} here")
        return StreamingResponse(self._spoken(order), media_type=_JSON)

    async def _spoken(self, order: remote.SandboxOrder) -> AsyncIterator[bytes]:
        running = asyncio.ensure_future(self._reply(order))
        try:
            while not (await asyncio.wait([running], timeout=remote.BEAT))[0]:
                yield b" "
            yield running.result()
        finally:
            running.cancel()  # of use only if the web server has gone

    async def _reply(self, order: remote.SandboxOrder) -> bytes:
        program = order.program.model_dump()
        try:
            client = order.client.client
            answer = await self._pool.ask(client, program, order.wall, long=order.long)
        except WorkerLostError as error:
            return json.dumps({"lost": _KINDS.get(type(error), "lost")}).encode()
        except UnavailableError as error:
            kind = "full" if self._pool.health.state == "ready" else "off"
            return json.dumps({kind: str(error)}).encode()
        return json.dumps({"answer": answer}).encode()

    def _is_trusted(self, request: Request) -> bool:
        given = request.headers.get("authorization", "").encode("latin-1")
        return compare_digest(given, self._bearer)


async def _body(request: Request) -> bytes | None:
    """The body of *request*; None if it is too large."""
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > remote.ORDER_LIMIT:
            return None
    return bytes(body)


def _refusal(status: int, says: str) -> Response:
    return JSONResponse({"detail": says}, status)
