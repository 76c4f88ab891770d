"""Pipeline schedules, simulated pass by pass."""

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from app.core.charts.axes import Axis, Color, percent_text
from app.core.charts.plot import Plot, Series
from app.core.charts.timeline import SCHEDULE_NAMES, moment_when, schedule_timeline
from app.core.formulas.pipeline import bubble_fraction
from app.core.simulators import pipeline
from app.core.translation import noted, translate, translate_known
from app.core.units import RATIO, SECOND, show
from app.course.explorers.base import ExplainedMistakes, Explorer, ExplorerOutput, KeyFigure, Values
from app.course.explorers.controls import Select, Slider, in_group, log_slider
from app.course.explorers.words import counted_noun

_FOLLOWED = {
    "none": noted("nothing"),
    "first": noted("the first micro-batch"),
    "middle": noted("the middle micro-batch"),
    "last": noted("the last micro-batch"),
}
_MOST_BARS = 2_000  # that a figure shows
_TWICE = ("dualpipe", "dualpipe_v")


def _played(name: str, values: Values) -> tuple[pipeline.SimulatedSchedule, str]:
    """The schedule with the nearest numbers that it supports, and a sentence if they differ."""
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
    times = pipeline.Times(
        values.number("forward"), values.number("input"), values.number("weight"), values.number("communication")
    )
    changed = ""
    if (stages, microbatches) != asked:
        changed = translate(
            " Shown with {stages} stages and {microbatches} micro-batches, as it requires.",
            stages=stages,
            microbatches=microbatches,
        )
    return _simulated_run(name, stages, microbatches, virtual, times), changed


@lru_cache(maxsize=4)
def _simulated_run(
    name: str, stages: int, microbatches: int, virtual: int, times: pipeline.Times
) -> pipeline.SimulatedSchedule:
    return pipeline.simulate_schedule(_built(name, stages, microbatches, virtual), times)


@lru_cache(maxsize=4)  # most controls change times alone
def _built(name: str, stages: int, microbatches: int, virtual: int) -> pipeline.PipelineSchedule:
    return pipeline.build(name, stages, microbatches, virtual)


def _pipeline_sentence(name: str, played: pipeline.SimulatedSchedule, changed: str) -> str:
    tail = (
        translate(
            " From the first pass to the last, {makespan} go by: a device that is done "
            "starts the next step while others finish this one, so gray at the ends of a "
            "row belongs to the previous and the next step. The optimizer must not wait "
            "for all devices.",
            makespan=show(played.makespan, SECOND),
        )
        if played.overlaps
        else ""
    )
    return translate(
        "**{schedule}** takes {step_time}; a device is idle for "
        "{bubble_fraction} of that ({bubble_ratio} of the ideal {ideal_time}) and "
        "holds at most {micro_batch}.{changed}{tail}",
        schedule=translate_known(SCHEDULE_NAMES[name]),
        step_time=show(played.step_time, SECOND),
        bubble_fraction=percent_text(played.bubble_fraction),
        bubble_ratio=percent_text(played.bubble_ratio),
        ideal_time=show(played.ideal_time, SECOND),
        micro_batch=counted_noun(max(played.in_flight), "micro-batch", "micro-batches"),
        changed=changed,
        tail=tail,
    )


