"""A row for the GPU of each rank, in the report, on the command line and on the page."""

import json
from pathlib import Path
from typing import Literal

import pytest
from fastapi.testclient import TestClient

from app.__main__ import main
from app.labs.launch.base import write_run
from app.labs.results.analysis import read_report, report_of
from app.labs.results.notes import gpu_table
from app.labs.run import LabRun, RunOutcome
from app.labs.runner.events import CheckEvent, ClocksEvent, GpuReading, MeasureEvent, RankEvent, ReadyEvent, as_line
from app.labs.spec import lab_called, read_job
from app.main import create_app
from app.server.config import Settings
from app.server.db.run_state import RunState
from tests.labs.gpus import machine, uuid_of

TIMES = (1.6e-3, 1.6e-3, 2.0e-3)  # of 2 * 8192³ operations: 687 and 550 TFLOP/s


def look(at: float, when: Literal["before", "after"], hot: float, known: bool) -> ClocksEvent:
    """What each GPU says; the temperature has held the last one down for *hot* seconds so far."""
    full = tuple(
        GpuReading(
            uuid=f"GPU-{uuid_of(rank)}",
            clock=1980e6 - rank * 100e6,
            temperature=50.0 + rank,
            power=650.4,
            slowed={"the temperature": hot if rank == 2 else 0.0},
        )
        for rank in range(3)
    )
    return ClocksEvent(at=at, when=when, reading=full[0], readings=full if known else (None,) * 3)


def run_of(folder: Path, *, known: bool = True) -> LabRun:
    """A product on three GPUs, of which the last is hot and slow."""
    given = {"ranks": "3", "sides": "8192", "format": "bf16"}
    job = read_job(lab_called("matrix-product").on("nccl"), given)
    run = write_run(folder, job, "nccl", launcher="by hand", devices=machine(3))
    taken = MeasureEvent(at=0, name="time", samples=(2.0e-3,) * 5, where={"side": 8192}, by_rank=TIMES)
    events: list[RankEvent] = [
        ReadyEvent(at=0, world=3, versions={}),
        CheckEvent(at=0, name="product", right=True),
        look(0.0, "before", 0.0, known),
        taken,
        look(10.0, "after", 4.0, known),
    ]
    (run.folder / "events.jsonl").write_text("".join(as_line(one) for one in events))
    run.write_outcome(RunOutcome(RunState.DONE, seconds=1.0))
    return run


def test_each_gpu_has_its_own_rate_and_state(tmp_path: Path) -> None:
    report = report_of(run_of(tmp_path))
    first, second, last = report.each_gpu
    operations = 2 * 8192**3
    for row, time in zip(report.each_gpu, TIMES, strict=True):
        assert row.rates["rate"].value == pytest.approx(operations / time)
    assert (first.uuid, first.clock, first.temperature) == (f"GPU-{uuid_of(0)}", 1980e6, 50.0)
    assert (first.throttled, second.throttled) == ("", "")
    assert last.throttled == "by the temperature for 40% of the run"
    assert read_report(report.as_json()).each_gpu == report.each_gpu


def test_what_no_tool_tells_is_left_out_and_rates_are_not(tmp_path: Path) -> None:
    rows = report_of(run_of(tmp_path, known=False)).each_gpu
    assert [row.clock for row in rows] == [None] * 3
    assert [row.uuid for row in rows] == [f"GPU-{uuid_of(rank)}" for rank in range(3)]
    header, *_ = gpu_table(rows)
    assert header == ("Rank", "UUID", "rate", "share of the peak")


def test_a_run_on_processors_has_no_rows(tmp_path: Path) -> None:
    job = read_job(lab_called("matrix-product"), {})
    run = write_run(tmp_path, job, "gloo", launcher="by hand")
    report = report_of(run)
    assert report.each_gpu == ()
    assert "each_gpu" not in json.loads(report.as_json())


def test_the_command_line_and_the_page_have_a_row_for_each_gpu(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = tmp_path / "runs"
    run = run_of(runs)
    monkeypatch.setenv("WALLCLOCK_RUNS", str(runs))
    assert main(["lab", "show", run.id]) == 0
    (row,) = (line for line in capsys.readouterr().out.splitlines() if uuid_of(2) in line and "MHz" in line)
    for cell in ("549.8 TFLOP/s", "1780 MHz", "52 °C", "650 W", "by the temperature for 40%"):
        assert cell in row
    settings = Settings(database=f"sqlite:///{tmp_path}/w.db", sandbox_workers=1, runs=runs)
    with TestClient(create_app(settings)) as client:
        page = client.get(f"/labs/matrix-product/{run.id}").text
    assert "<caption>The GPU of each rank</caption>" in page
    assert "<td>1780 MHz</td><td>52 °C</td><td>650 W</td>" in page
