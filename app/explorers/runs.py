"""A whole training run: its days, its bill, its learning rate."""

from app.charts.axes import Axis
from app.charts.plot import Mark, Plot, Series
from app.explorers.base import Explored, Explorer, Fact, Values
from app.explorers.controls import Slider
from app.formulas.batching import cosine_rate, linear_scaled_rate, square_root_scaled_rate
from app.formulas.cost import electricity_cost, energy, gpu_hours, rental_cost
from app.formulas.throughput import training_time
from app.formulas.transformer import training_flops
from app.units import DOLLAR, FLOP, RATIO, SECOND, show

_SHARES = tuple(place / 100 for place in range(15, 71, 5))
_GIGAWATT_HOUR = 3.6e12  # joules
_DAY = 24 * 3600.0
_POINTS = 80


def _run(values: Values) -> Explored:
    gpus, peak, used = values.count("gpus"), values.number("peak"), values.number("mfu") / 100
    flops = training_flops(round(values.number("parameters")), values.number("tokens"))
    time = training_time(flops, gpus, peak, used)
    rent = rental_cost(gpus, time, values.number("price"))
    joules = energy(gpus, values.number("watts"), time)
    power = electricity_cost(gpus, values.number("watts"), time, values.number("electricity") / 100)
    says = (
        f"{show(flops, FLOP)} on {gpus:,} GPUs at {100 * used:.3g} % of their peak take "
        f"**{time / _DAY:,.3g} days**, cost {show(rent, DOLLAR, 3)} to rent and "
        f"{joules / _GIGAWATT_HOUR:,.3g} GWh, which are {show(power, DOLLAR, 3)} of electricity."
    )
    facts = (
        Fact("days", f"{time / _DAY:,.3g}"),
        Fact("GPU-hours", f"{gpu_hours(gpus, time):,.0f}"),
        Fact("rent", show(rent, DOLLAR, 3)),
        Fact("energy", f"{joules / _GIGAWATT_HOUR:,.3g} GWh"),
        Fact("electricity", show(power, DOLLAR, 3)),
    )
    curve = tuple((share, training_time(flops, gpus, peak, share)) for share in _SHARES)
    plot = Plot(
        "Length of the run",
        says.replace("*", ""),
        Axis("model FLOPs utilization", RATIO, percent=True),
        Axis("time", SECOND, log=True),
        (Series("f", "this run", curve),),
        (Mark(used, time, f"{100 * used:.3g} %: {show(time, SECOND)}"),),
    )
    return Explored(says, facts, (plot,))


def _rates(values: Values) -> Explored:
    base, start, batch = (values.number(name) for name in ("rate", "base", "batch"))
    steps, warmup = values.count("steps"), min(values.count("warmup"), values.count("steps") - 1)
    linear = linear_scaled_rate(base, start, batch)
    root = square_root_scaled_rate(base, start, batch)
    taken = [round(steps * place / _POINTS) for place in range(_POINTS + 1)]
    rules = {"linear": ("f", linear), "square root": ("b", root), "unchanged": ("i", base)}
    series = tuple(
        Series(
            kind, name, tuple((float(s), cosine_rate(s, steps, peak, 0.0, warmup)) for s in taken)
        )
        for name, (kind, peak) in rules.items()
    )
    says = (
        f"From a batch of {start:,.6g} to {batch:,.6g} the linear rule (SGD) gives "
        f"**{linear:.4g}**, the square-root rule (Adam) **{root:.4g}**. The warm-up takes "
        f"{100 * warmup / steps:.3g} % of the run; Llama 3 405B took 0.67 %."
    )
    facts = (
        Fact("linear", f"{linear:.4g}"),
        Fact("square root", f"{root:.4g}"),
        Fact("warm-up", f"{100 * warmup / steps:.3g} % of the run"),
    )
    plot = Plot(
        "Learning rate",
        says.replace("*", ""),
        Axis("step", RATIO),
        Axis("learning rate", RATIO),
        series,
    )
    return Explored(says, facts, (plot,))


RUN = Explorer(
    "run",
    "How long, and how much?",
    "A training run from its FLOPs to its days, its rent and its electricity.",
    "How many days do 16,384 H100s need for Llama 3.1 405B at 40 % utilization?",
    "capstone",
    ("transformer.training_flops", "throughput.training_time", "cost.rental_cost", "cost.energy"),
    (
        Slider("parameters", "Parameters", 0.1, 2000, 405, "billion", log=True, whole=False),
        Slider("tokens", "Tokens", 0.01, 100, 15.6, "trillion", log=True, whole=False),
        Slider("gpus", "GPUs", 1, 100_000, 16384, log=True),
        Slider("peak", "Peak of a GPU", 50, 5000, 989, "TFLOP/s", log=True),
        Slider("mfu", "Utilization, in per cent", 5, 70, 40),
        Slider("price", "Dollars for a GPU-hour", 0.1, 20, 2, log=True, whole=False),
        Slider("watts", "Power of a GPU", 100, 2000, 700, "W"),
        Slider("electricity", "Cents for a kWh", 1, 60, 5, whole=False),
    ),
    _run,
)
RATES = Explorer(
    "learning-rate",
    "What does a larger batch do to the rate?",
    "Linear and square-root rule, a warm-up and a cosine.",
    "A rate of 3e-4 was tuned at a batch of 256. What is it at 2,048, by either rule?",
    "rates",
    ("batching.linear_scaled_rate", "batching.square_root_scaled_rate", "batching.cosine_rate"),
    (
        Slider("rate", "Rate at the old batch", 1e-6, 1, 3e-4, log=True, whole=False),
        Slider("base", "Old batch", 1, 100_000, 256, log=True),
        Slider("batch", "New batch", 1, 1_000_000, 2048, log=True),
        Slider("steps", "Steps", 100, 2_000_000, 100_000, log=True),
        Slider("warmup", "Warm-up", 0, 100_000, 8000),
    ),
    _rates,
)
