"""`wallclock lab record`: run a list of labs, and record each run that nothing disturbed."""

import os
import sys
from argparse import Namespace
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from app.commands.files import STANDARD, source_of
from app.commands.lab_launch import run_to_end
from app.core.errors import InputError, UnavailableError
from app.labs.launch.base import Launcher
from app.labs.launch.local import launcher_of
from app.labs.results.analysis import report_of
from app.labs.results.recordings import (
    RecordingRequest,
    RecordingResult,
    record_runs,
    requests_in_folder,
    requests_in_lines,
)
from app.labs.results.report import Report
from app.server.config import Settings

_FAILED = 1


def run(arguments: Namespace) -> int:
    """Record every run of the list; one that is not recorded is exit code 1."""
    requests = _requests(arguments.list, replace=arguments.replace)
    folder = _folder(Path(arguments.list if arguments.replace else arguments.output))
    results = []
    with closing(launcher_of(Settings())) as launcher:
        if requests and (trouble := launcher.trouble()):
            raise UnavailableError(trouble)
        for result in record_runs(requests, lambda request: _record_run(launcher, request), folder):
            results.append(result)
            sys.stdout.write(_result_line(result))
            sys.stdout.flush()
    recorded = sum(result.path is not None for result in results)
    sys.stdout.write(f"{recorded} of {len(requests)} recorded in {folder}\n")
    return 0 if recorded == len(requests) else _FAILED


def _requests(name: str, *, replace: bool) -> Sequence[RecordingRequest]:
    is_folder = name != STANDARD and Path(name).is_dir()
    if replace and not is_folder:
        raise InputError(f"--replace takes a folder of recordings, and {name} is not a folder")
    if replace:
        return requests_in_folder(Path(name), disturbed=True)
    requests = requests_in_folder(Path(name)) if is_folder else _requests_in_file(name)
    if not requests:
        raise InputError(f"{name} names no lab")
    return requests


def _requests_in_file(name: str) -> Sequence[RecordingRequest]:
    with source_of(name) as source:
        try:
            return requests_in_lines(source.read().decode().splitlines())
        except UnicodeDecodeError:
            raise InputError(f"{name} is not text in UTF-8") from None


def _folder(path: Path) -> Path:
    """The folder at *path*, which can be written: that is known before the first run."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}") from error
    if not os.access(path, os.W_OK):
        raise InputError(f"{path} cannot be written")
    return path


def _record_run(launcher: Launcher, request: RecordingRequest) -> Report:
    run = run_to_end(launcher, request.lab, request.given, request.backend, quiet=False)
    return report_of(run)


def _result_line(result: RecordingResult) -> str:
    if result.path:
        return f"recorded: {result.request.command}\n  {result.path}\n"
    reasons = "".join(f"  - {reason}\n" for reason in result.reasons)
    return f"refused: {result.request.command}\n{reasons}"
