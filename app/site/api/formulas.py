"""The calculator: list formulas, and evaluate one."""

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import Body
from pydantic import BaseModel, StrictBool, StrictFloat, StrictInt, StrictStr

from app.core.errors import InputError, NotFoundError
from app.core.formulas import FORMULAS, MOST_PARTS, Formula, Single, formula_value, lookup
from app.server.network.routes import Router
from app.site.api.documents import responses

router = Router(prefix="/api/v1", tags=["formulas"])
ArgumentValue = StrictInt | StrictFloat | StrictBool | StrictStr
_EXAMPLE = {"size": "2 GB", "ranks": 8, "bandwidth": "50 GB/s"}


class FormulaArgument(BaseModel):
    """An argument: a number in *unit* (or text with another unit), or one of *choices*.

    If it has neither, it is the name of a preset, such as "Llama-3.1-405B"; if *many* is true, it
    is a list.
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
    return [formula_summary(formula) for formula in FORMULAS.values()]


@router.post("/formulas/{name}", summary="Evaluate a formula", responses=responses(404, 422))
def evaluate_formula(
    name: str, arguments: Annotated[Mapping[str, ArgumentValue | list[ArgumentValue]], Body(examples=[_EXAMPLE])]
) -> FormulaResult:
    """Returns the value for arguments in base units, or as text with units."""
    return result_of(name, arguments)


def formula_summary(formula: Formula) -> FormulaSummary:
    """*formula* as the list describes it."""
    return FormulaSummary(
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
