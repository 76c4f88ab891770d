"""Colors and sizes of figures, axes with their ticks, and a drawing of boxes and arrows."""

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from enum import StrEnum
from functools import lru_cache
from itertools import pairwise

from app.core.translation import localize
from app.core.units import BYTE, DOLLAR, RATIO, SECOND, Unit, figures, scale_of, show, show_in, show_size


class Tone(StrEnum):
    """What a filled part stands for; a color and a pattern that nothing else has.

    The value is the end of the CSS class: the letter of a color, then the letter of a pattern: s for stripes, d for
    dots, x for a grid, h for level lines. Neighbors differ in their pattern wherever their colors are about as light.
    """

    COMPUTE = "f"  # the forward pass, and what computes in general
    WEIGHTS = "f"  # what the forward pass computes with
    RECOMPUTE = "fs"
    BACKWARD = "bs"
    GRADIENTS = "bs"  # what the backward pass computes
    WEIGHT_GRADIENT = "wd"  # the half of a backward pass that can wait
    OPTIMIZER = "w"
    MASTER = "w"  # of the optimizer's state: the weights in 32 bits
    FIRST_MOMENT = "wx"
    SECOND_MOMENT = "wh"
    ACTIVATIONS = "as"
    BUFFERS = "id"
    COMMUNICATION = "c"
    NVLINK = "c"  # traffic inside a node
    NETWORK = "cs"  # traffic between nodes
    EXPOSED = "cx"  # time in which a GPU communicates and does nothing else
    ACROSS_PODS = "cx"
    HBM = "i"  # traffic inside a GPU
    IDLE = "e"
    DROPPED = "rs"  # what does not fit


class Color(StrEnum):
    """The color of a curve, a line or an outline: its value is the letter in the CSS classes.

    Curves are named where they end, and a style sheet gives each color its own dashes. GRAY is for
    what is only there to compare with, PALE for what is not lit.
    """

    BLUE = "f"
    ORANGE = "b"
    PURPLE = "w"
    GREEN = "c"
    GRAY = "i"
    PALE = "e"


LETTER = 12  # pixels, size of the letters
_STYLE_LINE = 18  # pixels, from one line of a legend to the next
_BOX = 17  # pixels, the sample of color before a name
_BETWEEN = 16  # pixels, between two entries of a legend
_OTHER, _IDEOGRAM = 64, 100
# Hundredths of the letter size that a letter takes, measured in the font of the pages.
_WIDTHS = {
    24: "ijl",
    28: "!,.:I·",
    32: "';`t| ",
    36: "()/[]f",
    40: "1r",
    44: "{}³“”²",
    48: '"*-^_–°',
    52: "?s",
    56: "7JLacekvxyz",
    60: "25EFbdghnopquµ",
    68: "AKVXY",
    72: "CDHU",
    76: "GNOQ◀",
    80: "w",
    84: "∞≤≥",
    88: "Mm…",
    96: "%@",
    100: "W—",
}
_FIRST_IDEOGRAM = "\u2e80"
_PIECES = re.compile(r"(?<!\s)\s*+(?:[^\s\u2e80-\uffff]+|[\u2e80-\uffff])[，。、；：）]*")
_OF = {letter: width for width, letters in _WIDTHS.items() for letter in letters}


@dataclass(frozen=True, slots=True)
class Paper:
    """A size of figures: *name* is its class in the style sheet, *width* is in pixels.

    A page shows the widest one whose letters are still legible there.
    """

    name: str
    width: int

    def inside(self, x: float, text: str) -> float:
        """The middle of *text* at *x*, or as near as the edges allow."""
        half = text_width(text) / 2
        return round(min(max(x, half), self.width - half), 2)


WIDE = Paper("wide", 760)
NARROW = Paper("narrow", 340)
PAPERS = {paper.name: paper for paper in (WIDE, NARROW)}


@lru_cache(maxsize=16_384)
def text_width(text: str) -> float:
    """Pixels that *text* takes.

    >>> text_width("iii") < text_width("mmm") < 3 * 12
    True
    """
    return sum(_OF.get(one) or (_IDEOGRAM if one >= _FIRST_IDEOGRAM else _OTHER) for one in text) * LETTER / 100


