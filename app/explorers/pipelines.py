"""Pipeline schedules, played out."""

from app.charts.timeline import Timeline, schedule_timeline
from app.explorers.base import Explored, Explorer, Fact, Values
from app.explorers.controls import Select, Slider
from app.simulators.pipeline import SCHEDULES, Played, Times, build, play
from app.units import SECOND, show

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
    return play(build(name, stages, microbatches, virtual), times), changed


def _told(name: str, played: Played, changed: str) -> str:
    return (
        f"**{_NAMES[name]}** takes {show(played.step_time, SECOND)}; a device idles "
        f"{100 * played.bubble_fraction:.3g} % of that ({100 * played.bubble_ratio:.3g} % of the "
        f"ideal {show(played.ideal_time, SECOND)}) and keeps {max(played.in_flight):g} "
        f"micro-batches at most.{changed}"
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
            Fact(f"{_NAMES[name]}, step", show(played.step_time, SECOND)),
            Fact("bubble over the step", f"{100 * played.bubble_fraction:.3g} %"),
            Fact("bubble over the ideal", f"{100 * played.bubble_ratio:.3g} %"),
            Fact("kept at most", f"{max(played.in_flight):g}"),
        ]
    figures = tuple(_on(schedule_timeline(played), end) for _, played, _ in runs)
    return Explored(says, tuple(facts), figures)


def _on(timeline: Timeline, end: float) -> Timeline:
    """*timeline* on an axis as long as *end*, so that two can be compared."""
    return Timeline(timeline.title, timeline.summary, timeline.rows, end, timeline.kinds)


SCHEDULES_SHOWN = Explorer(
    "pipeline",
    "How long does a pipeline wait?",
    "Nine schedules played out: their bubbles, what they keep, and two of them on one axis.",
    "By how much does a second chunk on each GPU shorten the step? And a split backward pass?",
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
        Select("against", "Beside it", {"none": "nothing", **_NAMES}),
        Slider("stages", "Stages", 2, 16, 4),
        Slider("microbatches", "Micro-batches", 1, 64, 8),
        Slider("virtual", "Chunks on a GPU (interleaved)", 1, 8, 2),
        Slider("forward", "Forward", 0.1, 1000, 10, "ms", log=True, whole=False),
        Slider("input", "Backward, input", 0.1, 1000, 10, "ms", log=True, whole=False),
        Slider("weight", "Backward, weights", 0.1, 1000, 10, "ms", log=True, whole=False),
        Slider("communication", "A message", 0, 100, 0, "ms", whole=False),
    ),
    _schedules,
)
