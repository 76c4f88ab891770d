"""The component's exports, and the setup that runs before it is frozen into a snapshot.

Every module that a program may import is imported here: afterwards there are no files.
"""

import builtins
import datetime
import importlib
import io
import json
import os
import sys
import time
from collections.abc import Callable
from typing import NoReturn

import running
import wit_world

_ALLOWED = """
abc array ast bisect calendar cmath collections collections.abc contextlib copy dataclasses decimal
encodings.ascii encodings.latin_1 encodings.utf_16 enum fractions functools graphlib heapq itertools
keyword math numbers operator pprint queue random re statistics string struct textwrap traceback
types typing unicodedata warnings zlib _strptime
"""
_HIDDEN = ("socket", "subprocess", "threading", "ctypes", "multiprocessing", "asyncio")
_FILES = """
open read write close listdir stat lstat scandir mkdir remove unlink rename rmdir link symlink
readlink system getcwd chdir urandom _exit abort utime truncate
"""
_FIRST_PROGRAM = """
import re
from dataclasses import dataclass
@dataclass
class P:
    x: int = 0
def f(x):
    return [re.findall(r'\\d', str(x)), P(1).x, f'{x:.2f}']
"""


class _Absent:
    """A finder that explains that a module is not available."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        """Raise, with a clear message."""
        raise ModuleNotFoundError(f"the module {name} is not available in exercises", name=name)


def _refusal(what: str, kind: type[Exception] = PermissionError) -> Callable[..., None]:
    def refuse(*_: object, **__: object) -> None:
        raise kind(f"{what} not available in exercises")

    return refuse


def _clock() -> Callable[[], float]:
    """A deterministic clock, which advances only when it is read."""
    now = 0.0

    def read() -> float:
        nonlocal now
        now += 1e-6
        return now

    return read


class _DateWithoutToday(datetime.date):
    @classmethod
    def today(cls) -> NoReturn:
        """Refuse."""
        raise PermissionError("the date is not available in exercises")


class _DatetimeWithoutNow(datetime.datetime):
    @classmethod
    def now(cls, tz: object = None) -> NoReturn:
        """Refuse."""
        raise PermissionError("the time of day is not available in exercises")

    utcnow = today = now


def _close_doors() -> None:
    """Replace what cannot work with clear errors: the wall itself is that the host gives this component no import."""
    builtins.open = io.open = io.FileIO = io.open_code = _refusal("files are")
    inner = sys.modules["_io"]
    inner.open = inner.FileIO = inner.open_code = _refusal("files are")
    builtins.input = _refusal("input() is", EOFError)
    for name in _FILES.split():
        for module in (os, sys.modules.get("posix")):
            if module is not None and hasattr(module, name):
                setattr(module, name, _refusal(f"os.{name} is"))
    clock = _clock()
    for name in ("time", "perf_counter", "monotonic", "process_time", "thread_time"):
        setattr(time, name, clock)
        setattr(time, f"{name}_ns", lambda: int(clock() * 1e9))
    time.sleep = _refusal("time.sleep is")
    datetime.date, datetime.datetime = _DateWithoutToday, _DatetimeWithoutNow
    sys.meta_path[:] = [_Absent()]
    sys.path[:] = []
    sys.path_hooks[:] = []
    sys.path_importer_cache.clear()
    for name in _HIDDEN:
        sys.modules.pop(name, None)


def _no_file(event: str, _: object) -> None:
    # Python itself opens the file of a line with a syntax error, which would trap.
    if event == "open":
        raise PermissionError("files are not available in exercises")


class WitWorld(wit_world.WitWorld):
    """The component's exports, called by the host."""

    def load(self, request: str) -> str:
        """Run a program's body."""
        return running.load(json.loads(request))

    def call(self, arguments: str) -> str:
        """Call the program's function."""
        return running.call(json.loads(arguments))


for _name in _ALLOWED.split():
    importlib.import_module(_name)
sys.addaudithook(_no_file)
# Warm up what the first program would otherwise wait for, then forget that program.
running.load({"source": _FIRST_PROGRAM, "entry": "f"})
running.call([{"float": "1.5"}])
running.forget()
_close_doors()
