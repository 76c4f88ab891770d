"""Measures everything and prints a table: python -m tests.bench [NAME ...]"""

import os
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path

from tests.bench.figures import Figure

BENCHES = (
    "start",
    "formulas",
    "schedules",
    "search",
    "content",
    "adequacy",
    "explorers",
    "page",
    "sandbox",
    "siege",
    "hall",
    "batch",
    "grade",
    "predict",
    "traces",
    "measured",
    "http",
    "labs",
    "people",
    "class",
    "rivals",
)
_LONGEST = 900  # seconds of one bench: on a quiet machine each takes less than two minutes


def main(names: list[str]) -> int:
    """Print a row a figure; 1 if one misses its goal, or could not be measured.

    Each bench is a process of its own: what fails, as on a machine that does other work, is said
    at the end, and does not end the others.
    """
    if len(names) == 1:
        return _measure(names[0])
    sys.stdout.write(f"other work on this machine: {_other_work():.1f} of {os.cpu_count()} cores\n")
    codes, trouble = [], []
    for name in names or BENCHES:
        code, why = _run(name)
        codes.append(code)
        if why:
            trouble.append(f"{name} could not be measured to its end: {why}\n")
    sys.stdout.writelines(trouble)
    return 1 if any(codes) else 0


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
    command = [sys.executable, "-m", "tests.bench", name]
    try:
        done = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False, timeout=_LONGEST)
    except subprocess.TimeoutExpired:
        return 1, f"it took longer than {_LONGEST:,} s"
    said = done.stderr.strip().splitlines()
    failed = done.returncode and any(line.startswith("Traceback") for line in said)
    return done.returncode, said[-1] if failed else ""


def _other_work() -> float:
    """The cores that other programs keep busy, over a second in which this one sleeps."""
    begin, cores = _idle_seconds(), os.cpu_count() or 1
    time.sleep(1)
    return max(0.0, cores - (_idle_seconds() - begin))


def _idle_seconds() -> float:
    with Path("/proc/stat").open() as file:
        _, _, _, _, idle, waiting, *_ = file.readline().split()
    return (int(idle) + int(waiting)) / os.sysconf("SC_CLK_TCK")


def row(figure: Figure) -> str:
    """A figure as a line of the table."""
    sign = "≤" if figure.better == "lower" else "≥"
    goal = f"{sign} {figure.goal:g} {figure.unit}" if figure.goal is not None else ""
    mark = "ok" if figure.met else "MISSED"
    value = f"{figure.value:,.4g}" if abs(figure.value) < 1000 else f"{figure.value:,.0f}"
    return f"{figure.name:<48} {value:>10} {figure.unit:<5} {goal:<14} {mark}\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
