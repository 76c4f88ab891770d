"""A whole training run: duration, cost, and learning rate."""

from collections.abc import Iterator

from app.charts.axes import Axis, percent_text
from app.charts.color import Color
from app.charts.plot import Grip, LabeledPoint, Plot, Series
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
from app.explorers.controls import Slider
from app.formulas.batching import (
    cosine_rate,
    linear_scaled_rate,
    square_root_scaled_rate,
    steps_to_target,
)
from app.formulas.cost import electricity_cost, energy, gpu_hours, rental_cost
from app.formulas.pipeline import bubble_fraction
from app.formulas.throughput import training_time
from app.formulas.transformer import training_flops
from app.units import DOLLAR, FLOP, JOULE, RATIO, SECOND, show

_SHARES = tuple(place / 100 for place in range(15, 71, 5))
_GIGAWATT_HOUR = 3.6e12  # joules
_DAY = 24 * 3600.0
_POINTS = 80


def _run(values: Values) -> Explored:
    gpus, peak, used = values.count("gpus"), values.number("peak"), values.number("mfu") / 100
    flops = training_flops(round(values.number("parameters")), values.number("tokens"))
    took = values.number("days") * _DAY
    if took:
        used = flops / (gpus * peak * took)
    notice = ""
    if used > 1:
        notice = (
            f"{show(took, SECOND)} would take {used:.3g} times the peak of these GPUs. Shown at "
            "the full peak, the shortest time."
        )
        took, used = 0.0, 1.0
    time = took or training_time(flops, gpus, peak, used)
    data, waiting = _laid_out(values, gpus)
    rent = rental_cost(gpus, time, values.number("price"))
    joules = energy(gpus, values.number("watts"), time)
    power = electricity_cost(gpus, values.number("watts"), time, values.number("electricity") / 100)
    says = (
        f"{show(flops, FLOP)} on {gpus:,} GPUs at {percent_text(used)} of their peak take "
        f"**{show(time, SECOND, 3)}** and cost {show(rent, DOLLAR, 3)} to rent. They use "
        f"{joules / _GIGAWATT_HOUR:,.3g} GWh, {show(power, DOLLAR, 3)} of electricity. " + waiting
    )
    facts = (
        quantity("time", time, SECOND, 3),
        share("utilization", used),
        _hours(gpus, time),
        quantity("rent", rent, DOLLAR, 3),
        KeyFigure("energy", f"{joules / _GIGAWATT_HOUR:,.3g} GWh", joules, JOULE),
        quantity("electricity", power, DOLLAR, 3),
        *data,
    )
    curve = tuple((share, training_time(flops, gpus, peak, share)) for share in _SHARES)
    plot = Plot(
        title="Length of the run",
        summary=summary_of(says),
        x=Axis("model FLOPs utilization", RATIO, percent=True),
        y=Axis("time", SECOND, log=True),
        series=(Series(Color.BLUE, "this run", curve),),
        marks=(
            LabeledPoint(
                used,
                time,
                f"{percent_text(used)}: {show(time, SECOND)}",
                None if took else Grip("mfu", 100),
            ),
        ),
    )
    return Explored(says, facts, (plot,), notice=notice)


def _hours(gpus: int, time: float) -> KeyFigure:
    hours = gpu_hours(gpus, time)
    return KeyFigure("GPU-hours", f"{hours:,.0f}", hours)


def _laid_out(values: Values, gpus: int) -> tuple[tuple[KeyFigure, ...], str]:
    """The data-parallel degree and the pipeline's bubble, as facts and as a sentence."""
    copy = values.count("tensor") * values.count("context") * values.count("pipeline")
    sequences = values.count("batch")
    if gpus % copy:
        return (), f"{gpus:,} GPUs do not divide into copies of {copy:,}."
    data = gpus // copy
    if sequences % data:
        return (
            plain("data parallel", data),
        ), f"{sequences:,} sequences do not divide over {data:,} data-parallel ranks."
    stages, each = values.count("pipeline"), sequences // data
    waited = bubble_fraction(stages, each)
    says = (
        f"{data:,} copies of {copy:,} GPUs take {each:,} sequences each; at one sequence per "
        f"micro-batch the 1F1B bubble is {percent_text(waited)} of a step."
    )
    return (
        plain("data parallel", data),
        plain("micro-batches", each),
        share("bubble", waited),
    ), says


def _rates(values: Values) -> Explored:
    base, start, batch = (values.number(name) for name in ("rate", "base", "batch"))
    steps, warmup = values.count("steps"), min(values.count("warmup"), values.count("steps") - 1)
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
        f"From a batch of {start:,.6g} to {batch:,.6g} the linear rule (SGD) gives "
        f"**{linear:.4g}**, the square-root rule (Adam) **{root:.4g}**. The warm-up takes "
        f"{percent_text(warmup / steps)} of the run; that of Llama 3 405B took 0.67 %."
    )
    facts = (
        plain("linear", linear),
        plain("square root", root),
        share("warm-up", warmup / steps),
    )
    plot = Plot(
        title="Learning rate",
        summary=summary_of(says),
        x=Axis("step", RATIO),
        y=Axis("learning rate", RATIO),
        series=series,
    )
    return Explored(says, (*facts, _steps_fact(values)), (plot, _batches(values)))


