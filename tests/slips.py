"""What a slip makes of a value in a file or a request: an empty list, an entry twice, an odd number."""

import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from typing import Any

Place = tuple[str | int, ...]
_LONGEST = 4.0  # seconds of processor time: a second, on a machine that counts slowly
_NUMBER = re.compile(r"\d+(\.\d+)?")
_NUMBERS = (0, -1, 10**308, 1e308, float("inf"), float("nan"))


@contextmanager
def ended_soon() -> Iterator[None]:
    """Fails what takes long, even if it never ends."""

    def give_up(*_: object) -> None:
        raise AssertionError(f"took more than {_LONGEST} s of processor time")

    before = signal.signal(signal.SIGVTALRM, give_up)
    signal.setitimer(signal.ITIMER_VIRTUAL, _LONGEST)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def places(value: Any, where: Place = ()) -> Iterator[tuple[Place, Any]]:
    """Every value inside *value*, and its place."""
    if where:
        yield where, value
    inside = dict(enumerate(value)) if isinstance(value, list) else value
    for key, part in inside.items() if isinstance(inside, dict) else ():
        yield from places(part, (*where, key))


def replaced(values: Any, where: Place, value: Any) -> Any:
    """A copy of *values* with another *value* at a place."""
    copied = inner = deepcopy(values)
    for part in where[:-1]:
        inner = inner[part]
    inner[where[-1]] = value
    return copied


def slips(value: Any) -> Iterator[Any]:
    """What a slip makes of one *value*."""
    yield None
    if isinstance(value, list | dict):
        yield type(value)()
    if isinstance(value, list):
        yield from ([*value[:place], value[place - 1], *value[place:]] for place in range(len(value)))
    elif isinstance(value, str):
        yield ""
        for found in list(_NUMBER.finditer(value))[:2]:
            around = value[: found.start()], value[found.end() :]
            yield from (number.join(around) for number in ("0", "-1", "1e308"))
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield from _NUMBERS
