"""Flows at a switch, and the cables that they may take."""

from app.core.charts.color import Color
from app.core.charts.diagram import Arrow, Sheet, Words
from app.core.charts.paper import Paper
from app.core.formulas.checks import whole
from app.core.translation import translate
from app.core.units import Count
from app.course.illustrations.base import GAP, Illustration, Sketch, box, few, sketch

_TOP, _FOOT, _HIGH = 34.0, 132.0, 30.0  # pixels: the two switches, and their height
_MOST = 16


def _cables(flows: Count, links: Count) -> Sketch:
    whole("flows", flows)
    whole("links", links)
    return sketch(
        translate("{flows:,} flows and {links:,} cables", flows=flows, links=links),
        translate("the switch hashes each flow to one of the cables"),
        lambda paper: _between(flows, links, paper),
    )


def _between(flows: int, links: int, paper: Paper) -> Sheet:
    arrows: list[Arrow] = []
    words: list[Words] = []
    for many, top, foot, color in ((flows, 4.0, _TOP, Color.BLUE), (links, _TOP + _HIGH, _FOOT, Color.GRAY)):
        shown = few(many, _MOST)
        step = paper.width / len(shown)
        for at, number in enumerate(shown):
            x = round((at + 0.5) * step, 2)
            if number is None:
                words.append(Words(x, (top + foot) / 2 + 4, GAP, anchor="middle"))
            else:
                arrows.append(Arrow(x, top, x, foot - 2, color=color, head=color is Color.BLUE))
    rects = [
        box(0, _TOP, paper.width, _HIGH, translate("leaf switch: {flows:,} flows", flows=flows), outlined=True),
        box(0, _FOOT, paper.width, _HIGH, translate("{links:,} cables to the next switch", links=links), outlined=True),
    ]
    return Sheet(height=_FOOT + _HIGH + 4, rects=tuple(rects), arrows=tuple(arrows), words=tuple(words))


CABLES = Illustration("cables", "flows at a switch, and the cables to the next one", _cables)
