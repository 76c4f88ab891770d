"""The processes of a server."""

import os

import pytest

from app.commands import server
from app.course.sandbox.pool import slots_of
from app.server.config import Settings


@pytest.mark.parametrize(("processes", "each"), [(1, 5), (2, 3), (4, 2), (9, 1)])
def test_processes_divide_the_programs_that_run_at_the_same_time(
    processes: int, each: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WALLCLOCK_SANDBOX_WORKERS", "5")
    server._share(Settings(), processes)
    assert slots_of(Settings()) == each
    assert os.environ["WALLCLOCK_SANDBOX_WORKERS"] == str(each)


def test_a_process_that_cannot_use_the_database_says_so_and_ends(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("WALLCLOCK_DATABASE", "sqlite:////proc/nowhere/w.db")
    with pytest.raises(SystemExit, match="1"):
        server.worker()
    assert "a process cannot start: the database /proc/nowhere/w.db cannot be created" in caplog.text
