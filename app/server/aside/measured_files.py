"""Files of measurements, read in a process of its own: strangers send them."""

import json
from collections.abc import Sequence
from pathlib import Path

from app.core.errors import InputError
from app.core.measurements.file_reader import Report, read_files, report_in, report_values
from app.server.aside.child_process import ReadingChildren

SECONDS = 60.0  # of processor time, for all files that are read at once
_READERS = ReadingChildren()


def measured_apart(paths: Sequence[Path]) -> list[Report]:
    """What is in the files, as `read_files` finds it, read in a process of its own.

    Raises:
        InputError: reading takes more memory or time than is allowed.
    """
    try:
        found = _READERS.run(SECONDS, measured_as_json, tuple(paths))
    except ValueError as error:
        raise InputError("the files cannot be read: they are damaged in a way that no reader expects") from error
    return [report_in(one) for one in json.loads(found)]


def measured_as_json(paths: Sequence[Path]) -> str:
    """What is in the files, as JSON.

    Raises:
        ValueError: a number in them is not finite.
    """
    return json.dumps([report_values(one) for one in read_files(paths)], allow_nan=False)
