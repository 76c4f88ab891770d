"""Answers, checked one by one or in a stream."""

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Body, Request, Response
from starlette.exceptions import HTTPException
from starlette.types import Receive, Scope, Send

from app.api.documents import responses
from app.api.tokens import Grader
from app.checking import check
from app.errors import AnswerError, AppError
from app.kinds.length import TooLongError
from app.site import Here, Site
from app.verdicts import (
    Judged,
    Submission,
    error_row,
    judged,
    unreadable,
    verdict_row,
)

BATCH = "/api/v1/check/batch"
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
    response_model_exclude_none=True,
    responses=responses(401, 404, 413, 422, 503),
)
async def check_one(
    site: Here, learner: Grader, submission: Annotated[Submission, Body()]
) -> Judged:
    """The verdict; the attempt is kept durably before it is sent.

    An answer that cannot be read is `unreadable`: not graded, and not kept.
    """
    return await _judge(site, learner, submission)


@router.post(
    "/check/batch",
    summary="Check a stream of answers",
    response_class=Response,
    responses={200: {"content": _LINES, "description": "verdicts"}, **responses(401, 503)},
    openapi_extra={"requestBody": {"content": _LINES, "required": True}},
)
async def check_many(site: Here, learner: Grader, request: Request) -> Response:
    """NDJSON in, NDJSON out, in the same order; a bad line gets an error in its place."""
    return LineStream(_verdicts(site, learner, request))


class LineStream(Response):
    """Lines sent as they come. (A StreamingResponse would read the request's body away.)"""

    media_type = "application/x-ndjson"

    def __init__(self, lines: AsyncIterator[bytes]) -> None:
        super().__init__()
        del self.headers["content-length"]
        self._lines = lines

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the lines."""
        start = {"type": "http.response.start", "status": 200, "headers": self.raw_headers}
        await send(start)
        async for line in self._lines:
            await send({"type": "http.response.body", "body": line, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _judge(site: Site, learner: str, submission: Submission) -> Judged:
    exercise = site.catalog.exercise(submission.exercise)
    try:
        answer = submission.read(site.settings.answer_limit)
    except TooLongError as error:
        raise HTTPException(413, str(error)) from error
    try:
        verdict = await check(site, exercise, submission.seed, answer, learner)
    except AnswerError as error:
        return unreadable(submission, error)
    return judged(submission, verdict)


async def _verdicts(site: Site, learner: str, request: Request) -> AsyncIterator[bytes]:
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
        while running:
            yield await running.popleft()
    finally:
        for task in running:
            task.cancel()


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
