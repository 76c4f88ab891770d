"""/explore: the explorers. What is shown is in the address, and worked out here."""

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from fastapi import APIRouter, Request, Response
from jinja2 import Environment
from markupsafe import Markup

from app.charts.bars import Bars, bars_picture
from app.charts.plot import Plot, plot_picture
from app.charts.svg import picture as timeline_picture
from app.charts.timeline import Timeline
from app.errors import InputError, NotFoundError, nearest
from app.explorers import (
    EXPLORERS,
    Control,
    Explored,
    Explorer,
    Fact,
    Figure,
    Select,
    Slider,
    Value,
    Values,
    address_text,
    read_controls,
    slider_place,
)
from app.glossary import mark
from app.markdown import html, inline_html
from app.site import Here
from app.web.rendering import Link, frame, render, templates

router = APIRouter(prefix="/explore")
_LONGEST = 200  # characters of a value in an address


@dataclass(frozen=True, slots=True)
class ControlView:
    """A control with its present value; *place* is that of the slider, where there is one."""

    name: str
    label: str
    value: str
    unit: str
    options: tuple[tuple[str, str], ...]
    place: tuple[float, float, float, str] | None
    log: bool
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class FigureView:
    """A figure, drawn, with the same in a table."""

    title: str
    svg: Markup
    table: tuple[tuple[str, ...], ...]
    svg_href: str
    csv_href: str


@dataclass(frozen=True, slots=True)
class ExplorePage:
    """An explorer as it stands."""

    name: str
    title: str
    summary: str
    question: Markup
    chapter: Link
    formulas: tuple[Link, ...]
    controls: tuple[ControlView, ...]
    corrections: tuple[str, ...]
    problem: str
    says: Markup
    facts: tuple[Fact, ...]
    figures: tuple[FigureView, ...]
    address: str


@dataclass(frozen=True, slots=True)
class ExploreList:
    """All explorers."""

    explorers: tuple[Explorer, ...]


@router.get("")
async def explore_list(request: Request) -> Response:
    """Every explorer."""
    says = "Sliders and figures: all-reduce, pipelines, memory, rooflines, checkpoints."
    around = frame(request, "Explore", says, "explore")
    return render("explorers.html", around, ExploreList(tuple(EXPLORERS.values())))


@router.get("/{name}")
async def explore(request: Request, site: Here, name: str) -> Response:
    """One explorer, as its address says."""
    explorer = _explorer(name)
    values, corrections = _read(explorer, request.query_params)
    shown, problem = _shown(explorer, values)
    topic = site.catalog.topic(explorer.chapter)
    query = _query(explorer, values)
    page = ExplorePage(
        explorer.name,
        explorer.title,
        explorer.summary,
        mark(inline_html(explorer.question)),
        Link(f"/chapters/{topic.id}", topic.title),
        tuple(Link(f"/formulas/{formula}", formula) for formula in explorer.formulas),
        tuple(_control(control, values[control.name]) for control in explorer.controls),
        corrections,
        problem,
        html(shown.says),
        shown.facts,
        tuple(_figure(explorer, n, figure, query) for n, figure in enumerate(shown.figures)),
        f"/explore/{explorer.name}?{query}",
    )
    fragment = request.headers.get("x-fragment") == "1"
    around = frame(request, explorer.title, explorer.summary, "explore")
    return render("explored.html" if fragment else "explorer.html", around, page)


@router.get("/{name}/{number}.{form}")
async def download(request: Request, name: str, number: int, form: str) -> Response:
    """One figure as a picture that stands alone, or its values."""
    explorer = _explorer(name)
    values, _ = _read(explorer, request.query_params)
    shown, problem = _shown(explorer, values)
    if problem:
        raise InputError(problem)
    if form not in ("svg", "csv") or not 0 <= number < len(shown.figures):
        raise NotFoundError(f"{explorer.name} has {len(shown.figures)} figures, as .svg and .csv")
    figure = shown.figures[number]
    file = f'attachment; filename="{explorer.name}-{number}.{form}"'
    headers = {"Content-Disposition": file}
    if form == "svg":
        return Response(_drawn(figure, alone=True), media_type="image/svg+xml", headers=headers)
    text = io.StringIO()
    csv.writer(text).writerows(_table(figure))
    return Response(text.getvalue(), media_type="text/csv; charset=utf-8", headers=headers)


def _explorer(name: str) -> Explorer:
    if name not in EXPLORERS:
        near = nearest(name[:80], EXPLORERS)
        raise NotFoundError(f"no explorer is called {name[:80]!r}{near}")
    return EXPLORERS[name]


def _read(explorer: Explorer, query: Mapping[str, str]) -> tuple[Values, tuple[str, ...]]:
    given = {name: text[:_LONGEST] for name, text in query.items()}
    values, corrections = read_controls(explorer.controls, given)
    return Values(values), corrections


def _shown(explorer: Explorer, values: Values) -> tuple[Explored, str]:
    """What is shown, and why nothing is where the values do not go together."""
    try:
        return explorer.explore(values), ""
    except ValueError as error:
        return Explored("", (), ()), str(error)


def _query(explorer: Explorer, values: Values) -> str:
    return urlencode({c.name: address_text(c, values[c.name]) for c in explorer.controls})


def _control(control: Control, value: Value) -> ControlView:
    if isinstance(control, Select):
        options = tuple(control.options.items())
        return ControlView(control.name, control.label, str(value), "", options, None, False, 0, 0)
    return _slider(control, value if not isinstance(value, str) else control.default)


def _slider(control: Slider, value: float) -> ControlView:
    return ControlView(
        control.name,
        control.label,
        address_text(control, value).removesuffix(control.unit).strip(),
        control.unit,
        (),
        slider_place(control, value),
        control.log,
        control.low,
        control.high,
    )


def _figure(explorer: Explorer, number: int, figure: Figure, query: str) -> FigureView:
    base = f"/explore/{explorer.name}/{number}"
    return FigureView(
        figure.title,
        Markup(_drawn(figure, alone=False)),  # made by our own template, which escapes
        _table(figure),
        f"{base}.svg?{query}",
        f"{base}.csv?{query}",
    )


def _drawn(figure: Figure, *, alone: bool) -> str:
    environment: Environment = templates()
    match figure:
        case Bars():
            template, placed = "figures/bars.svg", bars_picture(figure)
            return environment.get_template(template).render(picture=placed, alone=alone)
        case Plot():
            curves = plot_picture(figure)
            return environment.get_template("figures/plot.svg").render(picture=curves, alone=alone)
        case Timeline():
            name = "figures/timeline.svg" if alone else "figures/schedule.svg"
            return environment.get_template(name).render(picture=timeline_picture(figure))


def _table(figure: Figure) -> tuple[tuple[str, ...], ...]:
    if not isinstance(figure, Timeline):
        return figure.table
    rows: list[tuple[str, ...]] = [("Device", "Keeps", "In order")]
    rows += [
        (row.name, row.note, " ".join(f"{b.kind}{b.label}" for b in row.bars))
        for row in figure.rows
    ]
    return tuple(rows)
