"""The spacing of number formats, and a dynamic loss scale."""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence

from app.charts.axes import Axis
from app.charts.color import Color
from app.charts.drawing import Drawing, Rect, Sheet, Words
from app.charts.paper import NARROW, Paper
from app.charts.plot import Grip, LabeledPoint, Plot, Series
from app.explorers.base import (
    Explored,
    Explorer,
    Foreseen,
    Values,
    counted,
    plain,
    summary_of,
)
from app.explorers.controls import Select, Slider
from app.formulas.precision import (
    epsilon,
    largest_finite,
    loss_scale,
    round_to,
    spacing,
    update_survives,
)
from app.formulas.precision.formats import Format, NumberFormat
from app.units import RATIO, figures

_FORMATS: Mapping[Format, str] = {
    "bf16": "BF16",
    "fp16": "FP16",
    "fp32": "FP32",
    "tf32": "TF32",
    "fp8_e4m3": "FP8 E4M3",
    "fp8_e5m2": "FP8 E5M2",
}
_COLORS: Mapping[Format, Color] = {
    "bf16": Color.BLUE,
    "fp16": Color.ORANGE,
    "fp32": Color.GRAY,
    "fp8_e4m3": Color.PURPLE,
}
_VALUES = tuple(10 ** (place / 4 - 4) for place in range(29))  # 1e-4 to 1,000
_BITS_IN_A_LINE = 16  # where the paper is narrow
_MOST_STEPS = 400
_PLACES = 6  # significant digits of a spacing


def _formats(values: Values) -> Explored:
    name = next(known for known in _FORMATS if known == values.word("format"))
    weight, update = _weight(values, name), values.number("update")
    notice = ""
    if weight != values.number("weight"):
        notice = f"{_FORMATS[name]} ends at {figures(weight)}; shown with that weight."
    step, kept = spacing(weight, name), round_to(weight, name)
    after = round_to(kept + update, name)
    survives = update_survives(weight, update, name)
    says = (
        f"Near {figures(weight)}, {_FORMATS[name]} has a number every **{figures(step)}**. The "
        f"update of {figures(update)} is {figures(update / step)} of that: it "
        + ("**survives**." if survives else "**is rounded away**, however often it is applied.")
    )
    facts = (
        plain("spacing", step, _PLACES),
        plain("weight, rounded", kept, _PLACES),
        plain("after the update", after, _PLACES),
        plain("epsilon", epsilon(name), _PLACES),
    )
    drawn: dict[Format, Color] = {**_COLORS, name: _COLORS.get(name, Color.GREEN)}
    series = tuple(
        Series(color, _FORMATS[other], tuple((x, spacing(x, other)) for x in _in_range(other)))
        for other, color in drawn.items()
    )
    plot = Plot(
        title="Distance to the next number",
        summary=summary_of(says),
        x=Axis("value", RATIO, log=True),
        y=Axis("spacing", RATIO, log=True),
        series=series,
        marks=(LabeledPoint(weight, step, f"{figures(weight)}: {figures(step)}", Grip("weight")),),
    )
    return Explored(says, facts, (plot, _bits(name, kept)), notice=notice)


def _weight(values: Values, name: Format) -> float:
    """The weight, or the largest number of the format."""
    return min(values.number("weight"), largest_finite(name))


def _bits(name: Format, value: float) -> Drawing:
    """The bits of *value*: sign, exponent, mantissa."""
    format_ = NumberFormat.named(name)
    digits, at, groups = format_.bits(value), 0, []
    for part, color, count in (
        ("sign", Color.BLUE, 1),
        ("exponent", Color.PALE, format_.exponent_bits),
        ("mantissa", Color.GRAY, format_.mantissa_bits),
    ):
        groups.append((part, color, digits[at : at + count]))
        at += count
    shown = f"{figures(value, 8)} in {_FORMATS[name]}"
    return Drawing(
        title="Its bits",
        summary=f"{digits} is {figures(value, 8)}",
        on=lambda paper: _placed_bits(groups, shown, paper),
        table=(
            ("Part", "Bits", "Value"),
            *((part, held, str(int(held, 2))) for part, _, held in groups),
        ),
    )


