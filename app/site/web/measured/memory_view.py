"""What the page shows of an out-of-memory error, and its way into the explorer that says what fits."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from app.core.errors import sentence
from app.core.formulas.presets import Cluster, Gpu, Layout
from app.core.measurements.memory_shortage import ShortageExplanation, explain_shortage, names_of
from app.core.measurements.reports import MemoryShortage
from app.core.translation import localize, noted, translate
from app.core.units import Bytes, show_size
from app.course.explorers.states import state_of_records
from app.site.web.frame.renderer import Hyperlink
from app.site.web.urls import explorer_url, formula_url

_CACHE = "transformer.key_value_cache_bytes"
_NETWORK = 50e9  # bytes per second of a GPU, where nothing is known: one card of 400 Gbit/s
_TENSORS = (noted("Tensor"), noted("Arithmetic"), noted("Agreement"), noted("Model"))
_CURES = (noted("What to change"), noted("If it is"), noted("Saves at most"))
_ACCOUNT = (noted("Memory of the GPU"), noted("Size"))


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryView:
    """An error: what it says, three tables with their headers, and where to go on."""

    headline: str = ""
    says: str = ""
    doubts: tuple[str, ...] = ()
    account: tuple[tuple[str, ...], ...] = ()
    tensors: tuple[tuple[str, ...], ...] = ()
    cures: tuple[tuple[str, ...], ...] = ()
    notes: tuple[str, ...] = ()
    onward: Hyperlink | None = None
    assumed: str = ""  # of the state behind the link
    problem: str = ""


def memory_view(found: MemoryShortage, fields: Mapping[str, str]) -> MemoryView:
    """The view of *found*, for the model, cluster and layout that *fields* name."""
    doubts = tuple(map(sentence, found.doubts))
    try:
        told = explain_shortage(found, fields)
    except ValueError as error:
        return MemoryView(doubts=doubts, problem=sentence(localize(str(error))))
    except ArithmeticError:
        return MemoryView(doubts=doubts, problem=translate("A number of the model or the layout is too large."))
    view = MemoryView(
        headline=localize(told.headline),
        says=localize(told.says),
        doubts=doubts,
        account=_with_header(_ACCOUNT, tuple((localize(name), _size(size)) for name, size in told.account)),
        tensors=_with_header(_TENSORS, tuple(_tensor_cells(told))),
        cures=_with_header(
            _CURES, tuple((localize(one.says), localize(one.of), _size(one.saves)) for one in told.cures)
        ),
        notes=tuple(map(localize, told.notes)),
    )
    if found.tokens:
        return replace(view, onward=Hyperlink(formula_url(_CACHE), translate("Compute the size of a cache")))
    return _with_way_to_fit(view, found, told)


def _with_header(header: tuple[str, ...], rows: tuple[tuple[str, ...], ...]) -> tuple[tuple[str, ...], ...]:
    return (tuple(map(translate, header)), *rows) if rows else ()


def _tensor_cells(told: ShortageExplanation) -> list[tuple[str, ...]]:
    return [
        (localize(one.name), localize(one.arithmetic), localize(one.match), localize(names_of(one)))
        for one in told.candidates
    ]


def _size(value: Bytes) -> str:
    return show_size(round(value), 4)


def _with_way_to_fit(view: MemoryView, found: MemoryShortage, told: ShortageExplanation) -> MemoryView:
    """*view* with the address of the layout explorer, in the state that is known of the run."""
    link, layout = translate("Will my run fit?"), told.layout or _usual_layout(found)
    if told.model is None:
        missing = translate("Name the model under “What it ran on”, and compare again, to have it filled in.")
        return replace(view, onward=Hyperlink(explorer_url("fit", {}), link), assumed=missing)
    states = (state_of_records(told.model, _machine(gpu, layout.gpus), layout) for gpu in told.gpus)
    there = next(filter(None, states), None)
    if there is None:
        return replace(view, onward=Hyperlink(explorer_url("fit", {}), link))
    values = {"model": told.model.name, "gpus": layout.gpus, "gpu": there.state["gpu"], "sequence": layout.sequence}
    text = translate(
        "Filled in: {model}, {gpus} × {gpu}, {sequence:,} tokens a sequence, ZeRO {stage}. Change what is not so.",
        stage=layout.zero_stage,
        **values,
    )
    return replace(view, onward=Hyperlink(explorer_url("fit", there.state), link), assumed=text)


def _usual_layout(found: MemoryShortage) -> Layout:
    """Data parallelism over the ranks that were named, sharded as the traceback says, else over all."""
    stage = 3 if found.zero_stage is None else found.zero_stage
    return Layout.of({"data": found.ranks, "zero_stage": stage if found.ranks > 1 else 1})


def _machine(gpu: Gpu, gpus: int) -> Cluster:
    node = next(size for size in (8, 4, 2, 1) if gpus % size == 0)
    return Cluster(
        gpu=gpu, gpus=gpus, gpus_per_node=node, intra_bandwidth=gpu.nvlink or _NETWORK, inter_bandwidth=_NETWORK
    )
