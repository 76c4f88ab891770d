"""Grade a file of answers offline, in the format of HTTP, with results in their order."""

import asyncio
import json
import os
from codecs import BOM_UTF8
from collections import deque
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from io import BytesIO
from itertools import chain
from typing import Annotated, BinaryIO, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictInt, StrictStr, ValidationError

from app.core.errors import AnswerError, AppError, InputError
from app.core.line_reader import Numbered, short_line, short_lines
from app.core.quotation import escape_markdown, shorten
from app.core.validation import first_problem
from app.course.content.catalog import Catalog
from app.course.kinds import SEEDS, Answer, Exercise, Verdict
from app.course.kinds.base import refuse_longer, stored_answer
from app.course.sandbox.runner import Runner
from app.server.config import Settings


def _whole_json_number(value: object) -> object:
    """Accept 7.0, which is an integer in JSON."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _digits(value: object) -> object:
    """Accept the number of a person as it is sent: 4711 is "4711"."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


# A person as programs call them: by the id in other systems, or by number.
PersonKey = Annotated[StrictStr, Field(max_length=255), BeforeValidator(_digits)]
Expectation = Literal["correct", "incorrect"]
VerdictWord = Literal["correct", "incorrect", "unreadable"]
FiniteNumber = Annotated[float, Field(strict=True, allow_inf_nan=False)]


