"""The spacing and the bits of number formats."""

import math
from collections.abc import Iterator, Mapping, Sequence

from app.core.charts.axes import NARROW, Axis, Color, Drawing, Paper, Rect, Sheet, Words
from app.core.charts.plot import Grip, LabeledPoint, Plot, Series
from app.core.formulas.precision import epsilon, largest_finite, round_to, spacing, update_survives
from app.core.formulas.precision.formats import Format, NumberFormat
from app.core.translation import noted, translate
from app.core.units import RATIO, figures
from app.course.explorers.base import ExplainedMistakes, Explorer, ExplorerOutput, KeyFigure, Values
from app.course.explorers.controls import Select, log_slider
from app.course.explorers.words import figure_summary

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
_LEAST, _MOST = 1e-4, 1000.0  # weights
_BITS_IN_A_LINE = 16  # where the paper is narrow
_BETWEEN = 10  # pixels between groups of bits
_PLACES = 6  # significant digits of a spacing
_Bits = tuple[str, Color, str, list[str]]  # their part, its color, some bits, and the weight that flipping each gives


def _formats(values: Values) -> ExplorerOutput:
    name = next(known for known in _FORMATS if known == values.word("format"))
    weight, update = _weight(values, name), values.number("update")
    notice = ""
    if weight != values.number("weight"):
        notice = translate(
            "{formats} ends at {weight}; shown with that weight.", formats=_FORMATS[name], weight=figures(weight)
        )
    step, kept = spacing(weight, name), round_to(weight, name)
    after = round_to(kept + update, name)
    survives = update_survives(weight, update, name)
    says = translate(
        "Near {weight}, {formats} has a number every **{step}**. The update of {update} is {update_2} of that: it ",
        weight=figures(weight),
        formats=_FORMATS[name],
        step=figures(step),
        update=figures(update),
        update_2=figures(update / step),
    ) + (translate("**survives**.") if survives else translate("**is rounded away**, however often it is applied."))
    facts = (
        KeyFigure.plain(noted("spacing"), step, _PLACES),
        KeyFigure.plain(noted("weight, rounded"), kept, _PLACES),
        KeyFigure.plain(noted("after the update"), after, _PLACES),
        KeyFigure.plain(noted("epsilon"), epsilon(name), _PLACES),
    )
    drawn: dict[Format, Color] = {**_COLORS, name: _COLORS.get(name, Color.GREEN)}
    series = tuple(
        Series(color, _FORMATS[other], tuple((x, spacing(x, other)) for x in _in_range(other)))
        for other, color in drawn.items()
    )
    plot = Plot(
        title=translate("Distance to the next number"),
        summary=figure_summary(says),
        x=Axis(translate("value"), RATIO, log=True),
        y=Axis(translate("spacing"), RATIO, log=True),
        series=series,
        marks=(LabeledPoint(weight, step, f"{figures(weight)}: {figures(step)}", Grip("weight")),),
    )
    return ExplorerOutput(says, facts, (plot, _bits(name, kept)), notice=notice)


def _weight(values: Values, name: Format) -> float:
    """The weight, or the largest number of the format."""
    return min(values.number("weight"), largest_finite(name))


def _bits(name: Format, value: float) -> Drawing:
    """The bits of *value*: sign, exponent, mantissa."""
    format_ = NumberFormat.named(name)
    digits, at, groups = format_.bits(value), 0, list[_Bits]()
    for part, color, count in (
        (translate("sign"), Color.BLUE, 1),
        (translate("exponent"), Color.PALE, format_.exponent_bits),
        (translate("mantissa"), Color.GRAY, format_.mantissa_bits),
    ):
        flipped = [_flipped(format_, digits, place) for place in range(at, at + count)]
        groups.append((part, color, digits[at : at + count], flipped))
        at += count
    shown = translate("{value} in {formats}", value=figures(value, 8), formats=_FORMATS[name])
    return Drawing(
        title=translate("Its bits"),
        summary=translate("{digits} is {value}", digits=digits, value=figures(value, 8)),
        on=lambda paper: _placed_bits(groups, shown, paper),
        table=(
            (translate("Part"), translate("Bits"), translate("Value")),
            *((part, held, str(int(held, 2))) for part, _, held, _ in groups),
        ),
    )


