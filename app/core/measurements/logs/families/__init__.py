"""The families of training logs: each is a `LogFamily` in a module here, with a sample."""

from importlib import import_module
from pkgutil import iter_modules

from app.core.measurements.logs.families.small_trainers import LogFamily

_MODULES = [import_module(f"{__name__}.{found.name}") for found in iter_modules(__path__)]
_FOUND = (value for module in _MODULES for value in vars(module).values() if isinstance(value, LogFamily))
LOG_FAMILIES = tuple(sorted(_FOUND, key=lambda family: family.rank))
_TITLES = {family.name: family.title for family in LOG_FAMILIES}


def family_titles() -> tuple[str, ...]:
    """The names of the frameworks whose logs are read."""
    return tuple(dict.fromkeys(_TITLES.values()))


def family_title(name: str) -> str:
    """What people call the family *name*."""
    return _TITLES.get(name, name)


__all__ = ["LOG_FAMILIES", "LogFamily", "family_title", "family_titles"]
