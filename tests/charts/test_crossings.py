"""No text is on a line, on the edge of a box or on another text: in every figure of every explorer."""

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from xml.etree import ElementTree as ET

from app.charts.axes import Axis
from app.charts.bars import Bar, Bars, Part
from app.charts.color import Color
from app.charts.labels import Box, Point
from app.charts.paper import NARROW, WIDE, Paper, text_width
from app.charts.plot import LabeledPoint, Plot, Series
from app.charts.svg import Figure, to_svg
from app.explorers import EXPLORERS, Values, read_controls
from app.units import BYTE, SECOND
from tests.each import each
from tests.explorers.test_noise import States, over_states

BOLD = 1.07
LETTER = (
    9,
    1,
)  # pixels over and under the line that letters take, without what is left around them
LINES = {"curve", "limit", "leader", "link"}


@dataclass(frozen=True)
class Drawn:
    """What one figure draws: texts and the *letters* they take, lines by their classes, boxes."""

    texts: list[tuple[str, Box]]
    lines: list[tuple[str, Point, Point]]
    boxes: list[Box]


def drawn(figure: Figure, paper: Paper) -> Drawn:
    root = ET.fromstring(to_svg(figure, alone=False, paper=paper))
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


@over_states(250)
@each("name", sorted(EXPLORERS))
def test_no_text_is_on_a_line_an_edge_or_another_text(which: States, name: str) -> None:
    explorer = EXPLORERS[name]
    for state in which(explorer):
        values, _ = read_controls(explorer.controls, state)
        try:
            figures = explorer.explore(Values(values)).figures
        except ValueError:
            continue  # they do not go together
        for figure in figures:
            for paper in (WIDE, NARROW):
                found = list(crossings(drawn(figure, paper)))
                assert not found, (found[:3], paper.name, figure.title, state)


LINE = Series(Color.BLUE, "a name", ((1.0, 1.0), (2.0, 2.0)))
COUNT = Axis("count", BYTE)


@each(
    "figure",
    [
        Bars(title="", summary="", axis=COUNT, limit=50.0, limit_says="50 B", bars=(
            Bar("one", (Part(Color.BLUE, "weights", 60.0), Part(Color.GRAY, "rest", 40.0))),)),
        Plot(title="", summary="", x=COUNT, y=Axis("time", SECOND), series=(LINE,), marks=(
            LabeledPoint(1.5, 1.5, "in the middle of it"), LabeledPoint(1.6, 1.6, "beside"))),
    ],
)  # fmt: skip
def test_a_limit_and_a_curve_go_beside_the_texts(figure: Figure) -> None:
    for paper in (WIDE, NARROW):
        assert list(crossings(drawn(figure, paper))) == []


def test_a_crossing_is_seen() -> None:
    box = (10.0, 10.0, 50.0, 20.0)
    for line in (
        ((0.0, 0.0), (60.0, 30.0)),
        ((30.0, 0.0), (30.0, 90.0)),
        ((20.0, 12.0), (21.0, 13.0)),
    ):
        found = list(crossings(Drawn([("text", box)], [("curve", *line)], [])))
        assert found == ["'text' is on a line (curve)"]
    for line in (
        ((0.0, 0.0), (60.0, 0.0)),
        ((0.0, 15.0), (9.0, 15.0)),
        ((0.0, 25.0), (30.0, 22.0)),
    ):
        assert list(crossings(Drawn([("text", box)], [("curve", *line)], []))) == []
    edge, around, apart = (30.0, 0.0, 60.0, 30.0), (0.0, 0.0, 60.0, 30.0), (60.0, 0.0, 70.0, 30.0)
    found = list(crossings(Drawn([("text", box), ("other", edge)], [], [edge, around, apart])))
    assert found == ["'text' is on the edge of a box", "'text' is on 'other'"]
