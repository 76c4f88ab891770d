"""Check answers, one at a time or in a stream of lines."""

import asyncio
import json
import re
from collections import Counter, deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager, nullcontext, suppress
from functools import partial
from hashlib import sha256

from fastapi import Request, Response
from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

from app.core.errors import AnswerError, AppError, InputError
from app.course.kinds.base import TooLongError
from app.server.aside import aside, lift_ceiling
from app.server.aside.fair_queue import grader
from app.server.db.learner_cookie import Grant
from app.server.db.replays import KeyTakenError, ReplayedAttempt
from app.server.db.tables import Replay
from app.server.network.routes import Router
from app.site import Here, Site, site_in
from app.site.api import headers
from app.site.api.documents import KEY, SUBMISSION, UNTYPED, refusal, responses, text_body, text_content
from app.site.grading import offline
from app.site.grading.check import check


class LineStream(Response):
    """Lines sent as they come. (A StreamingResponse would consume the request's body.)"""

    media_type = "application/x-ndjson"

    def __init__(self, lines: AsyncGenerator[bytes]) -> None:
        super().__init__()
        del self.headers["content-length"]
        self._lines = lines

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the lines, until the last one or until the client disconnects."""
        lift_ceiling()
        start = {"type": "http.response.start", "status": 200, "headers": self.raw_headers}
        await send(start)
        with suppress(ClientDisconnect):
            async with aclosing(self._lines):
                async for line in self._lines:
                    await send({"type": "http.response.body", "body": line, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})


async def body_lines(request: Request, limit: int) -> AsyncIterator[bytes | None]:
    """The lines of the body; None for one of more than *limit* bytes."""
    async for lines in arrivals_of(request, limit):
        for line in lines:
            yield line


async def arrivals_of(request: Request, limit: int) -> AsyncIterator[list[bytes | None]]:
    """The lines of the body that are complete, each time some arrive; None for one too long."""
    rest, skipping = b"", False
    async for chunk in request.stream():
        *lines, rest = (rest + chunk).split(b"\n")
        found: list[bytes | None] = [line if len(line) <= limit else None for line in lines]
        if skipping and found:
            found[0], skipping = None, False
        if len(rest) > limit:
            rest, skipping = b"", True
        yield found
    if rest or skipping:
        yield [None if skipping else rest]


class Turn:
    """A place in the order in which the answers of one learner are stored."""

    def __init__(self, before: asyncio.Event | None) -> None:
        self._before, self.passed = before, asyncio.Event()

    async def wait(self) -> None:
        """Wait until all earlier answers are on their way to the disk, or refused."""
        if self._before is not None:
            await self._before.wait()

    async def __aenter__(self) -> None:
        """Begin when it is the turn of this answer."""
        await self.wait()

    async def __aexit__(self, *_: object) -> None:
        """Let the next answer follow."""
        self.passed.set()


MakeReplay = Callable[[offline.CheckResult], Replay]
ONE, BATCH, PREDICT = "/api/v1/check", "/api/v1/check/batch", "/api/v1/predict"
_JSON = re.compile(r"application/[\w.-]+\+json")
_WINDOW = 64  # lines of a batch in flight: the rest stays unread (backpressure)
_TYPE = "application/x-ndjson"
_SENT = '{"exercise": "collectives/ring-all-reduce-time", "seed": 0, "answer": "70 ms", "ref": "a1"}\n'
_GRADED = (
    '{"exercise": "collectives/ring-all-reduce-time", "seed": 0, "verdict": "correct", '
    '"score": 1.0, "feedback": [], "ref": "a1"}\n'
)
router = Router(prefix="/api/v1", tags=["check"])


@router.post(
    "/check",
    summary="Check one answer",
    response_model=offline.CheckResult,
    response_model_exclude_none=True,
    responses=responses(400, 401, 404, 413, 422, 503),
    openapi_extra={
        "requestBody": {"content": {"application/json": {"schema": SUBMISSION}}, "required": True},
        "security": [{"HTTPBearer": []}],
        "parameters": [KEY],
    },
)
async def check_one(request: Request) -> Response:
    """Returns the verdict, after the attempt has been stored durably.

    An answer that cannot be parsed is `unreadable`: neither graded nor stored. With the header
    `Idempotency-Key`, the same request sent again within a day, to any server, gets the same
    verdict and counts as one attempt; the response then has `Idempotent-Replayed: true`.
    """
    # Parsed here: FastAPI's dependencies would take as long as grading the answer.
    site = site_in(request)
    grant, key = headers.grant_of(request, site), headers.idempotency_key(request)
    submission = await _submission(request)
    if key:
        text, is_replay = await _judge_once(site, grant, key, submission)
    else:
        text, is_replay = (await _judge(site, grant, submission)).model_dump_json(exclude_none=True), False
    return Response(text, 200, {"Idempotent-Replayed": "true"} if is_replay else None, "application/json")


async def _judge_once(
    site: Site, grant: Grant, key: str, submission: offline.Submission, batch: "Batch | None" = None
) -> tuple[str, bool]:
    """The result as JSON, and whether it is that of the same request, sent with this *key* before."""
    learner = headers.grader_of(grant)
    before = headers.sent_before(site, learner, key, submission)
    if before is not None:
        return before, True
    once = partial(headers.replay_of, learner, key, submission)
    try:
        result = await _judge(site, grant, submission, once, batch)
    except KeyTakenError:  # by the same request, sent to this or another server meanwhile
        return headers.sent_first(site, learner, key, submission), True
    return result.model_dump_json(exclude_none=True), False


async def _submission(request: Request) -> offline.Submission:
    """The submission in the body.

    Raises:
        InputError: it is not JSON, or not a valid submission.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json" and not _JSON.fullmatch(kind):
        raise InputError(UNTYPED)
    try:
        return offline.Submission.model_validate_json(await request.body())
    except ValidationError as error:
        raise InputError(refusal(error.errors(include_url=False), offline.Submission, "body")) from error


