"""Rows for the queue of lab runs."""

from itertools import count
from typing import Any

from app.server.db.tables import LabRunRow

_NUMBERS = count()


def run(**changes: Any) -> LabRunRow:
    """A queued run."""
    values: dict[str, Any] = {
        "name": f"run-{next(_NUMBERS)}", "lab": "ring-bytes", "given": "{}", "backend": "gloo",
        "host": "here", "pool": "here:cpu", "learner": "l",
    }  # fmt: skip
    return LabRunRow(**{**values, **changes})
