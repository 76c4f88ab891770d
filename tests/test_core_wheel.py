"""The wheel `wallclock-core` needs what it declares and nothing else, and its README is true."""

import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from app.core.folders import ROOT

pytestmark = pytest.mark.slow(20)

SOURCE = ROOT / "deploy" / "core"
DECLARED = {"jinja2", "markupsafe", "msgspec", "numpy", "pydantic", "yaml"}
IMPORTS = """
import importlib, pkgutil, sys
before = set(sys.modules)
import app.core
for found in pkgutil.walk_packages(app.core.__path__, "app.core."):
    importlib.import_module(found.name)
print(app.core.__file__)
print(*sorted({name.partition(".")[0] for name in set(sys.modules) - before} - sys.stdlib_module_names))
"""
# What the declared packages bring along.
BROUGHT = {"annotated_types", "cython_runtime", "pydantic_core", "typing_extensions", "typing_inspection"}


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files of the wheel."""
    folder = tmp_path_factory.mktemp("core")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=SOURCE, check=True, capture_output=True)
    (wheel,) = folder.glob("wallclock_core-*.whl")
    zipfile.ZipFile(wheel).extractall(folder / "site")
    return folder / "site"


def ran(installed: Path, *arguments: str) -> str:
    environment = {"PYTHONPATH": str(installed)}
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=installed.parent, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_it_has_the_version_of_the_project(installed: Path) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert (installed / f"wallclock_core-{project['version']}.dist-info").is_dir()


def test_it_declares_every_package_that_it_imports_and_no_other(installed: Path) -> None:
    file, packages = ran(installed, "-c", IMPORTS).splitlines()
    assert Path(file).is_relative_to(installed)
    used = {name for name in packages.split() if name[0] != "_"} - BROUGHT
    assert used - {"app", "numpy"} == DECLARED - {"numpy"}
    declared = tomllib.loads((SOURCE / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    names = {one.partition(">")[0].replace("pyyaml", "yaml") for one in declared}
    assert names == DECLARED


def test_it_has_the_core_and_the_templates_of_its_figures(installed: Path) -> None:
    top = {path.name for path in (installed / "app").iterdir() if path.name != "__pycache__"}
    assert top == {"__init__.py", "bundle", "core"}
    code = """
from app.core.charts.svg import to_svg
from app.core.charts.timeline import schedule_timeline
from app.core.simulators.pipeline import Times, build, simulate_schedule
print(to_svg(schedule_timeline(simulate_schedule(build("1f1b", 4, 8), Times(1.0, 1.0, 1.0))), alone=True)[:4])
"""
    assert ran(installed, "-c", code).strip() == "<svg"


def test_the_examples_of_its_readme_are_true(installed: Path) -> None:
    assert (SOURCE / "README.md").read_text(encoding="utf-8").count(">>> ") > 12
    assert ran(installed, "-m", "doctest", str(SOURCE / "README.md")) == ""
