"""A training log beside the prediction for its layout, with what kernels reach fitted to it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from app.errors import capitalized, sentence
from app.explorers.records import state_of_records
from app.formulas.layout import step_time
from app.formulas.presets import Cluster, Layout, ModelShape, Shares
from app.measurements.reports import TrainingLog
from app.units import SECOND, Seconds, show
from app.web.urls import explorer_url, formula_url

RECORDS = ("model", "cluster", "layout")
_LOW, _HIGH = 0.05, 1.0  # of the peak
_USUAL = (0.3, 0.8)
_HALVINGS = 30
_MUCH = 0.25  # of a measured step, more than the formulas say
_SMALLEST = 0.01  # of a step: less is not worth a sentence
_TRY = {
    "tensor": "fewer tensor-parallel ranks, all of them within NVLink",
    "context": "fewer context-parallel ranks, all of them within NVLink",
    "expert": "experts on fewer nodes, or a limit on the nodes that a token is sent to",
    "data": "more micro-batches in a step, a lower ZeRO stage, or sharding within a node",
    "messages": "fewer stages, or fewer chunks per GPU",
    "bubble": "more micro-batches, chunks that interleave, or a schedule without a bubble",
    "skew": "ranks that are balanced: their data, their stages, or a slow GPU",
    "launches": "CUDA graphs, torch.compile, or larger micro-batches",
    "recompute": "less recomputation, such as selective, if the memory is enough",
    "element_wise": "kernels that are fused, such as with torch.compile",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """The step as predicted and as measured; *problem* if a record cannot be read."""

    parts: tuple[tuple[str, ...], ...] = ()
    says: str = ""
    href: str = ""
    explorer: str = ""  # the address of the layout explorer in that state
    records: str = ""  # as they were given, or as the log says
    differs: str = ""  # what of it the explorer cannot show
    problem: str = ""


def predicted(log: TrainingLog, fields: dict[str, str]) -> Prediction | None:
    """The prediction for the model, cluster and layout in *fields*; None if they name none."""
    given = {name: fields.get(name, "").strip() for name in RECORDS}
    if not given["model"] or not given["layout"] or not given["cluster"]:
        return None
    try:
        model = ModelShape.read(given["model"])
        cluster = Cluster.read(given["cluster"])
        layout = Layout.read(given["layout"])
        href = f"{formula_url(_FORMULA)}?{urlencode(given)}"
        return replace(
            _compared(log, model, cluster, layout, href), records=", ".join(given.values())
        )
    except ValueError as error:
        return Prediction(problem=sentence(str(error)))
    except ArithmeticError:
        return Prediction(problem="The predicted time is too large for a number.")


_FORMULA = "layout.step_time"


def _compared(
    log: TrainingLog, model: ModelShape, cluster: Cluster, layout: Layout, href: str
) -> Prediction:
    found, unexplained = step_time(model, cluster, layout), 0.0
    says = f"Predicted: {show(found.total, SECOND)} a step."
    if log.step_time is not None:
        unexplained = log.step_time - found.total
        share = _fitted(model, cluster, layout, log.step_time)
        says += f" Measured: {show(log.step_time, SECOND)}, {_ratio(log.step_time, found.total)}."
        says += _about(share)
        if share is not None:
            found = step_time(model, cluster, layout, Shares(product=share))
    parts = sorted(found._asdict().items(), key=lambda part: -part[1])
    if log.step_time and unexplained > _MUCH * log.step_time:
        part = f"{100 * unexplained / log.step_time:.0f} %"
        says += f" Try first: profile a step and drop its trace here, since {part} of it are not"
        says += " explained by the layout."
    else:
        says += _first(parts, found.total)
    rows = [
        (
            capitalized(name.replace("_", " ")),
            show(time, SECOND, 3),
            f"{100 * time / found.total:.1f} %",
        )
        for name, time in parts
        if time > 0
    ]
    there = state_of_records(model, cluster, layout)
    return Prediction(
        parts=(("Part", "Time", "Share"), *rows),
        says=says,
        href=href,
        explorer=explorer_url("layout", there.state) if there else "",
        differs=f"It shows {', '.join(there.differs)}." if there and there.differs else "",
    )


def _first(parts: Sequence[tuple[str, Seconds]], total: Seconds) -> str:
    """The largest part that is not needed for the result itself, and what makes it smaller."""
    for name, time in parts:
        if name in _TRY and time > _SMALLEST * total:
            part = name.replace("_", " ")
            return f" Try first, against {part} ({100 * time / total:.0f} %): {_TRY[name]}."
    return " Hardly anything but computation is left: faster kernels or 8-bit products would help."


def _ratio(measured: Seconds, total: Seconds) -> str:
    return f"{measured / total:.2f} times as long"


def _about(share: float | None) -> str:
    if share is None:
        return " No share of the peak that products can reach explains the difference."
    low, high = _USUAL
    odd = "" if low <= share <= high else f", which is outside of the usual {low} to {high}"
    return (
        f" The parts below are those of a step in which products reach {100 * share:.0f} % of the"
        f" peak{odd}: it takes as long as yours."
    )


def _fitted(model: ModelShape, cluster: Cluster, layout: Layout, measured: Seconds) -> float | None:
    """The share of the peak with which the prediction is *measured*; None if there is none."""
    low, high = _LOW, _HIGH

    def total(share: float) -> Seconds:
        return step_time(model, cluster, layout, Shares(product=share)).total

    if not total(high) <= measured <= total(low):
        return None
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if total(middle) > measured else (low, middle)
    return high