def widest(texts: Sequence[str]) -> float:
    """Pixels that the longest of *texts* takes."""
    return max(map(text_width, texts), default=0.0)


def wrap_text(text: str, width: float) -> tuple[str, ...]:
    """*text* in lines of at most *width* pixels; a longer word has a line of its own.

    >>> wrap_text("from the first pass to the last", 100)
    ('from the first', 'pass to the last')
    """
    lines: list[str] = []
    # A line may end before a space, and at every ideogram.
    has_ideograms = any(letter >= _FIRST_IDEOGRAM for letter in text)
    for word in _PIECES.findall(text) if has_ideograms else [f" {word}" for word in text.split()]:
        if lines and text_width(lines[-1] + word) <= width:
            lines[-1] += word
        else:
            lines.append(word.lstrip())
    return tuple(lines)


@dataclass(frozen=True, slots=True)
class LegendEntry:
    """A name beside a sample of its color, in pixels from the top of the legend."""

    x: float
    y: float
    color: str
    name: str


@dataclass(frozen=True, slots=True)
class Legend:
    """Names in lines, from left to right."""

    entries: tuple[LegendEntry, ...] = ()
    height: int = 0


def legend(names: Sequence[tuple[str, str]], left: float, right: float) -> Legend:
    """The colors and *names*, as many in a line as fit between *left* and *right*."""
    entries: list[LegendEntry] = []
    x, y = left, 0
    for color, name in names:
        width = _BOX + text_width(name)
        if x > left and x + width > right:
            x, y = left, y + _STYLE_LINE
        entries.append(LegendEntry(round(x, 2), y, color, name))
        x += width + _BETWEEN
    return Legend(tuple(entries), y + _STYLE_LINE if entries else 0)


_TIP = 9  # pixels


@dataclass(frozen=True, slots=True)
class Rect:
    """A box; an *outlined* one is not filled, a *marked* one has a heavier edge.

    *label* is written inside; *says* is its tooltip; *sets* is a control, and the text that a click
    gives it; what *fills* is shown to do so, by what falls in from above.
    """

    x: float
    y: float
    width: float
    height: float
    _: KW_ONLY
    color: Tone | Color
    label: str
    says: str
    sets: tuple[str, str] | None = None
    outlined: bool = False
    marked: bool = False
    fills: bool = False


@dataclass(frozen=True, slots=True)
class Arrow:
    """An arrow with a label at its middle; without *head* it is a line.

    One that is *dashed* is not the last word, such as a partial sum. Where it *carries* something,
    a packet goes along it once.
    """

    x1: float
    y1: float
    x2: float
    y2: float
    _: KW_ONLY
    color: Color
    label: str = ""
    says: str = ""
    head: bool = True
    dashed: bool = False
    carries: bool = False

    @property
    def tip(self) -> str:
        """SVG path of the head."""
        long = math.hypot(self.x2 - self.x1, self.y2 - self.y1) or 1.0
        x, y = (self.x2 - self.x1) / long, (self.y2 - self.y1) / long
        corners = (
            (self.x2 - _TIP * x + side * _TIP / 2 * y, self.y2 - _TIP * y - side * _TIP / 2 * x) for side in (1, -1)
        )
        return f"M{self.x2} {self.y2}L" + "L".join(f"{a:.2f} {b:.2f}" for a, b in corners) + "z"


