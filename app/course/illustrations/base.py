"""A figure of what an exercise asks, and the shapes that such figures are made of."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from app.core.charts.color import Color, Tone
from app.core.charts.diagram import Drawing, Rect, Sheet, Words
from app.core.charts.motion import Motion
from app.core.charts.paper import Paper, legend, text_width
from app.core.charts.timeline import Timeline
from app.core.formulas.signature import Input, inputs_of
from app.core.translation import translate, translate_known

_AROUND = 8  # pixels around the label of a box
GAP = "…"
Sketch = Drawing | Timeline | Motion


@dataclass(frozen=True)
class Illustration:
    """A figure that exercises show with their own numbers.

    It shows what is given and its shape, never a result: no axis has numbers. *says* is what it
    shows; the inputs are the arguments of *draw*, with their units as annotations.
    """

    name: str
    says: str
    draw: Callable[..., Sketch]

    @cached_property
    def inputs(self) -> Mapping[str, Input]:
        """What it is drawn from, by name."""
        return inputs_of(self.draw)


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a row: its share of the width, its label and its color."""

    share: float
    label: str
    color: Tone | Color
    outlined: bool = False


def sketch(title: str, summary: str, on: Callable[[Paper], Sheet], facts: Sequence[tuple[str, str]] = ()) -> Drawing:
    """A drawing of what is given; *facts* are what its table says."""
    return Drawing(title=title, summary=summary, on=on, table=((translate("What"), translate("Value")), *facts))


def box(
    x: float,
    y: float,
    width: float,
    height: float,
    label: str = "",
    color: Tone | Color = Tone.IDLE,
    *,
    outlined: bool = False,
    marked: bool = False,
) -> Rect:
    """A box, with its label written inside where there is room."""
    return Rect(
        round(x, 2),
        round(y, 2),
        round(width, 2),
        round(height, 2),
        color=color,
        label=label if text_width(label) + _AROUND <= width else "",
        says=label,
        outlined=outlined,
        marked=marked,
    )


def row(pieces: Iterable[Piece], left: float, right: float, y: float, height: float) -> list[Rect]:
    """*pieces* end to end from *left* to *right*."""
    pieces = list(pieces)
    scale = (right - left) / sum(piece.share for piece in pieces)
    found, x = [], left
    for piece in pieces:
        width = piece.share * scale
        if piece.label != GAP:
            gap = min(2, width / 4)
            made = box(x, y, width - gap, height, piece.label, piece.color, outlined=piece.outlined)
            found.append(made)
        x += width
    return found


def gaps(pieces: Sequence[Piece], left: float, right: float, y: float, height: float) -> list[Words]:
    """The dots between the *pieces* of a row that stand for those that are left out."""
    scale = (right - left) / sum(piece.share for piece in pieces)
    found, x = [], left
    for piece in pieces:
        width = piece.share * scale
        if piece.label == GAP:
            found.append(Words(round(x + width / 2, 2), y + height / 2 + 4, GAP, anchor="middle"))
        x += width
    return found


def few(count: int, most: int) -> list[int | None]:
    """The numbers below *count*; with more than *most*, the first ones, None, and the last.

    >>> few(4, 5), few(100, 5)
    ([0, 1, 2, 3], [0, 1, 2, None, 99])
    """
    if count <= most:
        return list(range(count))
    return [*range(most - 2), None, count - 1]


def key(names: Sequence[tuple[Tone | Color, str]], y: float, paper: Paper) -> tuple[list[Rect], list[Words], float]:
    """What the colors stand for, from *y* down: boxes, names, and where they end."""
    placed = legend([(str(color.value), translate_known(name)) for color, name in names], 0, paper.width)
    rects = [
        box(entry.x, y + entry.y, 11, 11, "", color) for entry, (color, _) in zip(placed.entries, names, strict=True)
    ]
    words = [Words(entry.x + 17, y + entry.y + 10, entry.name) for entry in placed.entries]
    return rects, words, y + placed.height


def note_lines(parts: Iterable[str]) -> str:
    """*parts* that are not empty, as the lines of a note."""
    return ", ".join(part for part in parts if part)