def _steps_fact(values: Values) -> KeyFigure:
    steps = steps_to_target(values.number("batch"), values.number("critical"), 1.0)
    return plain("steps, relative to the minimum", steps, 3)


def _batches(values: Values) -> Plot:
    """Steps and examples over the batch size, each relative to its minimum."""
    critical, batch = values.number("critical"), values.number("batch")
    sizes = [critical * 2.0**power for power in range(-7, 8)]
    steps = tuple((size, steps_to_target(size, critical, 1.0)) for size in sizes)
    examples = tuple((size, size / critical * times) for size, times in steps)
    own = steps_to_target(batch, critical, 1.0)
    return Plot(
        title="Steps and examples to the same loss",
        summary=f"At a batch of {batch:,.6g}, {own:.3g} times the minimum number of steps",
        x=Axis("batch", RATIO, log=True),
        y=Axis("relative to the minimum", RATIO, log=True),
        series=(Series(Color.BLUE, "steps", steps), Series(Color.ORANGE, "examples", examples)),
        marks=(
            LabeledPoint(critical, 2.0, "critical batch: 2 × both"),
            LabeledPoint(batch, own, f"{own:.3g} ×", Grip("batch")),
        ),
    )


def _not_the_days(values: Values) -> Iterator[tuple[float, str]]:
    """Times that are taken for the length of the run."""
    flops = training_flops(round(values.number("parameters")), values.number("tokens"))
    gpus, peak, used = values.count("gpus"), values.number("peak"), values.number("mfu") / 100
    forward = training_time(flops, gpus, peak, used) / 3
    yield forward, "That is 2 FLOP per parameter and token: the forward pass alone."
    yield training_time(flops, gpus, peak, 1.0), "That is at full peak."
    yield training_time(flops, gpus, 2 * peak, used), "That is at twice the peak, with sparsity."


RUN = Explorer(
    name="run",
    title="How long does a run take, and what does it cost?",
    summary="A training run from FLOPs to days, rent and electricity.",
    question="How many days do 16,384 H100s need for Llama 3.1 405B at 40 % utilization?",
    predicts="time",
    chapter="capstone",
    formulas=(
        "transformer.training_flops",
        "throughput.training_time",
        "cost.rental_cost",
        "cost.energy",
    ),
    controls=(
        Slider(
            "parameters",
            "Parameters",
            (0.1, 2000),
            default=405,
            unit="billion",
            log=True,
            whole=False,
        ),
        Slider(
            "tokens", "Tokens", (0.01, 100), default=15.6, unit="trillion", log=True, whole=False
        ),
        Slider("gpus", "GPUs", (1, 100_000), default=16384, log=True),
        Slider("mfu", "Utilization in percent", (5, 70), default=40, whole=False),
        Slider(
            "price",
            "Dollars per GPU-hour",
            (0.1, 20),
            default=2,
            log=True,
            whole=False,
            aside=True,
        ),
        Slider("peak", "Peak per GPU", (50, 5000), default=989, unit="TFLOP/s", log=True),
        Slider(
            "days",
            "Or days taken (0: use the utilization)",
            (0, 1000),
            default=0,
            whole=False,
        ),
        Slider("batch", "Sequences per step", (1, 65536), default=2048, doubles=True, aside=True),
        Slider("tensor", "Tensor parallelism", (1, 32), default=8, doubles=True, aside=True),
        Slider("pipeline", "Pipeline stages", (1, 64), default=16, doubles=True, aside=True),
        Slider("context", "Context parallelism", (1, 32), default=1, doubles=True, aside=True),
        Slider("watts", "Power per GPU", (100, 2000), default=700, unit="W", aside=True),
        Slider("electricity", "Cents per kWh", (1, 60), default=5, whole=False, aside=True),
    ),
    explore=_run,
    asks="How many days does the run take?",
    foreseen=Foreseen(
        exercise="capstone/days-of-the-run",
        answer="days",
        given=lambda values: {
            "parameters": values.number("parameters"),
            "tokens": values.number("tokens"),
            "gpus": values.count("gpus"),
            "mfu": values.number("mfu") / 100,
        },
        others=_not_the_days,
    ),
)
RATES = Explorer(
    name="learning-rate",
    title="How does the learning rate scale with the batch?",
    summary="Linear and square-root rules, warm-up and cosine decay, and the critical batch size.",
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
        Slider("rate", "Rate at the old batch", (1e-6, 1), default=3e-4, log=True, whole=False),
        Slider("base", "Old batch", (1, 100_000), default=256, log=True),
        Slider("batch", "New batch", (1, 1_000_000), default=2048, log=True),
        Slider("steps", "Steps", (100, 2_000_000), default=100_000, log=True, aside=True),
        Slider("warmup", "Warm-up", (0, 100_000), default=8000, aside=True),
        Slider("critical", "Critical batch", (16, 1_000_000), default=2048, log=True, aside=True),
    ),
    explore=_rates,
    asks="What is the new rate by the linear rule?",
    foreseen=Foreseen(exercise="rates/linear-rule"),
)
