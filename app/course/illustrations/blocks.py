"""The blocks of an array that each rank holds after each move of a plan."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import groupby

from app.core.charts.color import Color, Tone
from app.core.charts.diagram import Drawing, Rect, Sheet, Words
from app.core.charts.paper import Paper, wrapped
from app.core.simulators.sharding import Block, Blocks, PlayedPlan
from app.core.translation import noted, translate
from app.course.illustrations.base import box, key, sketch

_LARGEST, _GAP = 52, 8  # pixels of a block, and between two
_LABEL = 26  # to the left: the name of an array
_LINE = 17
_COMPLETE, _PARTIAL = Tone.WEIGHTS, Tone.RECOMPUTE
_KEY = [(_COMPLETE, noted("complete")), (_PARTIAL, noted("partial sums"))]


def played_sketch(played: PlayedPlan) -> Drawing:
    """What each rank holds at first and after each move; a line for each array that changes."""
    lines = list(_lines(played))
    said = "; ".join(title for title, _, _ in lines)
    return sketch(translate("What each rank holds"), said, lambda paper: _sheet(played, lines, paper))


def _lines(played: PlayedPlan) -> Iterator[tuple[str, str, Blocks]]:
    """The title, the array and its blocks, for each line."""
    for name, held in played.task.start.items():
        yield translate("At first: {name}", name=name), name, held
    for number, step in enumerate(played.steps, 1):
        name = step.move.array or played.task.want[0]
        part = (
            translate(": each rank sends {fraction} of {name}", fraction=_fraction(step.sent), name=name)
            if step.sent
            else ""
        )
        yield f"{number}. {step.move}{part}", name, step.arrays[name]
    if not played.is_right:
        yield (translate("Target: {want}", want=played.task.want[0]), played.task.want[0], played.task.goal)


def _fraction(part: float) -> str:
    """A part of an array, such as 3/8; more than all of it as 2 1/4 times."""
    whole, rest = divmod(Fraction(part).limit_denominator(1000), 1)
    return " ".join(str(one) for one in (whole, rest) if one)


def _sheet(played: PlayedPlan, lines: Sequence[tuple[str, str, Blocks]], paper: Paper) -> Sheet:
    mesh = played.task.mesh
    side = min(_LARGEST, (paper.width - _LABEL) / len(mesh.ranks) - _GAP)
    rects: list[Rect] = []
    words = [Words(0, 13, ",".join(mesh.axes), quiet=True)]
    for number, rank in enumerate(mesh.ranks):
        middle = _LABEL + number * (side + _GAP) + side / 2
        words.append(Words(middle, 13, ",".join(map(str, rank)), anchor="middle", quiet=True))
    y = 1.0 * _LINE
    for title, name, held in lines:
        for text in wrapped(title, paper.width):
            words.append(Words(0, y + 13, text))
            y += _LINE
        words.append(Words(0, y + side / 2 + 5, name, strong=True))
        for at, block in enumerate(held):
            x = _LABEL + at * (side + _GAP)
            small = played.task.mesh.small
            rects += _block(block, played.task.numbers[name], small, (x, y + 2), side)
        y += side + 12
    marks, names, foot = key(_KEY, y, paper)
    return Sheet(height=foot + 4, rects=(*rects, *marks), words=(*words, *names))


def _block(
    block: Block, numbers: Sequence[int], small: int, corner: tuple[float, float], side: float
) -> Iterator[Rect]:
    """The outline of the whole array, and what a rank holds of it; rows are the first dimension."""
    x, y = corner
    yield box(x, y, side, side, "", Color.GRAY, outlined=True)
    columns = len(numbers) // small
    wide, high = side / columns, side / small
    starts = range(0, len(numbers), columns)
    rows = [_runs(block[at : at + columns], numbers[at : at + columns]) for at in starts]
    top = 0
    for runs, same in groupby(rows):
        count = len(list(same))
        for start, length, tone in runs:
            yield box(x + start * wide, y + top * high, length * wide, count * high, "", tone)
        top += count


def _runs(row: Block, numbers: Sequence[int]) -> tuple[tuple[int, int, Tone], ...]:
    """The cells of a row that are held, as runs: where they start, how many, and their color."""
    tones = [
        None if cell is None else _COMPLETE if cell == number else _PARTIAL
        for cell, number in zip(row, numbers, strict=True)
    ]
    found, at = [], 0
    for tone, cells in groupby(tones):
        length = len(list(cells))
        if tone is not None:
            found.append((at, length, tone))
        at += length
    return tuple(found)
