"""The wheel carries all that the app needs, and serves from an environment of its own."""

import os
import re
import subprocess
import sys
import venv
import zipfile
from pathlib import Path
from urllib.request import urlopen

import pytest

from app.config import ROOT

pytestmark = pytest.mark.slow(15)

CARRIED = (
    "app/bundle/templates/frame/base.html",
    "app/bundle/static/app.css",
    "app/bundle/static/vendor/codemirror.js",
    "app/bundle/static/fonts/drawn/sans-400.ttf",
    "app/bundle/exercises/collectives/ring-all-reduce-time.yaml",
    "app/bundle/alembic/env.py",
    "app/sandbox/guest/world.wit",
    "app/docs/settings.md",
)
LICENSES = (
    "LICENSE", "NOTICE", "THIRD_PARTY.md", "static/fonts/LICENSES.txt", "static/vendor/LICENSES.txt",
)  # fmt: skip


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (made,) = folder.glob("*.whl")
    return made


def test_the_wheel_carries_templates_files_exercises_and_migrations(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    assert set(CARRIED) <= names
    assert not [name for name in names if name.startswith("tests/")]


def test_the_wheel_carries_its_licenses(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as opened:
        (metadata,) = (name for name in opened.namelist() if name.endswith("/METADATA"))
        text = opened.read(metadata).decode()
        folder = f"{metadata.rpartition('/')[0]}/licenses"
        assert {f"{folder}/{name}" for name in LICENSES} <= set(opened.namelist())
    assert "License-Expression: Apache-2.0 AND MIT AND OFL-1.1\n" in text
    assert "Author: The Wallclock authors\n" in text


def test_the_installed_wheel_serves(wheel: Path, tmp_path: Path) -> None:
    environment = tmp_path / "venv"
    venv.create(environment, with_pip=False)
    python = environment / "bin" / "python"
    (site,) = environment.glob("lib/python*/site-packages")
    zipfile.ZipFile(wheel).extractall(site)
    # The dependencies come from this environment; the app from the wheel alone.
    (site / "dependencies.pth").write_text(
        "\n".join(p for p in sys.path if p.endswith("site-packages"))
    )
    settings = {**os.environ, "WALLCLOCK_DATABASE": f"sqlite:///{tmp_path / 'w.db'}"}
    command = [str(python), "-m", "app", "serve", "--port", "0"]
    with subprocess.Popen(
        command, cwd=tmp_path, env=settings, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        found = re.search(r"http://\S+", process.stderr.readline())
        assert found
        assert b"Ring all-reduce" in urlopen(found[0]).read()
        process.terminate()
        process.wait(timeout=20)
