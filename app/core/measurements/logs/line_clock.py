"""When a line of a log was written, and which rank wrote it."""

import re
from datetime import datetime

_STAMP = re.compile(r"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?")
_AMERICAN = re.compile(r"\b(\d\d)/(\d\d)/(\d{4}) (\d\d:\d\d:\d\d)")
_ELAPSED = re.compile(r"(?:\[|elapsed_time\W{1,4})(?:(\d{1,3}) days?, )?(?:(\d{1,4}):)?(\d\d?):(\d\d)")
_SOURCE = re.compile(r"^\W{0,3}(?:\w{0,9}rank\W?(\d{1,6})\b|(?:default)?(\d{1,6})\]?:(?!\d)|\d+,(\d+)\])")


def line_source(line: str) -> str:
    """The rank that printed *line*; empty if it does not say."""
    found = _SOURCE.search(line)
    return next(filter(None, found.groups()), "") if found else ""


def has_date(text: str) -> bool:
    """Whether *text* has a day and a time."""
    return bool(_STAMP.search(text) or _AMERICAN.search(text))


def line_clock(line: str) -> tuple[float | None, bool]:
    """When *line* was written, in seconds, and whether it has parts of a second."""
    if stamp := _STAMP.search(line):
        day, time, part = stamp.groups()
    elif american := _AMERICAN.search(line):
        month, date, year, time = american.groups()
        day, part = f"{year}-{month}-{date}", None
    elif elapsed := _ELAPSED.search(line):
        days, hours, minutes, seconds = (int(text or 0) for text in elapsed.groups())
        return ((days * 24 + hours) * 60 + minutes) * 60.0 + seconds, False
    else:
        return None, False
    try:
        whole = datetime.fromisoformat(f"{day}T{time}+00:00").timestamp()
    except ValueError:  # no such day
        return None, False
    return whole + float(f"0.{part or 0}"), bool(part)