class Submission(BaseModel):
    """One answer to one exercise."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"exercise": "collectives/ring-all-reduce-time", "seed": 7, "answer": "70 ms"}]
        },
    )

    exercise: StrictStr = Field(max_length=200)
    seed: Annotated[StrictInt, BeforeValidator(_whole_json_number), Field(ge=0, lt=SEEDS)] = 0
    answer: StrictStr | StrictInt | FiniteNumber | list[StrictStr] | dict[str, StrictStr | FiniteNumber]
    ref: StrictStr | StrictInt | None = Field(default=None, description="copied to the result")
    learner: Annotated[StrictStr, Field(min_length=1, max_length=255), BeforeValidator(_digits)] | None = Field(
        default=None,
        description="whose answer it is, copied to the result: with a token of a class, the id of "
        "a member in other systems, or their number; with others, any name",
    )
    expect: Expectation | None = Field(default=None, description="the verdict that is expected, copied to the result")
    says: StrictStr | None = Field(
        default=None, description="a sentence that is expected in the feedback; `grade` compares it"
    )

    def read(self, limit: int) -> Answer:
        """The answer in the form that exercises accept.

        Raises:
            TooLongError: it has more than *limit* characters.
        """
        answer: Answer
        if isinstance(self.answer, list):
            answer = self.answer
        elif isinstance(self.answer, dict):
            answer = {name: _text(value) for name, value in self.answer.items()}
        else:
            answer = _text(self.answer)
        refuse_longer(answer, limit)
        return answer


class CheckResult(BaseModel):
    """The verdict on an answer, with feedback in Markdown."""

    exercise: str
    seed: int
    verdict: VerdictWord
    score: float = Field(ge=0, le=1)
    feedback: list[str]
    ref: str | int | None = None
    learner: str | None = None
    expect: Expectation | None = None


def read_submission(line: bytes | None, limit: int) -> Submission:
    """The submission in a *line*; it is None if it has more than *limit* bytes.

    Raises:
        InputError: it is too long, not JSON, or not a valid submission.
    """
    if line is None:
        raise InputError(f"the line is too long: at most {limit:,} bytes are read")
    try:
        return Submission.model_validate_json(line.removeprefix(BOM_UTF8))
    except ValidationError as error:
        raise InputError(first_problem(error.errors(include_url=False), Submission)) from None


def check_result(submission: Submission, verdict: Verdict) -> CheckResult:
    """The result for *submission*."""
    return _result_of(submission, "correct" if verdict.correct else "incorrect", verdict.score, verdict.feedback)


def unreadable_result(submission: Submission, error: AnswerError) -> CheckResult:
    """The result for an answer that cannot be parsed."""
    return _result_of(submission, "unreadable", 0.0, [escape_markdown(str(error))])  # it quotes the answer


def _result_of(submission: Submission, verdict: VerdictWord, score: float, feedback: Iterable[str]) -> CheckResult:
    return CheckResult(
        exercise=submission.exercise,
        seed=submission.seed,
        verdict=verdict,
        score=score,
        feedback=list(feedback),
        ref=submission.ref,
        learner=submission.learner,
        expect=submission.expect,
    )


def error_row(number: int, line: bytes | None, error: Exception | str) -> bytes:
    """The line of JSON for line *number*, which cannot be graded."""
    row: dict[str, object] = {"error": shorten(str(error)), "line": number}
    if line is not None and (reference := _reference(line)) is not None:
        row["ref"] = reference
    return json.dumps(row).encode() + b"\n"


def verdict_row(result: CheckResult) -> bytes:
    """The line of JSON for a line that was graded."""
    return result.model_dump_json(exclude_none=True).encode() + b"\n"


def _reference(line: bytes) -> str | int | None:
    try:
        values = json.loads(line)
    except (ValueError, RecursionError):
        return None
    reference = values.get("ref") if isinstance(values, dict) else None
    return reference if isinstance(reference, str | int) else None


def _text(value: str | float) -> str:
    return value if isinstance(value, str) else repr(value)


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
        lines = "line" if self.errors == 1 else "lines"
        says = f"{self.correct} correct, {self.incorrect} incorrect, {self.unreadable} unreadable, "
        says += f"{self.errors} {lines} with an error"
        if self.expected:
            named = ", ".join(map(str, sorted(self.disagreements)[:_NAMED]))
            more = ", ..." if self.disagreeing > _NAMED else ""
            where = f" (lines {named}{more})" if named else ""
            says += f"\n{self.expected} expected, {self.disagreeing} disagree{where}"
        if self.unsaid:
            says += f"\n{self.unsaid} as expected, but without the sentence that was foreseen"
        return says

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
            while running and (len(running) >= _WINDOW or isinstance(running[0], bytes) or running[0].done()):
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


_LARGEST = 64 << 20  # bytes of an export


def gradable_lines(source: BinaryIO, catalog: Catalog, limit: int) -> Iterator[bytes | None]:
    """The lines of *source*, or if it is an export, a line for each of its answers.

    None is in place of a line of more than *limit* bytes.

    A line of an export expects the verdict that was stored; its `ref` is the place in the list.

    Raises:
        InputError: it is an export that is larger than the limit.
    """
    first = source.readline(_LARGEST + 1)
    if first.strip() != b"{":
        attempts = _attempts(first)
        rest: Iterator[bytes | None] = chain(
            [short_line(first, source, limit)] if first else [], short_lines(source, limit)
        )
    else:  # an object that goes on, as no line of answers does
        content = first + source.read(_LARGEST + 1)
        if len(content) > _LARGEST:
            raise InputError(f"this export is larger than {_LARGEST >> 20} MiB, the limit")
        attempts, rest = _attempts(content), short_lines(BytesIO(content), limit)
    if attempts is None:
        return rest
    return (_exports_line(place, row, catalog) for place, row in enumerate(attempts, 1))


def _attempts(content: bytes) -> list[object] | None:
    """The answers of an export; None if it is none."""
    if b'"attempts"' not in content:
        return None
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return None
    attempts = found.get("attempts") if isinstance(found, dict) else None
    return attempts if isinstance(attempts, list) and "exercise" not in found else None


def _exports_line(place: int, row: object, catalog: Catalog) -> bytes:
    given: Mapping[str, object] = row if isinstance(row, dict) else {}
    line = {name: given[name] for name in ("exercise", "seed", "answer") if name in given}
    if isinstance(given.get("correct"), bool):
        line["expect"] = "correct" if given["correct"] else "incorrect"
    with suppress(AppError, ValueError):  # the line says so when it is graded
        line |= _as_sent(given, catalog)
    return json.dumps({**line, "ref": place}).encode() + b"\n"


def _as_sent(given: Mapping[str, object], catalog: Catalog) -> Mapping[str, object]:
    """The answer in the form in which it was sent: lists and objects are stored as text."""
    name, seed, answer = given.get("exercise"), given.get("seed"), given.get("answer")
    if not (isinstance(name, str) and isinstance(seed, int) and isinstance(answer, str)):
        return {}
    if not 0 <= seed < SEEDS:
        return {}
    return {"answer": stored_answer(answer, catalog.exercise(name).right_answer(seed))}
