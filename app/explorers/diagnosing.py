"""Gaps in a trace of utilization, and which technique lowers which toll."""

from dataclasses import dataclass

from app.charts.axes import Axis, percent_text
from app.charts.drawing import Arrow, Drawing, Rect, Words
from app.charts.plot import Plot, Series
from app.explorers.base import Explored, Explorer, Fact, Values, plain, quantity, share
from app.explorers.controls import Select, Slider
from app.formulas.overlap import utilization_with_exposed
from app.units import RATIO, SECOND

_STEPS, _CHECKPOINTS = 4, 3  # that are drawn
_STALLS = {
    "all-reduce": "an all-reduce that does not overlap",
    "bubble": "a pipeline that fills and drains",
    "data": "a data loader that is too slow",
    "checkpoint": "a checkpoint that everybody waits for",
    "none": "nothing",
}
_SEEN = {
    "all-reduce": "The gap comes once in a step, **at its end**: all compute is done, and the "
    "gradients are on their way. Overlap, larger buckets or a smaller all-reduce lower it.",
    "bubble": "The gap comes once in a step, **at both ends**: this GPU waits for the first "
    "micro-batch to come and for the last one to come back. More micro-batches or a better "
    "schedule lower it.",
    "data": "The gap comes **before every micro-batch**: nothing has been sent and nothing is "
    "full; the next input is not there yet. More workers or a cache lower it.",
    "checkpoint": "The gap comes **by the clock**, whatever the steps do. A faster or asynchronous "
    "checkpoint lowers it; so does a better interval.",
    "none": "There is no gap: what is missing from the peak is lost inside the kernels.",
}
_Piece = tuple[float, bool]  # how long, and whether the GPU is busy


def _comb(values: Values) -> Explored:
    stall, work = values.word("stall"), values.number("work")
    micro, lost = values.count("micro"), values.number("lost")
    interval = values.number("interval")
    pieces = _pieces(stall, work, micro, lost, interval)
    waited = {"data": micro * lost, "none": 0.0}.get(stall, lost)
    useful = interval if stall == "checkpoint" else work
    used = utilization_with_exposed(1.0, useful, waited)
    period = useful + waited
    says = f"{_SEEN[stall]} **{percent_text(used)}** of the time is work."
    facts = (
        share("busy", used),
        quantity("lost in a period", waited, SECOND),
        quantity("period of the gaps", period, SECOND),
        Fact("gaps line up with", _PERIODS[stall]),
    )
    end = sum(long for long, _ in pieces)
    plot = Plot(
        "Utilization of one GPU",
        says.replace("*", ""),
        Axis("time", SECOND),
        Axis("busy", RATIO, percent=True),
        (
            Series("f", "trace", _trace(pieces)),
            Series("i", "mean", ((0.0, used), (end, used))),
        ),
    )
    return Explored(says, facts, (plot,))


_PERIODS = {
    "all-reduce": "the end of a step",
    "bubble": "both ends of a step",
    "data": "every micro-batch",
    "checkpoint": "the clock",
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
    """The corners of the curve that *pieces* make."""
    points: list[tuple[float, float]] = []
    clock = 0.0
    for long, busy in pieces:
        points += [(clock, float(busy)), (clock + long, float(busy))]
        clock += long
    return tuple(points)


@dataclass(frozen=True, slots=True)
class Technique:
    """What helps against *tolls*, the chapter that has it, and the paper that it comes from."""

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
_WIDE, _TALL = 720, 29


def _tolls(values: Values) -> Explored:
    wanted = values.word("toll")
    shown = [one for one in TECHNIQUES if wanted in ("all", *one.tolls)]
    name, what = _TOLLS.get(wanted, ("", ""))
    links = "\n".join(
        f"- [{one.name}](/chapters/{one.chapter}), from "
        f"[arXiv:{one.paper}](https://arxiv.org/abs/{one.paper})"
        for one in shown
    )
    says = (
        f"**{name.capitalize()}** ({what}) is paid less with:\n\n{links}"
        if name
        else f"Each technique lowers a toll or two, and most raise another.\n\n{links}"
    )
    facts = (plain("techniques", len(shown)),)
    return Explored(says, facts, (_map(wanted),))


def _map(wanted: str) -> Drawing:
    height = 16 + len(TECHNIQUES) * _TALL
    gap = height / len(_TOLLS)
    heights = {toll: round(gap * (place + 0.5)) for place, toll in enumerate(_TOLLS)}
    rects, arrows, words = [], [], []
    for toll, (name, what) in _TOLLS.items():
        lit = wanted in ("all", toll)
        y = heights[toll] - 22
        rects.append(Rect(8, y, 176, 44, "i" if lit else "e", "", f"{name}: {what}", outlined=True))
        words.append(Words(96, y + 19, name, "middle", strong=lit))
        words.append(Words(96, y + 35, what, "middle", quiet=True))
    for place, one in enumerate(TECHNIQUES):
        y = 20 + place * _TALL
        lit = wanted in ("all", *one.tolls)
        for toll in one.tolls:
            kind = "i" if wanted in ("all", toll) else "e"
            arrows.append(Arrow(186, heights[toll], 330, y, kind, head=False))
        arrows.append(Arrow(500, y, 540, y, "i" if lit else "e", head=False))
        words.append(Words(336, y + 4, one.name, strong=lit and wanted != "all"))
        words.append(Words(548, y + 4, f"chapter “{one.chapter}”", quiet=True))
    table = (
        ("Technique", "Lowers", "Chapter", "Paper"),
        *(
            (
                one.name,
                ", ".join(_TOLLS[t][0] for t in one.tolls),
                one.chapter,
                f"arXiv:{one.paper}",
            )
            for one in TECHNIQUES
        ),
    )
    summary = "Which technique lowers which of five tolls, and where it is taught"
    return Drawing(
        "Five tolls", summary, _WIDE, height, tuple(rects), tuple(arrows), tuple(words), table
    )


COMB = Explorer(
    "comb",
    "What makes the gaps?",
    "A trace of utilization with a stall put into it: where its gaps fall tells what it is.",
    "A step of 8 s is followed by 2 s of all-reduce. Which share of the time is work?",
    "busy",
    "diagnosis",
    ("overlap.utilization_with_exposed",),
    (
        Select("stall", "What stalls", _STALLS),
        Slider("work", "Work in a step", 0.1, 100, 8, "s", log=True, whole=False),
        Slider("micro", "Micro-batches in a step", 1, 32, 8),
        Slider("lost", "Length of a stall", 0.01, 600, 2, "s", log=True, whole=False),
        Slider("interval", "Between checkpoints", 1, 600, 68, "min", log=True, whole=False),
    ),
    _comb,
    "Which share of the time is work?",
)
TOLLS = Explorer(
    "tolls",
    "Which toll does it lower?",
    "Five tolls of a training step, the techniques against them, their chapters and papers.",
    "Which tolls does FlashAttention lower?",
    "",
    "diagnosis",
    ("memory.memory_budget",),
    (
        Select(
            "toll", "Toll", {"all": "all of them", **{t: name for t, (name, _) in _TOLLS.items()}}
        ),
    ),
    _tolls,
)
