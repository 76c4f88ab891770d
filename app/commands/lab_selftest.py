"""`wallclock lab selftest`: whether the labs work on this machine, as one JSON file and an exit code."""

import json
import platform
import subprocess
import sys
import tempfile
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from app.labs.runner.job import DONE, write_whole
from app.labs.spec import known_labs

_FAILED = 1
_LIMIT = 600.0  # seconds for each process
_SAID = 300  # characters of what a process said


def run(arguments: Namespace) -> int:
    """Take every part, and write what came of it; a fault is exit code 1."""
    parts = []
    for one in _parts(arguments.labs.split(",") if arguments.labs else list(known_labs())):
        parts.append(one)
        sys.stdout.write(f"{'FAILED' if one['fault'] else 'passed'}  {one['part']} {one['name']}{_remark(one)}\n")
        sys.stdout.flush()
    faults = [f"{one['part']} {one['name']}: {one['fault']}" for one in parts if one["fault"]]
    at = datetime.now(UTC).isoformat(timespec="seconds")
    result = {"at": at, "host": platform.node(), "python": platform.python_version(), "faults": faults, "parts": parts}
    write_whole(Path(arguments.output), (json.dumps(result, indent=1) + "\n").encode())
    sys.stdout.write(f"{len(parts)} parts, {len(faults)} with a fault: {arguments.output}\n")
    return _FAILED if faults else 0


def _remark(one: Mapping[str, object]) -> str:
    doubts = one.get("doubts") or one.get("apart")
    return f": {one['fault']}" if one["fault"] else "  (disturbed)" if doubts else ""


def _parts(labs: Sequence[str]) -> Iterator[Mapping[str, object]]:
    with tempfile.TemporaryDirectory() as folder:
        code, text, fault = _said(["-m", "app.labs.check.selftest", folder])
    found = [json.loads(line) for line in text.splitlines() if line.startswith('{"part"')]
    yield from found
    if code or not found:
        yield {"part": "forced", "name": "process", "fault": fault or f"it ended with exit code {code}"}
    for name in labs:
        yield _of_lab(name)


def _of_lab(name: str) -> Mapping[str, object]:
    """A run of the lab *name*, as the command line would do it."""
    code, text, fault = _said(["-m", "app", "lab", "run", name, "--json"])
    try:
        report = json.loads(text)
    except ValueError:
        return {"part": "lab", "name": name, "fault": fault or f"no JSON, and exit code {code}"}
    right = all(report["checks"].values())
    fault = "" if report["state"] == DONE and right and not code else str(report["cause"] or f"exit code {code}")
    return {"part": "lab", "name": name, "fault": fault, "doubts": report["doubts"], "report": report}


def _said(words: Sequence[str]) -> tuple[int, str, str]:
    """The exit code of a process of Python, what it printed, and what went wrong in a few words."""
    try:
        done = subprocess.run(
            [sys.executable, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_LIMIT
        )
    except subprocess.TimeoutExpired:
        return -1, "", f"it took more than {_LIMIT:g} s"
    last = next((line for line in reversed(done.stderr.splitlines()) if line.strip()), "")
    return done.returncode, done.stdout, last[:_SAID] if done.returncode else ""
