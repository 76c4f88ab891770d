"""What is left open is told of the test that left it."""

import re
import subprocess
import sys
from pathlib import Path

from app.core.folders import ROOT

TESTS = """
import socket

import pytest


class Knot:
    def __init__(self):
        self.own, self.open = self, socket.socket()


@pytest.fixture
def unclosed():
    return socket.socket()


@pytest.fixture
def knot():
    yield Knot()


@pytest.fixture(scope="module")
def shared():
    yield Knot()


def test_good():
    socket.socket().close()


def test_cycle():
    Knot()


def test_good_after_it(shared):
    pass


def test_fixture(unclosed):
    pass


def test_fixture_in_a_cycle(knot):
    pass


def test_long():
    Knot(), [[] for _ in range(200_000)]


async def never():
    pass


def test_coroutine():
    knot = [never()]
    knot.append(knot)


def test_good_again():
    pass


def test_last():
    pass
"""


def test_what_is_left_open_is_named_after_the_test_that_left_it(tmp_path: Path) -> None:
    file = tmp_path / "test_open.py"
    file.write_text(TESTS)
    (tmp_path / "test_other.py").write_text("def test_other():\n    pass\n")
    options = ["-p", "tests.garbage", "-p", "no:cacheprovider", "--rootdir", str(tmp_path)]
    command = [sys.executable, "-m", "pytest", "-Werror", "-rE", *options, str(tmp_path)]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout
    assert re.findall(r"^ERROR .*::(\w+)", said, re.MULTILINE) == [
        "test_cycle",
        "test_fixture",
        "test_fixture_in_a_cycle",
        "test_long",
        "test_coroutine",
        "test_last",  # of the file, whose fixture it was
    ], said
    assert len(re.findall(r"^E .*LeftOpenError: ResourceWarning: unclosed <socket", said, re.M)) == 5
    assert len(re.findall(r"^E .*LeftOpenError: RuntimeWarning: coroutine", said, re.M)) == 1
    assert "10 passed, 6 errors" in said