def _schedules(values: Values) -> ExplorerOutput:
    names = [values.word("schedule")]
    if values.word("against") not in ("none", names[0]):
        names.append(values.word("against"))
    runs = [(name, *_played(name, values)) for name in names]
    until = moment_when([played for _, played, _ in runs], _MOST_BARS)
    end = min(until, max(played.makespan for _, played, _ in runs))
    says = " ".join(_pipeline_sentence(name, played, changed) for name, played, changed in runs)
    facts = []
    for place, (name, played, _) in enumerate(runs):
        schedule = translate_known(SCHEDULE_NAMES[name])

        def named(what: str, schedule: str = schedule if place else "") -> str:
            return f"{schedule}, {translate(what)}" if schedule else what

        facts += [
            KeyFigure.quantity(translate("{schedule}, step", schedule=schedule), played.step_time, SECOND),
            KeyFigure.share(named(noted("bubble over the step")), played.bubble_fraction),
            KeyFigure.share(named(noted("bubble over the ideal")), played.bubble_ratio),
            KeyFigure.plain(named(noted("held at most")), max(played.in_flight)),
        ]
    followed = values.word("follow")
    timelines = []
    for _, played, _ in runs:
        count = played.schedule.microbatches
        traced = {"first": "0", "middle": str(count // 2), "last": str(count - 1)}.get(followed, "")
        timelines.append(replace(schedule_timeline(played, until), end=end, traced=traced))
    return ExplorerOutput(says, tuple(facts), (*timelines, *(_held(n, p) for n, p, _ in runs)))


def _held(name: str, played: pipeline.SimulatedSchedule) -> Plot:
    """Micro-batches whose activations the first, the middle and the last GPU hold."""
    devices = played.schedule.devices
    most = played.in_flight
    shown = dict(zip((0, devices // 2, devices - 1), (Color.BLUE, Color.ORANGE, Color.PURPLE), strict=True))
    series = tuple(
        Series(color, translate("GPU {device}", device=device), pipeline.kept_over_time(played, device), at_peak=True)
        for device, color in shown.items()
    )
    held = [translate("{held:g} on GPU {device}", held=most[device], device=device) for device in shown]
    return Plot(
        title=translate("Micro-batches held, {schedule}", schedule=translate_known(SCHEDULE_NAMES[name])),
        summary=translate("At most {shown}", shown=", ".join(held)),
        x=Axis(translate("time"), SECOND),
        y=Axis(translate("micro-batches held"), RATIO),
        series=series,
    )


def _not_the_bubble(values: Values) -> Iterator[tuple[float, str]]:
    """Shares that are taken for the bubble of the step."""
    played, _ = _played(values.word("schedule"), values)
    stages, microbatches = values.count("stages"), values.count("microbatches")
    yield (played.bubble_ratio, translate("That is idle over the ideal time. Here it is the whole step."))
    yield (
        bubble_fraction(stages, microbatches),
        translate(
            "That is the bubble of 1F1B and GPipe; this is {schedule}.",
            schedule=translate_known(SCHEDULE_NAMES[values.word("schedule")]),
        ),
    )
    yield (
        1 - bubble_fraction(stages, microbatches),
        translate("That is the share of the step in which a device works."),
    )


SCHEDULES_SHOWN = Explorer(
    name="pipeline",
    title=noted("How large is a pipeline's bubble?"),
    summary=noted("Nine schedules pass by pass: bubbles, micro-batches held, and two schedules compared."),
    question=noted("4 stages, 8 micro-batches: what share of the step is bubble?"),
    predicts=noted("bubble over the step"),
    chapter="pipelines",
    formulas=(
        "pipeline.bubble_fraction",
        "pipeline.bubble_ratio",
        "pipeline.schedule_bubble",
        "pipeline.in_flight_microbatches",
    ),
    controls=(
        *in_group(
            noted("Pipeline"),
            Select("schedule", noted("Schedule"), SCHEDULE_NAMES),
            Slider("stages", noted("Stages"), (2, 16), default=4),
            Slider("microbatches", noted("Micro-batches"), (1, 64), default=8),
            Slider("virtual", noted("Chunks per GPU (interleaved)"), (1, 8), default=2),
        ),
        *in_group(
            noted("Comparison"),
            Select("against", noted("Compare with"), {"none": noted("nothing"), **SCHEDULE_NAMES}, aside=True),
            Select("follow", noted("Highlight"), _FOLLOWED, aside=True),
        ),
        *in_group(
            noted("Times"),
            log_slider("forward", noted("Forward"), (0.1, 1000), 10, "ms"),
            log_slider("input", noted("Backward, input"), (0.1, 1000), 10, "ms"),
            log_slider("weight", noted("Backward, weights"), (0.1, 1000), 10, "ms"),
            Slider("communication", noted("Time per message"), (0, 100), default=0, unit="ms", whole=False),
        ),
    ),
    explore=_schedules,
    asks=noted("What share of the step is bubble?"),
    foreseen=ExplainedMistakes(exercise="pipelines/bubble-two-ways", answer="fraction", others=_not_the_bubble),
)
