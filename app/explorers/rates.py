"""The learning rate and the batch size."""

from math import ceil, floor, log2

from app.charts.axes import Axis, percent_text
from app.charts.color import Color
from app.charts.plot import Grip, LabeledPoint, Plot, Series
from app.explorers.base import (
    Explored,
    Explorer,
    Foreseen,
    Values,
    plain,
    share,
    summary_of,
)
from app.explorers.controls import Slider
from app.formulas.batching import (
    cosine_rate,
    linear_scaled_rate,
    square_root_scaled_rate,
    steps_to_target,
)
from app.units import RATIO, figures

_POINTS = 80
_AROUND = 7  # doublings of the critical batch, up and down, unless the batch is farther away


def _rates(values: Values) -> Explored:
    base, start, batch = (values.number(name) for name in ("rate", "base", "batch"))
    steps, warmup = values.count("steps"), min(values.count("warmup"), values.count("steps") - 1)
    relative = _relative(values)
    linear = linear_scaled_rate(base, start, batch)
    root = square_root_scaled_rate(base, start, batch)
    taken = [round(steps * place / _POINTS) for place in range(_POINTS + 1)]
    rules = {
        "linear": (Color.BLUE, linear),
        "square root": (Color.ORANGE, root),
        "unchanged": (Color.GRAY, base),
    }
    series = tuple(
        Series(
            color,
            name,
            tuple((float(s), cosine_rate(s, steps, peak, 0.0, warmup)) for s in taken),
            at_peak=True,
        )
        for name, (color, peak) in rules.items()
    )
    says = (
        f"A batch of {figures(batch, 6)} needs **{figures(relative[0], 3)} ×** the minimum "
        f"number of steps and **{figures(relative[1], 3)} ×** the minimum of examples. Against "
        f"{figures(start, 6)}, the linear rule (SGD) gives a rate of **{figures(linear)}**, the "
        f"square-root rule (Adam) **{figures(root)}**. The warm-up takes "
        f"{percent_text(warmup / steps)} of the run; that of Llama 3 405B took 0.67 %."
    )
    facts = (
        plain("linear", linear),
        plain("square root", root),
        plain("steps, relative to the minimum", relative[0], 3),
        plain("examples, relative to the minimum", relative[1], 3),
        share("warm-up", warmup / steps),
    )
    plot = Plot(
        title="Learning rate",
        summary=summary_of(says),
        x=Axis("step", RATIO),
        y=Axis("learning rate", RATIO),
        series=series,
    )
    return Explored(says, facts, (_batches(values), plot))


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
        title="Steps and examples to the same loss",
        summary=f"At a batch of {figures(batch, 6)}, {figures(own, 3)} × the minimum number of "
        f"steps and {figures(used, 3)} × the minimum of examples",
        x=Axis("batch", RATIO, log=True),
        y=Axis("relative to the minimum", RATIO, log=True),
        series=(Series(Color.BLUE, "steps", steps), Series(Color.ORANGE, "examples", examples)),
        marks=(
            LabeledPoint(batch, own, f"{figures(own, 3)} × the steps", Grip("batch")),
            LabeledPoint(batch, used, f"{figures(used, 3)} × the examples"),
            LabeledPoint(critical, 2.0, "critical batch"),
        ),
    )


RATES = Explorer(
    name="learning-rate",
    title="How far can the batch grow?",
    summary="Steps and examples over the batch, and the learning rate by two rules.",
    question="A rate of 3e-4 was tuned at a batch of 256. What is it at 2,048 by the linear rule?",
    predicts="linear",
    chapter="rates",
    formulas=(
        "batching.linear_scaled_rate",
        "batching.square_root_scaled_rate",
        "batching.cosine_rate",
        "batching.steps_to_target",
    ),
    controls=(
        Slider("batch", "New batch", (1, 1_000_000), default=2048, log=True),
        Slider("base", "Old batch", (1, 100_000), default=256, log=True),
        Slider("rate", "Rate at the old batch", (1e-6, 1), default=3e-4, log=True, whole=False),
        Slider("critical", "Critical batch", (16, 1_000_000), default=1024, log=True, aside=True),
        Slider("steps", "Steps", (100, 2_000_000), default=100_000, log=True, aside=True),
        Slider("warmup", "Warm-up", (0, 100_000), default=8000, aside=True),
    ),
    explore=_rates,
    asks="What is the new rate by the linear rule?",
    foreseen=Foreseen(exercise="rates/linear-rule"),
)
