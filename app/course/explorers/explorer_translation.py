"""What an explorer shows, in the language of the request.

Sentences with numbers are translated where they are made; names that constants hold, here.
"""

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from functools import cache
from typing import Any

from app.core.charts.diagram import Drawing, Sheet
from app.core.charts.paper import Paper
from app.core.charts.timeline import Timeline
from app.core.translation import SOURCE, language, translate_known
from app.course.explorers.base import Explored, KeyFigure

# Names of facts are compared, and translated where they are shown; controls are not words.
_KEPT = {KeyFigure: {"label"}}
_NOT_WORDS = {"unit", "sets", "grip", "state"}


def translate_explored(shown: Explored) -> Explored:
    """*shown* with every name that is a sentence of the catalog in the current language."""
    if language() == SOURCE:
        return shown
    made: Explored = _told(shown)
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
