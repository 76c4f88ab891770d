"""In place of the measurements of a server, in a browser, which stores none."""

from app.server.db.tables import Row

REPORT_LIMIT = 0


class MeasurementRow(Row):
    """A measurement of a server."""


def is_measurement_name(_: str) -> bool:
    """Whether a file's measurement can be taken: it cannot."""
    return False
