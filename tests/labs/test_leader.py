"""How a leader ends its ranks. A pipe stands for the end of a process whose GPU is being freed."""

import os
import signal
import subprocess
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from app.labs.evidence.blame import cause_of
from app.labs.runner import leader
from app.labs.runner.job import FAILED, TIMEOUT, JobOutcome

_SLOW = 1.3  # seconds: more than a leader once waited


@pytest.fixture(autouse=True)
def _hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leader, "_GRACE", 0.01)


def _sleeper() -> "subprocess.Popen[bytes]":
    return subprocess.Popen(["sleep", "60"])


def test_a_leader_waits_until_the_driver_has_freed_the_gpu_of_a_rank() -> None:
    rank = _sleeper()
    ended, end = os.pipe()
    ranks = leader._Ranks({rank.pid: 0}, {ended: rank.pid})
    freed = threading.Timer(_SLOW, os.close, [end])
    begun = time.monotonic()
    freed.start()
    leader._end(ranks, TIMEOUT)
    assert time.monotonic() - begun >= _SLOW
    freed.join()
    assert ranks.codes == {0: -signal.SIGTERM}
    assert leader._outcome(ranks, TIMEOUT).left == ()
    rank.returncode = -signal.SIGTERM  # the leader has waited for it


def test_a_rank_that_does_not_end_is_told_and_waited_for_no_longer(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(leader, "TEARDOWN", 0.05)
    rank = _sleeper()
    never, end = os.pipe()
    ranks = leader._Ranks({rank.pid: 3}, {never: rank.pid})
    leader._end(ranks, TIMEOUT)
    found = leader._outcome(ranks, TIMEOUT)
    assert (found.stopped, found.killed, found.left) == ((3,), (3,), (3,))
    says = "; rank 3 had not ended 60 s after SIGKILL, so its devices may still be in use"
    assert cause_of(tmp_path, found, 20.0).endswith(says)
    assert rank.wait() == -signal.SIGTERM
    os.close(never)
    os.close(end)


def test_the_rank_that_failed_first_stays_the_first() -> None:
    processes = [subprocess.Popen([program]) for program in ("true", "false", "false")]
    pipes = [os.pipe() for _ in processes]
    numbers = (0, 2, 1)
    ranks = leader._Ranks(
        {one.pid: number for one, number in zip(processes, numbers, strict=True)},
        {read: one.pid for one, (read, _) in zip(processes, pipes, strict=True)},
    )
    for read, write in pipes:
        ranks.collect(read)
        os.close(write)
    assert (ranks.first, ranks.codes, ranks.left) == (2, {0: 0, 2: 1, 1: 1}, [])
    for one, number in zip(processes, numbers, strict=True):
        one.returncode = ranks.codes[number]  # the leader has waited for it


def test_a_rank_that_the_leader_stopped_did_not_fail_by_itself(tmp_path: Path) -> None:
    codes = {1: -signal.SIGKILL, 3: -signal.SIGSEGV}
    stopped = JobOutcome(FAILED, codes=codes, first=None, stopped=(1, 3))
    assert cause_of(tmp_path, stopped, 20.0) == "rank 3 was killed by SIGSEGV"
    assert "rank 1 was killed by SIGKILL" in cause_of(tmp_path, replace(stopped, stopped=(3,)), 20.0)
