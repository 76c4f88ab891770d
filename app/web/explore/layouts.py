"""/layouts: the best layouts of a model on a cluster, from a search over all of them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from fastapi import Request, Response

from app.charts.axes import Axis, percent_text
from app.charts.color import Tone
from app.charts.plot import LabeledPoint, Plot, Series
from app.errors import InputError
from app.explorers import EXPLORERS, Control, Select, Values, address_text, read_controls
from app.explorers.placements import RECOMPUTE, STAGES, named_cluster
from app.formulas.presets import Layout, ModelShape
from app.network.routes import Router
from app.searching import Ranked, SearchResult, Space
from app.site import Here
from app.translation import localized, noted, translate, translate_known
from app.units import BYTE, SECOND, show
from app.web.explore.figures import FigureView, figure_file, figure_view
from app.web.explore.layout_searches import LayoutSearches, search_layouts
from app.web.explore.layout_words import layout_name, limits_of
from app.web.explore.other_states import unbroken
from app.web.explore.state import LONGEST
from app.web.frame.renderer import frame, render
from app.web.frame.visitor import spend
from app.web.urls import LAYOUTS, explorer_url, layouts_url

router = Router(prefix=LAYOUTS)
_COST = 60  # of an answer: a search may take a second
_FIT = EXPLORERS["fit"]
_ANY = {"": "any"}
_POWERS = [2**power for power in range(9)]
_LISTED = 8  # of the front, in the table
_SLOWEST = 10  # times the fastest: what takes longer is not drawn
_ASKED = ("model", "gpu", "gpus", "network", "batch", "sequence")
_FIXED: Mapping[str, str] = {
    "tensor": "tensor", "pipeline": "pipeline", "context": "context", "expert": "expert",
    "micro": "micro_batch", "stage": "zero_stage", "recompute": "recompute",
}  # fmt: skip
_HEADER = (noted("Layout"), noted("Step"), "MFU", noted("Memory"), noted("Limited by"))


def _degrees(name: str, label: str, most: int) -> Select:
    return Select(name, label, _ANY | {str(one): str(one) for one in _POWERS if one <= most})


CONTROLS: Sequence[Control] = (
    *(control for control in _FIT.controls if control.name in _ASKED),
    _degrees("tensor", "Tensor parallelism", 32),
    _degrees("pipeline", "Pipeline stages", 64),
    _degrees("context", "Context parallelism", 32),
    _degrees("expert", "Expert parallelism", 256),
    _degrees("micro", "Sequences per micro-batch", 64),
    Select("stage", "ZeRO stage", _ANY | {str(one): f"stage {one}" for one in sorted(STAGES)}),
    Select("recompute", "Recomputation", _ANY | dict(RECOMPUTE)),
)


@dataclass(frozen=True, slots=True)
class FieldView:
    """A field of the form; a number if it has no *options*."""

    name: str
    label: str
    value: str
    unit: str
    options: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class FoundLayoutRow:
    """A layout, a link to it in the explorer if that can show it, and its numbers."""

    name: str
    href: str
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LayoutTable:
    """Layouts, the best first."""

    title: str
    says: str
    header: tuple[str, ...]
    rows: tuple[FoundLayoutRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LayoutsPage:
    """What a search found, or why there is nothing to search."""

    fields: tuple[FieldView, ...]
    corrections: tuple[str, ...]
    problem: str
    title: str
    fits: bool
    says: str
    facts: tuple[tuple[str, str], ...]
    tables: tuple[LayoutTable, ...]
    figures: tuple[FigureView, ...]
    rejected: tuple[tuple[str, str, str], ...]


@router.get("")
async def layouts(request: Request, site: Here) -> Response:
    """The search that the address describes."""
    values, corrections = _values(request)
    found = await _found(request, site, values)
    says = translate(
        "Every layout of a model on a cluster, searched: the fastest that fit, and why."
    )
    around = frame(request, translate("The best layout"), says, "explore")
    page = _layouts_page(values, corrections, found)
    return render("explore/layouts.html", around, page)


@router.get("/{number}.{form}")
async def download_layout_figure(request: Request, site: Here, number: int, form: str) -> Response:
    """The figure as a standalone SVG file, or its values as CSV."""
    values, _ = _values(request)
    found = await _found(request, site, values)
    if isinstance(found, str):
        raise InputError(found)
    return figure_file(_figures(found), number, form, "layouts")


def _values(request: Request) -> tuple[Values, tuple[str, ...]]:
    given = {name: text[:LONGEST] for name, text in request.query_params.items()}
    values, corrections = read_controls(CONTROLS, given)
    return Values(values), corrections


async def _found(request: Request, site: Here, values: Values) -> SearchResult | str:
    searches: LayoutSearches = request.app.state.layout_searches
    return await searches.result(
        tuple(_state(values).values()),
        lambda: search_layouts(lambda: space_of(values)),
        lambda: spend(request, site.allowances.answers, "searches", _COST),
    )


def _state(values: Values) -> dict[str, str]:
    return {control.name: address_text(control, values[control.name]) for control in CONTROLS}


def space_of(values: Values) -> Space:
    """The layouts that the form describes, with what the explorer of one layout takes for granted.

    Raises:
        ValueError: a degree does not divide what it splits.
    """
    gpus = values.count("gpus")
    asked = {name: values.word(name) for name in _FIXED}
    fixed = {_FIXED[name]: text for name, text in asked.items() if text}
    return Space(
        model=ModelShape.read(values.word("model")),
        cluster=named_cluster(values.word("gpu"), gpus, values.number("network")),
        batch=values.count("batch"),
        sequence=values.count("sequence"),
        fixed={
            **{name: text if name == "recompute" else int(text) for name, text in fixed.items()},
            "sequence_parallel": True,
            "context_by": "all-gather",
        },
    )


def _layouts_page(
    values: Values, corrections: tuple[str, ...], found: SearchResult | str
) -> LayoutsPage:
    state = _state(values)
    fields = tuple(_field(control, state[control.name]) for control in CONTROLS)
    if isinstance(found, str):
        return LayoutsPage(
            fields=fields, corrections=corrections, problem=found, title="", fits=False, says="",
            facts=(), tables=(), figures=(), rejected=(),
        )  # fmt: skip
    best = found.top[0] if found.top else None
    count = translate("{fit:,} of {layouts:,} layouts fit.", fit=found.fit, layouts=found.layouts)
    says = count
    if best:
        says += translate(
            " The step of the fastest is {limits}.", limits=limits_of(best, translate(" and "))
        )
    elif found.least:
        says += translate(" The smallest needs {memory}.", memory=show(found.least.memory, BYTE, 3))
    return LayoutsPage(
        fields=fields,
        corrections=corrections,
        problem="",
        title=layout_name(best.layout) if best else translate("None fits"),
        fits=bool(best),
        says=says,
        facts=_facts(best) if best else (),
        tables=tuple(_tables(found, values)),
        figures=_views(found, values),
        rejected=tuple(
            (localized(rule), f"{count:,}", percent_text(count / found.layouts))
            for rule, count in found.rejected.items()
        ),
    )


def _field(control: Control, text: str) -> FieldView:
    choices = control.options if isinstance(control, Select) else {}
    options = tuple((value, translate_known(shown)) for value, shown in choices.items())
    number, _, unit = (text, "", "") if options else text.partition(" ")
    return FieldView(control.name, translate(control.label), number, unit, options)


def _facts(best: Ranked) -> tuple[tuple[str, str], ...]:
    return (
        (translate("step"), show(best.step_time, SECOND)),
        ("MFU", percent_text(best.mfu)),
        (translate("memory per GPU"), show(best.memory, BYTE, 3)),
        (translate("micro-batches"), f"{best.layout.microbatches:,}"),
    )


def _tables(found: SearchResult, values: Values) -> Iterable[LayoutTable]:
    if found.top:
        rows = tuple(_layouts_row(one, values) for one in found.top)
        yield LayoutTable(translate("The fastest layouts"), "", _header(), rows)
    elif found.least:
        says = translate("What needs the least memory does not fit either.")
        yield LayoutTable(
            translate("The smallest layout"), says, _header(), (_layouts_row(found.least, values),)
        )
    front = _front(found)
    if len(front) > 1:
        stride = -(-len(front) // _LISTED)
        rows = tuple(_layouts_row(one, values) for one in front[::stride])
        says = translate(
            "No other layout is as fast with as little memory. Up to {slowest} times the time.",
            slowest=_SLOWEST,
        )
        yield LayoutTable(translate("Less memory for more time"), says, _header(), rows)


def _header() -> tuple[str, ...]:
    return tuple(heading and translate_known(heading) for heading in _HEADER)


def _layouts_row(one: Ranked, values: Values) -> FoundLayoutRow:
    cells = (
        show(one.step_time, SECOND),
        percent_text(one.mfu),
        show(one.memory, BYTE, 3),
        limits_of(one),
    )
    address = _address(one.layout, values)
    return FoundLayoutRow(layout_name(one.layout), address, tuple(map(unbroken, cells)))


def _address(layout: Layout, values: Values) -> str:
    """The page of the explorer for *layout*, or nothing if its controls do not go that far."""
    state = {name: text for name, text in _state(values).items() if name in _ASKED}
    state |= {name: str(getattr(layout, field)) for name, field in _FIXED.items()}
    state |= {"virtual": str(layout.virtual)}
    _, corrections = read_controls(_FIT.controls, state)
    return "" if corrections else explorer_url(_FIT.name, state)


def _front(found: SearchResult) -> tuple[Ranked, ...]:
    """The front, from the fastest, as far as it is of use."""
    every = found.front[::-1]
    return tuple(one for one in every if one.step_time <= _SLOWEST * every[0].step_time)


def _figures(found: SearchResult) -> tuple[Plot, ...]:
    front = _front(found)
    if len(front) < 2:  # noqa: PLR2004
        return ()
    points = tuple((one.memory, one.step_time) for one in reversed(front))
    best, least = front[0], front[-1]
    return (
        Plot(
            title=translate("Memory against time"),
            summary=translate(
                "From {slow} in {least} to {fast} in {most}",
                slow=show(least.step_time, SECOND, 3),
                least=show(least.memory, BYTE, 3),
                fast=show(best.step_time, SECOND, 3),
                most=show(best.memory, BYTE, 3),
            ),
            x=Axis(translate("memory of the fullest GPU"), BYTE, log=True),
            y=Axis(translate("step"), SECOND, log=True),
            series=(Series(Tone.COMPUTE, "", points),),
            marks=(LabeledPoint(best.memory, best.step_time, translate("fastest")),),
        ),
    )


def _views(found: SearchResult, values: Values) -> tuple[FigureView, ...]:
    query = layouts_url(_state(values)).removeprefix(LAYOUTS)
    return tuple(
        figure_view(figure, LAYOUTS, number, query) for number, figure in enumerate(_figures(found))
    )
