"""A dynamic loss scale."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence

from app.core.charts.axes import Axis
from app.core.charts.color import Color
from app.core.charts.plot import Plot, Series
from app.core.formulas.precision import loss_scale
from app.core.translation import noted, translate
from app.core.units import RATIO, figures
from app.course.explorers.base import Explored, Explorer, Foreseen, Values, counted, figure_summary, plain_figure
from app.course.explorers.controls import Slider

_MOST_STEPS = 400


def _loss_scale(values: Values) -> Explored:
    steps, interval = values.count("steps"), values.count("interval")
    initial, every = values.number("initial"), values.count("every")
    asked, steps = steps, _steps_in_range(values, steps)
    notice = "" if asked == steps else translate("Shown up to step {steps}, where the scale leaves 1e±30.", steps=steps)
    overflows, scales = _scales(values, steps)
    points = tuple((float(step), scale) for step, scale in enumerate(scales, 1))
    last = scales[-1]
    trend = (
        translate("Overflows come before enough clean steps have passed, so the scale can only fall.")
        if 0 < every <= interval
        else translate("There are enough clean steps between overflows for the scale to grow again.")
    )
    says = translate(
        "After {step} the scale is **{last}**, from {initial}. It halves on every "
        "overflow ({overflows} so far) and doubles after {clean_step}. {trend}",
        step=counted(steps, "step"),
        last=figures(last, 6),
        initial=figures(initial, 6),
        overflows=sum(overflows),
        clean_step=counted(interval, "clean step"),
        trend=trend,
    )
    facts = (
        plain_figure(noted("scale at the end"), last, 6),
        plain_figure(noted("overflows"), sum(overflows)),
        plain_figure(noted("largest"), max(scales), 6),
        plain_figure(noted("smallest"), min(scales), 6),
    )
    plot = Plot(
        title=translate("Loss scale"),
        summary=figure_summary(says),
        x=Axis(translate("step"), RATIO),
        y=Axis(translate("scale"), RATIO, log=True, base=2),
        series=(Series(Color.BLUE, translate("scale"), points),),
    )
    return Explored(says, facts, (plot,), notice=notice, ended=steps == _MOST_STEPS)


def _scales(values: Values, steps: int) -> tuple[Sequence[bool], Sequence[float]]:
    """Whether each step overflows, and the scale after it."""
    every = values.count("every")
    overflows = tuple(every > 0 and (step + 1) % every == 0 for step in range(steps))
    return overflows, loss_scale(overflows, values.number("initial"), values.count("interval"))


def _steps_in_range(values: Values, steps: int) -> int:
    """The steps, up to *steps*, after which the scale is still one that a scaler may have."""

    def leaves(tried: int) -> bool:
        try:
            _scales(values, tried)
        except ValueError:
            return True
        return False

    return bisect_left(range(1, steps + 1), True, key=leaves)


def _not_the_scale(values: Values) -> Iterator[tuple[float, str]]:
    """Scales that are taken for the one at the end."""
    initial, every = values.number("initial"), values.count("every")
    overflows = values.count("steps") // every if every else 0
    yield (initial, translate("That is the scale at the start: overflows halve it, clean steps double it."))
    yield (
        initial / 2**overflows,
        translate("That counts the overflows alone. Between them, enough clean steps double the scale."),
    )
    yield (
        initial * 2.0 ** (values.count("steps") // values.count("interval")),
        translate(
            "That counts the clean steps alone. Each overflow halves the scale, and the count of "
            "clean steps starts again."
        ),
    )


LOSS_SCALE = Explorer(
    name="loss-scale",
    title=noted("Where does a loss scale settle?"),
    summary=noted("A dynamic loss scale: halved on overflow, doubled after enough clean steps."),
    question=noted("65,536 halves every 30 steps, doubles after 20 clean ones. What is it at step 200?"),
    predicts=noted("scale at the end"),
    chapter="precision",
    formulas=("precision.loss_scale", "precision.smallest_loss_scale"),
    controls=(
        Slider("initial", noted("Initial scale"), (1, 1e6), default=65536, log=True),
        Slider("interval", noted("Clean steps before doubling"), (1, 200), default=20),
        Slider("every", noted("Steps between overflows (0: none)"), (0, 200), default=30),
        Slider("steps", noted("Steps"), (10, _MOST_STEPS), default=200, plays=True),
    ),
    explore=_loss_scale,
    asks=noted("What is the loss scale at the end?"),
    foreseen=Foreseen(others=_not_the_scale),
)
