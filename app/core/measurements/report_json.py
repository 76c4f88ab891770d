"""Reports as JSON and back: between processes, in the database, in a file of one's progress."""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, replace
from functools import cache

from pydantic import TypeAdapter, ValidationError

from app.core.errors import InputError
from app.core.measurements.file_reader import REPORTS, Report
from app.core.measurements.trace.report import TraceReport
from app.core.quotation import visible_lines

_LARGEST = 1e18  # of any number in a report
_DEEPEST = 12
_KINDS: Mapping[str, type[Report]] = {kind.__name__: kind for kind in REPORTS}


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
    return TypeAdapter(_KINDS[kind])


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
