"""`wallclock lab show --beside`: a run beside the output of nccl-tests, size by size."""

import json
import sys
from pathlib import Path

from app.commands.files import write_rows
from app.core.errors import InputError
from app.core.measurements.reports import CollectiveTest
from app.labs.results.report import Report
from app.server.aside.measured_files import measured_apart
from app.site.labs.nccl_tests import SIZE_COLUMNS, compare_sizes, difference_text, is_same_test


def show_beside(report: Report, path: Path, *, as_json: bool) -> int:
    """Print *report* and the test of nccl-tests in the file at *path*, size by size."""
    tests = [one for one in measured_apart([path]) if isinstance(one, CollectiveTest)]
    if not tests:
        raise InputError(f"{path.name} has no table of nccl-tests")
    of_same = [one for one in tests if is_same_test(report, one)]
    pairs = compare_sizes(report, (of_same or tests)[0])
    if as_json:
        rows = [
            {"size": one.size, "time": one.ours.median, "nccl_tests": one.theirs.median, "ratio": one.ratio}
            for one in pairs
        ]
        sys.stdout.write(json.dumps(rows) + "\n")
        return 0
    write_rows([SIZE_COLUMNS, *(one.cells() for one in pairs)])
    sys.stdout.write(f"\n{difference_text(pairs)}\n")
    return 0
