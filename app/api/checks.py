"""Answers, checked one by one or in a stream."""

import asyncio
import json
import re
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, suppress
from functools import partial

from fastapi import APIRouter, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

from app.api.documents import KEY, SUBMISSION, responses
from app.api.retries import key_of, replay_of, sent_before, sent_first
from app.api.tokens import Grader, grader_of
from app.db.replays import KeyTakenError, Once
from app.db.tables import Replay
from app.errors import AnswerError, AppError
from app.grading.check import check
from app.grading.verdicts import (
    Judged,
    Submission,
    error_row,
    judged,
    unreadable,
    verdict_row,
)
from app.kinds.answers import TooLongError
from app.sandbox.fair_queue import grader
from app.site import Here, Site, site_in

Remembered = Callable[[Judged], Replay]
ONE, BATCH = "/api/v1/check", "/api/v1/check/batch"
_JSON = re.compile(r"application/[\w.-]+\+json")
_WINDOW = 64  # lines of a batch that are checked at once
_LINES = {
    "application/x-ndjson": {
        "schema": {"type": "string"},
        "example": '{"exercise": "collectives/ring-all-reduce-time", "seed": 0, '
        '"answer": "70 ms", "ref": "a1"}\n',
    }
}
router = APIRouter(prefix="/api/v1", tags=["check"])


@router.post(
    "/check",
    summary="Check one answer",
    response_model=Judged,
    response_model_exclude_none=True,
    responses=responses(400, 401, 404, 413, 422, 503),
    openapi_extra={
        "requestBody": {"content": {"application/json": {"schema": SUBMISSION}}, "required": True},
        "security": [{"HTTPBearer": []}],
        "parameters": [KEY],
    },
)
async def check_one(request: Request) -> Response:
    """The verdict; the attempt is stored durably before it is sent.

    An answer that cannot be read is `unreadable`: not graded, and not stored. With the header
    `Idempotency-Key`, the same request sent again within a day, to whichever server, gets the same
    verdict and is one attempt; `Idempotent-Replayed: true` says so.
    """
    # What it needs is read here: to have FastAPI find it takes as long as to grade the answer.
    site = site_in(request)
    learner, key = grader_of(request, site), key_of(request)
    submission = await _submission(request)
    if not key:
        verdict = await _judge(site, learner, submission)
        return _answer_with(verdict.model_dump_json(exclude_none=True))
    return await _check_once(site, learner, key, submission)


async def _check_once(site: Site, learner: str, key: str, submission: Submission) -> Response:
    before = sent_before(site, learner, key, submission)
    if before is None:
        once = partial(replay_of, learner, key, submission)
        try:
            verdict = await _judge(site, learner, submission, once)
        except KeyTakenError:  # by the same request, sent to this server or another one meanwhile
            before = sent_first(site, learner, key, submission)
        else:
            return _answer_with(verdict.model_dump_json(exclude_none=True))
    return _answer_with(before, {"Idempotent-Replayed": "true"})


def _answer_with(text: str, headers: dict[str, str] | None = None) -> Response:
    return Response(text, headers=headers, media_type="application/json")


async def _submission(request: Request) -> Submission:
    """What was sent.

    Raises:
        RequestValidationError: it is no JSON, or not of an answer.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json" and not _JSON.fullmatch(kind):
        found = {"loc": ("body",), "msg": "send the header Content-Type: application/json"}
        raise RequestValidationError([found])
    try:
        return Submission.model_validate_json(await request.body())
    except ValidationError as error:
        errors = error.errors(include_url=False, include_input=False, include_context=False)
        raise RequestValidationError(
            [{**found, "loc": ("body", *found["loc"])} for found in errors]
        ) from error


@router.post(
    "/check/batch",
    summary="Check a stream of answers",
    response_class=Response,
    responses={200: {"content": _LINES, "description": "verdicts"}, **responses(401, 503)},
    openapi_extra={"requestBody": {"content": _LINES}},
)
async def check_many(site: Here, learner: Grader, request: Request) -> Response:
    """NDJSON in, NDJSON out, in the same order; a bad line gets an error in its place."""
    return LineStream(_verdicts(site, learner, request))


class LineStream(Response):
    """Lines sent as they come. (A StreamingResponse would read the request's body away.)"""

    media_type = "application/x-ndjson"

    def __init__(self, lines: AsyncGenerator[bytes]) -> None:
        super().__init__()
        del self.headers["content-length"]
        self._lines = lines

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the lines, until the last or until the client goes away."""
        start = {"type": "http.response.start", "status": 200, "headers": self.raw_headers}
        await send(start)
        with suppress(ClientDisconnect):
            async with aclosing(self._lines):
                async for line in self._lines:
                    await send({"type": "http.response.body", "body": line, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _judge(
    site: Site, learner: str, submission: Submission, once: Remembered | None = None
) -> Judged:
    exercise = site.catalog.exercise(submission.exercise)
    try:
        answer = submission.read(site.settings.answer_limit)
    except TooLongError as error:
        raise HTTPException(413, str(error)) from error
    as_sent = partial(judged, submission)
    try:
        verdict = await check(
            site,
            exercise,
            submission.seed,
            answer,
            learner,
            grader(learner),
            once=(lambda verdict: once(as_sent(verdict))) if once else None,
        )
    except AnswerError as error:
        row = unreadable(submission, error)
        if once:
            await site.writer.put(Once(None, once(row)))
        return row
    return as_sent(verdict)


async def _verdicts(site: Site, learner: str, request: Request) -> AsyncGenerator[bytes]:
    """The verdicts in order; programs among them wait for their turn, however long."""
    running: deque[asyncio.Task[bytes]] = deque()
    number = 0
    try:
        async for line in _lines(request, site.settings.body_limit):
            number += 1
            if line is not None and not line.strip():
                continue
            running.append(asyncio.create_task(_answer(site, learner, number, line)))
            while len(running) >= _WINDOW or (running and running[0].done()):
                yield await running.popleft()
        while running and not await request.is_disconnected():
            yield await running.popleft()
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


async def _lines(request: Request, limit: int) -> AsyncIterator[bytes | None]:
    """The lines of the body; None for one of more than *limit* bytes."""
    rest, skipping = b"", False
    async for chunk in request.stream():
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            yield None if skipping or len(line) > limit else line
            skipping = False
        if len(rest) > limit:
            rest, skipping = b"", True
    if rest or skipping:
        yield None if skipping else rest


async def _answer(site: Site, learner: str, number: int, line: bytes | None) -> bytes:
    """The line that answers *line*."""
    if line is None:
        return error_row(number, None, f"a line has at most {site.settings.body_limit:,} bytes")
    try:
        submission = Submission.model_validate(json.loads(line))
        return verdict_row(await _judge(site, learner, submission))
    except HTTPException as error:
        return error_row(number, line, str(error.detail))
    except (ValueError, RecursionError, AppError) as error:
        return error_row(number, line, error)