def _placed_bits(groups: Sequence[tuple[str, Color, str]], shown: str, paper: Paper) -> Sheet:
    """The *groups* of bits in a line, or one below another where that is too wide."""
    bits = sum(len(held) for _, _, held in groups)
    below = paper is NARROW
    side = min(34.0, (paper.width - 4) / (_BITS_IN_A_LINE if below else bits))
    rects, words = [], []
    x, y = 0.0, 0.0
    for part, color, held in groups:
        words.append(Words(x, y + 14, f"{part}, {len(held)}" if held[1:] else part, quiet=True))
        for place, digit in enumerate(held):
            line, column = divmod(place, _BITS_IN_A_LINE) if below else (0, place)
            rects.append(
                Rect(
                    round(x + column * side, 2),
                    y + 22 + line * 36,
                    round(side - 2, 2),
                    32,
                    color=color,
                    label=digit,
                    says=f"{part}, bit {len(held) - 1 - place}: {digit}",
                )
            )
        if below:
            y += 26 + 36 * -(-len(held) // _BITS_IN_A_LINE)
        else:
            x += len(held) * side
    height = (y if below else 58) + 22
    words.append(Words(0, height - 5, shown, strong=True))
    return Sheet(height=height, rects=tuple(rects), words=tuple(words))


def _in_range(name: Format) -> list[float]:
    """The values in the format's normal range."""
    found = []
    for value in _VALUES:
        try:
            spacing(value, name)
        except ValueError:
            continue
        found.append(value)
    return found


def _loss_scale(values: Values) -> Explored:
    steps, interval = values.count("steps"), values.count("interval")
    initial, every = values.number("initial"), values.count("every")
    asked, steps = steps, _steps_in_range(values, steps)
    notice = "" if asked == steps else f"Shown up to step {steps}, where the scale leaves 1e±30."
    overflows, scales = _scales(values, steps)
    points = tuple((float(step), scale) for step, scale in enumerate(scales, 1))
    last = scales[-1]
    trend = (
        "Overflows come before enough clean steps have passed, so the scale can only fall."
        if 0 < every <= interval
        else "There are enough clean steps between overflows for the scale to grow again."
    )
    says = (
        f"After {counted(steps, 'step')} the scale is **{figures(last, 6)}**, from "
        f"{figures(initial, 6)}. It halves on every overflow ({sum(overflows)} so far) and doubles "
        f"after {counted(interval, 'clean step')}. "
        f"{trend}"
    )
    facts = (
        plain("scale at the end", last, 6),
        plain("overflows", sum(overflows)),
        plain("largest", max(scales), 6),
        plain("smallest", min(scales), 6),
    )
    plot = Plot(
        title="Loss scale",
        summary=summary_of(says),
        x=Axis("step", RATIO),
        y=Axis("scale", RATIO, log=True, base=2),
        series=(Series(Color.BLUE, "scale", points),),
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


def _not_the_spacing(values: Values) -> Iterator[tuple[float, str]]:
    """Numbers that are taken for the spacing at a weight."""
    name = next(known for known in _FORMATS if known == values.word("format"))
    weight = _weight(values, name)
    yield (
        epsilon(name),
        "That is the spacing at 1. It halves with every power of two below, and doubles above.",
    )
    yield (
        weight * epsilon(name),
        "That is the spacing relative to the weight. All numbers between two powers of two are "
        "equally far apart, so only the power of two below the weight counts.",
    )
    step = spacing(weight, name)
    yield step / 2, "That is the largest error of rounding, half of the spacing."


def _not_the_scale(values: Values) -> Iterator[tuple[float, str]]:
    """Scales that are taken for the one at the end."""
    initial, every = values.number("initial"), values.count("every")
    overflows = values.count("steps") // every if every else 0
    yield initial, "That is the scale at the start: overflows halve it, clean steps double it."
    yield (
        initial / 2**overflows,
        "That counts the overflows alone. Between them, enough clean steps double the scale.",
    )
    yield (
        initial * 2.0 ** (values.count("steps") // values.count("interval")),
        "That counts the clean steps alone. Each overflow halves the scale, and the count of clean "
        "steps starts again.",
    )


FORMATS_SHOWN = Explorer(
    name="formats",
    title="Does an update survive?",
    summary="The spacing of the numbers of a format, and whether a small update is rounded away.",
    question="What is the spacing of BF16 numbers at 0.02?",
    predicts="spacing",
    chapter="precision",
    formulas=(
        "precision.spacing",
        "precision.round_to",
        "precision.update_survives",
        "precision.epsilon",
    ),
    controls=(
        Select("format", "Format", {str(name): text for name, text in _FORMATS.items()}),
        Slider("weight", "Weight", (1e-4, 1000), default=0.02, log=True, whole=False),
        Slider("update", "Update", (1e-9, 10), default=1e-6, log=True, whole=False, aside=True),
    ),
    explore=_formats,
    asks="What is the spacing of the format's numbers at this weight?",
    foreseen=Foreseen(
        exercise="precision/does-an-update-survive", answer="spacing", others=_not_the_spacing
    ),
)
LOSS_SCALE = Explorer(
    name="loss-scale",
    title="Where does a loss scale settle?",
    summary="A dynamic loss scale: halved on overflow, doubled after enough clean steps.",
    question="65,536 halves every 30 steps, doubles after 20 clean ones. What is it at step 200?",
    predicts="scale at the end",
    chapter="precision",
    formulas=("precision.loss_scale", "precision.smallest_loss_scale"),
    controls=(
        Slider("initial", "Initial scale", (1, 1e6), default=65536, log=True),
        Slider("interval", "Clean steps before doubling", (1, 200), default=20),
        Slider("every", "Steps between overflows (0: none)", (0, 200), default=30),
        Slider("steps", "Steps", (10, _MOST_STEPS), default=200, plays=True),
    ),
    explore=_loss_scale,
    asks="What is the loss scale at the end?",
    foreseen=Foreseen(others=_not_the_scale),
)
