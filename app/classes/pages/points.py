"""Points that a teacher types."""

import math

from app.classes.people.assignments import MOST_POINTS
from app.core.errors import InputError
from app.core.translation import localized, translate
from app.core.units import in_english


def number_of_points(text: str) -> float:
    """The number that was typed, in the form of the page's language or another; NaN if none was.

    >>> number_of_points(" 2,5 "), number_of_points("1,000")
    (2.5, 1000.0)

    Raises:
        InputError: it may be one number or another.
    """
    try:
        plain = in_english(text.strip())
    except ValueError as error:
        raise InputError(localized(str(error))) from error
    try:
        return float(plain)
    except ValueError:
        return math.nan


def read_points(text: str) -> float | None:
    """The points that were typed; none if nothing was.

    Raises:
        InputError: it is not a number from 0 to the most that an exercise can have.
    """
    if not text.strip():
        return None
    points = number_of_points(text)
    if not 0 <= points <= MOST_POINTS:
        raise InputError(
            translate(
                "points must be a number from 0 to {most_points:,.0f}, not {text!r}",
                most_points=MOST_POINTS,
                text=text.strip()[:40],
            )
        )
    return points
