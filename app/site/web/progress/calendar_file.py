"""A calendar file with one event of every week, as RFC 5545 has it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime

_LONGEST = 75  # bytes of a line, without its end
_ESCAPED = re.compile(r"[\\;,]")


@dataclass(frozen=True, slots=True, kw_only=True)
class WeeklyEvent:
    """An event of a whole day, each week from *first* on; *url* is empty if there is none.

    A calendar that reads another event with the same *uid* takes it as a change of this one.
    """

    uid: str
    first: date
    summary: str
    description: str
    url: str


def calendar_file(event: WeeklyEvent, now: datetime) -> bytes:
    """The calendar with *event*, written at *now*."""
    lines = [
        "BEGIN:VCALENDAR",
        "VERSION:2.0",
        "PRODID:-//Wallclock//Weekly goal//EN",
        "CALSCALE:GREGORIAN",
        "METHOD:PUBLISH",
        "BEGIN:VEVENT",
        f"UID:{escaped(event.uid)}",
        f"DTSTAMP:{now.astimezone(UTC):%Y%m%dT%H%M%SZ}",
        f"DTSTART;VALUE=DATE:{event.first:%Y%m%d}",
        "RRULE:FREQ=WEEKLY",
        f"SUMMARY:{escaped(event.summary)}",
        f"DESCRIPTION:{escaped(event.description)}",
        *([f"URL:{event.url}"] if event.url else []),
        "TRANSP:TRANSPARENT",
        "END:VEVENT",
        "END:VCALENDAR",
    ]
    return b"".join(part + b"\r\n" for line in lines for part in _folded(line))


def escaped(text: str) -> str:
    r"""*text* as the value of a property that is a text.

    >>> escaped("a, b; c\\d\ne")
    'a\\, b\\; c\\\\d\\ne'
    """
    marked = _ESCAPED.sub(lambda found: f"\\{found[0]}", text)
    return "\\n".join(marked.splitlines())


def _folded(line: str) -> Iterator[bytes]:
    """*line* in parts of at most 75 bytes, none of which ends inside of a character."""
    part = b""
    for character in line:
        more = character.encode()
        if len(part) + len(more) > _LONGEST:
            yield part
            part = b" "
        part += more
    yield part
