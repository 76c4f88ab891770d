"""Days in words, in the current language."""

from datetime import date, datetime

from app.core.translation import noted, translate

_MONTHS = (
    noted("Jan"), noted("Feb"), noted("Mar"), noted("Apr"), noted("May"), noted("Jun"), noted("Jul"), noted("Aug"),
    noted("Sep"), noted("Oct"), noted("Nov"), noted("Dec"),
)  # fmt: skip
_WEEKDAYS = (
    noted("Monday"), noted("Tuesday"), noted("Wednesday"), noted("Thursday"), noted("Friday"), noted("Saturday"),
    noted("Sunday"),
)  # fmt: skip


def short_day(day: date) -> str:
    """*day* without its weekday.

    >>> short_day(date(2026, 10, 2))
    '2 Oct 2026'
    """
    return translate("{day} {month} {year}", day=day.day, month=_month(day), year=day.year)


def short_moment(at: datetime) -> str:
    """*at*, in UTC, to the minute and without its year.

    >>> short_moment(datetime(2026, 10, 2, 9, 5))
    '02 Oct 09:05 UTC'
    """
    return translate("{day} {month} {time} UTC", day=f"{at:%d}", month=_month(at), time=f"{at:%H:%M}")


def weekday(day: date, *, year: bool) -> str:
    """*day* with its weekday, and with its year if that is in doubt.

    >>> weekday(date(2026, 10, 2), year=False)
    'Friday, Oct 2'
    """
    name = translate(_WEEKDAYS[day.weekday()])
    if not year:
        return translate("{weekday}, {month} {day}", weekday=name, month=_month(day), day=day.day)
    return translate("{weekday}, {month} {day}, {year}", weekday=name, month=_month(day), day=day.day, year=day.year)


def _month(day: date) -> str:
    return translate(_MONTHS[day.month - 1])