@dataclass(frozen=True, slots=True)
class Words:
    """Text; *anchor* is start, middle or end."""

    x: float
    y: float
    text: str
    _: KW_ONLY
    anchor: str = "start"
    quiet: bool = False
    strong: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """What is drawn on a paper of *height*."""

    height: float
    rects: tuple[Rect, ...] = ()
    arrows: tuple[Arrow, ...] = ()
    words: tuple[Words, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """A drawing with its content as a table; *on* places it on a paper."""

    title: str
    summary: str
    on: Callable[[Paper], Sheet]
    table: tuple[tuple[str, ...], ...]


_TICKS = 6
_TEN, _TWO = 10, 2
_MINUTE, _HOUR, _DAY = 60.0, 3600.0, 86_400.0
_TIMES = (1e-6, 1e-4, 1e-3, 1e-2, 0.1, 1, 10, _MINUTE, 600, _HOUR, 6 * _HOUR, _DAY, 10 * _DAY, 100 * _DAY, 1000 * _DAY)
_FINER_TIMES = (
    *(step * _MINUTE for step in (1, 2, 5, 10, 20, 30)),
    *(step * _HOUR for step in (1, 2, 4, 8, 12)),
    *(step * _DAY for step in (1, 2, 3, 5, 7, 10, 15, 20, 30, 40, 50, 60, 80, 100, 150, 200, 300)),
    *(step * _DAY for step in (500, 700, 1000, 2000)),
)
_KIB = 1024.0
_NOISE = 9  # decimals of a percentage
_FEW = 3  # an axis with fewer ticks cannot be read
_MANY = 9  # with more, they are too close together
_GAP, _LINE = 10, 15  # pixels between two ticks: from text to text across, from line to line up


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis: what it measures, in which unit; *base* is that of a logarithmic one's ticks.

    A *year* is a number without a comma; bytes with a *base* of 2 are in KiB, MiB and GiB.
    """

    label: str
    unit: Unit
    log: bool = False
    percent: bool = False
    base: int = _TEN
    year: bool = False

    @property
    def is_binary(self) -> bool:
        """Whether its values are sizes in KiB, MiB or GiB."""
        return self.unit is BYTE and self.base == _TWO

    def text(self, value: float) -> str:
        """*value* as text, with its unit."""
        if self.unit is SECOND:
            return time_text(value)
        if self.year:
            return f"{value:.0f}"
        if self.is_binary:
            return show_size(value)
        if self.unit is DOLLAR:
            return money_text(value)
        return f"{figures(100 * value)} %" if self.percent else show(value, self.unit)


def percent_text(share: float) -> str:
    """*share* as a percentage; rounding noise becomes 0."""
    return f"{figures(round(100 * share, _NOISE), 3)} %"


def money_text(dollars: float) -> str:
    """*dollars* as a person says them.

    >>> money_text(53_235_591), money_text(931_622)
    ('$53.2 million', '$932,000')
    """
    return localize(show(float(f"{dollars:.3g}"), DOLLAR, 3))


def time_text(seconds: float) -> str:
    """*seconds* with a unit, which may be a word: days."""
    return localize(_shown_once(seconds, SECOND))


_shown_once = lru_cache(maxsize=16_384)(show)  # a chart shows most times more than once


@dataclass(frozen=True, slots=True)
class Tick:
    """A tick of an axis, at a position in pixels."""

    at: float
    label: str


@dataclass(frozen=True, slots=True)
class PixelScale:
    """Maps the values *low* to *high* of an axis to pixels *start* to *end*.

    *whole*: it counts, and nothing is between whole numbers. On a *paper*, texts stay inside.
    """

    axis: Axis
    _: KW_ONLY
    low: float
    high: float
    start: float
    end: float
    whole: bool = False
    paper: Paper | None = None

    def at(self, value: float) -> float:
        """Position of *value* in pixels, clamped to the ends."""
        if self.axis.log:
            low, high = math.log(self.low), math.log(self.high)
            share = (math.log(max(value, self.low)) - low) / (high - low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return round(self.start + min(max(share, 0.0), 1.0) * (self.end - self.start), 2)

    def ticks(self) -> tuple[Tick, ...]:
        """Ticks at round values, at least three where the axis has as many, none over another."""
        found: list[tuple[Tick, ...]] = []
        for values in self._choices():
            if self.whole and any(value != round(value) for value in values):
                continue
            made = tuple(Tick(self.at(value), self._text(value)) for value in values)
            if len(made) <= _MANY and self._fit(made):
                found.append(made)
                if len(made) >= _FEW:
                    break
        return max(found, key=len, default=())

    def _text(self, value: float) -> str:
        """*value* as text; times that are evenly spaced are all in the same unit."""
        if self.axis.unit is not SECOND or self.axis.log:
            return self.axis.text(value)
        symbol, size = _clock(self.high)
        return localize(show_in(value, scale_of(symbol))) if size > 1 else time_text(value)

    def _choices(self) -> Iterator[Sequence[float]]:
        """Values for ticks, the best ones first."""
        if not self.axis.log:
            yield from (even_on(self.axis, self.low, self.high, n) for n in range(_TICKS, 0, -1))
        elif self.axis.unit is SECOND and self.high > _MINUTE:
            yield from _strides(self._within(_TIMES))
            yield from _strides(self._within(_FINER_TIMES))
        else:
            yield from _powers(self.low, self.high, self.axis.base)
        if self.axis.log:
            yield from (even_on(self.axis, self.low, self.high, n) for n in range(_FEW + 1, 1, -1))

    def _within(self, values: Sequence[float]) -> list[float]:
        return [value for value in values if self.low <= value <= self.high]

    def _fit(self, ticks: Sequence[Tick]) -> bool:
        """Whether the labels of *ticks* are apart."""
        if self.start > self.end:
            return all(abs(after.at - before.at) >= _LINE for before, after in pairwise(ticks))
        spans = []
        for tick in ticks:  # a label is around its tick, but inside the edges
            half = text_width(tick.label) / 2
            middle = self.paper.inside(tick.at, tick.label) if self.paper else tick.at
            spans.append((middle - half, middle + half))
        return all(after[0] - before[1] >= _GAP for before, after in pairwise(spans))


def scale(axis: Axis, values: list[float], start: float, end: float, paper: Paper | None = None) -> PixelScale:
    """A scale that covers *values*; a linear one includes 0. Its texts stay inside of a *paper*."""
    found = [value for value in values if math.isfinite(value) and (value > 0 or not axis.log)]
    low, high = min(found, default=1.0), max(found, default=1.0)
    is_plain = axis.unit is RATIO and not axis.percent  # then whole numbers alone are a count
    whole = is_plain and bool(found) and all(value == round(value) for value in found)
    if axis.log:
        high = high if high > low else low * 10
        if axis.base != _TEN:  # one more step on both sides, so that a few steps have a scale
            low, high = low / axis.base, high * axis.base
    else:
        low, high = min(0.0, low), high if high > 0 else 1.0
    return PixelScale(axis, low=low, high=high, start=start, end=end, whole=whole, paper=paper)


def even_ticks(low: float, high: float, count: int) -> list[float]:
    """About *count* round values from *low* to *high*."""
    rough = (high - low) / count
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * m for m in (1, 2, 5, 10) if power * m >= rough * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [step * place for place in range(first, last + 1)]


def even_on(axis: Axis, low: float, high: float, count: int) -> list[float]:
    """About *count* values from *low* to *high* that are round in the unit they are shown in."""
    unit = _clock(high)[1] if axis.unit is SECOND else 1.0
    if axis.is_binary and high >= _KIB:
        unit = _KIB ** math.floor(math.log(high, _KIB))
    return [value * unit for value in even_ticks(low / unit, high / unit, count)]


def _clock(high: float) -> tuple[str, float]:
    """The unit for times up to *high*, and its seconds; the prefix of a second comes by itself."""
    spans = (("days", _DAY), ("h", _HOUR), ("min", _MINUTE))
    return next(((symbol, size) for symbol, size in spans if high >= 2 * size), ("s", 1.0))


def _powers(low: float, high: float, base: int) -> Iterator[Sequence[float]]:
    """Powers of *base* from *low* to *high*; of ten, also 2 and 5 times each, then 1 to 9 times.

    >>> [len(values) for values in _powers(28, 150, 10)]
    [1, 2, 8]
    """
    first = math.ceil(math.log(low, base) - 1e-9)
    last = math.floor(math.log(high, base) + 1e-9)
    powers = [float(base) ** power for power in range(first, last + 1)]
    yield from _strides(powers)
    if base != _TEN or len(powers) >= _FEW:
        return
    for times in ((1, 2, 5), range(1, _TEN)):
        values = (m * 10.0**power for power in range(first - 1, last + 1) for m in times)
        yield [value for value in values if low * (1 - 1e-9) <= value <= high * (1 + 1e-9)]


def _strides(values: Sequence[float]) -> Iterator[Sequence[float]]:
    """*values*, then every second, every third, and so on, as long as there are enough."""
    for stride in range(1, max(2, len(values) // 2 + 1)):
        yield values[::stride]
