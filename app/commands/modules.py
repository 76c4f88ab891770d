"""The modules of commands, each imported when it is needed."""

import gc
from importlib import import_module
from types import ModuleType


def load_command(name: str) -> ModuleType:
    """The module *name* of this folder. Nothing it imports is garbage, so none is looked for."""
    gc.disable()
    try:
        return import_module(f"app.commands.{name}")
    finally:
        gc.freeze()
        gc.enable()
