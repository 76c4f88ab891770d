"""Grade a file of answers offline, with results in the order of the answers."""

import asyncio
import os
from collections import deque
from collections.abc import AsyncIterator, Iterable, Iterator
from dataclasses import dataclass, field

from app.core.errors import AnswerError, AppError
from app.core.line_reader import Numbered
from app.course.content.catalog import Catalog
from app.course.kinds import Exercise
from app.course.sandbox.runner import Runner
from app.server.config import Settings
from app.site.grading.verdicts import (
    CheckResult,
    Submission,
    check_result,
    error_row,
    read_submission,
    unreadable_result,
    verdict_row,
)

_WINDOW = 4096  # answers in flight, or finished and waiting for an earlier one
_BREATH = 2  # answers after which the event loop may serve the sandbox
_RUNS = 64  # programs that run, or wait for a slot, at once
_NAMED = 5  # disagreements that are printed
_LISTED = 1_000  # disagreements that are remembered
_COUNTS = ("correct", "incorrect", "unreadable", "errors", "expected", "unsaid", "disagreeing")


@dataclass(slots=True, kw_only=True)
class VerdictTally:
    """Counts of each verdict, and the lines where a different one was expected."""

    correct: int = 0
    incorrect: int = 0
    unreadable: int = 0
    errors: int = 0
    expected: int = 0
    unsaid: int = 0
    disagreeing: int = 0
    disagreements: list[int] = field(default_factory=list)  # the first ones, by line

    def __str__(self) -> str:
        return "\n".join([self._verdicts(), *self._expectations()])

    def _verdicts(self) -> str:
        return (
            f"{self.correct} correct, {self.incorrect} incorrect, {self.unreadable} unreadable, "
            f"{self.errors} {'line' if self.errors == 1 else 'lines'} with an error"
        )

    def _expectations(self) -> Iterator[str]:
        if self.expected:
            named = ", ".join(map(str, sorted(self.disagreements)[:_NAMED]))
            more = ", ..." if self.disagreeing > _NAMED else ""
            where = f" (lines {named}{more})" if named else ""
            yield f"{self.expected} expected, {self.disagreeing} disagree{where}"
        if self.unsaid:
            yield f"{self.unsaid} as expected, but without the sentence that was foreseen"

    @property
    def is_clean(self) -> bool:
        """Whether every line was graded as expected."""
        return not self.errors and not self.disagreeing

    def add(self, other: "VerdictTally") -> None:
        """Add the counts of *other* lines."""
        for name in _COUNTS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.disagreements = sorted(self.disagreements + other.disagreements)[:_LISTED]

    def count(self, number: int, row: CheckResult, submission: Submission) -> None:
        """Add the verdict on line *number*."""
        setattr(self, row.verdict, getattr(self, row.verdict) + 1)
        if submission.expect is None:
            return
        self.expected += 1
        if row.verdict != submission.expect:
            self.disagreeing += 1
            if len(self.disagreements) < _LISTED:
                self.disagreements.append(number)
        elif submission.says and not any(submission.says in says for says in row.feedback):
            self.unsaid += 1


def _is_done(row: asyncio.Task[bytes] | bytes) -> bool:
    return isinstance(row, bytes) or row.done()


async def _result(row: asyncio.Task[bytes] | bytes) -> bytes:
    return row if isinstance(row, bytes) else await row


class FileGrader:
    """Grades lines of files; its sandbox starts with the first program."""

    def __init__(self, catalog: Catalog, settings: Settings) -> None:
        self._catalog = catalog
        self._limit, self._longest = settings.answer_limit, settings.body_limit
        workers = settings.sandbox_workers or 2 * (os.cpu_count() or 1)  # overlaps starts and ends
        self._runner = Runner(settings.model_copy(update={"sandbox_workers": workers}))
        self._starting: asyncio.Task[None] | None = None
        self._runs = asyncio.Semaphore(_RUNS)
        self._tally = VerdictTally()

    async def grade(self, lines: Iterable[Numbered], tally: VerdictTally) -> AsyncIterator[bytes]:
        """The result rows of numbered *lines*, in their order, each counted in *tally*."""
        self._tally = tally
        running: deque[asyncio.Task[bytes] | bytes] = deque()
        for number, line in lines:
            if line is not None and not line.strip():
                continue
            if number % _BREATH == 0:
                await asyncio.sleep(0)
            running.append(await self._begin(number, line))
            while running and (len(running) >= _WINDOW or _is_done(running[0])):
                yield await _result(running.popleft())
        while running:
            yield await _result(running.popleft())

    async def _begin(self, number: int, line: bytes | None) -> asyncio.Task[bytes] | bytes:
        """The result row for *line*, or the task that makes it if the answer is a program."""
        try:
            submission = read_submission(line, self._longest)
            exercise = self._catalog.exercise(submission.exercise)
        except AppError as error:
            return self._error(number, line, error)
        if not exercise.runs_code:
            return await self._judge(number, line, submission, exercise)
        if self._starting is None:
            self._starting = asyncio.create_task(self._start())
        return asyncio.create_task(self._run(number, line, submission, exercise))

    async def close(self) -> None:
        """Stop the sandbox."""
        if self._starting is not None:
            await asyncio.wait([self._starting])
            await self._runner.close()

    async def _start(self) -> None:
        """Start the sandbox, while answers that do not need it are graded."""
        await self._runner.start()
        await self._runner.ready()

    async def _run(self, number: int, line: bytes | None, submission: Submission, exercise: Exercise) -> bytes:
        """The result row for an answer that runs in the sandbox."""
        if self._starting is not None:
            await self._starting
        async with self._runs:
            return await self._judge(number, line, submission, exercise)

    async def _judge(self, number: int, line: bytes | None, submission: Submission, exercise: Exercise) -> bytes:
        try:
            answer = submission.read(self._limit)
            verdict = await exercise.grade(submission.seed, answer, self._runner)
            row = check_result(submission, verdict)
        except AnswerError as error:
            row = unreadable_result(submission, error)
        except AppError as error:
            return self._error(number, line, error)
        self._tally.count(number, row, submission)
        return verdict_row(row)

    def _error(self, number: int, line: bytes | None, error: Exception) -> bytes:
        self._tally.errors += 1
        return error_row(number, line, error)
