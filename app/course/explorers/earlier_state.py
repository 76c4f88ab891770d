"""What changed since the state before: numbers beside numbers, bars beside bars."""

from dataclasses import replace

from app.core.charts.bars import Bars
from app.core.charts.svg import Figure
from app.core.translation import noted, translate
from app.course.explorers.base import Explored, KeyFigure, change_words

_BEFORE = noted("before")
_PERCENT = " %"


def since(now: KeyFigure, before: Explored) -> tuple[str, str]:
    """The value of *now* in the state *before*, and the difference; empty if it is the same."""
    old = next((fact for fact in before.facts if fact.label == now.label), None)
    if old is None or old.value == now.value:
        return "", ""
    if now.exact is None or old.exact is None or not old.exact:
        return old.value, ""
    if now.value.endswith(_PERCENT):
        points = 100 * (now.exact - old.exact)
        sign = "+" if points > 0 else "−"
        return old.value, translate("{sign}{float:g} points", sign=sign, float=float(f"{abs(points):.2g}"))
    return old.value, change_words(now.exact, old.exact)


def with_ghosts(now: Explored, before: Explored) -> tuple[Figure, ...]:
    """The figures of *now*; under the first bar of each, how long it was *before*."""
    earlier = {figure.title: figure for figure in before.figures}
    return tuple(_beside(figure, earlier.get(figure.title)) for figure in now.figures)


def _beside(figure: Figure, before: Figure | None) -> Figure:
    if not (isinstance(figure, Bars) and isinstance(before, Bars)):
        return figure
    first, *others = figure.bars
    old = replace(before.bars[0], name=translate(_BEFORE))
    return figure if old.parts == first.parts else replace(figure, bars=(first, old, *others))
