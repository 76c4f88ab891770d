"""The spread of guesses around the right value, on a logarithmic axis."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from app.core.charts.axes import Axis, PixelScale
from app.core.charts.color import Color
from app.core.charts.diagram import Arrow, Drawing, Rect, Sheet, Words
from app.core.charts.paper import Paper, text_width
from app.core.translation import noted, plural, translate

SIDE = 12  # places on either side of the middle one, which has the right value
PLACES = range(-SIDE, SIDE + 1)
_PER_DECADE = 6
_EDGE = 8  # pixels at both ends
_BARS, _FOOT = 44, 164  # top of the highest bar, and the axis
_GAP = 2  # between two bars
_BESIDE, _BOLD = 5, 1.08  # pixels between a line and its text; width of bold letters
_LOWEST = 3  # pixels of the lowest bar
_LINES = (14, 31)  # heights of the texts at the two lines
_NOTE = noted("The bars at the ends also hold everything beyond them.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """How many guesses are at which place, and the guess of the reader; values as on the axis."""

    title: str
    axis: Axis
    counts: Mapping[int, int]
    right: float
    own: float
    right_says: str
    own_says: str


def guess_place(value: float, right: float) -> int:
    """The place of a guess of *value*; those farther away are at the ends.

    >>> guess_place(70, 70), guess_place(700, 70), guess_place(7e-300, 70)
    (0, 6, -12)
    """
    away = _PER_DECADE * (math.log10(value) - math.log10(right))
    return round(min(max(away, -SIDE), SIDE))


def spread_drawing(spread: Spread) -> Drawing:
    """*spread* as a drawing."""
    total = sum(spread.counts.values())
    near = sum(count for place, count in spread.counts.items() if abs(place) <= 1)
    summary = plural(
        "{number} guess, {near} of them within a factor of 1.8 of the answer. {right}; {own}.",
        "{number} guesses, {near} of them within a factor of 1.8 of the answer. {right}; {own}.",
        total,
        near=near,
        right=spread.right_says,
        own=spread.own_says,
    )
    rows = ((_span(spread, place), str(count)) for place, count in sorted(spread.counts.items()))
    return Drawing(
        title=spread.title,
        summary=summary,
        on=partial(_sheet, spread),
        table=((translate("Guess"), translate("How many")), *rows),
    )


def _value(spread: Spread, place: float) -> float:
    return float(spread.right * 10 ** (place / _PER_DECADE))


def _span(spread: Spread, place: int) -> str:
    """The guesses of a place in words."""
    low = spread.axis.text(_rounded(_value(spread, place - 0.5)))
    high = spread.axis.text(_rounded(_value(spread, place + 0.5)))
    if place == -SIDE:
        return translate("less than {high}", high=high)
    return translate("more than {low}", low=low) if place == SIDE else translate("{low} to {high}", low=low, high=high)


def _rounded(value: float) -> float:
    return float(f"{value:.2g}")


def _sheet(spread: Spread, paper: Paper) -> Sheet:
    across = PixelScale(
        spread.axis,
        low=_value(spread, -SIDE - 0.5),
        high=_value(spread, SIDE + 0.5),
        start=_EDGE,
        end=paper.width - _EDGE,
    )
    return Sheet(
        height=_note_at(spread) + 10,
        rects=tuple(_bars(spread, across)),
        arrows=tuple(_lines(spread, across)),
        words=tuple(_words(spread, across, paper)),
    )


def _bars(spread: Spread, across: PixelScale) -> Iterator[Rect]:
    """A bar for each place with guesses; that of the reader has a color of its own."""
    highest = max(spread.counts.values(), default=1)
    width = (across.end - across.start) / (2 * SIDE + 1)
    mine = guess_place(spread.own, spread.right)
    for place, count in sorted(spread.counts.items()):
        height = max(_LOWEST, (_FOOT - _BARS) * count / highest)
        yield Rect(
            x=round(across.start + (place + SIDE) * width + _GAP / 2, 2),
            y=round(_FOOT - height, 2),
            width=round(width - _GAP, 2),
            height=round(height, 2),
            color=Color.ORANGE if place == mine else Color.GRAY,
            label="",
            says=f"{_span(spread, place)}: {count} {'guess' if count == 1 else 'guesses'}",
            outlined=True,
        )


def _lines(spread: Spread, across: PixelScale) -> Iterator[Arrow]:
    """The axis, and a line each at the right value and at the reader's."""
    yield Arrow(across.start, _FOOT, across.end, _FOOT, color=Color.GRAY, head=False)
    for value, color, top, dashed in (
        (spread.right, Color.BLUE, _LINES[0], False),
        (spread.own, Color.ORANGE, _LINES[1], True),
    ):
        x = across.at(value)
        yield Arrow(x, top + 4, x, _FOOT, color=color, head=False, dashed=dashed)


def _words(spread: Spread, across: PixelScale, paper: Paper) -> Iterator[Words]:
    right, own = across.at(spread.right), across.at(spread.own)
    width = _BOLD * text_width(spread.right_says)
    yield _bold(min(max(right - width / 2, 0), paper.width - width), _LINES[0], spread.right_says)
    # Beside its line, on the side away from the other one, which it would cross.
    width = _BOLD * text_width(spread.own_says)
    start = own - _BESIDE - width if own <= right else own + _BESIDE
    yield _bold(min(max(start, 0), paper.width - width), _LINES[1], spread.own_says)
    for tick in across.ticks():
        yield Words(paper.inside(tick.at, tick.label), _FOOT + 18, tick.label, anchor="middle", quiet=True)
    yield Words(across.end, _FOOT + 36, spread.axis.label, anchor="end", quiet=True)
    yield Words(0, _note_at(spread), translate(_NOTE), quiet=True)


def _note_at(spread: Spread) -> int:
    """The height of the note, below the label of the axis, if it has one."""
    return _FOOT + (54 if spread.axis.label else 36)


def _bold(x: float, y: float, text: str) -> Words:
    return Words(round(x, 2), y, text, strong=True)
