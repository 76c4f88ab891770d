"""`wallclock lab record`: only what nothing disturbed is recorded, and the rest is named."""

import io
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from app.__main__ import main
from app.commands.lab_record import RecordingRequest, RecordingResult, reasons_against, record_runs, requests_in_lines
from app.core.errors import InputError, UnavailableError
from app.labs.results.analysis import read_report
from app.labs.results.report import Report
from app.server.db.run_state import RunState
from tests.each import each
from tests.labs.quiet_runs import quiet_run

QUIET = quiet_run("all-reduce", "=all_gather")
DISTURBED = replace(QUIET, id="disturbed", doubts=("Rank 0 was interrupted.", "A median falls."))
COUNTED = quiet_run("ring-bytes")
Output = pytest.CaptureFixture[str]


def scripted(*reports: Report | Exception) -> Callable[[RecordingRequest], Report]:
    """Runs that end as *reports* say, one after the other."""
    waiting = iter(reports)

    def run(_request: RecordingRequest) -> Report:
        report = next(waiting)
        if isinstance(report, Exception):
            raise report
        return report

    return run


def record(folder: Path, *reports: Report | Exception) -> list[RecordingResult]:
    requests = requests_in_lines(["all-reduce"] * len(reports))
    return list(record_runs(requests, scripted(*reports), folder))


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_a_disturbed_run_is_refused_with_its_reasons_and_the_next_one_is_recorded(tmp_path: Path) -> None:
    refused, recorded = record(tmp_path, DISTURBED, QUIET)
    assert (refused.path, refused.reasons) == (None, DISTURBED.doubts)
    assert recorded.reasons == ()
    assert names_in(tmp_path) == {f"{QUIET.id}.json"}


def test_what_is_recorded_is_a_recording_with_its_samples(tmp_path: Path) -> None:
    (recorded,) = record(tmp_path, QUIET)
    assert recorded.path
    text = recorded.path.read_text()
    assert (text.count("\n"), text[-1]) == (1, "\n")
    assert read_report(text) == QUIET
    assert all(one.samples for one in read_report(text).measures)


@each(
    ("report", "reason"),
    [
        (replace(QUIET, state=RunState.FAILED, cause="rank 1: killed"), "failed: rank 1: killed"),
        (replace(QUIET, state=RunState.TIMEOUT, cause=""), "timeout"),
        (replace(QUIET, checks={"sums": False}), "data check sums: FAILED"),
        (replace(QUIET, measures=()), "Nothing was measured."),
        (
            replace(COUNTED, measures=(replace(COUNTED.measures[0], right=False),)),
            f"{COUNTED.measures[0].name}: not as the formula says",
        ),
    ],
)
def test_a_run_that_is_not_whole_is_not_recorded(report: Report, reason: str) -> None:
    assert reasons_against(report) == (reason,)


def test_a_run_that_cannot_be_started_does_not_end_the_list(tmp_path: Path) -> None:
    errors = (InputError("there is 1 GPU"), UnavailableError("the devices are not free"))
    *refused, recorded = record(tmp_path, *errors, QUIET)
    assert [one.reasons for one in refused] == [("there is 1 GPU",), ("the devices are not free",)]
    assert recorded.path


def test_a_canceled_run_ends_the_list(tmp_path: Path) -> None:
    canceled = replace(QUIET, state=RunState.CANCELED, cause="")
    (only,) = record(tmp_path, canceled, QUIET)
    assert only.reasons == ("canceled",)
    assert names_in(tmp_path) == set()


def test_each_line_is_a_lab_as_it_is_run(tmp_path: Path) -> None:
    lines = [
        "# for the page of all-reduce",
        "",
        "all-reduce ranks=4 'sizes=4 KiB, 64 KiB'  # two",
        "wallclock lab run zero --backend gloo scheme=ddp",
        "ring-bytes",
    ]
    assert requests_in_lines(lines) == [
        RecordingRequest(lab="all-reduce", given={"ranks": "4", "sizes": "4 KiB, 64 KiB"}),
        RecordingRequest(lab="zero", given={"scheme": "ddp"}, backend="gloo"),
        RecordingRequest(lab="ring-bytes", given={}),
    ]
    again = [one.command for one in requests_in_lines(lines)]
    assert requests_in_lines(again) == requests_in_lines(lines)


@each(
    ("line", "says"),
    [
        ("all-reduced", "did you mean 'all-reduce'"),
        ("zero ddp", "'ddp' is not key=value"),
        ("zero --backend mpi", "mpi"),
        ("zero --json", "--json"),
        ("zero scheme='ddp", "quotation"),
        ("wallclock lab run", "name"),
    ],
)
def test_a_line_that_cannot_be_read_is_named_before_anything_runs(line: str, says: str) -> None:
    with pytest.raises(InputError, match=r"^line 2: .*") as caught:
        requests_in_lines(["zero", line])
    assert says in str(caught.value)


@pytest.mark.needs("torch")
@pytest.mark.slow(8)
def test_the_command_records_what_it_can_and_fails_if_anything_was_refused(
    tmp_path: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WALLCLOCK_RUNS", str(tmp_path / "runs"))
    lines = b"ring-bytes ranks=1000\nring-bytes ranks=2 size=64KiB\n"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(lines)))
    folder = tmp_path / "new" / "recordings"
    assert main(["lab", "record", "-", "--output", str(folder)]) == 1
    printed = capsys.readouterr().out
    assert "refused: wallclock lab run ring-bytes ranks=1000\n  - ranks must be" in printed
    assert "recorded: wallclock lab run ring-bytes ranks=2 size=64KiB\n" in printed
    assert printed.endswith(f"1 of 2 recorded in {folder}\n")
    (path,) = folder.iterdir()
    assert reasons_against(read_report(path.read_bytes())) == ()


@each(
    ("options", "says"),
    [
        (["empty.txt"], "empty.txt names no lab"),
        (["latin.txt"], "latin.txt is not text in UTF-8"),
        (["none.txt"], "none.txt cannot be read: No such file or directory"),
        (["list.txt", "--output", "list.txt"], "list.txt cannot be written: File exists"),
    ],
)
def test_a_list_that_cannot_be_used_is_refused_before_anything_runs(
    options: list[str], says: str, tmp_path: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WALLCLOCK_RUNS", str(tmp_path / "runs"))
    Path("list.txt").write_text("ring-bytes\n")
    Path("empty.txt").write_text("# none yet\n")
    Path("latin.txt").write_bytes(b"# \xe9\n")
    assert main(["lab", "record", *options]) == 1
    assert says in capsys.readouterr().err
    assert not Path("runs").exists()
