"""The way into the sandbox."""

from collections.abc import Mapping, Sequence
from copy import copy
from secrets import token_hex

from app.course.sandbox import process
from app.course.sandbox.pool import FIRST_PAUSE, Pool, SandboxHealth
from app.course.sandbox.remote import RemotePool
from app.server.aside import aside
from app.server.aside.fair_queue import Client
from app.server.config import Settings
from app.server.metrics import SANDBOX_RUNS

_LARGE = 20_000  # characters of replies, from which on they are parsed in another thread
_SHORT = 0.1  # seconds of processor time, in which nearly every honest program finishes


class Runner:
    """Runs learner code in worker processes, or on sandbox servers; for *worker* and *pause*, see `Pool`."""

    def __init__(
        self,
        settings: Settings,
        worker: type[process.WorkerProcess] = process.WorkerProcess,
        pause: float = FIRST_PAUSE,
    ) -> None:
        self.pool = RemotePool(settings) if settings.sandbox_at else Pool(settings, worker, pause)
        self._wall = settings.sandbox_wall
        self._client: Client | None = None

    @property
    def health(self) -> SandboxHealth:
        """Whether code can run now."""
        return self.pool.health

    async def start(self) -> None:
        """Start preparing in the background; `health` says when it is done."""
        self.pool.start()

    async def ready(self) -> SandboxHealth:
        """Wait until the sandbox is ready, or off."""
        await self.pool.settled()
        return self.pool.health

    async def close(self) -> None:
        """Stop every worker."""
        await self.pool.close()

    def on_behalf_of(self, client: Client) -> "Runner":
        """The same runner, whose runs are scheduled as those of *client*."""
        runner = copy(self)
        runner._client = client
        return runner

    async def run(
        self, source: str, entry: str, calls: Sequence[Sequence[process.Plain]], learner: str = ""
    ) -> process.Execution:
        """Run *source*, then call its function *entry* with each of *calls*.

        Raises:
            AnswerError: *source* is too long, or not valid Unicode.
            UnavailableError: the sandbox is not ready, or too many runs are waiting.
        """
        request = process.request_of(source, entry, calls)
        client = self._client or Client(learner or f"run {token_hex(8)}")
        try:
            answer = await self._ask(client, request, min(_SHORT, self._wall), long=False)
            if answer.get("stopped") == "time" and self._wall > _SHORT:
                answer = await self._ask(client, request, self._wall, long=True)
        except process.WorkerLostError as error:
            reason: process.Reason = "busy" if isinstance(error, process.StarvedError) else "lost"
            SANDBOX_RUNS.labels(reason).inc()
            return process.Execution(None, "", (process.StoppedRun(reason),), self._wall)
        stopped, replies = answer.get("stopped"), answer.get("replies")
        SANDBOX_RUNS.labels(stopped if isinstance(stopped, str) else "finished").inc()
        texts = replies if isinstance(replies, list) else []
        if sum(len(text) for text in texts if isinstance(text, str)) > _LARGE:
            return await aside(process.execution_of, answer, len(calls))
        return process.execution_of(answer, len(calls))

    async def _ask(
        self, client: Client, request: Mapping[str, object], wall: float, *, long: bool
    ) -> dict[str, object]:
        try:
            return await self.pool.ask(client, request, wall, long=long)
        except process.DiedError:
            # Most likely something outside killed the worker. A program that kills it costs one
            # more.
            return await self.pool.ask(client, request, wall, long=long)
