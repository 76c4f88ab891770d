"""Communication beside computation."""

from app.charts.timeline import Bar, Row, Timeline
from app.explorers.base import Explored, Explorer, Fact, Values
from app.explorers.controls import Slider
from app.formulas.overlap import exposed_communication_time, overlapped_fraction
from app.units import SECOND, show

_KINDS = (("B", "backward pass of a layer"), ("W", "all-reduce of its gradients"))


def _overlap(values: Values) -> Explored:
    layers = values.count("layers")
    compute, reduce = values.number("compute"), values.number("reduce")
    hidden = overlapped_fraction(layers, compute, reduce)
    exposed = exposed_communication_time(layers, compute, reduce)
    backward = layers * compute
    works, sends, free = [], [], 0.0
    for place in range(layers):
        name, ready = str(layers - place), (place + 1) * compute
        works.append(_bar("B", place * compute, ready, name, "backward pass of layer"))
        free = max(free, ready)
        sends.append(_bar("W", free, free + reduce, name, "all-reduce of layer"))
        free += reduce
    says = (
        f"**{100 * hidden:.3g} %** of the communication hides; {show(exposed, SECOND)} show after "
        f"the backward pass, {100 * exposed / backward:.3g} % of it. "
        + (
            "An all-reduce is shorter than a layer, so only the last one shows."
            if reduce <= compute
            else "An all-reduce takes longer than a layer, so they queue up."
        )
    )
    facts = (
        Fact("hidden", f"{100 * hidden:.3g} %"),
        Fact("exposed", show(exposed, SECOND)),
        Fact("added to the backward pass", f"{100 * exposed / backward:.3g} %"),
        Fact("without overlap", show(layers * reduce, SECOND)),
    )
    rows = (Row("compute", "", tuple(works)), Row("network", "", tuple(sends)))
    summary = f"{100 * hidden:.3g} % hidden, {show(exposed, SECOND)} exposed"
    chart = Timeline("A backward pass", summary, rows, max(free, backward), _KINDS)
    return Explored(says, facts, (chart,))


def _bar(kind: str, start: float, end: float, name: str, what: str) -> Bar:
    times = f"{show(start, SECOND)} to {show(end, SECOND)}"
    return Bar(start, end, kind, name, f"{what} {name}, {times}")


OVERLAP = Explorer(
    "overlap",
    "What hides behind the backward pass?",
    "A bucket for every layer: what its all-reduce hides behind, and what shows.",
    "40 layers of 5 ms, 1.5 ms of all-reduce each: how much of the communication hides?",
    "overlap",
    ("overlap.overlapped_fraction", "overlap.exposed_communication_time"),
    (
        Slider("layers", "Layers", 2, 128, 40),
        Slider("compute", "Backward pass of a layer", 0.1, 100, 5, "ms", log=True, whole=False),
        Slider("reduce", "All-reduce of a layer", 0.1, 100, 1.5, "ms", log=True, whole=False),
    ),
    _overlap,
)
