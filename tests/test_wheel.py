"""The wheel carries all that the app needs, and serves from an environment of its own."""

import os
import re
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path
from urllib.request import urlopen

import pytest

from app.core.folders import ROOT
from tests.waiting import HANGS

pytestmark = pytest.mark.slow(15)

CARRIED = (
    "app/bundle/templates/frame/base.html",
    "app/bundle/static/app.css",
    "app/bundle/static/vendor/codemirror.js",
    "app/bundle/static/vendor/codemirror-yaml.js",
    "app/bundle/exercises/collectives/ring-all-reduce-time.yaml",
    "app/bundle/alembic/env.py",
    "app/course/sandbox/guest/world.wit",
    "app/docs/settings.md",
    "app/bundle/templates/starters/pack/pyproject.toml",
    "app/bundle/templates/starters/pack/formulas/example.py",
)
LICENSES = ("LICENSE", "NOTICE", "THIRD_PARTY.md", "static/fonts/LICENSES.txt", "static/vendor/LICENSES.txt")


def built(target: str, source: Path, folder: Path) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(folder)]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    (made,) = folder.glob({"wheel": "*.whl", "sdist": "*.tar.gz"}[target])
    return made


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built("sdist", ROOT, tmp_path_factory.mktemp("sdist"))


@pytest.fixture(scope="module")
def wheel(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of the sdist, as a package index has both."""
    folder = tmp_path_factory.mktemp("wheel")
    (folder / "source").mkdir()
    subprocess.run(["tar", "-xzf", sdist], cwd=folder / "source", check=True)
    (source,) = (folder / "source").iterdir()
    return built("wheel", source, folder)


def test_the_sdist_carries_what_the_tests_need(sdist: Path) -> None:
    with tarfile.open(sdist) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
    assert {"tests/test_wheel.py", "Makefile", "pyproject.toml", "LICENSE"} <= names
    assert {"deploy/Containerfile", "deploy/kubernetes/kustomization.yaml"} <= names
    assert not [name for name in names if name.startswith((".ci", ".git/", "build/"))]


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
    python, wallclock = (str(environment / "bin" / name) for name in ("python", "wallclock"))
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index"]
    subprocess.run([*pip, "--no-compile", "--quiet", str(wheel)], check=True)
    (site,) = environment.glob("lib/python*/site-packages")
    # The dependencies come from this environment; the app from the wheel alone.
    (site / "dependencies.pth").write_text("\n".join(p for p in sys.path if p.endswith("site-packages")))
    settings = {**os.environ, "WALLCLOCK_DATABASE": f"sqlite:///{tmp_path / 'w.db'}"}
    doctor = subprocess.run([wallclock, "doctor"], cwd=tmp_path, env=settings, text=True, stdout=subprocess.PIPE)
    assert doctor.returncode == 0, doctor.stdout
    assert f"are in {site / 'app' / 'bundle'}" in doctor.stdout
    with subprocess.Popen(
        [wallclock, "serve", "--port", "0"], cwd=tmp_path, env=settings, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        found = re.search(r"http://\S+", process.stderr.readline())
        assert found
        with urlopen(found[0], timeout=HANGS) as answer:
            assert b"Ring all-reduce" in answer.read()
        process.terminate()
        process.wait(timeout=HANGS)
