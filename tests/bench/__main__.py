"""Measures what everything costs, each beside a peer, in eight minutes: python -m tests.bench [ROW ...]

ROW is a part of the name of a row, or one of the benches in RARE, which take longer and are run by name.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
from importlib import import_module
from pathlib import Path

from app.core.folders import ROOT
from tests.bench.figures import row
from tests.bench.load import bound_to_us
from tests.bench.rows import Ratio, chosen, prepared, ratio_of, shown

ALWAYS = ("page", "search", "schedules")
RARE = ("sandbox", "siege", "hall", "batch", "traces", "labs", "people", "class", "rivals")
_LONGEST = 900  # seconds of one bench: on a quiet machine each takes less than two minutes


def main(names: list[str]) -> int:
    """Print a line a row; 1 if one misses its bound, or could not be measured."""
    ending_at_once()
    if names[:1] == ["--alone"]:
        return _measure(names[1])
    sys.stdout.write(f"other work on this machine: {_other_work():.1f} of {os.cpu_count()} cores\n")
    benches = [name for name in (*ALWAYS, *RARE) if name in names] if names else ALWAYS
    patterns = [name for name in names if name not in (*ALWAYS, *RARE)]
    codes = [_measure_rows(patterns)] if patterns or not names else []
    trouble = []
    for name in benches:
        code, why = _run(name)
        codes.append(code)
        if why:
            trouble.append(f"{name} could not be measured to its end: {why}\n")
    sys.stdout.writelines(trouble)
    return 1 if any(codes) else 0


def ending_at_once() -> None:
    """Leave as after Ctrl-C when something ends this process: what it has started ends with it."""

    def leave(*_: object) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, leave)


def _measure_rows(patterns: list[str]) -> int:
    rows = chosen(patterns)
    if not rows:
        sys.stdout.write(f"no row has {' or '.join(patterns)} in its name\n")
        return 1
    missed = 0
    with tempfile.TemporaryDirectory() as folder, prepared(ROOT, Path(folder), rows) as version:
        for number, one in enumerate(rows, 1):
            if sys.stderr.isatty():
                sys.stderr.write(f"\r{number} of {len(rows)}: {one.name}\x1b[K\r")
            found = ratio_of(one, version)
            sys.stdout.write(_line(found))
            sys.stdout.flush()
            missed += found.times > one.most
    return 1 if missed else 0


def _line(found: Ratio) -> str:
    peer = f"{found.row.peer} ({shown(found.peer)})"
    mark = "ok" if found.times <= found.row.most else "MISSED"
    return f"{found.row.name:<40} {shown(found.seconds):>9} = {found.times:<6.3g} × {peer:<44} ≤ {found.row.most:<5g} {mark}\n"


def _measure(name: str) -> int:
    missed = 0
    for figure in import_module(f"tests.bench.bench_{name}").measure():
        sys.stdout.write(row(figure))
        sys.stdout.flush()
        missed += not figure.met
    return 1 if missed else 0


def _run(name: str) -> tuple[int, str]:
    """The exit status of a bench, and why it did not come to its end; empty if it did."""
    sys.stdout.flush()
    command = [sys.executable, "-m", "tests.bench", "--alone", name]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, preexec_fn=bound_to_us) as process:
        try:
            _, said = process.communicate(timeout=_LONGEST)
        except subprocess.TimeoutExpired:
            process.terminate()
            return 1, f"it took longer than {_LONGEST:,} s"
        except BaseException:
            process.terminate()
            raise
    lines = said.strip().splitlines()
    failed = process.returncode and any(line.startswith("Traceback") for line in lines)
    return process.returncode, lines[-1] if failed else ""


def _other_work() -> float:
    """The cores that other programs keep busy, over a second in which this one sleeps."""
    begin, cores = _idle_seconds(), os.cpu_count() or 1
    time.sleep(1)
    return max(0.0, cores - (_idle_seconds() - begin))


def _idle_seconds() -> float:
    with Path("/proc/stat").open() as file:
        _, _, _, _, idle, waiting, *_ = file.readline().split()
    return (int(idle) + int(waiting)) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
