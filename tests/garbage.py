"""What a test leaves open is found at its end and named after it: files, sockets, coroutines.

Most of it is closed, with a warning, when its last name is gone. What lies in a cycle is closed when
Python collects garbage, which would name whichever test runs at that moment.
"""

import gc
import sys
from collections.abc import Generator
from contextlib import contextmanager

import pytest

_YOUNG = 50_000  # objects between two looks at the youngest: a look at each 700 takes 5 % more time
_NEVER = 1_000_000
gc.disable()  # until all is collected: the tests stay alive to the end


class LeftOpenError(Exception):
    """What a test left open."""


def pytest_collection_finish() -> None:
    """From here on, what a test makes is in the two young generations until its end.

    The oldest has what was there before, and is looked at when a file ends; the tests themselves
    are never looked at. (The collector of Python 3.14.0 to 3.14.4 has one young generation: there,
    what a long test left may be named after the last test of its file.)
    """
    gc.freeze()
    gc.set_threshold(_YOUNG, _NEVER, _NEVER)
    gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None, object, object]:
    """Collect the garbage of a test; after the last one of a file, also that of the file's fixtures.

    Raises:
        LeftOpenError: there was something that should have been closed.
    """
    try:
        return (yield)
    finally:
        is_last = nextitem is None or nextitem.path != item.path
        with _closing() as found:
            getattr(item, "funcargs", {}).clear()
            gc.collect(2 if is_last else 1)
        if found:
            raise LeftOpenError("; ".join(found))


@contextmanager
def _closing() -> Generator[list[str]]:
    """What goes wrong, or is warned of, where nothing can be raised."""
    found: list[str] = []
    before = sys.unraisablehook
    sys.unraisablehook = lambda one: found.append(
        f"{one.exc_type.__name__}: {one.exc_value} ({one.err_msg or 'in'} {one.object!r})"
    )
    try:
        yield found
    finally:
        sys.unraisablehook = before


def pytest_unconfigure() -> None:
    """Look for no garbage again, as pytest does, and the interpreter at its end."""
    gc.freeze()
