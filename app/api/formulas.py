"""The calculator."""

from collections.abc import Mapping
from typing import Annotated

from fastapi import APIRouter, Body
from pydantic import BaseModel, StrictBool, StrictFloat, StrictInt, StrictStr

from app.api.documents import responses
from app.errors import InputError, NotFoundError
from app.formulas import FORMULAS, Argument, Formula, evaluate, lookup

router = APIRouter(prefix="/api/v1", tags=["formulas"])
_EXAMPLE = {"size": "2 GB", "ranks": 8, "bandwidth": "50 GB/s"}


class Taken(BaseModel):
    """An argument: a number in *unit* (or text with another one), or one of *choices*."""

    name: str
    unit: str | None
    choices: list[str]
    default: float | str | bool | None


class Known(BaseModel):
    """A formula in the list."""

    name: str
    says: str
    unit: str
    arguments: list[Taken]


class Worked(BaseModel):
    """A result: in the base unit, and as a person writes it."""

    value: float | dict[str, float]
    unit: str
    text: str


@router.get("/formulas", summary="All formulas")
async def list_formulas() -> list[Known]:
    """Every formula with its arguments."""
    return [known(formula) for formula in FORMULAS.values()]


@router.post("/formulas/{name}", summary="Work out a formula", responses=responses(404, 422))
async def work_out(
    name: str,
    arguments: Annotated[
        dict[str, StrictInt | StrictFloat | StrictBool | StrictStr], Body(examples=[_EXAMPLE])
    ],
) -> Worked:
    """The value for arguments in base units, or as texts with units."""
    return worked_out(name, arguments)


def known(formula: Formula) -> Known:
    """*formula* as the list shows it."""
    return Known(
        name=formula.name,
        says=formula.doc.partition("\n\n")[0].replace("\n", " "),
        unit=formula.result.symbol,
        arguments=[
            Taken(
                name=taken.name,
                unit=taken.unit.symbol if taken.unit else None,
                choices=[str(choice).lower() for choice in taken.choices],
                default=taken.default,
            )
            for taken in formula.inputs.values()
        ],
    )


def worked_out(name: str, arguments: Mapping[str, Argument]) -> Worked:
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
    text, unit = formula.text(value), formula.result.symbol
    if isinstance(value, tuple):
        return Worked(value=dict(zip(formula.parts, value, strict=True)), unit=unit, text=text)
    return Worked(value=value, unit=unit, text=text)
