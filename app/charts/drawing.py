"""A picture of boxes, arrows and words at places that whoever draws it decides."""

import math
from dataclasses import dataclass

_TIP = 9  # pixels


@dataclass(frozen=True, slots=True)
class Rect:
    """A box; *kind* decides its color, and an *outlined* one has only its edge."""

    x: float
    y: float
    width: float
    height: float
    kind: str
    label: str
    says: str
    outlined: bool = False
    marked: bool = False


@dataclass(frozen=True, slots=True)
class Arrow:
    """From one place to another, with a word beside its middle; without *head* it is a line."""

    x1: float
    y1: float
    x2: float
    y2: float
    kind: str
    label: str = ""
    says: str = ""
    head: bool = True

    @property
    def tip(self) -> str:
        """The path of the head."""
        long = math.hypot(self.x2 - self.x1, self.y2 - self.y1) or 1.0
        x, y = (self.x2 - self.x1) / long, (self.y2 - self.y1) / long
        corners = (
            (self.x2 - _TIP * x + side * _TIP / 2 * y, self.y2 - _TIP * y - side * _TIP / 2 * x)
            for side in (1, -1)
        )
        return f"M{self.x2} {self.y2}L" + "L".join(f"{a:.2f} {b:.2f}" for a, b in corners) + "z"


@dataclass(frozen=True, slots=True)
class Words:
    """A text; *anchor* is start, middle or end."""

    x: float
    y: float
    text: str
    anchor: str = "start"
    quiet: bool = False
    strong: bool = False


@dataclass(frozen=True, slots=True)
class Drawing:
    """A picture, *width* by *height*, with the same in a table."""

    title: str
    summary: str
    width: float
    height: float
    rects: tuple[Rect, ...]
    arrows: tuple[Arrow, ...]
    words: tuple[Words, ...]
    table: tuple[tuple[str, ...], ...]
