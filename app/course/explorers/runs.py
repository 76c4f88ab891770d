"""A whole training run: its length and its bill."""

from collections.abc import Iterator, Sequence

from app.core.charts.axes import Arrow, Axis, Color, Drawing, Paper, Sheet, Words, money_text, percent_text, time_text
from app.core.charts.plot import Grip, LabeledPoint, Plot, Series
from app.core.formulas.cost import electricity_cost, energy, gpu_hours, rental_cost
from app.core.formulas.throughput import training_time
from app.core.formulas.transformer import training_flops
from app.core.translation import Numeral, localize, noted, translate
from app.core.units import DOLLAR, FLOP, JOULE, RATIO, SECOND, figures, show
from app.course.explorers.base import ExplainedMistakes, Explorer, ExplorerOutput, KeyFigure, Values
from app.course.explorers.controls import Slider, in_group, log_slider
from app.course.explorers.words import counted_noun, figure_summary

_SHARES = tuple(place / 100 for place in range(15, 71, 5))
_POINTS = 8  # of the curve, from there to a utilization that is farther away
_KILOWATT_HOUR = 3.6e6  # joules
_RECEIPT, _LINE = 440, 28  # pixels, width of the bill and height of a line
_RENT = 3  # the line of the bill that sums up
_DAY = 24 * 3600.0
Power = tuple[float, float]  # watts of a GPU, and cents for a kilowatt-hour


def _run_output(values: Values) -> ExplorerOutput:
    gpus, peak, used = values.count("gpus"), values.number("peak"), values.number("mfu") / 100
    flops = training_flops(round(values.number("parameters")), values.number("tokens"))
    took = values.number("days") * _DAY
    if took:
        used = flops / (gpus * peak * took)
    notice = ""
    if used > 1:
        notice = translate(
            "{took} would take {used} times the peak of these GPUs. Shown at the full peak, the shortest time.",
            took=show(took, SECOND),
            used=figures(used, 3),
        )
        took, used = 0.0, 1.0
    time = took or training_time(flops, gpus, peak, used)
    rent = rental_cost(gpus, time, values.number("price"))
    joules = energy(gpus, values.number("watts"), time)
    bill = electricity_cost(gpus, values.number("watts"), time, values.number("electricity") / 100)
    says = translate(
        "{flops} on {gpu} at {used} of the peak take **{time}** and cost {rent} to "
        "rent. They use {energy_text}, {power} of electricity.",
        flops=show(flops, FLOP),
        gpu=counted_noun(gpus, "GPU"),
        used=percent_text(used),
        time=show(time, SECOND, 3),
        rent=money_text(rent),
        energy_text=energy_text(joules),
        power=money_text(bill),
    )
    hours = gpu_hours(gpus, time)
    facts = (
        KeyFigure.quantity(noted("time"), time, SECOND, 3),
        KeyFigure.share(noted("utilization"), used),
        KeyFigure(noted("GPU-hours"), Numeral(f"{hours:,.0f}"), hours),
        KeyFigure(noted("rent"), money_text(rent), rent, DOLLAR),
        KeyFigure(noted("energy"), energy_text(joules), joules, JOULE),
        KeyFigure(noted("electricity"), money_text(bill), bill, DOLLAR),
    )
    end = min(max(used, _SHARES[0]), _SHARES[-1])  # the curve goes on to a utilization beyond its end
    beyond = [used * (end / used) ** (place / _POINTS) for place in range(_POINTS)] if used != end else []
    shares = sorted({*_SHARES, *beyond})
    curve = tuple((share, training_time(flops, gpus, peak, share)) for share in shares)
    plot = Plot(
        title=translate("Length of the run"),
        summary=figure_summary(says),
        x=Axis(translate("model FLOPs utilization"), RATIO, percent=True),
        y=Axis(translate("time"), SECOND, log=True),
        series=(Series(Color.BLUE, translate("this run"), curve),),
        marks=(
            LabeledPoint(used, time, f"{percent_text(used)}: {time_text(time)}", None if took else Grip("mfu", 100)),
        ),
    )
    line = translate("6 FLOP per parameter and token"), flops
    power = values.number("watts"), values.number("electricity")
    paid = bill_drawing(line, gpus=gpus, used=used, time=time, price=values.number("price"), power=power)
    return ExplorerOutput(says, facts, (plot, paid), notice=notice)


