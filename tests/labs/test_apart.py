"""The queue of labs apart from the web server: one stores what is requested, the other runs it."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from app.main import create_app
from app.server.config import Settings
from app.server.db.lab_runs import enqueue, lab_run
from app.server.db.run_state import RunState
from tests.db.queue import run
from tests.waiting import HANGS, wait_until


@pytest.mark.needs("torch")
def test_a_web_server_without_labs_leaves_the_queue_to_wallclock_labs(tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path}/w.db"
    settings = Settings(database=database, runs=tmp_path / "runs", sandbox_workers=1, labs_apart=True)
    with TestClient(create_app(settings)) as client:
        site = client.app.state.site  # type: ignore[attr-defined]
        row = run(name="first", host=socket.gethostname(), lab="no-such-lab")  # fails at once
        enqueue(site.engine, row, 20)
        assert client.get("/labs/all-reduce").status_code == 200
        site.labs.wake()
        time.sleep(0.3)
        assert state(site.engine) is RunState.QUEUED
        environment = {**os.environ, "WALLCLOCK_DATABASE": database}
        command = [sys.executable, "-m", "app", "labs"]
        with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE) as labs:
            wait_until(lambda: state(site.engine) is RunState.FAILED)
            labs.send_signal(signal.SIGTERM)
            said = labs.communicate(timeout=HANGS)[1]
    assert (labs.returncode, b"Labs run on" in said, b"Traceback" in said) == (0, True, False)


def state(engine: object) -> RunState:
    row = lab_run(engine, "first")  # type: ignore[arg-type]
    assert row
    return RunState(row.state)
