"""A cache of what an exercise works out, such as its variants."""

from collections.abc import Callable
from typing import ClassVar, TypeVar

_REMEMBERED = 512  # values, as of the variants of one exercise: each of a class has its own

_K = TypeVar("_K")
_V = TypeVar("_V")


class Remembered(dict[_K, _V]):
    """A cache of values by key; it starts over when there are too many."""

    most: ClassVar[int] = _REMEMBERED

    def of(self, key: _K, work_out: Callable[[], _V]) -> _V:
        """The value of *key*, which *work_out* returns the first time."""
        known = self.get(key)
        return self.keep(key, work_out()) if known is None else known

    def keep(self, key: _K, value: _V) -> _V:
        """*value*, stored as that of *key*."""
        if len(self) >= self.most:
            self.clear()
        self[key] = value
        return value
