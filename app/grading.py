"""Answers from a file, graded offline: verdicts in the order of the answers."""

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass

from app.catalog import Catalog
from app.config import Settings
from app.errors import AnswerError, AppError
from app.kinds import Exercise
from app.sandbox.runner import Runner
from app.verdicts import Judged, Submission, error_row, judged, unreadable, verdict_row

_WINDOW = 512  # answers that are graded at once, or wait for one that is


@dataclass(slots=True)
class Tally:
    """How many answers got which verdict."""

    correct: int = 0
    incorrect: int = 0
    unreadable: int = 0
    errors: int = 0

    def __str__(self) -> str:
        return (
            f"{self.correct} correct, {self.incorrect} incorrect, {self.unreadable} unreadable, "
            f"{self.errors} {'line' if self.errors == 1 else 'lines'} with an error"
        )


async def grade(
    lines: Iterable[bytes], catalog: Catalog, settings: Settings, tally: Tally
) -> AsyncIterator[bytes]:
    """A line of JSON for each of *lines*; a bad one gets an error row.

    Functions run in the sandbox on all cores, beside the rest.
    """
    grader = _Grader(catalog, settings, tally)
    running: deque[asyncio.Task[bytes] | bytes] = deque()
    try:
        for number, line in enumerate(lines, 1):
            running.append(await grader.begin(number, line))
            while running and (len(running) >= _WINDOW or _is_done(running[0])):
                yield await _result(running.popleft())
        while running:
            yield await _result(running.popleft())
    finally:
        await grader.close()


def _is_done(row: asyncio.Task[bytes] | bytes) -> bool:
    return isinstance(row, bytes) or row.done()


async def _result(row: asyncio.Task[bytes] | bytes) -> bytes:
    return row if isinstance(row, bytes) else await row


class _Grader:
    def __init__(self, catalog: Catalog, settings: Settings, tally: Tally) -> None:
        self._catalog = catalog
        self._limit = settings.answer_limit
        self._tally = tally
        self._runner = Runner(settings)
        self._started = False

    async def begin(self, number: int, line: bytes) -> asyncio.Task[bytes] | bytes:
        """The row for *line*, or the task that makes it where it runs code."""
        try:
            submission = Submission.model_validate(json.loads(line))
            exercise = self._catalog.exercise(submission.exercise)
        except (ValueError, RecursionError, AppError) as error:
            return self._error(number, line, error)
        judging = self._judge(number, line, submission, exercise)
        if exercise.kind != "function":
            return await judging
        await self._start()
        return asyncio.create_task(judging)

    async def close(self) -> None:
        """End the sandbox."""
        if self._started:
            await self._runner.close()

    async def _start(self) -> None:
        """Start the sandbox when the first function comes."""
        if not self._started:
            self._started = True
            await self._runner.start()
            await self._runner.ready()

    async def _judge(
        self, number: int, line: bytes, submission: Submission, exercise: Exercise
    ) -> bytes:
        try:
            answer = submission.read(self._limit)
            verdict = await exercise.grade(submission.seed, answer, self._runner)
            row = judged(submission, verdict)
        except AnswerError as error:
            row = unreadable(submission, error)
        except AppError as error:
            return self._error(number, line, error)
        self._count(row)
        return verdict_row(row)

    def _count(self, row: Judged) -> None:
        setattr(self._tally, row.verdict, getattr(self._tally, row.verdict) + 1)

    def _error(self, number: int, line: bytes, error: Exception) -> bytes:
        self._tally.errors += 1
        return error_row(number, line, error)
