"""The log: a line begins with its time, and what a visitor sent cannot pretend to be one."""

import logging
import re
import time
from typing import Any

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_BROKEN = "\n  "  # further lines of an entry, such as a traceback, are set in


class Lines(logging.Formatter):
    """Entries with their time in UTC; control characters are written as Python escapes them."""

    converter = staticmethod(time.gmtime)
    default_time_format = "%Y-%m-%dT%H:%M:%S"
    default_msec_format = "%s.%03dZ"

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        """One entry; the last line of a traceback, too, may hold what a visitor sent."""
        record.message = plain(record.getMessage())
        record.asctime = self.formatTime(record)
        lines = [self.formatMessage(record)]
        if record.exc_info:
            lines += map(plain, self.formatException(record.exc_info).split("\n"))
        return _BROKEN.join(lines)


def plain(text: str) -> str:
    r"""*text* without characters that move the cursor, change colors or the direction.

    >>> plain("\x1b[2J ring\n")
    '\\x1b[2J ring\\n'
    """
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def logging_configuration() -> dict[str, Any]:
    """How everything is logged, for `logging.config.dictConfig`, in every process of the server."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"lines": {"()": "app.network.logs.Lines"}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "lines"}},
        "root": {"handlers": ["stderr"], "level": "WARNING"},
        "loggers": {
            "uvicorn.access": {"level": "INFO"},
            "uvicorn.error": {"level": "ERROR"},  # warnings are of requests that are not HTTP
        },
    }
