"""The sizes that figures are drawn in, and the room that their texts take."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

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
