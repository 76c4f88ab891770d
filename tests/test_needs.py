"""What a machine lacks is left out of a run with a sentence, and fails where it is required."""

import subprocess
import sys
from pathlib import Path

import pytest

from app.core.folders import ROOT
from tests.needs import NEEDS, need, packaged

CONFTEST = """
from tests.needs import NEEDS, Need
NEEDS["no_such"] = Need("no such thing is installed", "install it", lambda: False)
"""
IMPORTING = """
import no_such.deeper

def test_one(): no_such.used()
def helper(): ...
def test_two(): ...
"""
OTHERS = """
import pytest
from tests.needs import provided

def fetch(): raise RuntimeError("it could not\\n  be fetched")

@pytest.fixture
def fetched(): return provided("peers", fetch)

@pytest.mark.needs("no_such")
def test_marked(): raise AssertionError

@pytest.mark.needs("git", "no_such")
@pytest.mark.parametrize("number", [1, 2])
def test_cases(number): raise AssertionError

def test_with_a_fixture(fetched): raise AssertionError

def test_of_everywhere(): ...
"""
BROKEN = "import no_such_either"


def run(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """A run of the tests in *folder*, by a pytest that has no other settings of ours."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.needs", "-p", "no:cacheprovider"]
    config = ["-c", str(folder / "pytest.ini"), "--rootdir", str(folder)]
    return subprocess.run(
        [*command, *config, *options, str(folder)], cwd=ROOT, capture_output=True, text=True, check=False
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    files = {
        "pytest.ini": "[pytest]\nmarkers = needs\n",
        "conftest.py": CONFTEST,
        "test_importing.py": IMPORTING,
        "test_others.py": OTHERS,
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.needs("git")
def test_what_is_lacking_is_left_out_with_one_line_for_each_reason(folder: Path) -> None:
    done = run(folder)
    assert done.returncode == 0, done.stdout
    assert "   5 tests: no such thing is installed (install it)\n" in done.stdout
    assert "   1 test : it could not be fetched (make peers)\n" in done.stdout
    assert "1 passed, 6 skipped" in done.stdout


@pytest.mark.needs("git")
def test_workers_leave_out_the_same(folder: Path) -> None:
    done = run(folder, "-n", "2")
    assert "   5 tests: no such thing is installed (install it)\n" in done.stdout
    assert "1 passed, 6 skipped" in done.stdout


def test_what_is_required_fails(folder: Path) -> None:
    done = run(folder, "--require=peers")
    assert done.returncode == 1
    assert "--require=peers: it could not be fetched (make peers)" in done.stdout
    assert "5 skipped, 1 error" in done.stdout


def test_a_module_that_is_missing_for_another_reason_is_an_error(folder: Path) -> None:
    (folder / "test_broken.py").write_text(BROKEN)
    done = run(folder)
    assert done.returncode == 2
    assert "No module named 'no_such_either'" in done.stdout


def test_what_a_test_needs_is_known(folder: Path) -> None:
    (folder / "test_others.py").write_text(OTHERS.replace('"git"', '"gti"'))
    done = run(folder)
    assert "KeyError: 'gti'" in done.stdout
    assert done.returncode == 1


def test_a_program_that_is_not_there_is_named_with_the_package_that_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(NEEDS, "no-such", packaged("no-such", "such"))
    with pytest.raises(pytest.skip.Exception) as told:
        need("no-such")
    assert str(told.value) == "no-such is not installed (apt-get install such)"
    monkeypatch.setitem(NEEDS, "python", packaged(Path(sys.executable).name, "python3"))
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent))
    need("python")
