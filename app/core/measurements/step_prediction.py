"""A training log beside `layout.step_time`, with what products reach fitted to the log."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.core.errors import capitalize
from app.core.formulas.layout import step_time
from app.core.formulas.presets import Cluster, Layout, ModelShape, Shares
from app.core.measurements.reports import TrainingLog
from app.core.units import SECOND, Seconds, show

RECORDS = ("model", "cluster", "layout")
_LOW, _HIGH = 0.05, 1.0  # of the peak
_USUAL = (0.3, 0.8)
_HALVINGS = 30
_MUCH = 0.25  # of a measured step, more than the formulas say
_SMALLEST = 0.01  # of a step: less is not worth a sentence
_TRY = {
    "tensor": "fewer tensor-parallel ranks, all of them in a node",
    "context": "fewer context-parallel ranks, all of them in a node",
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
class PredictedStep:
    """The step of *model* on *cluster* in *layout*: what it takes, and its *parts* as a table."""

    model: ModelShape
    cluster: Cluster
    layout: Layout
    says: str
    parts: tuple[tuple[str, ...], ...]


def predicted_step(log: TrainingLog, given: Mapping[str, str]) -> PredictedStep | None:
    """The prediction for the records in *given*, else for those that the log says; None without.

    Raises:
        ValueError: a record cannot be read, or the layout does not fit the model.
        ArithmeticError: the time is too large for a number.
    """
    texts = records_of(log, given)
    if not all(texts.values()):
        return None
    model = ModelShape.read(texts["model"])
    cluster = Cluster.read(texts["cluster"])
    layout = Layout.on(texts["layout"], cluster.gpus, model.layers)
    return _compared(log, model, cluster, layout)


def records_of(log: TrainingLog, given: Mapping[str, str]) -> dict[str, str]:
    """The model, cluster and layout as texts: those that are *given*, else those of the log."""
    return {name: given.get(name, "").strip() or getattr(log, name) for name in RECORDS}


def guesses_of(log: TrainingLog, given: Mapping[str, str]) -> tuple[str, ...]:
    """What of the records is a guess: what the log does not print, and nobody has given."""
    of_model = () if given.get("model") else log.model_guesses
    of_layout = () if given.get("layout") else log.layout_guesses
    return (*of_model, *of_layout)


def _compared(log: TrainingLog, model: ModelShape, cluster: Cluster, layout: Layout) -> PredictedStep:
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
        says += f" Try first: profile a step and read its trace here, since {part} of it is not"
        says += " explained by the layout."
    else:
        says += _first(parts, found.total)
    rows = [
        (capitalize(name.replace("_", " ")), show(time, SECOND, 3), f"{100 * time / found.total:.1f} %")
        for name, time in parts
        if time > 0
    ]
    return PredictedStep(
        model=model, cluster=cluster, layout=layout, says=says, parts=(("Part", "Time", "Share"), *rows)
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
