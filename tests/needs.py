"""What some tests need of a machine: where it is not there they are left out, and the end of a run says so.

A test says `@pytest.mark.needs("nginx")`; a fixture calls `need` or `provided`. A module that imports
torch says nothing: where torch is not installed, each of its tests is left out.
"""

import ast
import os
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import pytest

from tests.db import postgresql

_NODE = 20  # the oldest that the packages of npm run on
_SLURM = ("slurmctld", "slurmd", "munged", "sbatch")
_required: set[str] = set()  # what the option --require names
Made = TypeVar("Made")


@dataclass(frozen=True, slots=True)
class Need:
    """What is said where a machine lacks something, how to have it, and whether it is there."""

    lacking: str
    cure: str
    is_there: Callable[[], bool]


def program(name: str) -> str | None:
    """The path of a program, which may be one for administrators; None if there is none."""
    return shutil.which(name, path=f"{os.environ.get('PATH', '')}{os.pathsep}/usr/sbin")


@cache
def node() -> str | None:
    """The path of a Node that the packages of npm run on; None if there is none, or no npm."""
    path = program("node")
    if not path or not program("npm"):
        return None
    done = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
    found = re.match(r"v(\d+)", done.stdout)
    return path if found and int(found[1]) >= _NODE else None


@cache
def _has_clock() -> bool:
    command = ["unshare", "--time", "--monotonic", "100000", "--fork", "true"]
    return bool(program(command[0])) and not subprocess.run(command, capture_output=True, check=False).returncode


@cache
def has_webkit() -> bool:
    """Whether WebKit can be driven here, in a window that the system's Python opens."""
    bindings = "import gi; gi.require_version('WebKit2', '4.1'); gi.require_version('Gtk', '3.0')"
    command = ["/usr/bin/python3", "-c", bindings]
    return all(map(program, ("WebKitWebDriver", "Xvfb", command[0]))) and not (
        subprocess.run(command, capture_output=True, check=False).returncode
    )


def packaged(name: str, package: str) -> Need:
    """A program that is in a package of Debian."""
    return Need(f"{name} is not installed", f"apt-get install {package}", lambda: program(name) is not None)


NEEDS = {
    "cc": Need("there is no C compiler", "apt-get install gcc", lambda: program("cc") is not None),
    "torch": Need(
        "torch is not installed",
        "make test installs it under Python 3.11; elsewhere, pip install torch",
        lambda: find_spec("torch") is not None,
    ),
    "browser": Need("there is no browser", "make browser", lambda: True),
    "peers": Need("what the tests talk to is not installed", "make peers", lambda: True),
    "node": Need(
        f"Node {_NODE} or newer is not installed, with npm", "apt-get install nodejs npm", lambda: node() is not None
    ),
    "postgresql": Need("PostgreSQL is not installed", "apt-get install postgresql", postgresql.is_possible),
    "slurm": Need(
        "Slurm is not installed, or this user may not start it",
        "as root, apt-get install slurmctld slurmd slurm-client munge",
        lambda: os.geteuid() == 0 and all(map(program, _SLURM)),
    ),
    "clock": Need("no process may have a clock of its own", "as root, on Linux", _has_clock),
    "nginx": packaged("nginx", "nginx-light"),
    "caddy": packaged("caddy", "caddy"),
    "apache2": packaged("apache2", "apache2"),
    "openssl": packaged("openssl", "openssl"),
    "firefox": Need(
        "Firefox is not installed", "apt-get install firefox-esr", lambda: any(map(program, ("firefox-esr", "firefox")))
    ),
    "webkit": Need(
        "WebKit is not installed", "apt-get install webkit2gtk-driver xvfb python3-gi gir1.2-webkit2-4.1", has_webkit
    ),
    "git": packaged("git", "git"),
    "kubectl": packaged("kubectl", "kubernetes-client"),
    "systemd-analyze": packaged("systemd-analyze", "systemd"),
}


def leave_out(name: str, why: str = "") -> NoReturn:
    """Leave out the test that runs, since the machine lacks *name*; fail where `--require` has it."""
    sentence = " ".join(f"{why or NEEDS[name].lacking} ({NEEDS[name].cure})".split())
    if name in _required:
        pytest.fail(f"--require={name}: {sentence}", pytrace=False)
    pytest.skip(sentence)


def need(name: str) -> None:
    """Leave out the test that runs where the machine lacks *name*."""
    if not NEEDS[name].is_there():
        leave_out(name)


def provided(name: str, make: Callable[[], Made]) -> Made:
    """What *make* returns; where it cannot be had, with a RuntimeError, the test is left out."""
    try:
        return make()
    except RuntimeError as error:
        leave_out(name, str(error))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option of who knows what the machine has, as CI does."""
    parser.addoption(
        "--require",
        action="append",
        default=[],
        choices=sorted(NEEDS),
        help="fail where a test would be left out for lack of it",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Note what the command line requires."""
    _required.update(config.getoption("--require"))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Leave out a test that is marked with what the machine lacks."""
    for marker in item.iter_markers("needs"):
        for name in marker.args:
            need(name)


class NeedyModule(pytest.Module):
    """A module that may import what is not installed: each of its tests is left out then."""

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        """The tests, or as many that are left out; any other failure to import is one."""
        try:
            return super().collect()
        except self.CollectError as error:
            name = getattr(error.__cause__, "name", None)
            if name not in NEEDS or NEEDS[name].is_there():
                raise
            return [NeedyTest.from_parent(self, name=test, lacks=name) for test in self._tests()]

    def _tests(self) -> list[str]:
        functions = ast.parse(self.path.read_text(encoding="utf-8")).body
        names = [one.name for one in functions if isinstance(one, ast.FunctionDef)]
        return [name for name in names if name.startswith("test_")]


class NeedyTest(pytest.Item):
    """A test of a module that cannot be imported."""

    def __init__(self, lacks: str, **rest: Any) -> None:
        super().__init__(**rest)
        self._lacks = lacks

    def runtest(self) -> None:
        """Leave it out."""
        leave_out(self._lacks)


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module:
    """The module of tests at a path."""
    return NeedyModule.from_parent(parent, path=module_path)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many tests were left out, and why: a line for each reason."""
    reasons = Counter(_reason(report) for report in terminalreporter.stats.get("skipped", []))
    if reasons:
        terminalreporter.section("left out")
    for reason, tests in reasons.most_common():
        terminalreporter.write_line(f"{tests:4} {'test ' if tests == 1 else 'tests'}: {reason}")


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    found = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longreprtext
    return found.removeprefix("Skipped: ")
