"""/hardware: the GPUs, links, clusters, models and layouts that formulas know by name."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fastapi import Request, Response

from app.core.formulas.presets import CLUSTERS, GPUS, LAWS, LAYOUTS, LINKS, MODELS, RECIPES
from app.core.formulas.records import Record, hints_of
from app.core.translation import noted, translate
from app.core.units import COUNT, Unit, show
from app.server.network.routes import Router
from app.site.web.frame.renderer import frame, render
from app.site.web.reference.field_names import field_name

router = Router()
TABLES: tuple[tuple[str, str, Mapping[str, Record]], ...] = (
    ("GPUs", noted("Peaks are dense; NVLink is one direction to all peers together."), GPUS),
    (
        noted("Links"),
        noted("One direction of one GPU; effective is the bandwidth that NCCL was observed to reach."),
        LINKS,
    ),
    (noted("Clusters"), noted("Bandwidths are one direction of one GPU."), CLUSTERS),
    (noted("Model shapes"), noted("Widths and counts as released."), MODELS),
    (noted("Layouts"), noted("Degrees of parallelism, and the batch of one step."), LAYOUTS),
    (
        noted("Recipes"),
        noted(
            "Bytes of a weight, its gradient and its optimizer state, of an element of an "
            "activation, of a gradient while it is reduced, and of a logit with its gradient."
        ),
        RECIPES,
    ),
    (
        noted("Scaling laws"),
        noted(
            "The loss is the floor, plus a scale over the parameters to an exponent, plus the "
            "same of the training tokens."
        ),
        LAWS,
    ),
)


@dataclass(frozen=True, slots=True)
class RecordRow:
    """One record: its name, its values and their source; *id* is its place on the page."""

    id: str
    name: str
    cells: tuple[str, ...]
    source: str


@dataclass(frozen=True, slots=True)
class RecordTable:
    """The records of one type, without columns that are empty in every record."""

    title: str
    says: str
    columns: tuple[str, ...]
    lines: tuple[RecordRow, ...]


@router.get("/hardware")
def page(request: Request) -> Response:
    """All tables."""
    tables = tuple(_table(translate(title), translate(says) if says else "", known) for title, says, known in TABLES)
    says = translate("The values that formulas and exercises start from, each with its source.")
    return render("reference/hardware.html", frame(request, translate("Hardware and models"), says, "formulas"), tables)


def anchor_of(record: Record) -> str:
    """The place of *record* on the page, such as gpu-h100-sxm."""
    name = f"{type(record).__name__} {getattr(record, 'name', '')}"
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def _table(title: str, says: str, known: Mapping[str, Record]) -> RecordTable:
    records = {id(record): record for record in known.values()}.values()
    hints = hints_of(type(next(iter(records))))
    fields = [name for name in hints if name not in ("name", "source")]
    filled = [f for f in fields if any(_cell(r, f, hints[f]) for r in records)]
    return RecordTable(
        title,
        says,
        tuple(field_name(field) for field in filled),
        tuple(
            RecordRow(
                anchor_of(record),
                getattr(record, "name", ""),
                tuple(_cell(record, field, hints[field]) for field in filled),
                getattr(record, "source", ""),
            )
            for record in records
        ),
    )


def _cell(record: Record, field: str, hint: Any) -> str:
    value = getattr(record, field)
    if isinstance(value, bool):
        return translate("yes") if value else ""
    if isinstance(value, Record):
        return value.text
    unit = next((n for n in getattr(hint, "__metadata__", ()) if isinstance(n, Unit)), None)
    if unit is None:
        return str(value)
    if not value:
        return translate("unknown") if field in record.unpublished else ""
    return str(value) if unit is COUNT and field == "year" else show(value, unit)
