"""Pipeline schedules, played out."""

from dataclasses import replace
from functools import lru_cache

from app.charts.axes import Axis, percent_text
from app.charts.plot import Plot, Series
from app.charts.timeline import schedule_timeline
from app.explorers.base import Explored, Explorer, Values, plain, quantity, share
from app.explorers.controls import Select, Slider
from app.simulators.pipeline import SCHEDULES, Played, Times, build, kept_over_time, play
from app.units import RATIO, SECOND, show

_NAMES = {
    "1f1b": "1F1B", "gpipe": "GPipe", "naive": "naive", "interleaved": "interleaved 1F1B",
    "zb_h1": "ZB-H1", "zb_h2": "ZB-H2", "zb_v": "ZB-V", "dualpipe": "DualPipe",
    "dualpipe_v": "DualPipeV",
}  # fmt: skip
_TWICE = ("dualpipe", "dualpipe_v")


def _played(name: str, values: Values) -> tuple[Played, str]:
    """The schedule, with the nearest numbers that it can do, and what was changed for it."""
    stages, microbatches, virtual = (values.count(n) for n in ("stages", "microbatches", "virtual"))
    asked = (stages, microbatches)
    virtual = virtual if name == "interleaved" else 1
    if name == "dualpipe":
        stages += stages % 2
        microbatches += microbatches % 2
    if name in _TWICE:
        microbatches = max(microbatches, 2 * stages)
    if virtual > 1:
        microbatches = -(-microbatches // stages) * stages
    times = Times(
        values.number("forward"),
        values.number("input"),
        values.number("weight"),
        values.number("communication"),
    )
    changed = ""
    if (stages, microbatches) != asked:
        changed = f" It needs other numbers here: {stages} stages and {microbatches} micro-batches."
    return _run(name, stages, microbatches, virtual, times), changed


@lru_cache(maxsize=4)
def _run(name: str, stages: int, microbatches: int, virtual: int, times: Times) -> Played:
    return play(build(name, stages, microbatches, virtual), times)


def _told(name: str, played: Played, changed: str) -> str:
    tail = (
        f" From the first pass to the last it is {show(played.makespan, SECOND)}: devices that are "
        "done begin the next step while others finish this one, so what is gray at the ends of a "
        "row belongs to the steps before and after. The optimizer must not wait for all devices."
        if played.overlaps
        else ""
    )
    return (
        f"**{_NAMES[name]}** takes {show(played.step_time, SECOND)}; a device idles "
        f"{percent_text(played.bubble_fraction)} of that ({percent_text(played.bubble_ratio)} of "
        f"the ideal {show(played.ideal_time, SECOND)}) and keeps {max(played.in_flight):g} "
        f"micro-batches at most.{changed}{tail}"
    )


def _schedules(values: Values) -> Explored:
    names = [values.word("schedule")]
    if values.word("against") not in ("none", names[0]):
        names.append(values.word("against"))
    runs = [(name, *_played(name, values)) for name in names]
    end = max(played.makespan for _, played, _ in runs)
    says = " ".join(_told(name, played, changed) for name, played, changed in runs)
    facts = []
    for name, played, _ in runs:
        facts += [
            quantity(f"{_NAMES[name]}, step", played.step_time, SECOND),
            share("bubble over the step", played.bubble_fraction),
            share("bubble over the ideal", played.bubble_ratio),
            plain("kept at most", max(played.in_flight)),
        ]
    timelines = tuple(
        replace(schedule_timeline(played), end=end, traced=_followed(played, values))
        for _, played, _ in runs
    )
    return Explored(says, tuple(facts), (*timelines, *(_kept(n, p) for n, p, _ in runs)))


def _followed(played: Played, values: Values) -> str:
    """The label of the micro-batch that is followed."""
    count = played.schedule.microbatches
    return {"first": "0", "middle": str(count // 2), "last": str(count - 1)}.get(
        values.word("follow"), ""
    )


def _kept(name: str, played: Played) -> Plot:
    """How many micro-batches' activations the first, the middle and the last GPU keep."""
    devices = played.schedule.devices
    most = played.in_flight
    shown = dict(zip((0, devices // 2, devices - 1), ("f", "b", "w"), strict=True))
    series = tuple(
        Series(kind, f"GPU {device}", kept_over_time(played, device), at_peak=True)
        for device, kind in shown.items()
    )
    return Plot(
        f"Micro-batches kept, {_NAMES[name]}",
        f"At most {', '.join(f'{most[d]:g} on GPU {d}' for d in shown)}",
        Axis("time", SECOND),
        Axis("micro-batches kept", RATIO),
        series,
    )


SCHEDULES_SHOWN = Explorer(
    "pipeline",
    "How long does a pipeline wait?",
    "Nine schedules played out: their bubbles, what they keep, and two of them on one axis.",
    "4 stages, 8 micro-batches: which share of the step is bubble?",
    "bubble over the step",
    "pipelines",
    (
        "pipeline.bubble_fraction",
        "pipeline.bubble_ratio",
        "pipeline.schedule_bubble",
        "pipeline.in_flight_microbatches",
    ),
    (
        Select(
            "schedule",
            "Schedule",
            {n: _NAMES[n] for n in _NAMES if n in SCHEDULES or n == "interleaved"},
        ),
        Select("against", "Beside it", {"none": "nothing", **_NAMES}, aside=True),
        Select(
            "follow",
            "Follow",
            {
                "none": "nothing",
                "first": "the first micro-batch",
                "middle": "one in the middle",
                "last": "the last",
            },
            aside=True,
        ),
        Slider("stages", "Stages", 2, 16, 4),
        Slider("microbatches", "Micro-batches", 1, 64, 8),
        Slider("virtual", "Chunks on a GPU (interleaved)", 1, 8, 2),
        Slider("forward", "Forward", 0.1, 1000, 10, "ms", log=True, whole=False),
        Slider("input", "Backward, input", 0.1, 1000, 10, "ms", log=True, whole=False),
        Slider("weight", "Backward, weights", 0.1, 1000, 10, "ms", log=True, whole=False),
        Slider("communication", "A message", 0, 100, 0, "ms", whole=False),
    ),
    _schedules,
    "Which share of the step is bubble?",
    open=(0,),
)
