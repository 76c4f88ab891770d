"""Reads files in a process of its own, which has little memory and time: they may be hostile.

Run as a program with files as its arguments, it writes what it found as JSON.
"""

import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from app.core.errors import InputError
from app.core.measurements.file_reader import Report, read_files
from app.core.measurements.report_json import report_in, report_values

MEMORY = 512 << 20  # bytes
SECONDS = 60  # of processor time
LONGEST = 5 * SECONDS  # by the clock, on a busy machine
_NICENESS = 10  # as of what runs in the sandbox: pages come first
_ROOT = Path(__file__).resolve().parents[3]
_TOO_LONG = f"reading took longer than {SECONDS} s"
_NO_MEMORY = 3  # exit code
_BROKEN = "the files cannot be read: they are damaged in a way that no reader expects"
_TOO_LARGE = f"reading takes more than {MEMORY >> 20} MiB of memory"


def command(paths: Sequence[Path]) -> list[str]:
    """The program and its arguments."""
    return [sys.executable, "-P", "-m", "app.core.measurements.child_process", *map(os.fspath, paths)]


def child_environment() -> dict[str, str]:
    """What the program needs to find this package, and nothing else."""
    return {"PYTHONPATH": os.fspath(_ROOT), "PATH": os.environ.get("PATH", "")}


def measured_apart(paths: Sequence[Path]) -> list[Report]:
    """What is in the files, as `measured` finds it.

    Raises:
        InputError: reading takes more memory or time than is allowed.
    """
    try:
        done = subprocess.run(
            command(paths), env=child_environment(), capture_output=True, timeout=LONGEST, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise InputError(_TOO_LONG) from error
    return reports_from(done.stdout, done.returncode)


def reports_from(output: bytes, code: int) -> list[Report]:
    """The reports in the *output* of the program that ended with *code*.

    Raises:
        InputError: it did not end well.
    """
    if code == -signal.SIGXCPU:
        raise InputError(_TOO_LONG)
    if code == _NO_MEMORY or code < 0:
        raise InputError(_TOO_LARGE)
    if code:
        raise InputError(_BROKEN)
    return [report_in(one) for one in json.loads(output)]


def main() -> int:
    """Read the files that are named, within limits, when nothing else needs the processor."""
    os.nice(_NICENESS)
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        found = read_files([Path(name) for name in sys.argv[1:]])
        written = json.dumps([report_values(one) for one in found], allow_nan=False)
    except MemoryError:
        return _NO_MEMORY
    sys.stdout.write(written)
    return 0


if __name__ == "__main__":
    sys.exit(main())
