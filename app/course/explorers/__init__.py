"""Things to play with: controls, figures and numbers, all from the formulas and simulators."""

from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules
from types import MappingProxyType

from app.core.charts.svg import Figure
from app.course.explorers.base import (
    COVER,
    ExplainedMistakes,
    Explorer,
    ExplorerOutput,
    Explorers,
    KeyFigure,
    OpenExplorer,
    StateRow,
    StateTable,
    Values,
    YesOrNo,
    cover,
    describe_change,
    guess_question,
    open_explorer,
    predicted_figure,
    settings_text,
    translate_explored,
    with_ghosts,
)
from app.course.explorers.controls import (
    Control,
    ControlValue,
    Select,
    Slider,
    address_text,
    group_controls,
    read_controls,
    shown_text,
    slider_place,
)


def _known_explorers() -> Iterator[Explorer]:
    """Every explorer that a module of this package defines: writing one is all it takes."""
    for found in iter_modules(__path__):
        module = import_module(f"{__name__}.{found.name}")
        yield from (value for value in vars(module).values() if isinstance(value, Explorer))


EXPLORERS: Explorers = MappingProxyType({one.name: one for one in _known_explorers()})


def explorer_pages() -> tuple[Explorer, ...]:
    """The explorers that have a page of their own."""
    return tuple(one for one in EXPLORERS.values() if not one.part_of)


__all__ = [
    "COVER", "EXPLORERS", "Control", "ControlValue", "ExplorerOutput", "Explorer", "Figure", "ExplainedMistakes",
    "KeyFigure", "OpenExplorer", "Select", "Slider", "StateRow", "StateTable", "Values", "address_text",
    "cover",
    "explorer_pages",
    "group_controls", "open_explorer", "predicted_figure", "guess_question", "read_controls",
    "settings_text", "shown_text", "describe_change", "slider_place", "translate_explored",
    "YesOrNo", "with_ghosts",
]  # fmt: skip
