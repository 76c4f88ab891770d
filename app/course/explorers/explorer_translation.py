"""An explorer in the language of a request, opened in a given state, beside the state before."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from enum import Enum
from functools import cache
from types import MappingProxyType
from typing import Any

from app.core.charts.axes import Drawing, Paper, Sheet
from app.core.charts.bars import Bars
from app.core.charts.svg import Figure
from app.core.charts.timeline import Timeline
from app.core.errors import nearest
from app.core.translation import SOURCE, language, noted, translate, translate_known
from app.course.explorers.base import Explorer, ExplorerOutput, Explorers, KeyFigure, Values, change_words
from app.course.explorers.controls import read_controls

# Names of facts are compared, and translated where they are shown; controls are not words.
_KEPT = {KeyFigure: {"label"}}
_NOT_WORDS = {"unit", "sets", "grip", "state"}


def translate_explored(shown: ExplorerOutput) -> ExplorerOutput:
    """*shown* with every name that is a sentence of the catalog in the current language."""
    if language() == SOURCE:
        return shown
    made: ExplorerOutput = _told(shown)
    return made


def _told(value: Any) -> Any:
    if isinstance(value, str):
        return value if isinstance(value, Enum) or not value else translate_known(value)
    if type(value) is tuple:
        return value if value and isinstance(value[0], float) else tuple(map(_told, value))
    if isinstance(value, Timeline) or not is_dataclass(value):
        return value  # the words of a timeline are its own
    kind: Any = type(value)
    changed: dict[str, Any] = {name: _told(getattr(value, name)) for name in _worded(kind)}
    if isinstance(value, Drawing):
        changed["on"] = _sheets(value.on)
    return replace(value, **changed)  # type: ignore[type-var]


def _sheets(on: Callable[[Paper], Sheet]) -> Callable[[Paper], Sheet]:
    def drawn(paper: Paper) -> Sheet:
        made: Sheet = _told(on(paper))
        return made

    return drawn


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
    shown: ExplorerOutput


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


def describe_change(now: KeyFigure, before: ExplorerOutput) -> tuple[str, str]:
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


def with_ghosts(now: ExplorerOutput, before: ExplorerOutput) -> tuple[Figure, ...]:
    """The figures of *now*; under the first bar of each, how long it was *before*."""
    earlier = {figure.title: figure for figure in before.figures}
    return tuple(_beside(figure, earlier.get(figure.title)) for figure in now.figures)


def _beside(figure: Figure, before: Figure | None) -> Figure:
    if not (isinstance(figure, Bars) and isinstance(before, Bars)):
        return figure
    first, *others = figure.bars
    old = replace(before.bars[0], name=translate(_BEFORE))
    return figure if old.parts == first.parts else replace(figure, bars=(first, old, *others))
