"""Labs without links run on all GPUs at once, and name the one that is slow."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from app.labs.launch.base import plan_job
from app.labs.machines.machine import MachineFacts
from app.labs.results.analysis import gpu_spread, note_on_spread, read_report
from app.labs.results.report import Report
from app.labs.spec import known_labs, lab_called
from tests.each import each
from tests.labs.gpus import H100, machine, uuid_of
from tests.labs.test_published import measure, report
from tests.waiting import HANGS

ALONE = ("attention", "matrix-product", "memory-copy", "recomputation")
SLOW, EVEN = (1.0, 1.01, 1.08, 1.0), (1.0, 1.01, 1.02, 1.0)


@each("name", ALONE)
def test_labs_without_links_take_all_gpus_unless_told_otherwise(name: str) -> None:
    lab = lab_called(name)
    assert plan_job(lab, {}, "auto", lambda: machine(8)).job.ranks == 8
    assert plan_job(lab, {"ranks": "1"}, "nccl", lambda: machine(8)).job.ranks == 1
    assert plan_job(lab, {}, "gloo", lambda: machine(8)).job.ranks == 1


def test_only_labs_without_links_have_ranks_that_work_alone() -> None:
    found = {name for name, lab in known_labs().items() if lab.gpu and lab.gpu.alone}
    assert found == set(ALONE)


def test_a_spread_is_that_of_the_times_and_slow_is_beyond_three_percent() -> None:
    assert gpu_spread(EVEN)[1] == {}
    assert gpu_spread(EVEN)[0] == pytest.approx(0.02 / 1.005)
    assert gpu_spread(SLOW)[1] == {2: pytest.approx(0.07)}
    assert gpu_spread((2.0, 1.0, 1.0))[1] == {0: 1.0}
    assert gpu_spread((1.0, 1.0, 1.029))[1] == {}
    assert gpu_spread((1.0, 1.0, 1.031))[1] == {2: 0.03}
    assert gpu_spread((2.0, 2.0, 1.5)) == (0.25, {})  # one that is faster is not named


def of_eight(times: tuple[float, ...], size: float = 4.0 * 2**30) -> Report:
    """A run of copies on GPUs of which each took one of *times*, the last size the largest."""
    small = replace(measure("time", (1e-6,), size=2.0**20), by_rank=(1.0,) * len(times))
    large = replace(measure("time", (max(times),), size=size), by_rank=times)
    return report("memory-copy", (small, large), ranks=len(times))


def test_a_slow_gpu_is_named_with_its_uuid_at_the_largest_size() -> None:
    uuids = tuple(f"GPU-{uuid_of(number)}" for number in range(4))
    note = note_on_spread(
        lab_called("memory-copy").on("nccl"), of_eight(SLOW).measures, MachineFacts(gpus=(H100,) * 4, uuids=uuids)
    )
    assert note == (f"GPU 2 ({uuids[2]}) takes 7 % longer than the median of 4 at size 4 GiB.")


def test_gpus_that_are_alike_are_said_to_be_and_collectives_have_no_spread() -> None:
    assert "The 4 GPUs differ by 2 % at size 4 GiB." in of_eight(EVEN).notes
    for times in (SLOW, EVEN):
        waiting = replace(measure("time", (1e-3,), size=2.0**20), by_rank=times)
        assert note_on_spread(lab_called("all-reduce").on("nccl"), (waiting,), MachineFacts()) == ""
    one_rank = replace(measure("time", (1e-3,), size=2.0**20), by_rank=(1e-3,))
    assert note_on_spread(lab_called("memory-copy").on("nccl"), (one_rank,), MachineFacts()) == ""


def test_what_each_gpu_took_is_stored_and_read_again() -> None:
    found = of_eight(SLOW)
    assert [one.by_rank for one in read_report(found.as_json()).measures] == [(1.0,) * 4, SLOW]
    alone = report("memory-copy", (measure("time", (1e-3,), size=2.0**20),), ranks=1)
    assert "by_rank" not in json.loads(alone.as_json())["measures"][0]


# A rank of two that takes as many seconds as it is told for what the other does in its own.
RANK = """
import sys, time
from functools import partial
from pathlib import Path
from app.labs.runner.rank import WorkerRank
own = WorkerRank(int(sys.argv[1]), 2, Path(sys.argv[2]), values={}, on_gpu=False, seconds=60.0)
own.join()
call = partial(time.sleep, float(sys.argv[3]))
own.times("time", call, 0.05, least=3, most=3, size=1024.0)
own.leave()
"""


@pytest.mark.needs("torch")
@pytest.mark.slow(5)
def test_the_times_of_each_rank_are_kept_beside_those_of_the_slowest(tmp_path: Path) -> None:
    commands = [
        [sys.executable, "-c", RANK, str(rank), str(tmp_path), busy] for rank, busy in enumerate(("0.01", "0.2"))
    ]
    ranks = [subprocess.Popen(command) for command in commands]
    assert [one.wait(HANGS) for one in ranks] == [0, 0]
    events = [json.loads(line) for line in (tmp_path / "events.jsonl").read_text().splitlines()]
    (taken,) = (one for one in events if one["kind"] == "measure")
    fast, slow = taken["by_rank"]
    assert fast < 0.1 < 0.2 <= slow
    assert min(taken["samples"]) >= 0.2
