"""The modules of commands, each imported when it is needed."""

import gc
from importlib import import_module
from types import ModuleType

from app.core.errors import UnavailableError

_CLASSES = "app.classes"  # the part that an installation may lack


def load_command(name: str) -> ModuleType:
    """The module *name* of this folder. Nothing it imports is garbage, so none is looked for.

    Raises:
        UnavailableError: it needs a part that is not installed.
    """
    gc.disable()
    try:
        return import_module(f"app.commands.{name}")
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if missing != _CLASSES and not missing.startswith(f"{_CLASSES}."):
            raise
        raise UnavailableError("this command needs classes, and this installation has none") from error
    finally:
        gc.freeze()
        gc.enable()
