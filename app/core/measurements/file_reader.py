"""Files of any kind to reports, told by what is in them; reports as JSON and back."""

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from typing import TypeAlias

from pydantic import TypeAdapter, ValidationError

from app.core.errors import InputError
from app.core.measurements.json_output import from_json
from app.core.measurements.packed_files import file_head, text_lines, unwrapped_lines
from app.core.measurements.readers import TEXT_READERS, TextReader
from app.core.measurements.reports import CollectiveTest, MemoryShortage, TextReport, TrainingLog, UnreadFile
from app.core.measurements.trace.reader import read_rank, reports
from app.core.measurements.trace.report import RankTrace, TraceReport
from app.core.quotation import visible_lines

_SNIFFED = 1 << 18  # bytes at the beginning of a file that decide
# A dictionary as Python prints it begins with another quote, and is a line of a log.
_JSON = re.compile(rb"^(?:\xef\xbb\xbf)?\s*(?:\[\s*)?(?:\{\s*[\"}]|\{\s*$|(?<=\[)\s*\])")
_TRACE = re.compile(rb'"(?:traceEvents|ph|schemaVersion|deviceProperties|distributedInfo|displayTimeUnit)"\s*:')
_A_TRACE = "a trace of the PyTorch profiler"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_OTHERS = {
    b"\x80\x02": "a pickle, such as a snapshot of memory",
    b"\x80\x03": "a pickle, such as a snapshot of memory",
    b"\x80\x04": "a pickle, such as a snapshot of memory",
    b"\x80\x05": "a pickle, such as a snapshot of memory",
    b"PK": "a zip archive",
    b"SQLite format 3": "a SQLite database, such as an export of Nsight Systems",
    b"%PDF": "a PDF",
    b"\x89PNG": "a picture",
    b"\xff\xd8": "a picture",
    b"\x28\xb5\x2f\xfd": "packed by zstd",
    b"BZh": "packed by bzip2",
    b"\xfd7zXZ": "packed by xz",
    b"\x7fELF": "a program",
}


def _read_file_kinds() -> str:
    """A list of what is read."""
    texts = [reader for reader in TEXT_READERS if reader.reads]
    tests = [reader.reads for reader in texts if not reader.takes_the_rest]
    logs = [reader.reads for reader in texts if reader.takes_the_rest]
    every = [*tests, _A_TRACE, *logs]
    return f"{', '.join(every[:-1])}, or {every[-1]}"


def from_text(path: Path) -> list[TextReport]:
    """The tests and logs in *path*; where there are none, in its lines put together again.

    Raises:
        InputError: it has neither.
    """
    readers = [reader() for reader in TEXT_READERS]
    cut = _read_lines(text_lines(path), readers)
    trouble = cut.replace(path.name, "the file", 1)  # a report names no file
    found = _reports(readers, trouble)
    if not any(map(_has_numbers, found)) and not cut and (lines := unwrapped_lines(path)):
        again = [reader() for reader in TEXT_READERS]
        _read_lines(lines, again)
        whole = _reports(again, "the lines were cut at one width, and are put together here")
        found = whole if any(map(_has_numbers, whole)) else found
    if not found:
        missing = " and ".join(f"no {one.looks}" for one in TEXT_READERS if one.looks)
        seen = next((f" looks like {one.refusal}; it" for one in readers if one.refusal), "")
        raise InputError(cut or f"{path.name}{seen} has {missing}")
    return found


def _read_lines(lines: Iterable[str], readers: Sequence[TextReader]) -> str:
    """Give each line to the first reader that takes it; why there were no further ones."""
    takes = [reader.take for reader in readers]
    try:
        for line in lines:
            for take in takes:
                if take(line):
                    break
    except InputError as error:
        return str(error)
    return ""


def _reports(readers: Sequence[TextReader], trouble: str) -> list[TextReport]:
    return [report for reader in readers for report in reader.reports(trouble)]


def _has_numbers(report: TextReport) -> bool:
    return not isinstance(report, CollectiveTest) or bool(report.rows)


