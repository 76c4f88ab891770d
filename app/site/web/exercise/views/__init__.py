"""The view of each kind: `VIEW` of the module with the kind's name."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from app.course.kinds import KINDS, Exercise
from app.site.web.exercise.views.base import KindView

# Any: mypy cannot know that the view found by a kind's name takes exercises of that kind.
_VIEWS: Mapping[str, KindView[Any]] = {name: import_module(f"{__name__}.{name}").VIEW for name in KINDS}


def view_of(exercise: Exercise) -> KindView[Any]:
    """The view of the kind of *exercise*."""
    return _VIEWS[exercise.kind]
