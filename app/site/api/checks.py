"""Check answers, one at a time or in a stream."""

import asyncio
import re
from collections import deque
from collections.abc import AsyncGenerator, Callable
from functools import partial

from fastapi import Request, Response
from pydantic import ValidationError
from starlette.exceptions import HTTPException

from app.core.errors import AnswerError, AppError, InputError
from app.course.kinds.answers import TooLongError
from app.server.aside import aside
from app.server.aside.fair_queue import grader
from app.server.db.replays import KeyTakenError, Once
from app.server.db.tables import Replay
from app.server.db.tokens import Grant
from app.server.network.routes import Router
from app.site import Here, Site, site_in
from app.site.api.documents import KEY, SUBMISSION, responses, text_body, text_content
from app.site.api.headers import (
    Granted,
    answer_learner,
    grader_of,
    grant_of,
    idempotency_key,
    replay_of,
    sent_before,
    sent_first,
)
from app.site.api.problems import UNTYPED, refusal
from app.site.api.streams import LineStream, body_lines
from app.site.grading.check import check
from app.site.grading.verdicts import (
    CheckResult,
    Submission,
    check_result,
    error_row,
    read_submission,
    unreadable_result,
    verdict_row,
)

MakeReplay = Callable[[CheckResult], Replay]
ONE, BATCH = "/api/v1/check", "/api/v1/check/batch"
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
    response_model=CheckResult,
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
    grant, key = grant_of(request, site), idempotency_key(request)
    submission = await _submission(request)
    if not key:
        result = await _judge(site, grant, submission)
        return _json_response(result.model_dump_json(exclude_none=True))
    return await _check_once(site, grant, key, submission)


async def _check_once(site: Site, grant: Grant, key: str, submission: Submission) -> Response:
    learner = grader_of(grant)
    before = sent_before(site, learner, key, submission)
    if before is None:
        once = partial(replay_of, learner, key, submission)
        try:
            result = await _judge(site, grant, submission, once)
        except KeyTakenError:  # by the same request, sent to this or another server meanwhile
            before = sent_first(site, learner, key, submission)
        else:
            return _json_response(result.model_dump_json(exclude_none=True))
    return _json_response(before, {"Idempotent-Replayed": "true"})


def _json_response(text: str, headers: dict[str, str] | None = None) -> Response:
    return Response(text, headers=headers, media_type="application/json")


async def _submission(request: Request) -> Submission:
    """The submission in the body.

    Raises:
        InputError: it is not JSON, or not a valid submission.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json" and not _JSON.fullmatch(kind):
        raise InputError(UNTYPED)
    try:
        return Submission.model_validate_json(await request.body())
    except ValidationError as error:
        raise InputError(refusal(error.errors(include_url=False), Submission, "body")) from error


@router.post(
    "/check/batch",
    summary="Check a stream of answers",
    response_class=Response,
    responses={200: {"content": text_content(_TYPE, _GRADED), "description": "verdicts"}, **responses(401, 503)},
    openapi_extra={"requestBody": text_body(_TYPE, _SENT)},
)
async def check_many(site: Here, grant: Granted, request: Request) -> Response:
    """NDJSON in, NDJSON out, in the same order; an invalid line gets an error in its place."""
    return LineStream(_verdicts(site, grant, request))


async def _judge(site: Site, grant: Grant, submission: Submission, once: MakeReplay | None = None) -> CheckResult:
    exercise = site.catalog.exercise(submission.exercise)
    try:
        answer = submission.read(site.settings.answer_limit)
    except TooLongError as error:
        raise HTTPException(413, str(error)) from error
    learner = answer_learner(site, grant, submission)
    as_sent = partial(check_result, submission)
    if not exercise.is_drawn(submission.seed):
        await aside(exercise.prepare, submission.seed)
    try:
        checked = await check(
            site,
            exercise,
            submission.seed,
            answer,
            learner,
            grader(grader_of(grant)),
            once=(lambda verdict: once(as_sent(verdict))) if once else None,
        )
    except AnswerError as error:
        result = unreadable_result(submission, error)
        if once:
            await site.writer.put(Once(None, once(result)))
        return result
    return as_sent(checked.verdict)


async def _verdicts(site: Site, grant: Grant, request: Request) -> AsyncGenerator[bytes]:
    """The verdicts in order; programs wait in the queue for as long as it takes."""
    running: deque[asyncio.Task[bytes]] = deque()
    number = 0
    try:
        async for line in body_lines(request, site.settings.body_limit):
            number += 1
            if line is not None and not line.strip():
                continue
            running.append(asyncio.create_task(_answer(site, grant, number, line)))
            while len(running) >= _WINDOW or (running and running[0].done()):
                yield await running.popleft()
        while running and not await request.is_disconnected():
            yield await running.popleft()
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


async def _answer(site: Site, grant: Grant, number: int, line: bytes | None) -> bytes:
    """The response to *line*."""
    try:
        submission = read_submission(line, site.settings.body_limit)
        return verdict_row(await _judge(site, grant, submission))
    except HTTPException as error:
        return error_row(number, line, str(error.detail))
    except AppError as error:
        return error_row(number, line, error)
