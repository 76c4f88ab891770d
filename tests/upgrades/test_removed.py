"""An exercise that a version no longer has leaves its answers, and pages that say so."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from app.main import create_app
from tests.client import Client
from tests.upgrades.playing import RING
from tests.upgrades.recordings import Recording, recordings
from tests.upgrades.test_upgrades import awake, settings_for

pytestmark = pytest.mark.slow(10)
GONE = "collectives/ring-all-reduce-times"  # as if it had been renamed to RING


@pytest.fixture(scope="module")
def recording() -> Recording:
    """The latest version with a class."""
    return [one for one in recordings() if "class" in one.told][-1]


@pytest.fixture
def file(recording: Recording, tmp_path: Path) -> Path:
    file = tmp_path / "wallclock.db"
    recording.restore(file)
    awake(file)
    with closing(sqlite3.connect(file)) as rows, rows:
        for table in ("attempt", "reveal", "assigned", "override"):
            rows.execute(f"UPDATE {table} SET exercise = ? WHERE exercise = ?", (GONE, RING))
    return file


def test_the_pages_of_those_who_answered_it_go_on(recording: Recording, file: Path) -> None:
    number, student = recording.told["class"]["number"], recording.told["class"]["students"][0]
    with Client(create_app(settings_for(recording, file)), follow_redirects=True) as client:
        client.cookies.update(recording.told["visitor"])
        missing = client.get(f"/exercises/{GONE}")
        assert missing.status_code == 404
        assert RING in missing.text, "the nearest exercise is offered"
        assert client.get("/progress").status_code == 200
        exported = client.get("/progress/export").json()["attempts"]
        assert any(one["exercise"] == GONE for one in exported)
        client.cookies.clear()
        client.cookies.update(student)
        for path in ("/me", f"/classes/{number}", "/assignments/2"):
            assert client.get(path).status_code == 200, path
        client.cookies.clear()
        client.post("/sign-in", data={"code": recording.told["class"]["code"]})
        for path in ("", "/grades", "/grades/2", "/people", "/live", "/regrade"):
            assert client.get(f"/classes/{number}{path}").status_code == 200, path
