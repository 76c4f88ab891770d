"""An explorer in the language of a request, opened in a given state, beside the state before."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from enum import Enum
from functools import cache
from types import MappingProxyType
from typing import Any

from app.core.charts.bars import Bars
from app.core.charts.motion import Motion
from app.core.charts.plot import LabeledPoint, Plot
from app.core.charts.style import Drawing, Paper
from app.core.charts.svg import Figure
from app.core.charts.timeline import Timeline
from app.core.errors import nearest
from app.core.translation import SOURCE, language, noted, translate, translate_known
from app.course.explorers.base import Explored, Explorer, Explorers, KeyFigure, Values, change_words
from app.course.explorers.controls import read_controls

# Names of facts are compared, and translated where they are shown; controls are not words.
_KEPT = {KeyFigure: {"label"}}
_COVER = "?"
_NOT_WORDS = {"unit", "sets", "grip", "state"}


def translate_explored(shown: Explored) -> Explored:
    """*shown* with every name that is a sentence of the catalog in the current language."""
    if language() == SOURCE:
        return shown
    made: Explored = _worded_anew(shown, translate_known)
    return made


def cover(shown: Explored, asked: KeyFigure) -> Explored:
    """*shown* before *asked* is predicted: its value is covered wherever it stands, and its mark."""
    value = re.compile(rf"(?<![\d.,]){re.escape(asked.value)}(?![\d])")

    def covered(text: str) -> str:
        return value.sub(_COVER, text)

    bare = tuple(_without_marks(figure, asked) for figure in shown.figures)
    figures: tuple[Figure, ...] = _worded_anew(bare, covered)
    facts = tuple(
        replace(fact, value=_COVER, exact=None)
        if fact.label == asked.label
        else replace(fact, value=covered(fact.value))
        for fact in shown.facts
    )
    return replace(shown, says="", facts=facts, figures=figures)


def _without_marks(figure: Figure, asked: KeyFigure) -> Figure:
    """*figure* without its summary and the marks of what is *asked*, unless they move a control."""
    figure = replace(figure, summary="")
    if not isinstance(figure, Plot):
        return figure
    return replace(figure, marks=tuple(mark for mark in figure.marks if mark.grip or not _is_of(asked, mark)))


def _is_of(asked: KeyFigure, mark: LabeledPoint) -> bool:
    return asked.value in mark.says or asked.exact in (mark.x, mark.y)


def _worded_anew(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return value if isinstance(value, Enum) or not value else change(value)
    if type(value) is tuple:
        return value if value and isinstance(value[0], float) else tuple(_worded_anew(one, change) for one in value)
    if isinstance(value, Timeline) or not is_dataclass(value):
        return value  # the words of a timeline are its own
    kind: Any = type(value)
    changed: dict[str, Any] = {name: _worded_anew(getattr(value, name), change) for name in _worded(kind)}
    if isinstance(value, Drawing | Motion):
        changed["on"] = _drawn_anew(value.on, change)
    return replace(value, **changed)  # type: ignore[type-var]


def _drawn_anew(on: Callable[[Paper], Any], change: Callable[[str], str]) -> Callable[[Paper], Any]:
    return lambda paper: _worded_anew(on(paper), change)


@cache
def _worded(kind: Any) -> tuple[str, ...]:
    """The fields of *kind* that may hold words."""
    kept = _NOT_WORDS | _KEPT.get(kind, set())
    return tuple(field.name for field in fields(kind) if field.name not in kept)


@dataclass(frozen=True, slots=True)
class OpenExplorer:
    """An explorer, the values of its controls, and its output for them."""

    explorer: Explorer
    values: Values
    shown: Explored


def open_explorer(explorers: Explorers, name: str, state: Mapping[str, str] = MappingProxyType({})) -> OpenExplorer:
    """The explorer called *name* with its controls set to *state*, the others to their defaults.

    Raises:
        ValueError: the explorer or a control does not exist, or a value is not valid.
    """
    if name not in explorers:
        raise ValueError(f"no explorer is called {name!r}{nearest(name, explorers)}")
    explorer = explorers[name]
    known = [control.name for control in explorer.controls]
    for control in state:
        if control not in known:
            raise ValueError(f"{name} has no control {control!r}{nearest(control, known)}")
    values, corrections = read_controls(explorer.controls, state)
    if corrections:
        raise ValueError(" ".join(corrections))
    shown = translate_explored(explorer.explore(Values(values)))
    if shown.notice:
        raise ValueError(shown.notice)
    return OpenExplorer(explorer, Values(values), shown)


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
