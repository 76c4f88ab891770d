"""/hardware and /formulas: what the formulas know by name, and a calculator for each."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from fastapi import Request, Response

from app.core.formulas.presets import CLUSTERS, GPUS, LAWS, LAYOUTS, LINKS, MODELS, RECIPES
from app.core.formulas.records import Record, hints_of
from app.core.translation import SOURCE, language, noted, translate, translate_known
from app.core.units import COUNT, Unit, show
from app.server.network.routes import Router
from app.site import Here
from app.site.web.frame.renderer import frame, render
from app.site.web.reference.formula_view import LONGEST_ARGUMENT, formula_called, formula_groups, formula_page
from app.site.web.urls import formula_url

_NAMES = {"nvlink": "NVLink", "sms": "SMs"}
_MEANT = {"hidden": noted("hidden size"), "sequence": noted("sequence length")}
# As the words of a field; what is missing here stays English in every language.
FIELDS = (
    noted("year"),
    noted("peak"),
    noted("peak, 8 bits"),
    noted("peak, 4 bits"),
    noted("memory"),
    noted("memory bandwidth"),
    noted("power"),
    noted("tensor cores"),
    noted("product share"),
    noted("product share, 8 bits"),
    noted("memory share"),
    noted("bandwidth"),
    noted("effective"),
    noted("latency"),
    noted("start"),
    noted("ramp"),
    noted("approached"),
    noted("GPUs per node"),
    noted("rack"),
    noted("pod"),
    noted("intra bandwidth"),
    noted("inter bandwidth"),
    noted("intra latency"),
    noted("inter latency"),
    noted("oversubscription"),
    noted("layers"),
    noted("heads"),
    noted("key value heads"),
    noted("head size"),
    noted("feed forward"),
    noted("vocabulary"),
    noted("gated"),
    noted("tied"),
    noted("biases"),
    noted("norm"),
    noted("query key norm"),
    noted("positions"),
    noted("experts"),
    noted("active experts"),
    noted("expert feed forward"),
    noted("shared"),
    noted("dense layers"),
    noted("router bias"),
    noted("latent"),
    noted("query latent"),
    noted("tensor"),
    noted("pipeline"),
    noted("context"),
    noted("expert"),
    noted("data"),
    noted("virtual"),
    noted("microbatches"),
    noted("micro batch"),
    noted("zero stage"),
    noted("recompute"),
    noted("sequence parallel"),
    noted("precision"),
    noted("context by"),
    noted("weight bytes"),
    noted("gradient bytes"),
    noted("optimizer bytes"),
    noted("element bytes"),
    noted("reduced bytes"),
    noted("logit bytes"),
    noted("floor"),
    noted("size scale"),
    noted("data scale"),
    noted("size exponent"),
    noted("data exponent"),
)


def field_name(field: str) -> str:
    """What a column of the values of *field* is called."""
    words = field.replace("gpu", "GPU").replace("_8bit", ", 8 bits").replace("_4bit", ", 4 bits")
    name = words.replace("_", " ")
    if language() != SOURCE:  # where one word of English has two meanings
        name = _MEANT.get(name, name)
    return _NAMES.get(field) or translate_known(name)


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


_formulas_router = Router(prefix="/formulas")


@_formulas_router.get("")
def show_formulas(request: Request) -> Response:
    """All formulas."""
    says = translate("Every formula of the course, with its derivation, its source and a calculator.")
    around = frame(request, translate("Formulas"), says, "formulas")
    return render("reference/formulas.html", around, formula_groups())


@_formulas_router.get("/{name}")
def show_formula(request: Request, site: Here, name: str) -> Response:
    """One formula, evaluated for the arguments in the address."""
    formula = formula_called(name)
    given = {k: v[:LONGEST_ARGUMENT] for k, v in request.query_params.items() if v.strip()}
    page = formula_page(site.catalog, formula, given)
    short = formula.name.partition(".")[2].replace("_", " ")
    calculated = {} if page.problem else {name: text for name, text in given.items() if name in formula.inputs}
    path = f"{formula_url(formula.name)}?{urlencode(calculated)}".rstrip("?")
    around = frame(request, short.capitalize(), page.documented.summary, "formulas", path)
    fragment = request.headers.get("x-fragment") == "1"
    return render("reference/calculation.html" if fragment else "reference/formula.html", around, page)


router.routes += _formulas_router.routes