def bill_drawing(
    flops: tuple[str, float], *, gpus: int, used: float, time: float, price: float, power: Power
) -> Drawing:
    """A run as a bill: the FLOP of its tokens, its length, GPU-hours and rent, and the energy if *power* is known."""
    hours, rent = gpu_hours(gpus, time), rental_cost(gpus, time, price)
    lines = [
        (flops[0], show(flops[1], FLOP, 3)),
        (translate("{gpu} at {shown}", gpu=counted_noun(gpus, "GPU"), shown=percent_text(used)), show(time, SECOND, 3)),
        (translate("GPU-hours"), figures(float(f"{hours:.4g}"))),
        (translate("Rent at {price} an hour", price=money_text(price)), money_text(rent)),
    ]
    watts, cents = power
    if watts:
        electricity = electricity_cost(gpus, watts, time, cents / 100)
        joules = energy_text(energy(gpus, watts, time))
        lines += [
            (translate("Energy at {watts:,.0f} W", watts=watts), joules),
            (translate("Of it, electricity at {electricity:.3g} ¢/kWh", electricity=cents), money_text(electricity)),
        ]
    return Drawing(
        title=translate("The bill"),
        summary=", ".join(f"{what}: {localize(amount)}" for what, amount in lines),
        on=lambda paper: _receipt(lines, paper),
        table=((translate("Line"), translate("Amount")), *lines),
    )


def _receipt(lines: Sequence[tuple[str, str]], paper: Paper) -> Sheet:
    right = min(paper.width, _RECEIPT) - 1.0
    words, rules = [], []
    for place, (what, amount) in enumerate(lines):
        y, sum_of_all = 18 + place * _LINE, place == _RENT
        words.append(Words(0, y, what, quiet=not sum_of_all, strong=sum_of_all))
        words.append(Words(right, y, amount, anchor="end", strong=sum_of_all))
        rules.append(Arrow(0, y + 9, right, y + 9, color=Color.PALE, head=False))
    return Sheet(height=len(lines) * _LINE + 4, arrows=tuple(rules), words=tuple(words))


def energy_text(joules: float) -> str:
    """Energy as a bill has it."""
    for symbol, size in (("GWh", 3.6e12), ("MWh", 3.6e9)):
        if joules >= size:
            return f"{figures(float(f'{joules / size:.3g}'), 3)} {symbol}"
    return f"{figures(float(f'{joules / _KILOWATT_HOUR:.3g}'), 3)} kWh"


def _not_the_days(values: Values) -> Iterator[tuple[float, str]]:
    """Times that are taken for the length of the run."""
    flops = training_flops(round(values.number("parameters")), values.number("tokens"))
    gpus, peak, used = values.count("gpus"), values.number("peak"), values.number("mfu") / 100
    forward = training_time(flops, gpus, peak, used) / 3
    yield forward, translate("That is 2 FLOP per parameter and token: the forward pass alone.")
    yield training_time(flops, gpus, peak, 1.0), translate("That is at full peak.")
    yield (training_time(flops, gpus, 2 * peak, used), translate("That is at twice the peak, with sparsity."))


RUN = Explorer(
    name="run",
    title=noted("How long does a run take, and what does it cost?"),
    summary=noted("A training run from FLOPs to days, dollars and kilowatt-hours, with its bill."),
    question=noted("How many days do 16,384 H100s need for Llama 3.1 405B at 40 % utilization?"),
    predicts=noted("time"),
    chapter="capstone",
    part_of="fit",
    formulas=("transformer.training_flops", "throughput.training_time", "cost.rental_cost", "cost.energy"),
    controls=(
        *in_group(
            noted("Training"),
            log_slider("parameters", noted("Parameters"), (0.1, 2000), 405, "billion"),
            log_slider("tokens", noted("Tokens"), (0.01, 100), 15.6, "trillion"),
        ),
        *in_group(
            noted("GPUs"),
            Slider("gpus", noted("GPUs"), (1, 100_000), default=16384, log=True),
            Slider("peak", noted("Peak per GPU"), (50, 5000), default=989, unit="TFLOP/s", log=True),
            Slider("mfu", noted("Utilization in percent"), (5, 70), default=40, whole=False),
            Slider("days", noted("Or days taken (0: use the utilization)"), (0, 1000), default=0, whole=False),
        ),
        *in_group(
            noted("Bill"),
            log_slider("price", noted("Dollars per GPU-hour"), (0.1, 20), 2, aside=True),
            Slider("watts", noted("Power per GPU"), (100, 2000), default=700, unit="W", aside=True),
            Slider("electricity", noted("Cents per kWh"), (1, 60), default=5, whole=False, aside=True),
        ),
    ),
    explore=_run_output,
    asks=noted("How many days does the run take?"),
    foreseen=ExplainedMistakes(
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
