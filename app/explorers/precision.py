"""What a number format can hold, and a loss scale at work."""

from collections.abc import Mapping

from app.charts.axes import Axis
from app.charts.drawing import Drawing, Rect, Words
from app.charts.plot import LabeledPoint, Plot, Series
from app.explorers.base import Explored, Explorer, Values, plain
from app.explorers.controls import Select, Slider
from app.formulas.precision import epsilon, loss_scale, round_to, spacing, update_survives
from app.formulas.precision.formats import Format, NumberFormat
from app.units import RATIO, figures

_FORMATS: Mapping[Format, str] = {
    "bf16": "BF16", "fp16": "FP16", "fp32": "FP32", "tf32": "TF32", "fp8_e4m3": "FP8 E4M3",
    "fp8_e5m2": "FP8 E5M2",
}  # fmt: skip
_KINDS: Mapping[Format, str] = {"bf16": "f", "fp16": "b", "fp32": "i", "fp8_e4m3": "w"}
_VALUES = tuple(10 ** (place / 4 - 4) for place in range(29))  # 1e-4 to 1,000
_PLACES = 6  # significant figures of a spacing


def _formats(values: Values) -> Explored:
    name = next(known for known in _FORMATS if known == values.word("format"))
    weight, update = values.number("weight"), values.number("update")
    step, kept = spacing(weight, name), round_to(weight, name)
    after = round_to(kept + update, name)
    survives = update_survives(weight, update, name)
    says = (
        f"Near {figures(weight)} {_FORMATS[name]} has a number every **{figures(step)}**. The "
        f"update of {figures(update)} is {figures(update / step)} of that: it "
        + ("**survives**." if survives else "**is rounded away**, however often it comes.")
    )
    facts = (
        plain("spacing", step, _PLACES),
        plain("held as", kept, _PLACES),
        plain("after the update", after, _PLACES),
        plain("epsilon", epsilon(name), _PLACES),
    )
    drawn: dict[Format, str] = {**_KINDS, name: _KINDS.get(name, "c")}
    series = tuple(
        Series(kind, _FORMATS[other], tuple((x, spacing(x, other)) for x in _in_range(other)))
        for other, kind in drawn.items()
    )
    plot = Plot(
        "Distance to the next number",
        says.replace("*", ""),
        Axis("value", RATIO, log=True),
        Axis("spacing", RATIO, log=True),
        series,
        (LabeledPoint(weight, step, f"{figures(weight)}: {figures(step)}"),),
    )
    return Explored(says, facts, (plot, _bits(name, kept)))


def _bits(name: Format, value: float) -> Drawing:
    """The bits of *value*: sign, exponent, mantissa."""
    format_ = NumberFormat.named(name)
    groups = (
        ("sign", "b", 1),
        ("exponent", "e", format_.exponent_bits),
        ("mantissa", "i", format_.mantissa_bits),
    )
    digits = format_.bits(value)
    side = min(34.0, 660 / len(digits))
    rects, words, table = [], [], [("Part", "Bits", "Value")]
    at = 0
    for part, kind, count in groups:
        held = digits[at : at + count]
        x = 20 + at * side
        words.append(Words(x, 20, f"{part}, {count}" if count > 1 else part, quiet=True))
        for place, digit in enumerate(held):
            says = f"{part}, bit {count - 1 - place}: {digit}"
            rects.append(
                Rect(round(x + place * side, 2), 30, round(side - 2, 2), 34, kind, digit, says)
            )
        table.append((part, held, str(int(held, 2))))
        at += count
    ends = Words(20, 86, f"{figures(value, 8)} in {_FORMATS[name]}", strong=True)
    return Drawing(
        "Its bits", f"{digits} is {figures(value, 8)}", 720, 96, tuple(rects), (), (*words, ends),
        tuple(table),
    )  # fmt: skip


def _in_range(name: Format) -> list[float]:
    """The values at which the format is no constant below its normal numbers or beyond its end."""
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
    overflows = tuple(every > 0 and (step + 1) % every == 0 for step in range(steps))
    scales = loss_scale(overflows, initial, interval)
    points = tuple((float(step), scale) for step, scale in enumerate(scales, 1))
    last = scales[-1]
    trend = (
        "An overflow comes before the count of clean steps is full, so the scale can only fall."
        if 0 < every <= interval
        else "Between overflows there is time to grow again."
    )
    says = (
        f"After {steps} steps the scale is **{last:,.6g}**, from {initial:,.6g}. It halves on "
        f"every overflow ({sum(overflows)} of them) and doubles after {interval} clean steps. "
        f"{trend}"
    )
    facts = (
        plain("scale at the end", last, 6),
        plain("overflows", sum(overflows)),
        plain("largest", max(scales), 6),
        plain("smallest", min(scales), 6),
    )
    plot = Plot(
        "Loss scale",
        says.replace("*", ""),
        Axis("step", RATIO),
        Axis("scale", RATIO, log=True),
        (Series("f", "scale", points),),
    )
    return Explored(says, facts, (plot,))


FORMATS_SHOWN = Explorer(
    "formats",
    "Does an update survive?",
    "How far apart the numbers of a format lie, and whether a small update is more than nothing.",
    "How far apart are the numbers of BF16 at 0.02?",
    "spacing",
    "precision",
    ("precision.spacing", "precision.round_to", "precision.update_survives", "precision.epsilon"),
    (
        Select("format", "Format", {str(name): text for name, text in _FORMATS.items()}),
        Slider("weight", "Weight", 1e-4, 1000, 0.02, log=True, whole=False),
        Slider("update", "Update", 1e-9, 10, 1e-6, log=True, whole=False, aside=True),
    ),
    _formats,
    "How far apart are the numbers of the format at this weight?",
)
LOSS_SCALE = Explorer(
    "loss-scale",
    "Where does a loss scale settle?",
    "A dynamic loss scale over the steps of a run: halved on overflow, doubled after clean ones.",
    "Every 30th step overflows, and 20 clean ones double it: what is 65,536 after 200 steps?",
    "scale at the end",
    "precision",
    ("precision.loss_scale", "precision.smallest_loss_scale"),
    (
        Slider("initial", "First scale", 1, 1e6, 65536, log=True),
        Slider("interval", "Clean steps before it doubles", 1, 200, 20),
        Slider("every", "An overflow every ... steps (0: never)", 0, 200, 30),
        Slider("steps", "Steps", 10, 400, 200),
    ),
    _loss_scale,
    "What is the loss scale at the end?",
)
