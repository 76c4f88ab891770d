"""Wallclock: predict the training step, then time it."""

import sys
from importlib import import_module

_INTERRUPTED = 130


def run() -> None:
    """The console script; Ctrl+C prints no traceback, not even while modules are imported."""
    try:
        code = import_module("app.__main__").main()
    except KeyboardInterrupt:
        code = _INTERRUPTED
    sys.exit(code)
