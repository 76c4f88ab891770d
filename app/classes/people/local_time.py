"""Dates as people write and read them: on the calendar and the clock of a time zone."""

import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from app.core.errors import InputError
from app.core.translation import noted, plural, translate
from app.core.translation.dates import weekday

# Python 3.14 reads 24:00 as the start of the next day; some who type it mean that of this one.
_TYPED = re.compile(r"\d{4}-\d\d-\d\dT([01]\d|2[0-3]):\d\d(:\d\d)?")
_FIRST, _LAST = 2000, 2200  # years
_HOUR, _MINUTE = 3600, 60
_TWICE_FIRST = noted(
    "clocks in {zone} show {typed:%H:%M} twice on {day}: the first is used, which is {chosen:%H:%M} UTC"
)
_TWICE_SECOND = noted(
    "clocks in {zone} show {typed:%H:%M} twice on {day}: the second is used, which is {chosen:%H:%M} UTC"
)


@dataclass(frozen=True, slots=True)
class LocalMoment:
    """A point in time; *note* says what was decided where clocks are changed."""

    at: datetime
    note: str = ""


def read_moment(text: str, zone: ZoneInfo, *, ends: bool) -> LocalMoment:
    """The moment that clocks in *zone* show as *text*, such as 2026-10-02T23:59.

    A time that clocks skip is as far after the change as it was meant to be. Of a time that comes
    twice, what *ends* takes the second, and what begins the first: nobody loses an hour.

    Raises:
        InputError: it is not such a time.
    """
    return local_moment(_typed(text), zone, ends=ends)


def local_moment(typed: datetime, zone: ZoneInfo, *, ends: bool) -> LocalMoment:
    """The moment that clocks in *zone* show as *typed*; see `read_moment`.

    Raises:
        InputError: the year is too far away.
    """
    if not _FIRST <= typed.year < _LAST:
        raise InputError(
            translate(
                "the year must be from {first} to {last}, not {year}", first=_FIRST, last=_LAST - 1, year=typed.year
            )
        )
    early, late = (typed.replace(tzinfo=zone, fold=fold) for fold in (0, 1))
    if early.utcoffset() == late.utcoffset():
        return LocalMoment(early.astimezone(UTC))
    moved = early.astimezone(UTC).astimezone(zone)
    if moved.replace(tzinfo=None) != typed:
        says = translate(
            "clocks in {zone} skip {typed:%H:%M} on {day}: {moved:%H:%M} is used",
            zone=zone.key,
            typed=typed,
            day=weekday(typed, year=True),
            moved=moved,
        )
        return LocalMoment(moved.astimezone(UTC), says)
    chosen = late if ends else early
    says = translate(
        _TWICE_SECOND if ends else _TWICE_FIRST,
        zone=zone.key,
        typed=typed,
        day=weekday(typed, year=True),
        chosen=chosen.astimezone(UTC),
    )
    return LocalMoment(chosen.astimezone(UTC), says)


def _typed(text: str) -> datetime:
    if _TYPED.fullmatch(text):
        with suppress(ValueError):  # such as February 30
            return datetime.fromisoformat(text)
    raise InputError(translate("cannot read {text!r} as a date and time; write it as 2026-10-02T23:59", text=text[:40]))


def field_text(at: datetime | None, zone: ZoneInfo) -> str:
    """*at* as a field for a date and time holds it; empty if there is none."""
    return f"{at.astimezone(zone):%Y-%m-%dT%H:%M}" if at else ""


def in_words(at: datetime, zone: ZoneInfo, now: datetime) -> str:
    """*at* with its day of the week, and how far away it is.

    >>> now = datetime(2026, 9, 26, 9, 0, tzinfo=UTC)
    >>> in_words(datetime(2026, 10, 2, 21, 59, tzinfo=UTC), ZoneInfo("Europe/Berlin"), now)
    'Friday, Oct 2, 23:59, in 6 days'
    """
    return f"{on_the_calendar(at, zone, now)}, {how_far(at, zone, now)}"


def on_the_calendar(at: datetime, zone: ZoneInfo, now: datetime) -> str:
    """*at* with its day of the week; with the year, if it is another than that of *now*."""
    local = at.astimezone(zone)
    day = weekday(local, year=local.year != now.astimezone(zone).year)
    return f"{day}, {local:%H:%M}"


def how_far(at: datetime, zone: ZoneInfo, now: datetime) -> str:
    """How far *at* is from *now*: by the calendar from a day on, else by the clock.

    >>> now = datetime(2026, 9, 26, 9, 0, tzinfo=UTC)
    >>> how_far(now + timedelta(hours=3), ZoneInfo("UTC"), now)
    'in 3 hours'
    >>> how_far(now - timedelta(days=1), ZoneInfo("UTC"), now)
    'yesterday'
    """
    days = (at.astimezone(zone).date() - now.astimezone(zone).date()).days
    apart = (at - now).total_seconds()
    if abs(apart) < timedelta(hours=12).total_seconds() or days == 0:
        return _by_the_clock(apart)
    if abs(days) == 1:
        return translate("tomorrow") if days > 0 else translate("yesterday")
    if days > 0:
        return plural("in {number:,} day", "in {number:,} days", days)
    return plural("{number:,} day ago", "{number:,} days ago", -days)


def _by_the_clock(seconds: float) -> str:
    size = abs(seconds)
    if size < _MINUTE:
        return translate("now")
    if size >= _HOUR:
        hours = int(size // _HOUR)
        if seconds > 0:
            return plural("in {number} hour", "in {number} hours", hours)
        return plural("{number} hour ago", "{number} hours ago", hours)
    minutes = int(size // _MINUTE)
    if seconds > 0:
        return plural("in {number} minute", "in {number} minutes", minutes)
    return plural("{number} minute ago", "{number} minutes ago", minutes)
