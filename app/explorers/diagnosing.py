"""Gaps in a utilization trace, and which technique lowers which toll (bottleneck)."""

from collections.abc import Iterator
from dataclasses import dataclass

from app.charts.axes import Axis, percent_text
from app.charts.color import Color
from app.charts.drawing import Arrow, Drawing, Rect, Sheet, Words
from app.charts.paper import WIDE, Paper, wrapped
from app.charts.plot import Plot, Series
from app.explorers.base import (
    Explored,
    Explorer,
    Foreseen,
    KeyFigure,
    Values,
    plain,
    quantity,
    share,
    summary_of,
)
from app.explorers.controls import Select, Slider
from app.formulas.overlap import utilization_with_exposed
from app.units import RATIO, SECOND

_STEPS, _CHECKPOINTS = 4, 3  # in the trace
_STALLS = {
    "all-reduce": "an all-reduce that is not overlapped",
    "bubble": "a pipeline that fills and drains",
    "data": "a data loader that is too slow",
    "checkpoint": "a checkpoint that all ranks wait for",
    "none": "nothing",
}
_SEEN = {
    "all-reduce": "There is one gap per step, **at its end**: the computation is done and the "
    "gradients are being reduced. Overlap, larger buckets or a smaller all-reduce shorten it.",
    "bubble": "There is a gap **at both ends** of each step: this GPU waits for the first "
    "micro-batch to arrive and for the last one to come back. More micro-batches or a better "
    "schedule shorten it.",
    "data": "There is a gap **before every micro-batch**: no communication is running and no "
    "buffer is full; the next input is not ready. More workers or a cache shorten it.",
    "checkpoint": "The gaps come **at fixed intervals**, independent of the steps. A faster or "
    "asynchronous checkpoint shortens them; a better interval wastes less in total.",
    "none": "There are no gaps: what is missing from the peak is lost inside the kernels.",
}
_Piece = tuple[float, bool]  # duration, and whether the GPU is busy


def _comb(values: Values) -> Explored:
    stall, work = values.word("stall"), values.number("work")
    micro, lost = values.count("micro"), values.number("lost")
    interval = values.number("interval")
    pieces = _pieces(stall, work, micro, lost, interval)
    waited = {"data": micro * lost, "none": 0.0}.get(stall, lost)
    useful = interval if stall == "checkpoint" else work
    used = utilization_with_exposed(1.0, useful, waited)
    period = useful + waited
    says = f"{_SEEN[stall]} The GPU is busy for **{percent_text(used)}** of the time."
    facts = (
        share("busy", used),
        quantity("lost per period", waited, SECOND),
        quantity("period of the gaps", period, SECOND),
        KeyFigure("gaps line up with", _PERIODS[stall]),
    )
    end = sum(long for long, _ in pieces)
    plot = Plot(
        title="Utilization of one GPU",
        summary=summary_of(says),
        x=Axis("time", SECOND),
        y=Axis("busy", RATIO, percent=True),
        series=(
            Series(Color.BLUE, "trace", _trace(pieces)),
            Series(Color.GRAY, "mean", ((0.0, used), (end, used))),
        ),
    )
    return Explored(says, facts, (plot,))


