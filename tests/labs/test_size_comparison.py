"""A run of the lab of collectives beside nccl-tests."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from app.core.errors import InputError
from app.core.measurements.reports import CollectiveTest
from app.labs.launch.base import write_run
from app.labs.results.analysis import report_of
from app.labs.run import LabRun, RunOutcome
from app.labs.runner.events import CheckEvent, MeasureEvent, RankEvent, ReadyEvent, as_line
from app.labs.spec import lab_called, read_job
from app.main import create_app
from app.server.aside.measured_files import measured_apart
from app.server.config import Settings
from app.server.db.run_state import RunState
from app.site.labs.nccl_tests import SizePair, compare_sizes, difference_text
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


def pairs_of(run: LabRun, text: str) -> Sequence[SizePair]:
    (run.folder / "theirs.txt").write_text(text)
    (test,) = measured_apart([run.folder / "theirs.txt"])
    assert isinstance(test, CollectiveTest)
    return compare_sizes(report_of(run), test)


@pytest.mark.parametrize("operation", ["all_reduce", "all_gather", "reduce_scatter", "all_to_all"])
def test_every_size_is_shown_with_both_and_the_difference(operation: str, tmp_path: Path) -> None:
    theirs = SHOWN.get(operation, operation)
    pairs = pairs_of(ran(tmp_path, operation, 1.25), today(theirs, RANKS))
    assert [one.size for one in pairs] == list(SIZES[::2])
    assert [one.ratio for one in pairs] == pytest.approx([1.25] * len(pairs), rel=2e-3)
    rows = [one.cells() for one in pairs]
    assert rows[0][0] == "4 KiB"
    assert all(row[-1].startswith(("+24.", "+25.")) for row in rows)
    bus = SIZES[-1] / time_of(SIZES[-1]) / 1e9 * FACTORS[theirs](RANKS)
    assert rows[-1][3:5] == (f"{bus / 1.25:.3g} GB/s", f"{bus:.3g} GB/s")


def test_what_differs_most_is_named(tmp_path: Path) -> None:
    run = ran(tmp_path, factors={SIZES[0]: 1.5, SIZES[4]: 0.8})
    text = difference_text(pairs_of(run, today("all_reduce", RANKS)))
    assert "the lab took 0.8 to 1.5 times as long as nccl-tests, and 1.02 times at the" in text
    assert "More than 10 % apart at 4 KiB, 64 KiB." in text
    assert "apart" not in difference_text(pairs_of(ran(tmp_path), today("all_reduce", RANKS)))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (today("all_gather", RANKS), "the run is of all_reduce, 8 ranks, and nccl-tests of all_gather"),
        (today("all_reduce", 4), "the run is of all_reduce, 8 ranks, and nccl-tests of all_reduce, 4"),
        (today("sendrecv", RANKS), "only runs of the lab all-reduce can be put beside nccl-tests"),
    ],
)
def test_what_cannot_be_compared_is_refused(text: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=says):
        pairs_of(ran(tmp_path), text)


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
