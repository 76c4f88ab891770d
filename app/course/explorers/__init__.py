"""Things to play with: controls, figures and numbers, all from the formulas and simulators."""

from importlib import import_module
from pkgutil import iter_modules
from types import MappingProxyType

from app.course.explorers.base import Explorer, Explorers

# Every explorer that a module of this package defines: writing one is all it takes.
_MODULES = [import_module(f"{__name__}.{found.name}") for found in iter_modules(__path__)]
_FOUND = (value for module in _MODULES for value in vars(module).values() if isinstance(value, Explorer))
EXPLORERS: Explorers = MappingProxyType({one.name: one for one in _FOUND})


def explorer_pages() -> tuple[Explorer, ...]:
    """The explorers that have a page of their own."""
    return tuple(one for one in EXPLORERS.values() if not one.part_of)
