"""Files of any kind to reports: the one place that knows every reader."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

from app.errors import InputError
from app.measurements.json_output import from_json
from app.measurements.recognizing import Content, content_of
from app.measurements.reports import Json, Unread
from app.measurements.texts import from_text


class Report(Protocol):
    """What a reader returns: a test, a log, a trace, or why there is none."""

    def record(self) -> dict[str, Json]:
        """As `wallclock measured --json` prints it."""


def measured(paths: Sequence[Path]) -> list[Report]:
    """What is in the files, in their order; those of one kind that belong together are one report.

    A file that cannot be read is one report too, and says why.
    """
    found: list[Report] = []
    traces: list[Path] = []
    for path in paths:
        try:
            found += _read(path, traces)
        except InputError as error:
            found.append(Unread(str(error)))
    return [*found, *_traces(traces)]


def _read(path: Path, traces: list[Path]) -> Iterable[Report]:
    """The reports of one file; a trace is put aside, as those of all ranks are read together."""
    match content_of(path):
        case Content.TRACE:
            traces.append(path)
            return ()
        case Content.TESTS_AS_JSON:
            return from_json(path)
        case Content.TEXT:
            return from_text(path)


def _traces(paths: Sequence[Path]) -> Iterator[Report]:
    """The report of the traces, one file a rank. The reader of traces is called here."""
    for path in paths:
        yield Unread(f"{path.name} is {Content.TRACE.value}, which this version does not read")
