"""A drawing of boxes, arrows and text, placed by the caller."""

import math
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass

from app.core.charts.color import Color, Tone
from app.core.charts.paper import Paper

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
