"""A better layout than the one that an explorer shows, from a search over all of them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from app.core.charts.axes import Axis, Tone, percent_text
from app.core.charts.plot import LabeledPoint, Plot, Series
from app.core.formulas.presets import Layout, ModelShape
from app.core.searching import LayoutCandidate, SearchResult, Space
from app.core.translation import localize, noted, translate, translate_known
from app.core.units import BYTE, SECOND, show
from app.course.explorers import EXPLORERS, Explorer, Values, read_controls
from app.course.explorers.placements import named_cluster
from app.site.web.explore.figures import FigureView, figure_view
from app.site.web.explore.state import unbreak_numbers, url_state
from app.site.web.urls import BETTER, better_url, explorer_url


def limits_of(one: LayoutCandidate, between: str = ", ") -> str:
    """What the step is spent on: the largest part and the next."""
    some = list(one.limits.items())[:2]
    return between.join(f"{percent_text(round(share, 2))} {name}" for name, share in some)


def layout_name(layout: Layout) -> str:
    """The degrees of *layout* that are not 1, in words."""
    chunks = f" × {layout.virtual}" if layout.virtual > 1 else ""
    named = (
        ("tensor", layout.tensor, ""),
        ("pipeline", layout.pipeline, chunks),
        ("context", layout.context, ""),
        ("expert", layout.expert, ""),
        ("data", layout.data, ""),
        ("micro-batch", layout.micro_batch, ""),
    )
    degrees = [f"{name} {value}{more}" for name, value, more in named if value > 1]
    again = {
        "none": [translate("no recomputation")],
        "selective": [],
        "operations": [translate("recomputation of operations")],
        "full": [translate("full recomputation")],
    }
    parts = (*degrees, *again[layout.recompute], f"ZeRO {layout.zero_stage}")
    return ", ".join(part.replace(" ", "\N{NO-BREAK SPACE}") for part in parts)


FIT = EXPLORERS["fit"]
_LISTED = 8  # of the front, in the table
_SLOWEST = 10  # times the fastest: what takes longer is not drawn
_FIELDS: Mapping[str, str] = {
    "tensor": "tensor",
    "pipeline": "pipeline",
    "context": "context",
    "expert": "expert",
    "micro": "micro_batch",
    "stage": "zero_stage",
    "recompute": "recompute",
}
_HEADER = (noted("Layout"), noted("Step"), "MFU", noted("Memory"), noted("Limited by"))


@dataclass(frozen=True, slots=True)
class HeldControl:
    """A control that a search can leave as it is."""

    name: str
    label: str
    is_held: bool


@dataclass(frozen=True, slots=True)
class LayoutSearchForm:
    """What starts a search: the state that it starts from, and what it may leave as it is."""

    action: str
    state: tuple[tuple[str, str], ...]
    controls: tuple[HeldControl, ...]


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
class FoundLayouts:
    """What a search found, or why there is nothing to search."""

    problem: str = ""
    title: str = ""
    fits: bool = False
    says: str = ""
    facts: tuple[tuple[str, str], ...] = ()
    tables: tuple[LayoutTable, ...] = ()
    figures: tuple[FigureView, ...] = ()
    rejected: tuple[tuple[str, str, str], ...] = ()


def held_controls(names: Iterable[str]) -> tuple[str, ...]:
    """Those of *names* that a search can leave as they are."""
    asked = set(names)
    return tuple(name for name in _FIELDS if name in asked)


def layout_search_form(explorer: Explorer, values: Values, held: Sequence[str]) -> LayoutSearchForm | None:
    """The form that starts a search from *values*, if *explorer* is about a whole layout."""
    if explorer is not FIT:
        return None
    labels = {control.name: control.label for control in explorer.controls}
    return LayoutSearchForm(
        BETTER,
        tuple(url_state(explorer, values).items()),
        tuple(HeldControl(name, translate(labels[name]), name in held) for name in _FIELDS),
    )


def space_of(values: Values, held: Sequence[str]) -> Space:
    """The layouts of the run that *values* describe, with the *held* controls as they are.

    Raises:
        ValueError: a degree does not divide what it splits.
    """
    gpus = values.count("gpus")
    fixed = {_FIELDS[name]: values.word(name) if name == "recompute" else int(values[name]) for name in held}
    return Space(
        model=ModelShape.read(values.word("model")),
        cluster=named_cluster(values.word("gpu"), gpus, values.number("network")),
        batch=values.count("batch"),
        sequence=values.count("sequence"),
        fixed={**fixed, "precision": values.word("precision"), "sequence_parallel": True, "context_by": "all-gather"},
    )


def found_layouts(found: SearchResult | str, values: Values, held: Sequence[str]) -> FoundLayouts:
    """What a search from *values* *found*."""
    if isinstance(found, str):
        return FoundLayouts(problem=found)
    best = found.top[0] if found.top else None
    says = translate("{fit:,} of {layouts:,} layouts fit.", fit=found.fit, layouts=found.layouts)
    if best:
        says += translate(" The step of the fastest is {limits}.", limits=limits_of(best, translate(" and ")))
    elif found.least:
        says += translate(" The smallest needs {memory}.", memory=show(found.least.memory, BYTE, 3))
    return FoundLayouts(
        title=layout_name(best.layout) if best else translate("None fits"),
        fits=bool(best),
        says=says,
        facts=_facts(best) if best else (),
        tables=tuple(_tables(found, values)),
        figures=_views(found, values, held),
        rejected=tuple(
            (localize(rule), f"{count:,}", percent_text(count / found.layouts))
            for rule, count in found.rejected.items()
        ),
    )


def _facts(best: LayoutCandidate) -> tuple[tuple[str, str], ...]:
    return (
        (translate("step"), show(best.step_time, SECOND)),
        ("MFU", percent_text(best.mfu)),
        (translate("memory per GPU"), show(best.memory, BYTE, 3)),
        (translate("micro-batches"), f"{best.layout.microbatches:,}"),
    )


def _tables(found: SearchResult, values: Values) -> Iterator[LayoutTable]:
    if found.top:
        rows = tuple(_layouts_row(one, values) for one in found.top)
        yield LayoutTable(translate("The fastest layouts"), "", _header(), rows)
    elif found.least:
        says = translate("What needs the least memory does not fit either.")
        yield LayoutTable(translate("The smallest layout"), says, _header(), (_layouts_row(found.least, values),))
    front = _front(found)
    if len(front) > 1:
        stride = -(-len(front) // _LISTED)
        rows = tuple(_layouts_row(one, values) for one in front[::stride])
        says = translate(
            "No other layout is as fast with as little memory. Up to {slowest} times the time.", slowest=_SLOWEST
        )
        yield LayoutTable(translate("Less memory for more time"), says, _header(), rows)


def _header() -> tuple[str, ...]:
    return tuple(translate_known(heading) for heading in _HEADER)


def _layouts_row(one: LayoutCandidate, values: Values) -> FoundLayoutRow:
    cells = (show(one.step_time, SECOND), percent_text(one.mfu), show(one.memory, BYTE, 3), limits_of(one))
    address = _address(one.layout, values)
    return FoundLayoutRow(layout_name(one.layout), address, tuple(map(unbreak_numbers, cells)))


def _address(layout: Layout, values: Values) -> str:
    """The page of the explorer for *layout*, or nothing if its controls do not go that far."""
    state = url_state(FIT, values)
    state |= {name: str(getattr(layout, field)) for name, field in _FIELDS.items()}
    state |= {"virtual": str(layout.virtual)}
    _, corrections = read_controls(FIT.controls, state)
    return "" if corrections else explorer_url(FIT.name, state)


def _front(found: SearchResult) -> tuple[LayoutCandidate, ...]:
    """The front, from the fastest, as far as it is of use."""
    every = found.front[::-1]
    return tuple(one for one in every if one.step_time <= _SLOWEST * every[0].step_time)


def layout_figures(found: SearchResult) -> tuple[Plot, ...]:
    """The memory of the layouts that nothing beats, against their time."""
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


def _views(found: SearchResult, values: Values, held: Sequence[str]) -> tuple[FigureView, ...]:
    query = better_url(url_state(FIT, values), held).removeprefix(BETTER)
    return tuple(
        figure_view(figure, BETTER, number, query, "better") for number, figure in enumerate(layout_figures(found))
    )
