"""The sandbox as a server of its own, and the pool of a web server whose workers are there."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict
from hashlib import blake2b
from hmac import compare_digest
from http import HTTPStatus
from importlib.metadata import version
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from app.core.errors import UnavailableError
from app.course.sandbox.pool import READY, STARTING, Pool, SandboxHealth, sandbox_off
from app.course.sandbox.process import SOURCE_LIMIT, DiedError, StarvedError, WorkerLostError
from app.server import metrics
from app.server.aside.fair_queue import Client
from app.server.config import Settings
from app.server.config.checks import is_within
from app.server.metrics import SANDBOX_SERVERS

if TYPE_CHECKING:
    import httpx2  # imported where it is used: most servers have workers of their own

STATE, RUN = "/state", "/run"
PROTOCOL = 1  # both ends must speak the same
ORDER_LIMIT = 8 << 20  # bytes
REPLY_LIMIT = 8 << 20  # bytes; twice what a worker process may answer
BEAT = 5.0  # seconds from one space to the next
SILENCE = 3 * BEAT  # seconds after which a server has vanished


class _Message(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ClientOf(_Message):
    """For whom a run is scheduled; its name is a digest."""

    name: Annotated[str, Field(min_length=1, max_length=64)]
    shared: bool
    limit: int | None


class WorkerProgram(_Message):
    """What a worker is asked."""

    source: Annotated[str, Field(max_length=SOURCE_LIMIT)]
    entry: Annotated[str, Field(max_length=SOURCE_LIMIT)]
    calls: list[list[object]]


class SandboxOrder(_Message):
    """A run that a web server asks for."""

    client: ClientOf
    program: WorkerProgram
    wall: Annotated[float, Field(gt=0)]
    long: bool


class SandboxState(_Message):
    """Whether a sandbox server can run programs, and what it is busy with."""

    protocol: int
    version: str
    state: Literal["starting", "ready", "off"]
    says: str
    cause: str
    wall: float
    workers: int
    busy: int
    waiting: int


class SandboxReply(_Message):
    """How a run went: one of these is set."""

    answer: dict[str, object] | None = None
    full: str = ""  # too many runs are waiting
    off: str = ""  # it cannot run programs now
    lost: Literal["", "died", "lost", "busy"] = ""


def write_order(client: Client, program: Mapping[str, object], wall: float, *, long: bool) -> bytes:
    """An order as it is sent; only a digest of the name of *client* is in it."""
    named = {**asdict(client), "name": blake2b(client.name.encode(), digest_size=16).hexdigest()}
    message = {"client": named, "program": program, "wall": wall, "long": long}
    return json.dumps(message).encode()


_LOOK = 1.0  # seconds from one look at a server to the next
_PROMPT = 3.0  # seconds within which a server connects, and says how it is
_ABSENCE = 15.0  # seconds for which runs wait until one of the servers is back
_PAUSE = 0.1  # seconds between two looks for a server that is ready
_TRIES = 4  # servers that may vanish while they run the same program
_LARGE = 32 << 10  # bytes of a reply, from which on it is parsed in another thread
_KINDS = {"died": DiedError, "busy": StarvedError, "lost": WorkerLostError}
_WORDS: Mapping[type[WorkerLostError], str] = {kind: word for word, kind in _KINDS.items()}
_LOST = "the server lost this run; please submit it again"
_WRONG_TOKEN = "it refuses the token: WALLCLOCK_SANDBOX_TOKEN must have the same value there"


class GoneError(Exception):
    """A sandbox server cannot be reached, or cannot run programs; another one may."""


class SandboxServer:
    """One sandbox server, as this process sees it."""

    def __init__(self, address: str, settings: Settings) -> None:
        self.address = address
        self.health = STARTING
        self.has_said = False
        self.in_flight = 0
        self._wall = settings.sandbox_wall
        self._token = settings.sandbox_token
        self._http: httpx2.AsyncClient | None = None

    def open(self) -> "httpx2.AsyncClient":
        """The connections to it."""
        import httpx2

        path = self.address.removeprefix("unix:") if self.address.startswith("unix:") else None
        self._http = httpx2.AsyncClient(
            base_url="http://sandbox" if path else self.address,
            headers={"Authorization": f"Bearer {self._token}"},
            transport=httpx2.AsyncHTTPTransport(
                uds=path, trust_env=False, limits=httpx2.Limits(max_connections=None, max_keepalive_connections=100)
            ),
            timeout=httpx2.Timeout(SILENCE, connect=_PROMPT, pool=None),
            trust_env=False,  # no proxy stands between
        )
        return self._http

    async def look(self) -> None:
        """Ask how it is."""
        try:
            self.health = self._judged(await self._sent("GET", STATE, b"", _PROMPT))
        except GoneError as error:
            self.health = sandbox_off(f"{self.address}: {error}")

    async def ask(self, order: bytes) -> dict[str, object]:
        """What its worker answers.

        Raises:
            GoneError: it vanished, or cannot run programs.
            LostError: its worker was lost.
            UnavailableError: too many runs are waiting there.
        """
        self.in_flight += 1
        try:
            reply = await self._sent("POST", RUN, order)
        finally:
            self.in_flight -= 1
        return await asyncio.to_thread(_answer_of, reply) if len(reply) > _LARGE else _answer_of(reply)

    def _judged(self, text: bytes) -> SandboxHealth:
        try:
            state = SandboxState.model_validate_json(text)
        except ValidationError as error:
            raise GoneError("it does not answer as a sandbox server of this version") from error
        if state.protocol != PROTOCOL:
            raise GoneError(f"it is of version {state.version}, which another protocol is for")
        if state.wall != self._wall:
            raise GoneError(
                f"its WALLCLOCK_SANDBOX_WALL is {state.wall:g}, and {self._wall:g} here; set both to the same value"
            )
        cause = f"{self.address}: {state.cause or state.says}" if state.state == "off" else ""
        return SandboxHealth(state.state, state.says, cause)

    async def _sent(self, method: str, path: str, content: bytes, timeout: float | None = None) -> bytes:
        """The body of its response, of bounded size."""
        import httpx2

        http = self._http or self.open()
        body = bytearray()
        try:
            async with asyncio.timeout(timeout), http.stream(method, path, content=content) as response:
                if response.status_code == HTTPStatus.UNAUTHORIZED:
                    raise GoneError(_WRONG_TOKEN)
                if response.status_code != HTTPStatus.OK:
                    raise GoneError(f"it answered with the status {response.status_code}")
                async for piece in response.aiter_raw():
                    body += piece
                    if len(body) > REPLY_LIMIT:
                        raise WorkerLostError
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError, TimeoutError) as error:
            raise GoneError(f"it cannot be reached: {error or type(error).__name__}") from error
        return bytes(body)


class RemotePool(Pool):
    """Sandbox servers; a learner's runs go to the same one while it is there.

    That one schedules them in its fair queue. A run on a server that vanishes goes to another, or
    waits a moment until one is back: it costs nobody a verdict.
    """

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self._servers = [SandboxServer(address, settings) for address in settings.sandbox_at]
        self._ready_at = float("-inf")

    @property
    def servers(self) -> Mapping[str, SandboxHealth]:
        """How each of the servers is, by its address."""
        return {server.address: server.health for server in self._servers}

    async def ask(self, client: Client, request: Mapping[str, object], wall: float, *, long: bool) -> dict[str, object]:
        """As of any pool."""
        await self.prepared()
        order = write_order(client, request, wall, long=long)
        for _ in range(_TRIES):
            server = await self._present(client)
            try:
                return await server.ask(order)
            except GoneError as error:
                server.health = sandbox_off(f"{server.address}: {error}")
        raise UnavailableError(_LOST)

    async def _supervise(self) -> None:
        """Look at every server for as long as this one runs."""
        async with AsyncExitStack() as stack:
            for server in self._servers:
                await stack.enter_async_context(server.open())
            async with asyncio.TaskGroup() as tasks:
                for server in self._servers:
                    tasks.create_task(self._follow(server))

    async def _follow(self, server: SandboxServer) -> None:
        while True:
            await server.look()
            server.has_said = True
            if all(one.has_said for one in self._servers) or server.health.state == "ready":
                self._note()
            await asyncio.sleep(_LOOK)

    def _note(self) -> None:
        """Note whether programs can run, which an absence of a moment does not change."""
        states = [server.health.state for server in self._servers]
        SANDBOX_SERVERS.set(states.count("ready"))
        if "ready" in states:
            self._ready_at = time.monotonic()
            self._become(READY)
        elif time.monotonic() - self._ready_at < _ABSENCE:
            return
        elif "starting" in states:
            self._health = STARTING  # not settled yet
        else:
            self._failed("; ".join(server.health.cause for server in self._servers))

    async def _present(self, client: Client) -> SandboxServer:
        """The server for *client*, waited for if all are absent at the moment.

        Raises:
            UnavailableError: none came back.
        """
        end = time.monotonic() + _ABSENCE
        while self._health.state == "ready":
            ready = [server for server in self._servers if server.health.state == "ready"]
            if ready:
                return _choice(client, ready)
            if time.monotonic() >= end:
                break
            await asyncio.sleep(_PAUSE)
        raise UnavailableError(sandbox_off("").says if self._health is READY else self._health.says)


def _choice(client: Client, servers: list[SandboxServer]) -> SandboxServer:
    """The least busy one for many people or requests; for a learner, always the same.

    Source:
        D. G. Thaler, C. V. Ravishankar, "Using name-based mappings to increase hit rates" (1998):
        the highest hash of name and server, so that few names move when a server comes or goes.
    """
    if client.shared:
        return min(servers, key=lambda server: server.in_flight)
    return max(servers, key=lambda server: blake2b(f"{client.name} {server.address}".encode()).digest())


def _answer_of(text: bytes) -> dict[str, object]:
    try:
        reply = SandboxReply.model_validate(json.loads(text))
    except (ValueError, RecursionError) as error:
        # An end that is missing: the server was killed or stopped amid its reply.
        raise GoneError("its reply is not complete") from error
    if reply.answer is not None:
        return reply.answer
    if reply.full:
        raise UnavailableError(reply.full)
    if reply.lost:
        raise _KINDS[reply.lost]
    raise GoneError(reply.off or "its reply is empty")


_JSON = "application/json"


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
            Route(STATE, service.state),
            Route(RUN, service.run, methods=["POST"]),
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
        state = SandboxState(
            protocol=PROTOCOL,
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
            return _refusal(413, f"an order has at most {ORDER_LIMIT} bytes")
        try:
            order = SandboxOrder.model_validate(json.loads(body))
        except (ValidationError, ValueError, RecursionError):
            return _refusal(422, "the body is not the order of a web server of this version")
        if order.wall > self._settings.sandbox_wall:
            return _refusal(422, f"WALLCLOCK_SANDBOX_WALL is {self._settings.sandbox_wall:g} here")
        return StreamingResponse(self._spoken(order), media_type=_JSON)

    async def _spoken(self, order: SandboxOrder) -> AsyncIterator[bytes]:
        running = asyncio.ensure_future(self._reply(order))
        try:
            while not (await asyncio.wait([running], timeout=BEAT))[0]:
                yield b" "
            yield running.result()
        finally:
            running.cancel()  # of use only if the web server has gone

    async def _reply(self, order: SandboxOrder) -> bytes:
        program = order.program.model_dump()
        try:
            client = Client(**order.client.model_dump())
            answer = await self._pool.ask(client, program, order.wall, long=order.long)
        except WorkerLostError as error:
            return json.dumps({"lost": _WORDS.get(type(error), "lost")}).encode()
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
        if len(body) > ORDER_LIMIT:
            return None
    return bytes(body)


def _refusal(status: int, says: str) -> Response:
    return JSONResponse({"detail": says}, status)
