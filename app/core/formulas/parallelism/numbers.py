"""What the core needs besides + - * /: four names, for plain numbers and for columns of them."""

import math
from typing import Any, Protocol

Value = Any  # a float, or a column of floats


class Numbers(Protocol):
    """Choices and rounding; both sides of a choice are computed, whichever is taken."""

    def where(self, condition: Value, yes: Value, no: Value) -> Value:
        """*yes* where *condition* holds, otherwise *no*."""

    def larger(self, one: Value, other: Value) -> Value:
        """The larger of two."""

    def smaller(self, one: Value, other: Value) -> Value:
        """The smaller of two."""

    def ceil(self, value: Value) -> Value:
        """The next whole number that is not below *value*."""


class _Plain:
    """Python's own."""

    larger = staticmethod(max)
    smaller = staticmethod(min)
    ceil = staticmethod(math.ceil)

    @staticmethod
    def where(condition: Value, yes: Value, no: Value) -> Value:
        return yes if condition else no


PLAIN: Numbers = _Plain()


def columns() -> Numbers:
    """Those of NumPy, which is imported now.

    Raises:
        ImportError: NumPy is not installed.
    """
    import numpy

    class _Columns:
        where = staticmethod(numpy.where)
        larger = staticmethod(numpy.maximum)
        smaller = staticmethod(numpy.minimum)
        ceil = staticmethod(numpy.ceil)

    return _Columns()
