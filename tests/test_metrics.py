"""The metrics of one process, and of several that share a folder."""

import subprocess
import sys
from pathlib import Path

import pytest

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


COUNTING = """
import sys
from app.server import metrics
metrics.SANDBOX_WAITING.set(int(sys.argv[1]))
metrics.verdicts("odd", "correct").inc(int(sys.argv[1]))
sys.stdout.write("ready" + chr(10))
sys.stdout.flush()
sys.stdin.read()
"""


def test_processes_that_share_a_folder_are_summed_and_the_dead_ones_forgotten(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", str(tmp_path))
    assert metrics.is_shared()
    assert metrics.folder() == tmp_path
    command = [sys.executable, "-c", COUNTING]
    counting = [
        subprocess.Popen([*command, amount], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for amount in ("3", "4", "100")
    ]
    try:
        assert [one.stdout.readline() for one in counting if one.stdout] == ["ready\n"] * 3
        dead = counting[-1].pid
        counting[-1].communicate()
        assert value("wallclock_sandbox_waiting") == ["7.0"]
        assert value("wallclock_verdicts_total") == ["107.0"], "what a process has counted stays"
        assert [path.name for path in tmp_path.glob("gauge_live*") if str(dead) in path.name] == []
    finally:
        for one in counting[:-1]:
            one.communicate()
