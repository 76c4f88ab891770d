"""The colors and the sizes of figures, and a drawing of boxes and arrows."""

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from enum import StrEnum
from functools import lru_cache


class Tone(StrEnum):
    """What a filled part stands for; a color and a pattern that nothing else has.

    The value is the end of the CSS class: the letter of a color, then the letter of a pattern: s
    for stripes, d for dots, x for a grid, h for level lines. Neighbors differ in their pattern
    wherever their colors are about as light.
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
_LINE = 18  # pixels, from one line of a legend to the next
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
    return sum(_OF.get(letter) or _unlisted(letter) for letter in text) * LETTER / 100


def _unlisted(letter: str) -> int:
    return _IDEOGRAM if letter >= _FIRST_IDEOGRAM else _OTHER


def widest(texts: Sequence[str]) -> float:
    """Pixels that the longest of *texts* takes."""
    return max(map(text_width, texts), default=0.0)


def wrapped(text: str, width: float) -> tuple[str, ...]:
    """*text* in lines of at most *width* pixels; a longer word has a line of its own.

    >>> wrapped("from the first pass to the last", 100)
    ('from the first', 'pass to the last')
    """
    lines: list[str] = []
    for word in _pieces(text):
        if lines and text_width(lines[-1] + word) <= width:
            lines[-1] += word
        else:
            lines.append(word.lstrip())
    return tuple(lines)


def _pieces(text: str) -> list[str]:
    """Where a line may end: words with the space before them, and every ideogram."""
    if any(letter >= _FIRST_IDEOGRAM for letter in text):
        return _PIECES.findall(text)
    return [f" {word}" for word in text.split()]


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
    entries = tuple(_flow(names, left, right))
    return Legend(entries, int(entries[-1].y) + _LINE if entries else 0)


def _flow(names: Sequence[tuple[str, str]], left: float, right: float) -> Iterator[LegendEntry]:
    x, y = left, 0
    for color, name in names:
        width = _BOX + text_width(name)
        if x > left and x + width > right:
            x, y = left, y + _LINE
        yield LegendEntry(round(x, 2), y, color, name)
        x += width + _BETWEEN


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
