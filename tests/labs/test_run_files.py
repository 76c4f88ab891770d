"""The files of a run: those of earlier versions still read, and new ones have the same shape."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from app.labs.evidence.blame import RankError, blame
from app.labs.launch.base import write_run
from app.labs.results.analysis import report_of
from app.labs.run import LabRun, RunOutcome
from app.labs.runner.events import (
    CheckEvent,
    ClocksEvent,
    DetailEvent,
    GpuReading,
    MeasureEvent,
    RankEvent,
    ReadyEvent,
    as_line,
)
from app.labs.spec import lab_called, read_job
from app.server.db.run_state import UNFINISHED, RunState

# As an earlier version wrote them.
JOB = (
    '{"id": "20261122-071103-all-reduce-d3f440", "lab": "all-reduce", "ranks": 2, "values": '
    '{"operation": "all_reduce", "sizes": [4096.0, 65536.0]}, "backend": "gloo", "worker": '
    '"/gone/worker.py", "seconds": 120.0, "devices": "cpu", "command": "wallclock lab run '
    'all-reduce ranks=2 operation=all_reduce sizes=4KiB,64KiB", "at": "2026-11-22T07:11:03+00:00", '
    '"machine": {"processor": "A processor", "cores": 2, "load": 0.5, "gpus": []}}'
)
EVENTS = (
    '{"kind": "ready", "at": 1.5, "world": 2, "versions": {"torch": "2.13.0"}}\n'
    '{"kind": "check", "at": 1.6, "name": "all_reduce", "right": true}\n'
    '{"kind": "measure", "at": 1.7, "name": "time", "samples": [0.002, 0.001], '
    '"where": {"size": 4096}}\n'
    '{"kind": "measure", "at": 1.8, "name": "ti'
)
OUTCOME = '{"state": "failed", "cause": "why", "seconds": 1.25, "codes": {"0": 1, "1": -15}}'


@pytest.fixture
def earlier(tmp_path: Path) -> LabRun:
    folder = tmp_path / "20261122-071103-all-reduce-d3f440"
    folder.mkdir()
    (folder / "job.json").write_text(JOB)
    (folder / "events.jsonl").write_text(EVENTS)
    return LabRun(folder)


def test_a_run_of_an_earlier_version_still_reads(earlier: LabRun) -> None:
    (earlier.folder / "outcome.json").write_text(OUTCOME)
    assert earlier.job.values == {"operation": "all_reduce", "sizes": (4096.0, 65536.0)}
    assert earlier.outcome == RunOutcome(RunState.FAILED, "why", 1.25, {0: 1, 1: -15})
    report = report_of(earlier)
    assert report.given == {"ranks": "2", "operation": "all_reduce", "sizes": "4KiB,64KiB"}
    assert (report.state, report.cause, report.world) == (RunState.FAILED, "why", 2)
    assert report.checks == {"all_reduce": True}
    assert [one.samples for one in report.measures] == [(0.001, 0.002)]
    assert report.machine.processor == "A processor"


def test_a_run_of_an_earlier_version_without_a_leader_is_lost(earlier: LabRun) -> None:
    (earlier.folder / "alive").write_text("1")  # and nothing locks it
    assert earlier.outcome
    assert earlier.outcome.state is RunState.LOST


def test_a_line_that_is_half_written_is_skipped_and_a_strange_one_is_an_error(earlier: LabRun) -> None:
    assert [event.kind for event in earlier.events()] == ["ready", "check", "measure"]
    with (earlier.folder / "events.jsonl").open("a") as file:
        file.write('\n{"kind": "strange", "at": 1}\n')
    with pytest.raises(ValueError, match="strange"):
        earlier.events()


def test_what_is_written_is_read_back_and_keeps_its_shape(tmp_path: Path) -> None:
    job = read_job(lab_called("all-reduce"), {"ranks": "2", "sizes": "4 KiB, 64KiB"})
    run = write_run(tmp_path, job, "gloo", launcher="local", patience=3.0)
    plain = json.loads((run.folder / "job.json").read_text())
    assert plain.keys() >= json.loads(JOB).keys() | {"given", "patience"}
    assert plain["values"] == {"operation": "all_reduce", "sizes": [4096.0, 65536.0]}
    assert plain["given"] == {"ranks": "2", "operation": "all_reduce", "sizes": "4 KiB, 64KiB"}
    assert run.job.values == job.values
    assert run.job.given == job.given
    outcome = RunOutcome(RunState.TIMEOUT, "late", 2.5, {1: -9})
    run.write_outcome(outcome)
    assert run.outcome == outcome
    assert json.loads((run.folder / "outcome.json").read_text()) == {
        "state": "timeout",
        "cause": "late",
        "seconds": 2.5,
        "codes": {"1": -9},
    }


def test_events_of_ranks_are_read_back(tmp_path: Path) -> None:
    events: list[RankEvent] = [
        ReadyEvent(at=1.0, world=3, versions={"torch": "2"}),
        CheckEvent(at=2.0, name="sums", right=False),
        MeasureEvent(at=3.0, name="time", samples=(1.0, 2.0), where={"size": 8.0, "how": "tree"}),
        DetailEvent(at=4.0, name="kernel", says="flash"),
        ClocksEvent(at=5.0, when="after", reading=GpuReading(clock=1e9, slowed={"heat": 0.5})),
    ]
    (tmp_path / "events.jsonl").write_text("".join(map(as_line, events)))
    assert LabRun(tmp_path).events() == events


def test_the_first_error_that_is_no_consequence_is_to_blame(tmp_path: Path) -> None:
    errors = [
        RankError(0, 1.0, "RuntimeError: Connection closed by peer"),
        RankError(2, 3.0, "ValueError: later"),
        RankError(1, 2.0, "ValueError: first"),
    ]
    for error in errors:
        (tmp_path / f"error{error.rank}.json").write_text(json.dumps(asdict(error)))
    assert blame(tmp_path, {}) == "rank 1: ValueError: first"
    assert json.loads((tmp_path / "error1.json").read_text()) == {"rank": 1, "at": 2.0, "what": "ValueError: first"}


def test_states_are_stored_as_they_always_were() -> None:
    assert [*RunState] == ["queued", "running", "done", "failed", "cancelled", "timeout", "lost"]
    assert UNFINISHED == ("queued", "running")
