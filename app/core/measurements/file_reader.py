"""Files of any kind to reports: the one place that knows every reader."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypeAlias

from app.core.errors import InputError
from app.core.measurements.file_kinds import FileContent, content_of
from app.core.measurements.json_output import from_json
from app.core.measurements.reports import CollectiveTest, TrainingLog, Unread
from app.core.measurements.texts import from_text
from app.core.measurements.trace.reader import read_rank, reports
from app.core.measurements.trace.report import RankTrace, TraceReport

# What the readers return; each has `record`, which is what `wallclock measured --json` prints.
REPORTS = (CollectiveTest, TrainingLog, TraceReport, Unread)
Report: TypeAlias = CollectiveTest | TrainingLog | TraceReport | Unread


def read_files(paths: Sequence[Path]) -> list[Report]:
    """What is in the files, in their order; traces of one job are compared with each other.

    A file that cannot be read is one report too, and says why.
    """
    found: list[Report | RankTrace] = []
    for path in paths:
        try:
            found += _read_file_reader(path)
        except InputError as error:
            found.append(Unread(str(error)))
    of_traces = iter(reports([one for one in found if isinstance(one, RankTrace)]))
    return [next(of_traces) if isinstance(one, RankTrace) else one for one in found]


def _read_file_reader(path: Path) -> Iterable[Report | RankTrace]:
    """The reports of one file; a trace is one rank, which is then compared with the others."""
    match content_of(path):
        case FileContent.TRACE:
            with path.open("rb") as file:
                return [read_rank(file, path.name)]
        case FileContent.JSON:
            return _json_or_lines(path)
        case FileContent.TEXT:
            return from_text(path)


def _json_or_lines(path: Path) -> Iterable[Report]:
    """What is in a JSON file, or in a text that begins like one.

    Raises:
        InputError: neither is in it.
    """
    try:
        return from_json(path)
    except InputError as error:
        try:
            return from_text(path)
        except InputError:
            raise error from None
