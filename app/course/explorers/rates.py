"""The learning rate and the batch size."""

from math import ceil, floor, log2

from app.core.charts.axes import Axis, Color, percent_text
from app.core.charts.plot import Grip, LabeledPoint, Plot, Series
from app.core.formulas.batching import cosine_rate, linear_scaled_rate, square_root_scaled_rate, steps_to_target
from app.core.translation import noted, translate
from app.core.units import RATIO, figures
from app.course.explorers.base import ExplainedMistakes, Explorer, ExplorerOutput, KeyFigure, Values
from app.course.explorers.controls import Slider, log_slider
from app.course.explorers.words import figure_summary

_POINTS = 80
_AROUND = 7  # doublings of the critical batch, up and down, unless the batch is farther away


def _rates(values: Values) -> ExplorerOutput:
    base, start, batch = (values.number(name) for name in ("rate", "base", "batch"))
    steps, warmup = values.count("steps"), min(values.count("warmup"), values.count("steps") - 1)
    relative = _relative(values)
    linear = linear_scaled_rate(base, start, batch)
    root = square_root_scaled_rate(base, start, batch)
    taken = [round(steps * place / _POINTS) for place in range(_POINTS + 1)]
    rules = {"linear": (Color.BLUE, linear), "square root": (Color.ORANGE, root), "unchanged": (Color.GRAY, base)}
    series = tuple(
        Series(color, name, tuple((float(s), cosine_rate(s, steps, peak, 0.0, warmup)) for s in taken), at_peak=True)
        for name, (color, peak) in rules.items()
    )
    says = translate(
        "A batch of {batch} needs **{relative} ×** the minimum number of steps and "
        "**{relative_2} ×** the minimum of examples. Against {start}, the linear rule "
        "(SGD) gives a rate of **{linear}**, the square-root rule (Adam) **{root}**. "
        "The warm-up takes {warmup} of the run; that of Llama 3 405B took 0.67 %.",
        batch=figures(batch, 6),
        relative=figures(relative[0], 3),
        relative_2=figures(relative[1], 3),
        start=figures(start, 6),
        linear=figures(linear),
        root=figures(root),
        warmup=percent_text(warmup / steps),
    )
    facts = (
        KeyFigure.plain(noted("linear"), linear),
        KeyFigure.plain(noted("square root"), root),
        KeyFigure.plain(noted("steps, relative to the minimum"), relative[0], 3),
        KeyFigure.plain(noted("examples, relative to the minimum"), relative[1], 3),
        KeyFigure.share(noted("warm-up"), warmup / steps),
    )
    plot = Plot(
        title=translate("Learning rate"),
        summary=figure_summary(says),
        x=Axis(translate("step"), RATIO),
        y=Axis(translate("learning rate"), RATIO),
        series=series,
    )
    return ExplorerOutput(says, facts, (_batches(values), plot))


def _relative(values: Values) -> tuple[float, float]:
    """Steps and examples, each relative to its minimum."""
    batch, critical = values.number("batch"), values.number("critical")
    steps = steps_to_target(batch, critical, 1.0)
    return steps, batch / critical * steps


def _batches(values: Values) -> Plot:
    """Steps and examples over the batch size, each relative to its minimum."""
    critical, batch = values.number("critical"), values.number("batch")
    doublings = log2(batch / critical)
    powers = range(min(-_AROUND, floor(doublings)), max(_AROUND, ceil(doublings)) + 1)
    sizes = [critical * 2.0**power for power in powers]
    steps = tuple((size, steps_to_target(size, critical, 1.0)) for size in sizes)
    examples = tuple((size, size / critical * times) for size, times in steps)
    own, used = _relative(values)
    return Plot(
        title=translate("Steps and examples to the same loss"),
        summary=translate(
            "At a batch of {batch}, {own} × the minimum number of steps and {used} × the minimum of examples",
            batch=figures(batch, 6),
            own=figures(own, 3),
            used=figures(used, 3),
        ),
        x=Axis(translate("batch"), RATIO, log=True),
        y=Axis(translate("relative to the minimum"), RATIO, log=True),
        series=(Series(Color.BLUE, translate("steps"), steps), Series(Color.ORANGE, translate("examples"), examples)),
        marks=(
            LabeledPoint(batch, own, translate("{own} × the steps", own=figures(own, 3)), Grip("batch")),
            LabeledPoint(batch, used, translate("{used} × the examples", used=figures(used, 3))),
            LabeledPoint(critical, 2.0, translate("critical batch")),
        ),
    )


RATES = Explorer(
    name="learning-rate",
    title=noted("How far can the batch grow?"),
    summary=noted("Steps and examples over the batch, and the learning rate by two rules."),
    question=noted("A rate of 3e-4 was tuned at a batch of 256. What is it at 2,048 by the linear rule?"),
    predicts=noted("linear"),
    chapter="rates",
    formulas=(
        "batching.linear_scaled_rate",
        "batching.square_root_scaled_rate",
        "batching.cosine_rate",
        "batching.steps_to_target",
    ),
    controls=(
        Slider("batch", noted("New batch"), (1, 1_000_000), default=2048, log=True),
        Slider("base", noted("Old batch"), (1, 100_000), default=256, log=True),
        log_slider("rate", noted("Rate at the old batch"), (1e-6, 1), 3e-4),
        Slider("critical", noted("Critical batch"), (16, 1_000_000), default=1024, log=True, aside=True),
        Slider("steps", noted("Steps"), (100, 2_000_000), default=100_000, log=True, aside=True),
        Slider("warmup", noted("Warm-up"), (0, 100_000), default=8000, aside=True),
    ),
    explore=_rates,
    asks=noted("What is the new rate by the linear rule?"),
    foreseen=ExplainedMistakes(exercise="rates/linear-rule"),
)
