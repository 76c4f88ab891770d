"""A wrong answer beside the right one, as the parts that each counts."""

from collections.abc import Iterator, Sequence

from app.core.charts.color import Color, Tone
from app.core.charts.diagram import Drawing, Rect, Sheet, Words
from app.core.charts.paper import Paper
from app.core.translation import translate
from app.course.illustrations.base import Piece, box, row, sketch
from app.course.kinds.answers import CountedPart, CountedParts

_ROW, _LINE, _LABEL = 26, 24, 17


def counted_sketch(counted: CountedParts, *, finished: bool) -> Drawing:
    """The parts that a wrong answer counts; to scale and with both values once *finished*."""
    left_out = [part.name for part in counted.parts if not part.counted]
    return sketch(
        translate("Your answer beside the right one") if finished else translate("What your answer counts"),
        translate("left out: {left_out}", left_out=", ".join(left_out)),
        lambda paper: _beside(counted, paper) if finished else _checked(counted.parts, paper),
    )


def _checked(parts: Sequence[CountedPart], paper: Paper) -> Sheet:
    """A line for each part, without its size."""
    rects: list[Rect] = []
    words: list[Words] = []
    for at, part in enumerate(parts):
        y = at * _LINE
        color = Tone.COMPUTE if part.counted else Color.GRAY
        rects.append(box(1, y + 1, 40, 16, "", color, outlined=not part.counted))
        says = translate("counted") if part.counted else translate("left out")
        words.append(Words(52, y + 14, f"{part.name}: {says}", strong=not part.counted))
    return Sheet(height=len(parts) * _LINE, rects=tuple(rects), words=tuple(words))


def _beside(counted: CountedParts, paper: Paper) -> Sheet:
    """Both answers to scale, one above the other, and the names of the parts below."""
    whole = sum(abs(part.value) for part in counted.parts)
    own = [part for part in counted.parts if part.counted]
    reach = paper.width * sum(abs(part.value) for part in own) / whole
    below = 2 * (_ROW + _LABEL + 8)
    words = [
        Words(0, 13, translate("yours: {given}", given=counted.given)),
        Words(0, _ROW + _LABEL + 21, translate("right: {right}", right=counted.right), strong=True),
    ]
    rects = row(_pieces(own), 1, reach, _LABEL, _ROW)
    rects += row(_pieces(counted.parts), 1, paper.width - 1, _ROW + 2 * _LABEL + 8, _ROW)
    left_out = ", ".join(part.name for part in counted.parts if not part.counted)
    words.append(Words(0, below + 13, translate("left out: {left_out}", left_out=left_out), quiet=True))
    return Sheet(height=below + 20, rects=tuple(rects), words=tuple(words))


def _pieces(parts: Sequence[CountedPart]) -> Iterator[Piece]:
    for part in parts:
        color = Tone.COMPUTE if part.counted else Color.GRAY
        yield Piece(abs(part.value), part.name, color, outlined=not part.counted)
