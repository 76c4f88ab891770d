"""`wallclock lab record`: run a list of labs, and record each run that nothing disturbed, as the project ships them."""

import argparse
import os
import shlex
import sys
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from app.commands.files import source_of
from app.commands.lab_launch import parameter_pairs, run_to_end
from app.core.errors import InputError, NotFoundError, UnavailableError
from app.labs.launch.local import launcher_of
from app.labs.results.analysis import report_of
from app.labs.results.report import Report
from app.labs.runner.job import write_whole
from app.labs.spec import lab_called
from app.server.config import Settings
from app.server.db.run_state import RunState

_FAILED = 1
_COMMAND = ["wallclock", "lab", "run"]  # may stand at the beginning of a line


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordingRequest:
    """A run of *lab* to record, over nccl, gloo or auto."""

    lab: str
    given: Mapping[str, str]
    backend: str = "auto"

    @property
    def command(self) -> str:
        """The command that runs it, without recording it."""
        pairs = (f"{name}={text}" for name, text in self.given.items())
        options = [] if self.backend == "auto" else ["--backend", self.backend]
        return shlex.join([*_COMMAND, self.lab, *pairs, *options])


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordingResult:
    """Where the run of *request* is recorded, or the *reasons* why it is not."""

    request: RecordingRequest
    path: Path | None = None
    reasons: tuple[str, ...] = ()


def requests_in_lines(lines: Iterable[str]) -> Sequence[RecordingRequest]:
    """The runs that *lines* ask for, each as `wallclock lab run` takes it."""
    found = []
    for number, line in enumerate(lines, start=1):
        try:
            if words := shlex.split(line, comments=True):
                found.append(_request_in(words))
        except (InputError, NotFoundError, ValueError) as error:
            raise InputError(f"line {number}: {error}") from error
    return found


def record_runs(
    requests: Iterable[RecordingRequest], run: Callable[[RecordingRequest], Report], folder: Path
) -> Iterator[RecordingResult]:
    """Record what *requests* ask for in *folder*, one after the other, until one is canceled."""
    for request in requests:
        try:
            report = run(request)
        except (InputError, NotFoundError, UnavailableError) as error:
            yield RecordingResult(request=request, reasons=(str(error),))
            continue
        if reasons := reasons_against(report):
            yield RecordingResult(request=request, reasons=reasons)
        else:
            yield RecordingResult(request=request, path=_store(report, folder))
        if report.state is RunState.CANCELED:
            return


def reasons_against(report: Report) -> tuple[str, ...]:
    """Why *report* cannot be recorded; none if it can."""
    if report.state is not RunState.DONE:
        return (f"{report.state.word}: {report.cause}" if report.cause else report.state.word,)
    wrong = [f"data check {name}: FAILED" for name, right in report.checks.items() if not right]
    wrong += [f"{one.name}: not as the formula says" for one in report.measures if one.right is False]
    nothing = () if report.measures else ("Nothing was measured.",)
    return tuple(dict.fromkeys([*wrong, *nothing, *report.doubts]))


def _store(report: Report, folder: Path) -> Path:
    path = folder / f"{report.id}.json"
    try:
        write_whole(path, f"{report.as_json()}\n".encode())
    except OSError as error:
        raise UnavailableError(f"{folder} cannot be written: {error.strerror}") from error
    return path


class _LineParser(argparse.ArgumentParser):
    """Reads the words of a line, and leaves it to others to exit."""

    def error(self, message: str) -> NoReturn:
        raise InputError(message)


def _request_in(words: Sequence[str]) -> RecordingRequest:
    parser = _LineParser(add_help=False, allow_abbrev=False)
    parser.add_argument("name")
    parser.add_argument("pairs", nargs="*")
    parser.add_argument("--backend", choices=("auto", "nccl", "gloo"), default="auto")
    skipped = len(_COMMAND) if list(words[: len(_COMMAND)]) == _COMMAND else 0
    read = parser.parse_intermixed_args(words[skipped:])
    given = parameter_pairs(read.pairs)
    return RecordingRequest(lab=lab_called(read.name).name, given=given, backend=read.backend)


def run(arguments: Namespace) -> int:
    """Record every run of the list; one that is not recorded is exit code 1."""
    requests, folder = _requests(arguments.list), _folder(Path(arguments.output))
    results = []
    with closing(launcher_of(Settings())) as launcher:
        if trouble := launcher.trouble():
            raise UnavailableError(trouble)

        def report_on(request: RecordingRequest) -> Report:
            return report_of(run_to_end(launcher, request.lab, request.given, request.backend, quiet=False))

        for result in record_runs(requests, report_on, folder):
            results.append(result)
            sys.stdout.write(f"{'recorded' if result.path else 'refused'}: {result.request.command}\n")
            for line in [f"  {result.path}"] if result.path else [f"  - {reason}" for reason in result.reasons]:
                sys.stdout.write(f"{line}\n")
            sys.stdout.flush()
    recorded = sum(result.path is not None for result in results)
    sys.stdout.write(f"{recorded} of {len(requests)} recorded in {folder}\n")
    return 0 if recorded == len(requests) else _FAILED


def _requests(name: str) -> Sequence[RecordingRequest]:
    with source_of(name) as source:
        try:
            requests = requests_in_lines(source.read().decode().splitlines())
        except UnicodeDecodeError:
            raise InputError(f"{name} is not text in UTF-8") from None
    if not requests:
        raise InputError(f"{name} names no lab")
    return requests


def _folder(path: Path) -> Path:
    """The folder at *path*, which can be written: that is known before the first run."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}") from error
    if not os.access(path, os.W_OK):
        raise InputError(f"{path} cannot be written")
    return path
