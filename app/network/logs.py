"""The log format: each entry begins with its time, and a client's text cannot forge an entry."""

import logging
import re
import time
from typing import Any

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_BROKEN = "\n  "  # further lines of an entry, such as a traceback, are indented


class Lines(logging.Formatter):
    """Log entries with their time in UTC; control characters are escaped as in Python."""

    converter = staticmethod(time.gmtime)
    default_time_format = "%Y-%m-%dT%H:%M:%S"
    default_msec_format = "%s.%03dZ"

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        """Format one entry; the traceback, too, may contain a client's text."""
        record.message = escaped(record.getMessage())
        record.asctime = self.formatTime(record)
        lines = [self.formatMessage(record)]
        if record.exc_info:
            lines += map(escaped, self.formatException(record.exc_info).split("\n"))
        return _BROKEN.join(lines)


def escaped(text: str) -> str:
    r"""*text* with the characters escaped that move the cursor, or change colors or direction.

    >>> escaped("\x1b[2J ring\n")
    '\\x1b[2J ring\\n'
    """
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def logging_configuration() -> dict[str, Any]:
    """The logging of every process of the server, for `logging.config.dictConfig`."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"lines": {"()": "app.network.logs.Lines"}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "lines"}},
        "root": {"handlers": ["stderr"], "level": "WARNING"},
        "loggers": {
            "uvicorn.access": {"level": "INFO"},
            "uvicorn.error": {"level": "ERROR"},  # warnings are about non-HTTP requests
        },
    }
