"""The calculator and predictions: evaluate a formula, predict training steps."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Annotated, Any

from fastapi import Body, Query, Request, Response
from pydantic import BaseModel, StrictBool, StrictFloat, StrictInt, StrictStr

from app.core.errors import InputError, NotFoundError
from app.core.formulas import FORMULAS, MOST_PARTS, Single, formula_value, lookup
from app.core.predicting.lines import Predictor, predict_lines
from app.server.aside.child_process import read_apart
from app.server.network.routes import Router
from app.site import Here
from app.site.api.checks import LineStream, arrivals_of
from app.site.api.documents import responses, text_body, text_content
from app.site.api.headers import Granted

router = Router(prefix="/api/v1", tags=["formulas"])
ArgumentValue = StrictInt | StrictFloat | StrictBool | StrictStr
_EXAMPLE = {"size": "2 GB", "ranks": 8, "bandwidth": "50 GB/s"}


class FormulaArgument(BaseModel):
    """An argument: a number in *unit* (or text with another unit), or one of *choices*.

    If it has neither, it is the name of a preset, such as "Llama-3.1-405B"; if *many* is true, it is a list.
    """

    name: str
    unit: str | None
    choices: list[str]
    many: bool
    required: bool
    default: float | str | bool | None


class FormulaSummary(BaseModel):
    """A formula in the list."""

    name: str
    says: str
    unit: str
    arguments: list[FormulaArgument]


class FormulaResult(BaseModel):
    """A result: the value in the base unit, and as readable text."""

    value: bool | float | dict[str, float] | list[float] | list[str]
    unit: str
    text: str


@router.get("/formulas", summary="List all formulas")
async def list_formulas() -> list[FormulaSummary]:
    """Returns every formula with its arguments."""
    return [
        FormulaSummary(
            name=formula.name,
            says=formula.says,
            unit=formula.result.symbol,
            arguments=[
                FormulaArgument(
                    name=argument.name,
                    unit=argument.unit.symbol if argument.unit else None,
                    choices=[str(choice).lower() for choice in argument.choices],
                    many=argument.many,
                    required=argument.required,
                    default=argument.default if isinstance(argument.default, Single) else None,
                )
                for argument in formula.inputs.values()
            ],
        )
        for formula in FORMULAS.values()
    ]


@router.post("/formulas/{name}", summary="Evaluate a formula", responses=responses(404, 422))
def evaluate_formula(
    name: str, arguments: Annotated[Mapping[str, ArgumentValue | list[ArgumentValue]], Body(examples=[_EXAMPLE])]
) -> FormulaResult:
    """Returns the value for arguments in base units, or as text with units."""
    return result_of(name, arguments)


def result_of(name: str, arguments: Mapping[str, Any]) -> FormulaResult:
    """The result of the formula called *name*.

    Raises:
        NotFoundError: the formula does not exist.
        InputError: an argument is unknown, missing, not valid, or out of its domain.
    """
    try:
        formula = lookup(name)
    except ValueError as error:
        raise NotFoundError(str(error)) from error
    try:
        value = formula_value(formula, arguments, MOST_PARTS)
    except ValueError as error:
        raise InputError(str(error)) from error
    result = {"value": formula.plain(value), "unit": formula.result.symbol, "text": formula.text(value)}
    return FormulaResult.model_validate(result)


_AT_ONCE = 128  # lines of a stream that are predicted before those of other streams
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
_predictions_router = Router(prefix="/api/v1", tags=["predict"])


@_predictions_router.post(
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
            if rows := await loop.run_in_executor(_THREAD, b"".join, predictor.batch(some)):
                yield rows
    if summary:
        text = await loop.run_in_executor(_THREAD, lambda: predictor.tally.text)
        yield f"{text}\n".encode()


router.routes += _predictions_router.routes
