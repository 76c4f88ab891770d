"""Open an explorer in a given state; invalid values are errors here, not corrected."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from app.core.errors import nearest
from app.course.explorers.base import Explored, Explorer, Explorers, Values
from app.course.explorers.controls import read_controls
from app.course.explorers.explorer_translation import translate_explored


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
