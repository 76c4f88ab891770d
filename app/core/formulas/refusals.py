"""Errors about arguments that are not legal, for formulas that compare one with another."""

from collections.abc import Sequence

from app.core.translation import noted, say


def too_large(name: str, value: object, most: object) -> ValueError:
    """*name* must be at most *most*."""
    return ValueError(say("{name} must be at most {most}, not {value}", name=name, most=most, value=value))


def larger_than(name: str, value: object, what: str, most: object) -> ValueError:
    """*name* must be at most *what*, such as "the experts", of which there are *most*."""
    form = noted("{name} must be at most {what}, {most}, not {value}")
    return ValueError(say(form, name=name, what=what, most=most, value=value))


def not_below(name: str, value: object, what: str, limit: object) -> ValueError:
    """*name* must be below *what*, which is *limit*."""
    form = noted("{name} must be below {what}, {limit}, not {value}")
    return ValueError(say(form, name=name, what=what, limit=limit, value=value))


def nearest_of(values: Sequence[object]) -> str:
    """That the nearest are *values*, of which there are one or two."""
    if len(values) == 1:
        return say("the nearest is {number}", number=values[0])
    return say("the nearest are {below} and {above}", below=values[0], above=values[1])


def not_even(name: str, value: object) -> ValueError:
    """*name* must be even."""
    return ValueError(say("{name} must be even, not {value}", name=name, value=value))
