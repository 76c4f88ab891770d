"""Texts of a figure that are on a line, on the edge of a box or on another text."""

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from xml.etree import ElementTree as ET

from app.core.charts.axes import text_width
from app.core.charts.plot import Box, Point

BOLD = 1.07
LETTER = (9, 1)  # pixels over and under the line that letters take, without what is left around them
LINES = {"curve", "limit", "leader", "link"}


@dataclass(frozen=True)
class Drawn:
    """What one figure draws: texts and the *letters* they take, lines by their classes, boxes."""

    texts: list[tuple[str, Box]]
    lines: list[tuple[str, Point, Point]]
    boxes: list[Box]


def drawn(svg: str) -> Drawn:
    root = ET.fromstring(svg)
    found = Drawn([], [], [])
    for element in root.iter():
        kinds = set(element.get("class", "").split())
        if element.tag == "text" and (says := "".join(element.itertext()).strip()):
            found.texts.append((says, letters(element, says, kinds)))
        elif element.tag == "rect":
            x, y, width, height = (float(element.get(name, "")) for name in SIDES)
            if "packet" not in kinds:
                found.boxes.append((x, y, x + width, y + height))
        elif LINES & kinds:
            found.lines.extend((" ".join(kinds), *ends) for ends in pieces(element))
    return found


SIDES = ("x", "y", "width", "height")


def letters(element: ET.Element, says: str, kinds: set[str]) -> Box:
    width = text_width(says) * (BOLD if kinds & {"strong", "name", "mark-says"} else 1)
    share = 1 if "end" in kinds else 0.5 if kinds & {"mid", "on"} else 0
    x, y = float(element.get("x", "")), float(element.get("y", ""))
    left = x - share * width
    return left + 1, y - LETTER[0], left + width - 1, y + LETTER[1]


def pieces(element: ET.Element) -> Iterator[tuple[Point, Point]]:
    """The straight pieces of a line, or of a path of lines."""
    if element.tag == "line":
        x1, y1, x2, y2 = (float(element.get(name, "")) for name in ("x1", "y1", "x2", "y2"))
        yield (x1, y1), (x2, y2)
    elif "h" not in (path := element.get("d", "")):
        spots = [tuple(map(float, spot.split())) for spot in re.split("[ML]", path) if spot]
        yield from (((a, b), (c, d)) for (a, b), (c, d) in itertools.pairwise(spots))


def meets(box: Box, one: Point, other: Point) -> bool:
    """Whether the line from *one* to *other* has a point in *box*."""
    if one[0] < box[0] > other[0] or one[0] > box[2] < other[0]:
        return False  # as most are
    first, last = 0.0, 1.0
    for at, to, low, high in zip(one, other, box[:2], box[2:], strict=True):
        if at == to:
            if not low <= at <= high:
                return False
            continue
        near, far = sorted(((low - at) / (to - at), (high - at) / (to - at)))
        first, last = max(first, near), min(last, far)
    return first <= last


def overlap(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def inside(one: Box, other: Box) -> bool:
    return other[0] <= one[0] <= one[2] <= other[2] and other[1] <= one[1] <= one[3] <= other[3]


def is_its_own(box: Box, one: Point, other: Point) -> bool:
    """Whether the text is in the middle of a line: that of an arrow, which it interrupts."""
    across = (box[0] + box[2] - one[0] - other[0]) / 2
    return abs(across) < 1 and abs(box[3] - LETTER[1] - 4 - (one[1] + other[1]) / 2) < 1


def crossings(found: Drawn) -> Iterator[str]:
    for says, box in found.texts:
        for kinds, one, other in found.lines:
            if meets(box, one, other) and not ("link" in kinds and is_its_own(box, one, other)):
                yield f"{says!r} is on a line ({kinds})"
        if any(overlap(box, edge) and not inside(box, edge) for edge in found.boxes):
            yield f"{says!r} is on the edge of a box"
    yield from overlaps(found.texts)


def overlaps(texts: list[tuple[str, Box]]) -> Iterator[str]:
    ordered = sorted(texts, key=lambda text: text[1][0])
    for at, (one_says, one_box) in enumerate(ordered):
        for other_says, other_box in itertools.islice(ordered, at + 1, None):
            if other_box[0] >= one_box[2]:
                break  # all others begin farther to the right
            if overlap(one_box, other_box):
                yield f"{one_says!r} is on {other_says!r}"
