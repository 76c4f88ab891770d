"""How a leader ends its ranks. A pipe stands for the end of a process whose GPU is being freed."""

import os
import signal
import subprocess
import threading
import time

import pytest

from app.labs.launch import leader
from app.server.db.run_state import RunState

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
    leader._end(ranks, RunState.TIMEOUT)
    assert time.monotonic() - begun >= _SLOW
    freed.join()
    assert ranks.codes == {0: -signal.SIGTERM}
    assert leader._remains(ranks) == ""
    rank.returncode = -signal.SIGTERM  # the leader has waited for it


def test_a_rank_that_does_not_end_is_told_and_waited_for_no_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leader, "_TEARDOWN", 0.05)
    rank = _sleeper()
    never, end = os.pipe()
    ranks = leader._Ranks({rank.pid: 3}, {never: rank.pid})
    leader._end(ranks, RunState.TIMEOUT)
    says = "; rank 3 had not ended 0.05 s after SIGKILL, so its devices may still be in use"
    assert leader._remains(ranks) == says
    assert rank.wait() == -signal.SIGTERM
    os.close(never)
    os.close(end)


def test_a_rank_that_the_leader_stopped_did_not_fail_by_itself() -> None:
    ranks = leader._Ranks({}, {}, codes={0: 1, 1: -signal.SIGKILL, 2: -signal.SIGKILL, 3: -11})
    ranks.stopped = {1, 3}
    assert ranks.own_codes == {0: 1, 2: -signal.SIGKILL, 3: -signal.SIGSEGV}
