import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.course.sandbox.runner import Runner
from app.server.config import Settings
from tests.each import each
from tests.sandbox.naive import HARMLESS
from tests.sandbox.siege import attacks

pytestmark = pytest.mark.slow(60)

NOBODY = 65534
# The right to read everything stays: an interpreter may live in a folder that only root may enter.
AS_NOBODY = (
    "setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups",
    "--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search",
)  # fmt: skip


@pytest.fixture(scope="module")
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    """Once, not on both loops: what is besieged runs in a process of its own."""
    made = asyncio.new_event_loop()
    yield made
    made.close()


def run_module(name: str, *arguments: str, before: tuple[str, ...] = ()) -> str:
    command = [*before, sys.executable, "-B", "-m", name, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def test_no_attack_gets_anywhere(runner: Runner) -> None:
    says = run_module("tests.sandbox.siege", str(Settings().cache))
    assert says == f"uid {os.geteuid()}: {len(attacks())} attacks\n"
    assert len(attacks()) >= 98


def test_no_attack_gets_anywhere_without_root_either(runner: Runner, tmp_path: Path) -> None:
    if os.geteuid() != 0:
        return  # then the test above was without root
    shutil.copytree(Settings().cache / "sandbox", tmp_path / "sandbox")
    for path in (tmp_path, *tmp_path.rglob("*")):
        os.chown(path, NOBODY, NOBODY)
    for parent in tmp_path.parents:
        if parent.stat().st_uid == 0 and parent.name.startswith("pytest-"):
            parent.chmod(0o711)
    says = run_module("tests.sandbox.siege", str(tmp_path), before=AS_NOBODY)
    assert says == f"uid {NOBODY}: {len(attacks())} attacks\n"


@each(("attack", "rule"), HARMLESS.items(), ids=HARMLESS)
def test_the_same_attack_gets_through_a_naive_grader(attack: str, rule: str) -> None:
    before = AS_NOBODY if os.geteuid() == 0 else ()
    assert rule in run_module("tests.sandbox.naive", attack, before=before)
