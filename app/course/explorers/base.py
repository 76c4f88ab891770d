"""The types that every explorer is made of, and an explorer opened in the language of a request."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from enum import Enum
from functools import cache
from types import MappingProxyType
from typing import Any, Self

from app.core.charts.axes import Drawing, Paper, percent_text
from app.core.charts.bars import Bars
from app.core.charts.motion import Motion
from app.core.charts.plot import LabeledPoint, Plot
from app.core.charts.svg import Figure
from app.core.charts.timeline import Timeline
from app.core.errors import nearest
from app.core.translation import SOURCE, language, noted, translate, translate_known
from app.core.units import RATIO, Unit, figures, show
from app.course.explorers.controls import Control, ControlValue, read_controls, shown_text
from app.course.explorers.words import change_words, relative_text

COVER = "?"  # what stands for the number that is asked


class Values(dict[str, ControlValue]):
    """The values of the controls, by name, in base units."""

    def number(self, name: str) -> float:
        """A number."""
        value = self[name]
        if isinstance(value, str):
            raise TypeError(f"{name} is a choice")
        return value

    def count(self, name: str) -> int:
        """A whole number."""
        return round(self.number(name))

    def word(self, name: str) -> str:
        """A choice."""
        return str(self[name])


@dataclass(frozen=True, slots=True)
class KeyFigure:
    """A number beside the figures; *exact* and *unit* if it can be predicted, *beside* if it was measured as well."""

    label: str
    value: str
    exact: float | None = None
    unit: Unit = RATIO
    beside: str = ""

    @classmethod
    def quantity(cls, label: str, value: float, unit: Unit, digits: int = 4) -> Self:
        """A number with its unit."""
        return cls(label, show(value, unit, digits), value, unit)

    @classmethod
    def plain(cls, label: str, value: float, digits: int = 4) -> Self:
        """A number without a unit."""
        return cls(label, figures(value, digits), value)

    @classmethod
    def share(cls, label: str, value: float) -> Self:
        """A share, as a percentage."""
        return cls(label, percent_text(value), value)

    @classmethod
    def relative(cls, label: str, value: float) -> Self:
        """A part of what may be smaller than it."""
        return cls(label, relative_text(value), value)


@dataclass(frozen=True, slots=True)
class YesOrNo:
    """The answer to a yes-or-no question: in a few words, and in a sentence."""

    good: bool
    title: str
    says: str


@dataclass(frozen=True, slots=True)
class StateRow:
    """Another state of the explorer, as a row of a table: the controls that differ, the cells."""

    name: str
    state: Mapping[str, str]
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StateTable:
    """Other states to go to; *says* is Markdown. A *folded* one opens by click."""

    title: str
    says: str
    header: tuple[str, ...] = ()
    rows: tuple[StateRow, ...] = ()
    folded: bool = False


@dataclass(frozen=True, slots=True)
class ExplorerOutput:
    """An explorer's output for some values: a text (Markdown), numbers and figures; *tables* lead to other states."""

    says: str
    facts: tuple[KeyFigure, ...]
    figures: tuple[Figure, ...]
    notice: str = ""  # that the values do not go together, and what is shown instead
    verdict: YesOrNo | None = None
    tables: tuple[StateTable, ...] = ()


def _numbers(values: Values) -> Mapping[str, float]:
    return {name: value for name, value in values.items() if not isinstance(value, str)}


def _none(values: Values) -> Iterable[tuple[float, str]]:
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedMistakes:
    """Wrong predictions whose cause is known.

    *exercise* asks for the same number (for one of several, its name is in *answer*), so that its wrong answers have
    the same causes; *given* is what it is given, by its own names and in base units: the controls, if they bear the
    same names. *others* are more wrong numbers, with what to say of each.
    """

    exercise: str = ""
    answer: str = "answer"
    given: Callable[[Values], Mapping[str, float]] = _numbers
    others: Callable[[Values], Iterable[tuple[float, str]]] = _none


@dataclass(frozen=True, slots=True, kw_only=True)
class Explorer:
    """An interactive page: controls, and a function from their values to text and figures.

    *question* asks for a prediction first. *predicts* is the label of the fact to predict, or empty; *asks* is the
    question without the initial values. If it *compares*, a state is shown beside the one before it. *part_of* is the
    explorer whose page shows it, as chapters show it by itself; empty: it has one of its own.

    Raises:
        ValueError: (by *explore*) the values are not compatible; the message says why.
    """

    name: str
    title: str
    summary: str
    chapter: str
    formulas: Sequence[str]
    controls: Sequence[Control]
    explore: Callable[[Values], ExplorerOutput]
    question: str = ""
    predicts: str = ""
    asks: str = ""
    foreseen: ExplainedMistakes = ExplainedMistakes()
    compares: bool = False
    part_of: str = ""


Explorers = Mapping[str, Explorer]


def predicted_figure(explorer: Explorer, shown: ExplorerOutput) -> KeyFigure | None:
    """The number to predict, if there is one."""
    return next((fact for fact in shown.facts if fact.label == explorer.predicts), None)


def guess_question(explorer: Explorer, values: Values) -> str:
    """The question for *values* (Markdown); empty if nothing is asked."""
    if not explorer.question:
        return ""
    changed = [text for aside, text in _changed(explorer, values) if not aside]
    if not changed:
        return translate(explorer.question)
    return translate("{asks} Settings: {settings}.", asks=translate(explorer.asks), settings=", ".join(changed))


def settings_text(explorer: Explorer, values: Values) -> str:
    """The values that are not the initial ones, in words; empty if all of them are."""
    return ", ".join(text for _, text in _changed(explorer, values))


def _changed(explorer: Explorer, values: Values) -> Iterator[tuple[bool, str]]:
    """Each control that was moved, and whether the number to predict does not depend on it."""
    start, _ = read_controls(explorer.controls, {})
    for control in explorer.controls:
        value = values[control.name]
        if value != start[control.name]:
            yield control.aside, f"{translate(control.label)} {shown_text(control, value)}"


def cover(shown: ExplorerOutput, asked: KeyFigure) -> ExplorerOutput:
    """*shown* before *asked* is predicted: its value is covered, and its mark; what is said is left out."""
    facts = tuple(replace(fact, value=COVER, exact=None) if fact.value == asked.value else fact for fact in shown.facts)
    return replace(
        shown, says="", verdict=None, facts=facts, figures=tuple(_covered(one, asked) for one in shown.figures)
    )


def _covered(figure: Figure, asked: KeyFigure) -> Figure:
    """*figure* without its summary and the marks of what is *asked*, unless they move a control."""
    if not isinstance(figure, Plot):
        return replace(figure, summary="")
    marks = (mark for mark in figure.marks if mark.grip or not _is_of(asked, mark))
    return replace(figure, summary="", marks=tuple(marks))


def _is_of(asked: KeyFigure, mark: LabeledPoint) -> bool:
    return asked.value in mark.says or asked.exact in (mark.x, mark.y)


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
    if isinstance(value, Drawing | Motion):
        on: Callable[[Paper], Any] = value.on
        changed["on"] = lambda paper: _told(on(paper))
    return replace(value, **changed)  # type: ignore[type-var]


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
