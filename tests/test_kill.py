"""The whole server, killed at any moment: no verdict that was sent is missing afterwards."""

import json
import random
import re
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing
from http.client import HTTPException
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from app.__main__ import main
from tests.waiting import HANGS, wait_until

pytestmark = pytest.mark.slow(20)

ROUNDS = 5
ENOUGH = 25  # verdicts of a round, before the server is killed


def serve() -> "tuple[subprocess.Popen[str], str]":
    command = [sys.executable, "-m", "app", "serve", "--port", "0"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    found = re.search(r"http://\S+", process.stderr.readline())
    assert found
    return process, found[0]


def check_until_it_dies(url: str, token: str, name: str, told: list[str]) -> None:
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    for n in range(10_000):
        answer = f"{n}{name}.5 ms"
        body = {"exercise": "collectives/ring-all-reduce-time", "answer": answer}
        try:
            request = Request(f"{url}/api/v1/check", json.dumps(body).encode(), headers)
            with urlopen(request, timeout=HANGS) as reply:
                if json.load(reply)["verdict"] == "incorrect":
                    told.append(answer)
        except (OSError, HTTPException, ValueError):  # died before, or amid its reply
            return


def test_no_verdict_that_was_sent_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    database = tmp_path / "w.db"
    monkeypatch.setenv("WALLCLOCK_DATABASE", f"sqlite:///{database}")
    main(["token", "create", "load"])
    token = capsys.readouterr().out.strip()
    source = random.Random(5)
    told: list[str] = []
    for turn in range(ROUNDS):
        process, url = serve()
        threads = [
            threading.Thread(target=check_until_it_dies, args=(url, token, f"{turn}{n}", told)) for n in range(8)
        ]
        for thread in threads:
            thread.start()
        try:
            enough = len(told) + ENOUGH
            wait_until(lambda enough=enough: len(told) >= enough, 5 * HANGS)  # type: ignore[misc]
            time.sleep(source.random() * 0.2)
        finally:
            process.send_signal(signal.SIGKILL)
            process.communicate()
            for thread in threads:
                thread.join()
    with closing(sqlite3.connect(database)) as found:
        kept = {answer for (answer,) in found.execute("SELECT answer FROM attempt")}
    assert len(told) > 100
    assert set(told) <= kept
