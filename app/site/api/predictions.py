"""Predict training steps, one per line."""

import asyncio
from collections.abc import AsyncGenerator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Annotated

from fastapi import Query, Request, Response

from app.core.predicting.lines import Predictor, predict_lines
from app.server.aside.child_process import read_apart
from app.server.network.routes import Router
from app.site import Here
from app.site.api.documents import responses, text_body, text_content
from app.site.api.headers import Granted
from app.site.api.streams import LineStream, arrivals_of

PREDICT = "/api/v1/predict"
_AT_ONCE = 16  # lines of a stream that are predicted before those of other streams
# One thread for all streams waits for the processes that read: some are left to pages.
_THREAD = ThreadPoolExecutor(1, "predict")
_TYPE = "application/x-ndjson"
_ASKED = (
    '{"ref": "a1", "model": "Llama-3.1-8B", "cluster": "64 H100", '
    '"layout": {"tensor": 2, "data": 32, "microbatches": 4}, "measured": 1.9}\n'
)
_FOUND = (
    '{"ref": "a1", "step_time": 1.9, "low": 1.9, "high": 1.9, "parts": {"compute": 1.5}, '
    '"tokens_per_second_per_gpu": 8626.0, "mfu": 0.48, "memory": {"allocated": 4.6e10, '
    '"reserved": 4.6e10, "stages": [4.6e10], "parts": {"weights": 8e9}}, "fits": true, '
    '"why": "The largest part of the step is computation (79.4 %). ..."}\n'
    '{"ref": "a2", "error": "line 2: layout: a layout has no field \'tensr\'; did you mean '
    "'tensor'?\"}\n"
)
router = Router(prefix="/api/v1", tags=["predict"])


@router.post(
    "/predict",
    summary="Predict a stream of training steps",
    response_class=Response,
    responses={200: {"content": text_content(_TYPE, _FOUND), "description": "predictions"}, **responses(401, 422, 503)},
    openapi_extra={"requestBody": text_body(_TYPE, _ASKED)},
)
async def predict_many(
    site: Here,
    _: Granted,
    request: Request,
    summary: Annotated[bool, Query(description="end with a line that compares predictions with measurements")] = False,
) -> Response:
    """NDJSON in, NDJSON out, in the same order; an invalid line gets an error in its place.

    A line has a `model`, a `cluster` and a `layout`, each as text or as an object of its fields,
    and may have a `recipe`, `shares`, a `ref`, what was `measured` in seconds, `measured_memory` in
    bytes, and a `group` within which layouts are ranked. Numbers are in seconds and bytes.
    """
    return LineStream(_predictions(request, site.settings.body_limit, summary))


async def _predictions(request: Request, limit: int, summary: bool) -> AsyncGenerator[bytes]:
    predictor, loop = Predictor(limit, partial(read_apart, predict_lines)), asyncio.get_running_loop()
    async for lines in arrivals_of(request, limit):
        for start in range(0, len(lines), _AT_ONCE):
            some = lines[start : start + _AT_ONCE]
            if rows := await loop.run_in_executor(_THREAD, _joined, predictor, some):
                yield rows
    if summary:
        text = await loop.run_in_executor(_THREAD, lambda: predictor.tally.text)
        yield f"{text}\n".encode()


def _joined(predictor: Predictor, lines: list[bytes | None]) -> bytes:
    return b"".join(predictor.batch(lines))
