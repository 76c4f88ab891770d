"""Files of any kind to reports: the one place that knows every reader."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypeAlias

from app.errors import InputError
from app.measurements.json_output import from_json
from app.measurements.recognizing import Content, content_of
from app.measurements.reports import CollectiveTest, TrainingLog, Unread
from app.measurements.texts import from_text
from app.measurements.trace.reading import read_rank, reports
from app.measurements.trace.report import Rank, TraceReport

# What the readers return; each has `record`, which is what `wallclock measured --json` prints.
REPORTS = (CollectiveTest, TrainingLog, TraceReport, Unread)
Report: TypeAlias = CollectiveTest | TrainingLog | TraceReport | Unread


def measured(paths: Sequence[Path]) -> list[Report]:
    """What is in the files, in their order; traces of one job are compared with each other.

    A file that cannot be read is one report too, and says why.
    """
    found: list[Report | Rank] = []
    for path in paths:
        try:
            found += _read(path)
        except InputError as error:
            found.append(Unread(str(error)))
    of_traces = iter(reports([one for one in found if isinstance(one, Rank)]))
    return [next(of_traces) if isinstance(one, Rank) else one for one in found]


def _read(path: Path) -> Iterable[Report | Rank]:
    """The reports of one file; a trace is one rank, which is then compared with the others."""
    match content_of(path):
        case Content.TRACE:
            with path.open("rb") as file:
                return [read_rank(file, path.name)]
        case Content.TESTS_AS_JSON:
            return from_json(path)
        case Content.TEXT:
            return from_text(path)
