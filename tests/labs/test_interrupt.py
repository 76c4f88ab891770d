"""Ctrl+C while Python still imports what it needs."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from app.commands.lab_launch import prepare_run
from app.labs.spec import lab_called, read_job
from tests.each import each

# Sends SIGINT as soon as somebody imports the module that the first argument names.
INTERRUPT = """
import importlib.abc, os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # where tests run in the background, it is ignored
at = sys.argv.pop(1)
class Interrupt(importlib.abc.MetaPathFinder):
    def find_spec(self, name, *rest):
        if name == at:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupt())
"""


def interrupted(at: str, start: str, arguments: Sequence[str], folder: Path) -> tuple[int, str]:
    """The exit code and the output of the program *start*, interrupted where it imports *at*."""
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPT + start, at, *arguments],
        env={**os.environ, "RANK": "0", "WORLD_SIZE": "2", "WALLCLOCK_RUNS": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


@each("at", ["app.__main__", "app.core.errors", "app.commands.lab", "app.labs.spec"])
def test_a_command_that_is_interrupted_early_says_nothing(at: str, tmp_path: Path) -> None:
    found = interrupted(at, "import app; app.run()", ["lab", "run", "ring-bytes"], tmp_path)
    assert found == (130, "")


START = "from app.labs.runner.__main__ import main; main()"


@each("at", ["app.labs.runner.process", "app.labs.runner.job"])
def test_a_rank_that_is_interrupted_early_says_nothing(at: str, tmp_path: Path) -> None:
    run = prepare_run(read_job(lab_called("ring-bytes"), {"ranks": "2"}), tmp_path, "gloo")
    assert interrupted(at, START, [str(run.folder)], tmp_path) == (130, "")


@pytest.mark.needs("torch")
def test_a_rank_that_is_interrupted_as_it_imports_torch_is_told_without_a_traceback(tmp_path: Path) -> None:
    run = prepare_run(read_job(lab_called("ring-bytes"), {"ranks": "2"}), tmp_path, "gloo")
    assert interrupted("torch", START, [str(run.folder)], tmp_path) == (1, "")
    assert run.outcome
    assert run.outcome.cause == "rank 0: KeyboardInterrupt: "