# What the readers return; each has `record`, which is what `wallclock measured --json` prints.
REPORTS = (CollectiveTest, TrainingLog, MemoryShortage, TraceReport, UnreadFile)
Report: TypeAlias = TextReport | TraceReport | UnreadFile


def read_files(paths: Sequence[Path]) -> list[Report]:
    """What is in the files in their order, or why one cannot be read; traces of one job are compared."""
    found: list[Report | RankTrace] = []
    for path in paths:
        try:
            found += _read_file_reader(path)
        except InputError as error:
            found.append(UnreadFile(str(error)))
    of_traces = iter(reports([one for one in found if isinstance(one, RankTrace)]))
    return [next(of_traces) if isinstance(one, RankTrace) else one for one in found]


def _read_file_reader(path: Path) -> Iterable[Report | RankTrace]:
    """The reports of one file, told by its beginning; a trace is one rank, which is then compared with the others."""
    head = file_head(path, _SNIFFED)
    _refuse_beginning(path.name, head)
    if not _JSON.match(head):
        return from_text(path)
    if _TRACE.search(head):
        with path.open("rb") as file:
            return [read_rank(file, path.name)]
    try:  # a text may begin like JSON
        return from_json(path)
    except InputError as error:
        try:
            return from_text(path)
        except InputError:
            raise error from None


def _refuse_beginning(name: str, head: bytes) -> None:
    if not head.strip():
        raise InputError(f"{name} is empty")
    for magic, what in _OTHERS.items():
        if head.startswith(magic):
            raise InputError(f"{name} is {what}; expected {_read_file_kinds()}")
    if b"\0" in head[:1024] and not head.startswith(_UTF16):
        raise InputError(f"{name} is not text; expected {_read_file_kinds()}")


_LARGEST = 1e18  # of any number in a report
_DEEPEST = 12
_REPORT_KINDS: Mapping[str, type[Report]] = {kind.__name__: kind for kind in REPORTS}


def report_values(report: Report) -> dict[str, object]:
    """*report* and what kind it is, for JSON."""
    return {"kind": type(report).__name__, "report": asdict(report)}


def report_in(found: Mapping[str, object]) -> Report:
    """The report that `plain` made, without signs that cannot be seen: a stranger wrote the file.

    Raises:
        ValidationError: it is not one.
        KeyError: its kind is not known.
    """
    return _adapter(str(found["kind"])).validate_python(_seen(found["report"]))


def _seen(found: object) -> object:
    if isinstance(found, str):
        return visible_lines(found)
    if isinstance(found, dict):
        return {_seen(name): _seen(one) for name, one in found.items()}
    return [_seen(one) for one in found] if isinstance(found, list | tuple) else found


@cache
def _adapter(kind: str) -> TypeAdapter[Report]:
    """Made when a report is first read: all of them would take a twelfth of a server's start."""
    return TypeAdapter(_REPORT_KINDS[kind])


def saved_report(report: Report) -> str:
    """*report* as it is saved: a file's name, which may say whose it is, is left out."""
    if isinstance(report, TraceReport):
        report = replace(report, name="")
    return json.dumps(report_values(report), allow_nan=False, separators=(",", ":"))


def read_stored(text: str) -> Report:
    """The report that `stored` wrote, or that someone wrote by hand.

    Raises:
        InputError: it is not one, or has a number that no measurement has.
    """
    try:
        found = json.loads(text)
        _refuse_wild(found)
        return report_in(found)
    except (ValidationError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise InputError("this is not a measurement that was saved") from error


def _refuse_wild(found: object, depth: int = 0) -> None:
    """Refuse numbers that are not finite or too large, and what is nested too deeply."""
    if isinstance(found, float | int) and not abs(found) <= _LARGEST:
        raise ValueError(f"{found} is not the result of a measurement")
    if depth > _DEEPEST or (isinstance(found, float) and not math.isfinite(found)):
        raise ValueError("nested too deeply")
    if isinstance(found, dict | list):
        for one in found.values() if isinstance(found, dict) else found:
            _refuse_wild(one, depth + 1)
