"""The calculator."""

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Body
from pydantic import BaseModel, StrictBool, StrictFloat, StrictInt, StrictStr

from app.api.documents import responses
from app.errors import InputError, NotFoundError
from app.formulas import FORMULAS, Formula, Single, evaluate, lookup

router = APIRouter(prefix="/api/v1", tags=["formulas"])
Given = StrictInt | StrictFloat | StrictBool | StrictStr
_EXAMPLE = {"size": "2 GB", "ranks": 8, "bandwidth": "50 GB/s"}


class Taken(BaseModel):
    """An argument: a number in *unit* (or text with another one), or one of *choices*.

    Where both are missing it is the name of a preset, such as "Llama-3.1-405B"; where *many* is
    true, a list.
    """

    name: str
    unit: str | None
    choices: list[str]
    many: bool
    required: bool
    default: float | str | bool | None


class Known(BaseModel):
    """A formula in the list."""

    name: str
    says: str
    unit: str
    arguments: list[Taken]


class Worked(BaseModel):
    """A result: in the base unit, and as a person writes it."""

    value: bool | float | dict[str, float] | list[float] | list[str]
    unit: str
    text: str


@router.get("/formulas", summary="All formulas")
async def list_formulas() -> list[Known]:
    """Every formula with its arguments."""
    return [known(formula) for formula in FORMULAS.values()]


@router.post("/formulas/{name}", summary="Work out a formula", responses=responses(404, 422))
async def work_out(
    name: str,
    arguments: Annotated[Mapping[str, Given | list[Given]], Body(examples=[_EXAMPLE])],
) -> Worked:
    """The value for arguments in base units, or as texts with units."""
    return worked_out(name, arguments)


def known(formula: Formula) -> Known:
    """*formula* as the list shows it."""
    return Known(
        name=formula.name,
        says=formula.says,
        unit=formula.result.symbol,
        arguments=[
            Taken(
                name=taken.name,
                unit=taken.unit.symbol if taken.unit else None,
                choices=[str(choice).lower() for choice in taken.choices],
                many=taken.many,
                required=taken.required,
                default=taken.default if isinstance(taken.default, Single) else None,
            )
            for taken in formula.inputs.values()
        ],
    )


def worked_out(name: str, arguments: Mapping[str, Any]) -> Worked:
    """The value of the formula called *name*.

    Raises:
        NotFoundError: there is no such formula.
        InputError: an argument is unknown, missing, unreadable or out of its domain.
    """
    try:
        formula = lookup(name)
    except ValueError as error:
        raise NotFoundError(str(error)) from error
    try:
        value = evaluate(formula, arguments)
    except ValueError as error:
        raise InputError(str(error)) from error
    worked = {
        "value": formula.plain(value),
        "unit": formula.result.symbol,
        "text": formula.text(value),
    }
    return Worked.model_validate(worked)
