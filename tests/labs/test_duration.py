"""Runs that are too long by the formula of their lab are refused before they start."""

import json
import re
import time
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from app.commands.lab_launch import planned_elsewhere
from app.core.errors import InputError
from app.labs.launch.base import plan_job
from app.labs.results.analysis import place_seconds, refuse_too_long
from app.labs.spec import known_labs, lab_called, read_job
from tests.each import each
from tests.labs.gpus import machine

NAIVE = {"algorithm": "naive", "ranks": "8", "sizes": "16MiB", "bandwidth": "5MB/s", "latency": "50ms"}
# What is too long, and the end of the sentence that refuses it.
TOO_LONG: Mapping[str, tuple[str, dict[str, str], str]] = {
    "one size": ("algorithms", NAIVE, "sizes=4MiB would fit"),
    "a size of several": ("algorithms", {**NAIVE, "sizes": "16MiB,64KiB,1MiB"}, "sizes=64KiB,1MiB would fit"),
    "all sizes together": ("algorithms", {**NAIVE, "sizes": "2MiB,2MiB,2MiB,4MiB"}, "sizes=2MiB,2MiB would fit"),
    "a flat ring over two nodes": (
        "two-nodes",
        {"algorithm": "flat", "ranks": "8", "sizes": "16MiB,1MiB", "across": "5MB/s", "latency": "50ms"},
        "sizes=1MiB would fit",
    ),
    "two measures, each of which fits": (
        "staged-all-to-all",
        {"sizes": "16MiB,16MiB,16MiB", "inside": "10MB/s", "across": "5MB/s", "latency": "50ms"},
        "sizes=16MiB,16MiB would fit",
    ),
}


@each("what", TOO_LONG)
@each("how", {"run": plan_job, "prepare": planned_elsewhere}.items(), ids=lambda how: how[0])
def test_a_run_that_is_too_long_is_refused_with_what_fits(what: str, how: tuple[str, object]) -> None:
    name, given, cure = TOO_LONG[what]
    plan = how[1]
    assert callable(plan)
    with pytest.raises(InputError, match="s or more with these parameters") as refused:
        plan(lab_called(name), given, "auto", lambda: machine(0))
    assert str(refused.value).endswith(cure), str(refused.value)


def test_what_is_said_to_fit_fits() -> None:
    lab = lab_called("algorithms")
    for given in ({**NAIVE, "sizes": "4MiB"}, {**NAIVE, "sizes": "64KiB,1MiB"}):
        refuse_too_long(read_job(lab, given))
    with pytest.raises(InputError):
        refuse_too_long(read_job(lab, {**NAIVE, "sizes": "8MiB"}))


def test_the_seconds_are_those_of_the_fewest_calls() -> None:
    # Seven transfers to rank 0 and seven back, one after the other, of 16 MiB at 5 MB/s.
    job = read_job(lab_called("algorithms"), NAIVE)
    each_call = 14 * (0.05 + 16 * 2**20 / 5e6)
    assert place_seconds(job, "sizes", 16 * 2.0**20) == pytest.approx(9 * each_call)


@pytest.mark.parametrize(
    ("seconds", "cure"),
    [
        (1.0, ""),
        (0.999, "sizes=8MiB would fit"),
        (6.41, "sizes=4KiB would fit"),
        (6.35, "choose shorter times or fewer"),
    ],
)
def test_a_run_of_just_its_limit_starts_and_no_size_below_the_least_is_offered(seconds: float, cure: str) -> None:
    """A limit in shares of what the run takes, or in seconds; 4 KiB is the least size, and takes 6.40 s."""
    job = read_job(lab_called("algorithms"), NAIVE)
    limit = seconds if seconds > 1 else seconds * place_seconds(job, "sizes", 16 * 2.0**20)
    job = replace(job, lab=job.lab.model_copy(update={"seconds": limit}))
    with pytest.raises(InputError, match=cure) if cure else nullcontext():
        refuse_too_long(job)


@each("name", known_labs())
def test_every_lab_fits_with_the_parameters_that_it_starts_with(name: str) -> None:
    lab = lab_called(name)
    refuse_too_long(read_job(lab, {}))
    if lab.gpu:
        refuse_too_long(read_job(lab.gpu, {}))


@pytest.mark.needs("torch")
def test_a_place_whose_calls_leave_no_time_for_samples_is_left_out_and_named(tmp_path: Path) -> None:
    from app.labs.runner.rank import WorkerRank

    rank = WorkerRank(0, 1, tmp_path, values={}, on_gpu=False, seconds=6.0)
    rank.join()
    calls: list[float] = []

    def slow_at_first() -> None:
        calls.append(0.0)
        if len(calls) == 1:
            time.sleep(0.8)

    rank.times("time", partial(time.sleep, 0.6), 0.01, size=2.0**30)
    rank.times("time", slow_at_first, 0.01, size=1024.0)
    rank.leave()
    events = [json.loads(line) for line in (tmp_path / "events.jsonl").read_text().splitlines()]
    (left_out,) = (one["says"] for one in events if one["kind"] == "detail")
    found = re.match(r"1024 MiB, for want of time: 9 calls of ([\d.]+) s", left_out)
    assert found, left_out
    assert float(found[1]) >= 0.6  # a busy machine wakes a sleeper late
    assert [one["where"] for one in events if one["kind"] == "measure"] == [{"size": 1024.0}]