@router.post(
    "/check/batch",
    summary="Check a stream of answers",
    response_class=Response,
    responses={200: {"content": text_content(_TYPE, _GRADED), "description": "verdicts"}, **responses(401, 503)},
    openapi_extra={"requestBody": text_body(_TYPE, _SENT), "parameters": [KEY]},
)
async def check_many(site: Here, grant: headers.Granted, request: Request) -> Response:
    """NDJSON in, NDJSON out, in the same order; an invalid line gets an error in its place.

    Answers of one learner are stored in the order in which they were sent. With the header `Idempotency-Key`, the
    same lines sent again within a day, all or the rest of them, get the same verdicts and count once: a line is known
    by its `ref`, and without one by its number.
    """
    return LineStream(_verdicts(site, grant, headers.idempotency_key(request), request))


async def _judge(
    site: Site,
    grant: Grant,
    submission: offline.Submission,
    once: MakeReplay | None = None,
    batch: "Batch | None" = None,
) -> offline.CheckResult:
    exercise = site.catalog.exercise(submission.exercise)
    try:
        answer = submission.read(site.settings.answer_limit)
    except TooLongError as error:
        raise HTTPException(413, str(error)) from error
    learner = headers.answer_learner(site, grant, submission)
    as_sent = partial(offline.check_result, submission)
    try:
        async with batch.next_turn(learner) if batch else nullcontext() as turn:
            if not exercise.is_drawn(submission.seed):
                await aside(exercise.prepare, submission.seed)
            verdict, _ = await check(
                site,
                exercise,
                submission.seed,
                answer,
                learner,
                grader(headers.grader_of(grant)),
                once=(lambda verdict: once(as_sent(verdict))) if once else None,
                turn=turn,
            )
    except AnswerError as error:
        result = offline.unreadable_result(submission, error)
        if once:
            await site.writer.put(ReplayedAttempt(None, once(result)))
        return result
    return as_sent(verdict)


async def _verdicts(site: Site, grant: Grant, key: str, request: Request) -> AsyncGenerator[bytes]:
    """The verdicts in order; programs wait in the queue for as long as it takes."""
    running: deque[asyncio.Task[bytes]] = deque()
    batch = Batch(key)
    number = 0
    try:
        async for line in body_lines(request, site.settings.body_limit):
            number += 1
            if line is not None and not line.strip():
                continue
            running.append(asyncio.create_task(_answer(site, grant, batch, number, line)))
            while len(running) >= _WINDOW or (running and running[0].done()):
                yield await running.popleft()
        while running and not await request.is_disconnected():
            yield await running.popleft()
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


class Batch:
    """What the lines of a batch share: their order, and the keys by which they are known if it is sent again."""

    def __init__(self, key: str) -> None:
        self._key = key
        self._last: dict[str, Turn] = {}
        self._counts: Counter[str | int] = Counter()

    @asynccontextmanager
    async def next_turn(self, learner: str) -> AsyncGenerator[Turn]:
        """The turn of the next answer of *learner*; it passes at the end even if nothing was stored."""
        before = self._last.get(learner)
        turn = self._last[learner] = Turn(before.passed if before else None)
        try:
            yield turn
        finally:
            try:
                await turn.wait()
            finally:  # also if it is canceled here, or the next ones would wait for ever
                turn.passed.set()
                if self._last.get(learner) is turn:
                    del self._last[learner]

    def line_key(self, number: int, submission: offline.Submission) -> str:
        """The key of a line, by its ref or its number; lines with the same ref are told apart by their order."""
        if not self._key:
            return ""
        ref = submission.ref
        if ref is not None:
            self._counts[ref] += 1
        name = ["line", number] if ref is None else ["ref", ref, self._counts[ref]]
        return f"batch:{sha256(json.dumps([self._key, *name]).encode()).hexdigest()}"


async def _answer(site: Site, grant: Grant, batch: Batch, number: int, line: bytes | None) -> bytes:
    """The response to *line*; tasks begin in the order of the lines, and take their turns before they first wait."""
    try:
        submission = offline.read_submission(line, site.settings.body_limit)
        if key := batch.line_key(number, submission):
            text, _ = await _judge_once(site, grant, key, submission, batch)
            return text.encode() + b"\n"
        return offline.verdict_row(await _judge(site, grant, submission, batch=batch))
    except HTTPException as error:
        return offline.error_row(number, line, str(error.detail))
    except AppError as error:
        return offline.error_row(number, line, error)
