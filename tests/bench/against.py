"""What everything costs beside an earlier version: python -m tests.bench.against COMMIT [ROW ...]

Both versions are measured in turn, a row at a time: whatever else the machine does meets both. What is
compared is processor time. ROW is a part of the names of the rows to measure.
"""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from app.core.folders import ROOT
from tests.bench.__main__ import ending_at_once
from tests.bench.rows import Row, chosen, prepared, shown

_TURNS = 5
_MOST = 1.1  # times the earlier cost


def compare(commit: str, rows: tuple[Row, ...]) -> Iterator[tuple[Row, float, float]]:
    """The cost of each of *rows* in seconds, at *commit* and now."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        roots = {"before": _unpacked(commit, folder / "before"), "now": ROOT}
        versions = []
        for name, root in roots.items():
            (folder / f"of {name}").mkdir()
            versions.append(stack.enter_context(prepared(root, folder / f"of {name}", rows)))
        for row in rows:
            costs = [[row.cost(version) for version in versions] for _ in range(_TURNS)]
            before, now = (min(column) for column in zip(*costs, strict=True))  # what is least disturbed
            yield row, before, now


def _unpacked(commit: str, folder: Path) -> Path:
    folder.mkdir()
    with subprocess.Popen(["git", "archive", commit], cwd=ROOT, stdout=subprocess.PIPE) as archive:
        subprocess.run(["tar", "-x", "-C", str(folder)], stdin=archive.stdout, check=True)
    return folder


def main(commit: str, *patterns: str) -> int:
    """Print a line a row; 1 if one costs more than it may."""
    missed = 0
    for row, before, now in compare(commit, chosen(patterns)):
        is_met = now <= _MOST * before
        sys.stdout.write(
            f"{row.name:<40} {shown(before):>9} {shown(now):>9}  × {now / before:<5.2f} {'ok' if is_met else 'MORE'}\n"
        )
        sys.stdout.flush()
        missed += not is_met
    return 1 if missed else 0


if __name__ == "__main__":
    ending_at_once()
    sys.exit(main(*sys.argv[1:]))
