"""The metrics of one process, and of several that share a folder."""

import os
from pathlib import Path

import pytest
from prometheus_client.values import MultiProcessValue

from app.server import metrics


def value(name: str) -> list[str]:
    lines = metrics.exposition().decode().splitlines()
    return [line.rpartition(" ")[2] for line in lines if line.startswith(f"{name} ") or line.startswith(f"{name}{{")]


def test_verdicts_of_one_process_are_counted_by_kind_and_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PROMETHEUS_MULTIPROC_DIR", raising=False)
    assert not metrics.is_shared()
    for kind, verdict in (("odd", "correct"), ("odd", "correct"), ("odd", "incorrect"), ("even", "correct")):
        metrics.verdicts(kind, verdict).inc()
    lines = metrics.exposition().decode().splitlines()
    counted = {
        line for line in lines if line.startswith("wallclock_verdicts_total{") and ("odd" in line or "even" in line)
    }
    assert counted == {
        'wallclock_verdicts_total{kind="odd",verdict="correct"} 2.0',
        'wallclock_verdicts_total{kind="odd",verdict="incorrect"} 1.0',
        'wallclock_verdicts_total{kind="even",verdict="correct"} 1.0',
    }


def test_processes_that_share_a_folder_are_summed_and_the_dead_ones_forgotten(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", str(tmp_path))
    assert metrics.is_shared()
    assert metrics.folder() == tmp_path
    dead = 2**22 + 1  # above the largest ID of a process
    for process, amount in ((os.getpid(), 3), (os.getppid(), 4), (dead, 100)):
        kind = MultiProcessValue(lambda process=process: process)  # type: ignore[no-untyped-call]
        kind("gauge", "of_test_busy", "of_test_busy", [], [], "help", multiprocess_mode="livesum").set(amount)
        kind("counter", "of_test", "of_test_total", [], [], "help").inc(amount)
    assert value("of_test_busy") == ["7.0"]
    assert value("of_test_total") == ["107.0"], "what a process has counted stays"
    assert [path.name for path in tmp_path.glob("gauge_live*") if str(dead) in path.name] == []
    assert value("wallclock_verdicts_total") == []
