"""Gaps in a utilization trace, and what causes them."""

from collections.abc import Iterator

from app.core.charts.axes import Axis, percent_text
from app.core.charts.color import Color
from app.core.charts.plot import LabeledPoint, Plot, Series
from app.core.formulas.overlap import utilization_with_exposed
from app.core.translation import noted, translate
from app.core.units import RATIO, SECOND
from app.course.explorers.base import (
    Explored,
    Explorer,
    Foreseen,
    KeyFigure,
    Values,
    figure_summary,
    quantity_figure,
    share_figure,
)
from app.course.explorers.controls import Select, Slider

_STEPS, _CHECKPOINTS = 4, 3  # in the trace
_STALLS = {
    "all-reduce": noted("an all-reduce that is not overlapped"),
    "bubble": noted("a pipeline that fills and drains"),
    "data": noted("a data loader that is too slow"),
    "checkpoint": noted("a checkpoint that all ranks wait for"),
    "none": noted("nothing"),
}
_SEEN = {
    "all-reduce": noted(
        "There is one gap per step, **at its end**: the computation is done and the "
        "gradients are being reduced. Overlap, larger buckets or a smaller all-reduce shorten it."
    ),
    "bubble": noted(
        "There is a gap **at both ends** of each step: this GPU waits for the first "
        "micro-batch to arrive and for the last one to come back. More micro-batches or a better "
        "schedule shorten it."
    ),
    "data": noted(
        "There is a gap **before every micro-batch**: no communication is running and no "
        "buffer is full; the next input is not ready. More workers or a cache shorten it."
    ),
    "checkpoint": noted(
        "The gaps come **at fixed intervals**, independent of the steps. A faster or "
        "asynchronous checkpoint shortens them; a better interval wastes less in total."
    ),
    "none": noted("There are no gaps: what is missing from the peak is lost inside the kernels."),
}
_CASES = {"a": "bubble", "b": "all-reduce", "c": "data", "d": "checkpoint", "e": "none"}
_CHOICES = {
    "a": noted("case A"),
    "b": noted("case B"),
    "c": noted("case C"),
    "d": noted("case D"),
    "e": noted("case E"),
    **_STALLS,
}
_Piece = tuple[float, bool]  # duration, and whether the GPU is busy


def _comb(values: Values) -> Explored:
    stall = _CASES.get(values.word("stall"), values.word("stall"))
    work = values.number("work")
    micro, lost = values.count("micro"), values.number("lost")
    interval = values.number("interval")
    pieces = _pieces(stall, work, micro, lost, interval)
    waited = {"data": micro * lost, "none": 0.0}.get(stall, lost)
    useful = interval if stall == "checkpoint" else work
    used = utilization_with_exposed(1.0, useful, waited)
    period = useful + waited
    says = translate(
        "{seen} The GPU is busy for **{used}** of the time.", seen=translate(_SEEN[stall]), used=percent_text(used)
    )
    facts = (
        *_to_find(values.word("stall")),
        share_figure(noted("busy"), used),
        quantity_figure(noted("lost per period"), waited, SECOND),
        quantity_figure(noted("period of the gaps"), period, SECOND),
        KeyFigure(noted("gaps line up with"), _PERIODS[stall]),
    )
    end = sum(long for long, _ in pieces)
    plot = Plot(
        title=translate("Utilization of one GPU"),
        summary=figure_summary(says),
        x=Axis(translate("time"), SECOND),
        y=Axis(translate("busy"), RATIO, percent=True),
        series=(
            Series(Color.BLUE, translate("trace"), _trace(pieces)),
            Series(Color.GRAY, translate("mean"), ((0.0, used), (end, used))),
        ),
        marks=_step_marks(stall, pieces),
    )
    return Explored(says, facts, (plot,))


def _step_marks(stall: str, pieces: list[_Piece]) -> tuple[LabeledPoint, ...]:
    """Where the steps begin; a trace of hours has too many."""
    if stall == "checkpoint":
        return ()
    step = sum(long for long, _ in pieces) / _STEPS
    return tuple(LabeledPoint(place * step, 1.0, translate("step {place}", place=place + 1)) for place in range(_STEPS))


def _to_find(word: str) -> Iterator[KeyFigure]:
    """The cause of a case, which is to be found; a cause that was set is not."""
    if word in _CASES:
        cause = _STALLS[_CASES[word]]
        yield KeyFigure(noted("cause"), cause, among=tuple(_STALLS.values()), right=(cause,))


_PERIODS = {
    "all-reduce": noted("the end of a step"),
    "bubble": noted("both ends of a step"),
    "data": noted("every micro-batch"),
    "checkpoint": noted("the clock, not the steps"),
    "none": noted("nothing"),
}


def _pieces(stall: str, work: float, micro: int, lost: float, interval: float) -> list[_Piece]:
    if stall == "checkpoint":
        return [(interval, True), (lost, False)] * _CHECKPOINTS
    step: dict[str, list[_Piece]] = {
        "all-reduce": [(work, True), (lost, False)],
        "bubble": [(lost / 2, False), (work, True), (lost / 2, False)],
        "data": [(lost, False), (work / micro, True)] * micro,
        "none": [(work, True)],
    }
    return step[stall] * _STEPS


def _trace(pieces: list[_Piece]) -> tuple[tuple[float, float], ...]:
    """The corners of the curve that *pieces* draw."""
    points: list[tuple[float, float]] = []
    clock = 0.0
    for long, busy in pieces:
        points += [(clock, float(busy)), (clock + long, float(busy))]
        clock += long
    return tuple(points)


def _not_the_cause(chosen: str) -> str:
    """What the trace would look like with the cause that was chosen."""
    stall = next(stall for stall, says in _STALLS.items() if chosen in (says, translate(says)))
    return translate("Then it would look like this. {seen}", seen=translate(_SEEN[stall]))


COMB = Explorer(
    name="comb",
    title=noted("What causes the gaps?"),
    summary=noted("A utilization trace with a stall: find the cause by its pattern of gaps, the comb."),
    question=noted("This is the utilization of one GPU over four steps. What causes the gaps?"),
    predicts=noted("cause"),
    chapter="diagnosis",
    formulas=("overlap.utilization_with_exposed",),
    controls=(
        Select("stall", noted("Trace"), _CHOICES),
        Slider("work", noted("Work per step"), (0.1, 100), default=8, unit="s", log=True, whole=False),
        Slider("micro", noted("Micro-batches per step"), (1, 32), default=8),
        Slider("lost", noted("Length of a stall"), (0.01, 600), default=2, unit="s", log=True, whole=False),
        Slider("interval", noted("Time between checkpoints"), (1, 600), default=68, unit="min", log=True, whole=False),
    ),
    explore=_comb,
    asks=noted("What causes the gaps in this trace?"),
    open=(0,),
    foreseen=Foreseen(chosen=_not_the_cause),
)