def _flipped(format_: NumberFormat, digits: str, place: int) -> str:
    """The number with one bit flipped, as a weight that the control can have; else nothing."""
    other = "10"[int(digits[place])]
    value = decode_digits(format_, digits[:place] + other + digits[place + 1 :])
    return f"{value:.9g}" if _LEAST <= value <= _MOST else ""


def decode_digits(format_: NumberFormat, digits: str) -> float:
    """The number that *digits* stand for; not a number where they stand for none."""
    sign, exponent = -1.0 if digits[0] == "1" else 1.0, digits[1 : 1 + format_.exponent_bits]
    stored = int(digits[1 + format_.exponent_bits :], 2)
    if int(exponent, 2) - format_.bias > format_.largest_exponent:
        return math.nan
    hidden = 2**format_.mantissa_bits if "1" in exponent else 0
    power = max(int(exponent, 2) - format_.bias, format_.least_exponent) - format_.mantissa_bits
    return sign * math.ldexp(hidden + stored, power)


def _placed_bits(groups: Sequence[_Bits], shown: str, paper: Paper) -> Sheet:
    """The *groups* of bits in a line, or one below another where that is too wide."""
    bits = sum(len(held) for _, _, held, _ in groups)
    below = paper is NARROW
    between = 0 if below else _BETWEEN * (len(groups) - 1)
    side = min(34.0, (paper.width - 4 - between) / (_BITS_IN_A_LINE if below else bits))
    rects, words = [], []
    x, y = 0.0, 0.0
    for part, color, held, flipped in groups:
        name = f"{part}, {len(held)}" if held[1:] else part
        words.append(Words(x, y + 14, name, quiet=True))
        for place, (digit, other) in enumerate(zip(held, flipped, strict=True)):
            line, column = divmod(place, _BITS_IN_A_LINE) if below else (0, place)
            rects.append(
                Rect(
                    round(x + column * side, 2),
                    y + 22 + line * 36,
                    round(side - 2, 2),
                    32,
                    color=color,
                    label=digit,
                    says=translate("{part}, bit {held}: {digit}", part=part, held=len(held) - 1 - place, digit=digit)
                    + (translate("; flipped, the weight is {float}", float=figures(float(other))) if other else ""),
                    sets=("weight", other) if other else None,
                )
            )
        if below:
            y += 26 + 36 * -(-len(held) // _BITS_IN_A_LINE)
        else:
            x += len(held) * side + _BETWEEN
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


def _not_the_spacing(values: Values) -> Iterator[tuple[float, str]]:
    """Numbers that are taken for the spacing at a weight."""
    name = next(known for known in _FORMATS if known == values.word("format"))
    weight = _weight(values, name)
    yield (
        epsilon(name),
        translate("That is the spacing at 1. It halves with every power of two below, and doubles above."),
    )
    yield (
        weight * epsilon(name),
        translate(
            "That is the spacing relative to the weight. All numbers between two powers of two are "
            "equally far apart, so only the power of two below the weight counts."
        ),
    )
    step = spacing(weight, name)
    yield step / 2, translate("That is the largest error of rounding, half of the spacing.")


FORMATS_SHOWN = Explorer(
    name="formats",
    title=noted("Does an update survive?"),
    summary=noted("The spacing and the bits of a number, and whether a small update is rounded away."),
    question=noted("What is the spacing of BF16 numbers at 0.02?"),
    predicts=noted("spacing"),
    chapter="precision",
    formulas=("precision.spacing", "precision.round_to", "precision.update_survives", "precision.epsilon"),
    controls=(
        Select("format", noted("Format"), {str(name): text for name, text in _FORMATS.items()}),
        log_slider("weight", noted("Weight"), (_LEAST, _MOST), 0.02),
        log_slider("update", noted("Update"), (1e-9, 10), 1e-6, aside=True),
    ),
    explore=_formats,
    asks=noted("What is the spacing of the format's numbers at this weight?"),
    foreseen=ExplainedMistakes(exercise="precision/does-an-update-survive", answer="spacing", others=_not_the_spacing),
)
