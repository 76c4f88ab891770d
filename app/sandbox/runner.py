"""The way into the sandbox."""

import asyncio
from collections.abc import Mapping, Sequence
from copy import copy
from itertools import count

from app.config import Settings
from app.sandbox.fair_queue import Turn
from app.sandbox.health import Health
from app.sandbox.pool import Pool
from app.sandbox.process import DiedError, LostError, WorkerProcess
from app.sandbox.replies import report_of
from app.sandbox.report import Plain, Report, Stopped
from app.sandbox.submission import request_of

_LARGE = 20_000  # characters of replies that are read in another thread
_SHORT = 0.1  # seconds of the processor, in which nearly every honest program ends
_numbers = count()


class Runner:
    """Runs learner code in worker processes; see `run`."""

    def __init__(self, settings: Settings, worker: type[WorkerProcess] = WorkerProcess) -> None:
        self.pool = Pool(settings, worker)
        self._wall = settings.sandbox_wall
        self._turn: Turn | None = None

    @property
    def health(self) -> Health:
        """Whether code can run now."""
        return self.pool.health

    async def start(self) -> None:
        """Begin to prepare; `health` tells when it is done."""
        self.pool.start()

    async def ready(self) -> Health:
        """Wait until the sandbox is ready, or off."""
        await self.pool.settled()
        return self.pool.health

    async def close(self) -> None:
        """End every worker."""
        await self.pool.close()

    def taking(self, turn: Turn) -> "Runner":
        """The same runner for one visitor: all that it runs takes *turn*."""
        runner = copy(self)
        runner._turn = turn
        return runner

    async def run(
        self, source: str, entry: str, calls: Sequence[Sequence[Plain]], learner: str = ""
    ) -> Report:
        """What *source* does, and what its function *entry* returns for each of *calls*.

        Raises:
            AnswerError: *source* is too long, or no text.
            UnavailableError: the sandbox is not ready, or too many runs wait.
        """
        request = request_of(source, entry, calls)
        turn = self._turn or Turn(learner or f"run {next(_numbers)}")
        try:
            answer = await self._answer(turn, request)
        except LostError:
            return Report(None, "", (Stopped("lost"),), self._wall)
        if _length(answer) > _LARGE:
            return await asyncio.to_thread(report_of, answer, len(calls))
        return report_of(answer, len(calls))

    async def _answer(self, turn: Turn, request: Mapping[str, object]) -> dict[str, object]:
        answer = await self._asked(turn, request, min(_SHORT, self._wall), long=False)
        if answer.get("stopped") == "time" and self._wall > _SHORT:
            return await self._asked(turn, request, self._wall, long=True)
        return answer

    async def _asked(
        self, turn: Turn, request: Mapping[str, object], wall: float, *, long: bool
    ) -> dict[str, object]:
        try:
            return await self.pool.ask(turn, request, wall, long=long)
        except DiedError:
            # Most likely somebody killed the worker. A program that kills it costs one more.
            return await self.pool.ask(turn, request, wall, long=long)


def _length(answer: Mapping[str, object]) -> int:
    replies = answer.get("replies")
    texts = replies if isinstance(replies, list) else []
    return sum(len(text) for text in texts if isinstance(text, str))
