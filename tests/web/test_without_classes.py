"""A server from which the part `app.classes` is taken out serves the course."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from app.core.folders import ROOT
from app.server.config import Settings

SERVED = """
import json, sys
from fastapi.testclient import TestClient
from app.main import create_app, installed_parts
from app.server.config import Settings

exercise = "/exercises/collectives/ring-all-reduce-time"
browser = {"Origin": "http://testserver", "User-Agent": "Firefox"}
with TestClient(create_app(Settings(lab_queue=0)), headers=browser) as client:
    home = client.get("/")
    verdict = client.post(exercise, data={"answer": "1 s", "action": "check"})
    print(json.dumps({
        "parts": len(installed_parts()),
        "home": home.status_code,
        "signs in": "/sign-in" in home.text or '"/classes"' in home.text,
        "page": client.get(exercise).status_code,
        "verdict": [verdict.status_code, "✗ wrong" in verdict.text],
        "kept": "Your last answer" in client.get(exercise).text,
        "placement": client.get("/placement").status_code,
        "progress": client.get("/progress").status_code,
        "classes": client.get("/classes").status_code,
        "calls": client.get("/api/v1/exercises").status_code,
        "described": "/api/v1/classes" in client.get("/api/v1/openapi.json").text,
        "loaded": [name for name in sys.modules if name.startswith("app.classes")],
    }))
"""


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project without the folder of classes."""
    folder = tmp_path_factory.mktemp("no_classes")
    shutil.copytree(ROOT / "app", folder / "app", ignore=shutil.ignore_patterns("__pycache__", "bundle"))
    shutil.rmtree(folder / "app" / "classes")
    for name in ("alembic", "exercises", "static", "templates"):
        (folder / name).symlink_to(ROOT / name)
    return folder


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {"WALLCLOCK_DATABASE": f"sqlite:///{folder}/wallclock.db", "WALLCLOCK_CACHE": str(Settings().cache)}
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


def test_the_course_is_served_and_nobody_can_sign_in(checkout: Path) -> None:
    done = run(checkout, "-c", SERVED)
    assert done.returncode == 0, done.stderr[-3000:]
    assert json.loads(done.stdout) == {
        "parts": 0,
        "home": 200,
        "signs in": False,
        "page": 200,
        "verdict": [200, True],
        "kept": True,
        "placement": 200,
        "progress": 200,
        "classes": 404,
        "calls": 200,
        "described": False,
        "loaded": [],
    }


def test_a_command_of_classes_says_what_is_missing(checkout: Path) -> None:
    done = run(checkout, "-m", "app", "class", "list")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "wallclock: this command needs classes, and this installation has none\n"
