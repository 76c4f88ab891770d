"""A run of the lab of collectives beside nccl-tests, on the command line and on the page."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from app.__main__ import main
from app.labs.launch.base import write_run
from app.labs.run import LabRun, RunOutcome
from app.labs.runner.events import CheckEvent, MeasureEvent, RankEvent, ReadyEvent, as_line
from app.labs.spec import lab_called, read_job
from app.main import create_app
from app.server.config import Settings
from app.server.db.run_state import RunState
from tests.labs.gpus import machine
from tests.measurements.printing import FACTORS, SIZES, time_of, today

RANKS = 8
SHOWN = {"all_to_all": "alltoall"}  # as nccl-tests calls it


def ran(
    folder: Path,
    operation: str = "all_reduce",
    slower: float = 1.02,
    factors: Mapping[int, float] | None = None,
    backend: str = "nccl",
) -> LabRun:
    """A run that took *slower* times as long as nccl-tests, and by *factors* at some sizes."""
    lab = lab_called("all-reduce")
    given = {"ranks": str(RANKS), "operation": operation, "sizes": "4KiB..1GiB"}
    job = read_job(lab.on("nccl") if backend == "nccl" else lab, given)
    run = write_run(folder, job, backend, launcher="by hand", devices=machine(RANKS))
    events: list[RankEvent] = [
        ReadyEvent(at=0.0, world=RANKS, versions={"torch": "2.13.0"}),
        CheckEvent(at=0.1, name=operation, right=True),
        *(
            MeasureEvent(
                at=1.0,
                name="time",
                where={"size": float(size)},
                samples=(time_of(size) * (factors or {}).get(size, slower),),
            )
            for size in SIZES[::2]
        ),
    ]
    (run.folder / "events.jsonl").write_text("".join(as_line(one) for one in events))
    run.write_outcome(RunOutcome(RunState.DONE))
    return run


Shown = Callable[..., tuple[int, str, str]]


@pytest.fixture
def shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shown:
    monkeypatch.setenv("WALLCLOCK_RUNS", str(tmp_path / "runs"))

    def show(run: LabRun, text: str, *options: str) -> tuple[int, str, str]:
        (tmp_path / "theirs.txt").write_text(text)
        code = main(["lab", "show", run.id, "--beside", str(tmp_path / "theirs.txt"), *options])
        return code, *capsys.readouterr()

    return show


@pytest.mark.parametrize("operation", ["all_reduce", "all_gather", "reduce_scatter", "all_to_all"])
def test_every_size_is_shown_with_both_and_the_difference(operation: str, shown: Shown, tmp_path: Path) -> None:
    run = ran(tmp_path / "runs", operation, 1.25)
    theirs = SHOWN.get(operation, operation)
    code, out, _ = shown(run, today(theirs, RANKS))
    assert code == 0
    rows = [line.split() for line in out.splitlines() if line.strip().endswith("%")]
    assert [row[:2] for row in rows][0] == ["4", "KiB"]
    assert len(rows) == len(SIZES[::2])
    assert all(row[-2:-1] == ["+25"] or row[-2].startswith("+2") for row in rows)
    found = json.loads(shown(run, today(theirs, RANKS), "--json")[1])
    assert [one["size"] for one in found] == list(SIZES[::2])
    assert [one["ratio"] for one in found] == pytest.approx([1.25] * len(found), rel=2e-3)
    bus = SIZES[-1] / time_of(SIZES[-1]) / 1e9 * FACTORS[theirs](RANKS)
    assert f"{bus / 1.25:.3g} GB/s" in out
    assert f"{bus:.3g} GB/s" in out


def test_what_differs_most_is_named(shown: Shown, tmp_path: Path) -> None:
    run = ran(tmp_path / "runs", factors={SIZES[0]: 1.5, SIZES[4]: 0.8})
    _, out, _ = shown(run, today("all_reduce", RANKS))
    assert "the lab took 0.8 to 1.5 times as long as nccl-tests, and 1.02 times at the" in out
    assert "More than 10 % apart at 4 KiB, 64 KiB." in out
    near = ran(tmp_path / "runs")
    assert "apart" not in shown(near, today("all_reduce", RANKS))[1]


def test_the_test_of_the_same_collective_is_taken_from_several(shown: Shown, tmp_path: Path) -> None:
    run = ran(tmp_path / "runs", "all_gather")
    text = today("all_reduce", RANKS) + "\n" + today("all_gather", RANKS)
    code, out, _ = shown(run, text)
    assert (code, "More than" in out) == (0, False)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (today("all_gather", RANKS), "the run is of all_reduce, 8 ranks, and nccl-tests of all_gather"),
        (today("all_reduce", 4), "the run is of all_reduce, 8 ranks, and nccl-tests of all_reduce, 4"),
        (today("sendrecv", RANKS), "only runs of the lab all-reduce can be put beside nccl-tests"),
        ("nonsense", "has no table of nccl-tests"),
    ],
)
def test_what_cannot_be_compared_is_refused(text: str, says: str, shown: Shown, tmp_path: Path) -> None:
    code, _, errors = shown(ran(tmp_path / "runs"), text)
    assert code == 1
    assert says in errors


def test_the_page_draws_both_for_the_newest_run_that_did_the_same(tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    run = ran(folder, slower=1.3)
    ran(folder, "all_gather")
    ran(folder, backend="gloo")
    app = create_app(Settings(database=f"sqlite:///{tmp_path}/w.db", runs=folder, sandbox_workers=1))
    with TestClient(app) as client:
        text = today("all_reduce", RANKS)
        page = client.post("/measured", data={"text": text}, files=[("file", ("", b""))]).text
        other = today("reduce_scatter", RANKS)
        none = client.post("/measured", data={"text": other}, files=[("file", ("", b""))]).text
    assert "Beside a run of the lab" in page
    assert f'href="/labs/all-reduce/{run.id}"' in page
    assert "Bus bandwidth by size: the lab and nccl-tests" in page
    assert "1.3 times at the median" in page
    assert "Beside a run of the lab" not in none
