"""When two results are alike. (The sandbox runs this, too: it needs the standard library alone.)"""

import math

CLOSE = 1e-6
_NOTHING = 1e-12


def alike(value: object, expected: object) -> bool:
    """Whether *value* is as good as *expected*.

    Lists and tuples are compared part by part, and either may stand for the other. An int may be a
    float that equals it; a float must come close. True is not 1.
    """
    if isinstance(expected, list | tuple):
        return (
            isinstance(value, list | tuple)
            and len(value) == len(expected)
            and all(alike(part, other) for part, other in zip(value, expected, strict=True))
        )
    if type(expected) is float:
        return type(value) in (int, float) and close(as_float(value), expected)
    if type(expected) is int:
        return type(value) in (int, float) and value == expected
    return type(value) is type(expected) and value == expected


def close(value: float, expected: float) -> bool:
    """Whether *value* differs from *expected* by less than anybody could care about."""
    return math.isclose(value, expected, rel_tol=CLOSE, abs_tol=_NOTHING)


def as_float(value: object) -> float:
    """*value* as a float; nan when it is not a number, or too large for one."""
    try:
        return float(value) if isinstance(value, int | float) else math.nan
    except OverflowError:
        return math.nan
