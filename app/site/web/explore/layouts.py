"""Three questions about a run: a model, a GPU, how many. What the address leaves open follows from them."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import log2

from app.core.charts.axes import percent_text
from app.core.errors import InputError
from app.core.formulas.configurations import CONFIGURATION_LIMIT
from app.core.formulas.presets import GPUS, Cluster, Layout, ModelShape
from app.core.formulas.transformer import model_parameters
from app.core.searching import LayoutCandidate, SearchResult, Space, search_in_time
from app.core.translation import localize, noted, translate
from app.core.units import BYTE, SECOND, figures, show
from app.course.explorers import EXPLORERS
from app.course.explorers.base import StateRow, StateTable, Values
from app.course.explorers.controls import Control, Slider, read_controls
from app.course.explorers.placements import named_cluster
from app.course.explorers.run_fit import layout_words
from app.course.explorers.states import ConfiguredState, configured_state
from app.server.aside import aside
from app.server.aside.child_process import read_apart
from app.server.aside.jobs import BoundedJobs
from app.site.web.explore.state import LONGEST, WAS, pack_state, url_state

FIT = EXPLORERS["fit"]
CONFIGURATION = "configuration"  # a pasted one, in an address
QUESTIONS = ("model", "gpu", "gpus")
_START = {"model": "Llama-3.1-8B", "gpu": "H100", "gpus": "8"}
_FIELDS: Mapping[str, str] = {
    "tensor": "tensor",
    "pipeline": "pipeline",
    "virtual": "virtual",
    "context": "context",
    "expert": "expert",
    "micro": "micro_batch",
    "stage": "zero_stage",
    "recompute": "recompute",
}
_SHARDED = dict.fromkeys(_FIELDS, "1") | {"stage": "3", "recompute": "selective"}  # where nothing can be searched
_SEQUENCE = 4096  # tokens, of a model without learned positions
# GPT-3's table 2.1: 0.5 M tokens for 125 M parameters, 3.2 M for 175 B
_SMALL, _SMALL_BATCH, _GROWTH = 125e6, 0.5e6, 0.43
_TOKENS = 20  # of the run, for a parameter
_TRILLION, _GIGA = 1e12, 1e9
_LISTED = 8  # of the front, in the table
_SLOWEST = 10  # times the fastest: what takes longer is not listed
_HEADER = (noted("Layout"), noted("Step"), "MFU", noted("Memory"), noted("Limited by"))


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlan:
    """A run: its whole state as in an address, what was *told* of it, and what *found* its layout.

    *found* is the sentence that says so where nothing could be searched.
    """

    state: Mapping[str, str]
    told: frozenset[str]
    notes: tuple[str, ...] = ()
    found: SearchResult | str = ""

    @property
    def assumed(self) -> str:
        """What nobody told of the run, in a sentence."""
        values = Values(read_controls(FIT.controls, self.state)[0])
        return translate(
            "{batch:,} sequences of {sequence:,} tokens a step, {billions} billion tokens in total.",
            batch=values.count("batch"),
            sequence=values.count("sequence"),
            billions=figures(values.number("tokens") / _GIGA, 3),
        )


def open_plan(query: Mapping[str, str]) -> RunPlan:
    """The run of an address before its layout is searched."""
    told = {c.name: query[c.name][:LONGEST] for c in FIT.controls if query.get(c.name, "").strip()}
    notes: tuple[str, ...] = ()
    if pasted := query.get(CONFIGURATION, "").strip():
        try:
            found = read_pasted(pasted, told.get("gpus", ""))
            told |= found.controls
            notes = tuple(map(localize, found.doubts))
        except ValueError as error:
            notes = (localize(str(error)),)
        except InputError as error:  # it takes too much
            notes = (translate("the pasted configuration was not read: {problem}", problem=str(error)),)
    values, corrections = read_controls(tuple(map(_as_opened, FIT.controls)), {**_START, **told})
    read = {name: text for name, text in url_state(FIT, Values(values)).items() if name in told}
    return RunPlan(
        state={**_START, **_usual_state(Values(values)), **read}, told=frozenset(told), notes=(*notes, *corrections)
    )


def _as_opened(control: Control) -> Control:
    """*control*, which stands at what the page opens with where an address says something that it is not."""
    start = _START.get(control.name)
    if start is None:
        return control
    if isinstance(control, Slider):
        return replace(control, default=int(start))
    return replace(control, options={start: control.options[start], **control.options})


def read_pasted(text: str, gpus: str = "") -> ConfiguredState:
    """What the configuration *text* says of a run on *gpus*, and its doubts.

    Raises:
        ValueError: it is not a configuration, or too long.
        InputError: it takes too long to read.
    """
    values, _ = read_controls(FIT.controls, {"gpus": gpus or _START["gpus"]})
    return read_apart(configured_state, text[: CONFIGURATION_LIMIT + 1], Values(values).count("gpus"))


def _usual_state(values: Values) -> Mapping[str, str]:
    """What is usual for the model and the GPUs of *values*: batch, lengths, network; any layout."""
    model, gpus = ModelShape.read(values.word("model")), values.count("gpus")
    parameters, sequence = model_parameters(model), model.positions or _SEQUENCE
    odd = gpus // (gpus & -gpus)  # the batch divides by it
    tokens = _SMALL_BATCH * (parameters / _SMALL) ** _GROWTH
    sequences = 2 ** max(0, round(log2(tokens / sequence)))
    node = Cluster.node_of(GPUS[values.word("gpu")])
    return {
        **_SHARDED,
        "network": f"{(node.inter_bandwidth if node else 50 * _GIGA) / _GIGA:.6g}",
        "batch": str(max(1, round(sequences / odd)) * odd),
        "sequence": str(sequence),
        "tokens": f"{max(0.001, _TOKENS * parameters / _TRILLION):.4g}",
    }


def space_of(plan: RunPlan) -> Space:
    """The layouts of the run, with what was told of them.

    Raises:
        ValueError: a degree does not divide what it splits.
    """
    values = Values(read_controls(FIT.controls, plan.state)[0])
    fixed = {
        field: values.word(name) if name == "recompute" else int(values[name])
        for name, field in _FIELDS.items()
        if name in plan.told
    }
    return Space(
        model=ModelShape.read(values.word("model")),
        cluster=named_cluster(values.word("gpu"), values.count("gpus"), values.number("network")),
        batch=values.count("batch"),
        sequence=values.count("sequence"),
        fixed={**fixed, "precision": values.word("precision"), "sequence_parallel": True, "context_by": "all-gather"},
    )


def choose_layout(plan: RunPlan, found: SearchResult | str) -> RunPlan:
    """*plan* in the best layout that was *found*, or in that of least memory."""
    if isinstance(found, str):
        return RunPlan(state=plan.state, told=plan.told, notes=(*plan.notes, found), found=found)
    some = (*found.top, *((found.least,) if found.least else ()))
    states = ({**plan.state, **_layout_state(one.layout)} for one in some)
    best = next((state for state in states if not read_controls(FIT.controls, state)[1]), plan.state)
    return RunPlan(state=best, told=plan.told, notes=plan.notes, found=found)


def plan_query(plan: RunPlan, query: Mapping[str, str]) -> Mapping[str, str]:
    """What the page of *plan* is asked for: the state before it only on the same machine."""
    values = Values(read_controls(FIT.controls, plan.state)[0])
    now, was = pack_state(FIT, values).split("~"), query.get(WAS, "").split("~")
    is_another = len(was) == len(now) and was[: len(QUESTIONS)] != now[: len(QUESTIONS)]
    return {**plan.state, WAS: "" if is_another else query.get(WAS, "")}


def _layout_state(layout: Layout) -> Mapping[str, str]:
    return {name: str(getattr(layout, field)) for name, field in _FIELDS.items()}


def layout_tables(plan: RunPlan) -> Iterator[StateTable]:
    """The layouts that were found, the fastest first, then with less memory; why others were rejected."""
    found = plan.found
    if isinstance(found, str) or not found.top:
        return
    says = translate("{fit:,} of {layouts:,} layouts fit.", fit=found.fit, layouts=found.layouts)
    if refused := next(iter(found.rejected.items()), None):
        rule, count = localize(refused[0]), percent_text(refused[1] / found.layouts)
        says += translate(" {count} are refused by this rule: {rule}.", count=count, rule=rule)
    yield _layout_table(translate("The fastest layouts"), says, found.top, plan)
    front = [one for one in found.front[::-1] if one.step_time <= _SLOWEST * found.top[0].step_time]
    if len(front) > 1:
        says = translate("No other layout is as fast with as little memory.")
        yield _layout_table(translate("Less memory for more time"), says, front[:: -(-len(front) // _LISTED)], plan)


def _layout_table(title: str, says: str, some: Sequence[LayoutCandidate], plan: RunPlan) -> StateTable:
    rows = []
    for one in some:
        state = {**plan.state, **_layout_state(one.layout)}
        values, corrections = read_controls(FIT.controls, state)
        if not corrections:
            limits = [f"{percent_text(round(share, 2))} {name}" for name, share in list(one.limits.items())[:2]]
            cells = (show(one.step_time, SECOND), percent_text(one.mfu), show(one.memory, BYTE, 3), ", ".join(limits))
            rows.append(StateRow(layout_words(one.layout), url_state(FIT, Values(values)), cells))
    return StateTable(title=title, says=says, header=_HEADER, rows=tuple(rows), folded=True)


_SECONDS = 6.0  # of processor time, for one search
_REMEMBERED = 128  # results, of about 40 kB each
_WAITING = 5  # searches of one address
_BUSY = noted("other searches are running; ask again in a moment")

LayoutSearches = BoundedJobs[tuple[str, ...], SearchResult | str]


def layout_searches() -> LayoutSearches:
    """What runs searches, each once for the values of its form."""
    return LayoutSearches(_BUSY, at_once=1, waiting=_WAITING, room=_REMEMBERED)


async def search_layouts(space: Callable[[], Space], seconds: float = _SECONDS) -> SearchResult | str:
    """The result of a search of *space*, or a sentence that says why there is none."""
    return await aside(search_in_time, space, seconds, time.thread_time)
