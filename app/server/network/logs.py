"""The log format: each entry begins with its time, and a client's text cannot forge an entry."""

import json
import logging
import re
import time
from typing import Any, Literal

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
        record.message = escape_control(record.getMessage())
        record.asctime = self.formatTime(record)
        lines = [self.formatMessage(record)]
        if record.exc_info:
            lines += map(escape_control, self.formatException(record.exc_info).split("\n"))
        return _BROKEN.join(lines)


def escape_control(text: str) -> str:
    r"""*text* with the characters escaped that move the cursor, or change colors or direction.

    >>> escape_control("\x1b[2J ring\n")
    '\\x1b[2J ring\\n'
    """
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


class Objects(Lines):
    """Log entries as objects of JSON, one a line, with the fields of a request."""

    def format(self, record: logging.LogRecord) -> str:
        """Format one entry; json escapes control characters."""
        entry = {
            "time": self.formatTime(record),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            entry["traceback"] = self.formatException(record.exc_info)
        return json.dumps(entry)


def logging_configuration(form: Literal["text", "json"] = "text") -> dict[str, Any]:
    """The logging of every process of the server, for `logging.config.dictConfig`."""
    formatter = Objects if form == "json" else Lines
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"lines": {"()": formatter}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "lines"}},
        "root": {"handlers": ["stderr"], "level": "WARNING"},
        "loggers": {
            "app.access": {"level": "INFO"},
            "uvicorn.error": {"level": "ERROR"},  # warnings are about non-HTTP requests
        },
    }