_PERIODS = {
    "all-reduce": "the end of a step",
    "bubble": "both ends of a step",
    "data": "every micro-batch",
    "checkpoint": "the clock, not the steps",
    "none": "nothing",
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


@dataclass(frozen=True, slots=True)
class Technique:
    """A technique, the *tolls* that it lowers, its chapter and its paper."""

    name: str
    tolls: tuple[str, ...]
    chapter: str
    paper: str


_TOLLS = {
    "state": ("the state shelf", "weights, gradients, optimizer"),
    "scratchpad": ("the scratchpad", "activations"),
    "cable": ("the cable", "traffic between GPUs"),
    "bubble": ("the bubble", "waiting for a stage"),
    "inch": ("the last inch", "memory to cores"),
}
TECHNIQUES = (
    Technique("ZeRO", ("state",), "memory", "1910.02054"),
    Technique("FSDP", ("state",), "sharding", "2304.11277"),
    Technique("8-bit state", ("state",), "precision", "2110.02861"),
    Technique("tensor parallelism", ("state", "scratchpad"), "tensor", "1909.08053"),
    Technique("recomputation", ("scratchpad",), "memory", "2205.05198"),
    Technique("sequence parallelism", ("scratchpad",), "tensor", "2205.05198"),
    Technique("context parallelism", ("scratchpad",), "meshes", "2310.01889"),
    Technique("hybrid sharding", ("cable",), "sharding", "2304.11277"),
    Technique("overlapping buckets", ("cable",), "overlap", "2006.15704"),
    Technique("accumulation", ("cable", "scratchpad"), "accumulation", "2006.15704"),
    Technique("micro-batches", ("bubble", "state"), "pipelines", "1811.06965"),
    Technique("1F1B", ("scratchpad",), "pipelines", "1806.03377"),
    Technique("zero bubble", ("bubble",), "pipelines", "2401.10241"),
    Technique("FlashAttention", ("inch", "scratchpad"), "attention", "2205.14135"),
)
_ROW = 29


def _tolls(values: Values) -> Explored:
    chosen = values.word("toll")
    found = [one for one in TECHNIQUES if chosen in ("all", *one.tolls)]
    name, meaning = _TOLLS.get(chosen, ("", ""))
    links = "\n".join(
        f"- [{one.name}](/chapters/{one.chapter}), from "
        f"[arXiv:{one.paper}](https://arxiv.org/abs/{one.paper})"
        for one in found
    )
    says = (
        f"Techniques that lower **{name}** ({meaning}):\n\n{links}"
        if name
        else f"Each technique lowers one or two tolls, and most raise another.\n\n{links}"
    )
    drawing = Drawing(
        title="Five tolls (bottlenecks)",
        summary="Which technique lowers which of five tolls, and which chapter covers it",
        on=lambda paper: _map(chosen, paper),
        table=(("Technique", "Lowers", "Chapter", "Paper"), *map(_row, TECHNIQUES)),
    )
    return Explored(says, (plain("techniques", len(found)),), (drawing,))


def _map(chosen: str, paper: Paper) -> Sheet:
    """Tolls on the left, techniques on the right, a line where one lowers the other."""
    height = 16 + len(TECHNIQUES) * _ROW
    gap = height / len(_TOLLS)
    wide = paper is WIDE
    box, right = (190, 350) if wide else (128, 190)
    heights = {toll: round(gap * (place + 0.5)) for place, toll in enumerate(_TOLLS)}
    rects, arrows, words = [], [], []
    for toll, (name, meaning) in _TOLLS.items():
        lit, y = chosen in ("all", toll), heights[toll] - 22
        color, says = _color(lit), f"{name}: {meaning}"
        rects.append(Rect(1, y, box, 44, color=color, label="", says=says, outlined=True))
        lines = (meaning,) if wide else wrapped(meaning, box - 6)
        words.append(Words(box / 2, y + 19 - (0 if wide else 2), name, anchor="middle", strong=lit))
        words.append(Words(box / 2, y + 35, lines[0], anchor="middle", quiet=True))
    for place, one in enumerate(TECHNIQUES):
        lit, y = chosen in ("all", *one.tolls), 20 + place * _ROW
        for toll in one.tolls:
            color = _color(chosen in ("all", toll))
            arrows.append(Arrow(box + 2, heights[toll], right, y, color=color, head=False))
        words.append(Words(right + 6, y + 4, one.name, strong=lit and chosen != "all"))
        if wide:
            arrows.append(Arrow(520, y, 560, y, color=_color(lit), head=False))
            words.append(Words(568, y + 4, f"chapter “{one.chapter}”", quiet=True))
    return Sheet(height=height, rects=tuple(rects), arrows=tuple(arrows), words=tuple(words))


def _color(lit: bool) -> Color:
    return Color.GRAY if lit else Color.PALE


def _row(one: Technique) -> tuple[str, ...]:
    tolls = ", ".join(_TOLLS[toll][0] for toll in one.tolls)
    return one.name, tolls, one.chapter, f"arXiv:{one.paper}"


def _not_busy(values: Values) -> Iterator[tuple[float, str]]:
    """Shares that are taken for that of the busy time."""
    stall, lost = values.word("stall"), values.number("lost")
    work = values.number("interval") if stall == "checkpoint" else values.number("work")
    waited = lost * values.count("micro") if stall == "data" else lost
    yield waited / (work + waited), "That is the share of the time that is lost."
    yield (
        1 - waited / work,
        "That compares the stall with the work. The stall comes on top: the period is both.",
    )
    if stall == "data":
        yield work / (work + lost), "The loader stalls before every micro-batch, not once a step."


COMB = Explorer(
    name="comb",
    title="What causes the gaps?",
    summary="A utilization trace with a stall: the pattern of gaps (the comb) reveals the cause.",
    question="8 s of work, then 2 s of all-reduce: for what share of the time is the GPU busy?",
    predicts="busy",
    chapter="diagnosis",
    formulas=("overlap.utilization_with_exposed",),
    controls=(
        Select("stall", "Cause of the stall", _STALLS),
        Slider("work", "Work per step", (0.1, 100), default=8, unit="s", log=True, whole=False),
        Slider("micro", "Micro-batches per step", (1, 32), default=8),
        Slider(
            "lost", "Length of a stall", (0.01, 600), default=2, unit="s", log=True, whole=False
        ),
        Slider(
            "interval",
            "Time between checkpoints",
            (1, 600),
            default=68,
            unit="min",
            log=True,
            whole=False,
        ),
    ),
    explore=_comb,
    asks="For what share of the time is the GPU busy?",
    foreseen=Foreseen(others=_not_busy),
)
TOLLS = Explorer(
    name="tolls",
    title="Which bottleneck does it lower?",
    summary="The five tolls (bottlenecks) of a training step, and the techniques that lower them.",
    question="Which tolls does FlashAttention lower?",
    predicts="",
    chapter="diagnosis",
    formulas=("memory.memory_budget",),
    controls=(
        Select("toll", "Toll", {"all": "all", **{t: name for t, (name, _) in _TOLLS.items()}}),
    ),
    explore=_tolls,
)
