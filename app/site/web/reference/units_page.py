"""/authoring/units: every unit that can be written, from the table that reads them."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import groupby

from fastapi import Request, Response

from app.core.translation import SOURCE, Numeral, speaking, translate
from app.core.units import Unit, figures, spelling
from app.core.units.scales import PHYSICAL_SCALES, SCALES, Scale
from app.server.network.routes import Router
from app.site.web.frame.renderer import frame, render

router = Router()
_DIGITS = 12
_SCALES, _PHYSICAL = tuple(SCALES.values()), tuple(PHYSICAL_SCALES.values())


@dataclass(frozen=True, slots=True)
class UnitRow:
    """The symbols of one size, and how much of the base unit it is."""

    symbols: tuple[str, ...]
    equals: str


@dataclass(frozen=True, slots=True)
class UnitTable:
    """Units of one kind, the smallest first: each can be compared with and added to the others."""

    base: str
    rows: tuple[UnitRow, ...]


@dataclass(frozen=True, slots=True)
class UnitsPage:
    """Every unit."""

    tables: tuple[UnitTable, ...]
    physics: tuple[UnitTable, ...]


@router.get("/authoring/units")
def authoring_units(request: Request) -> Response:
    """The units of exercise files, answers and formulas."""
    says = translate("Every unit that can be written in exercises, answers and the calculator.")
    return render(
        "reference/units.html",
        frame(request, translate("Units"), says),
        UnitsPage(_unit_tables(_SCALES), _unit_tables(_PHYSICAL)),
    )


@cache
def _unit_tables(scales: Collection[Scale]) -> tuple[UnitTable, ...]:
    by_unit: dict[Unit, list[Scale]] = {}
    for scale in scales:
        by_unit.setdefault(scale.unit, []).append(scale)
    with speaking(SOURCE):  # it is made once, for every language
        return tuple(UnitTable(unit.symbol, tuple(_unit_rows(those))) for unit, those in by_unit.items())


def _unit_rows(scales: list[Scale]) -> Iterator[UnitRow]:
    ordered = sorted(scales, key=lambda scale: scale.factor)
    for factor, those in groupby(ordered, key=lambda scale: scale.factor):
        symbols = dict.fromkeys(spelling(scale.symbol) for scale in those)
        unit = ordered[0].unit.symbol
        value = Numeral(f"{figures(factor, _DIGITS)} {unit}".strip())
        yield UnitRow(tuple(symbols), value)
