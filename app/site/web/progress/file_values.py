"""Values in a file of progress, and what is wrong with them."""

from datetime import UTC, date, datetime, timedelta

from pydantic import ValidationError

from app.core.quotation import quote_json
from app.core.translation import translate
from app.core.validation import SENTENCES, problems_of
from app.server.db.tables import now

_FIRST = datetime(2020, 1, 1, tzinfo=UTC)  # there was nothing to answer before
_AHEAD = timedelta(days=1)  # that another clock may be


def day_of(text: object) -> date:
    """The day of a guess.

    Raises:
        ValueError: it is not one, or in the future; what it says comes after the place of the row.
    """
    try:
        day = date.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        day = None
    if day is None or not _FIRST.date() <= day <= (now() + _AHEAD).date():
        raise ValueError(translate(".day is {given}: a day such as 2026-03-01 is expected", given=quote_json(text)))
    return day


def row_problem(where: str, error: ValidationError) -> str:
    """The first problem of a row that has all of its fields, and may have more."""
    inside, says = next(problems_of(error.errors(include_url=False)))
    place = ".".join([where, *map(str, inside)])[:100]
    if says == SENTENCES["missing"]:
        return translate("{place} is missing", place=place)
    return f"{place} {says}"


def parse_moment(text: object) -> datetime:
    """The moment that *text* names.

    Raises:
        ValueError: it is not one; what it says comes after the place of the row.
    """
    try:
        at = datetime.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        at = None
    if at is None or at.tzinfo is None or not _FIRST <= at <= now() + _AHEAD:
        raise ValueError(
            translate(
                ".at is {given}: a time between 2020 and today, such as 2026-03-01T12:00:00Z, is expected",
                given=quote_json(text),
            )
        )
    return at.astimezone(UTC)
