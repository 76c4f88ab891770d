"""Servers of others, in an environment of their own: made once, in the user's cache."""

import fcntl
import hashlib
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx2

from app.core.folders import ROOT
from tests.waiting import HANGS, wait_until

_CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "wallclock-peers"


def peers() -> Path:
    """The Python of an environment that has the group `peers` of pyproject.toml.

    Raises:
        RuntimeError: it could not be made.
    """
    constraints = ROOT / "constraints.txt"
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["dependency-groups"]
    digest = hashlib.sha256(constraints.read_bytes() + repr(groups["peers"]).encode()).hexdigest()
    folder = _CACHE / f"peers-{digest[:12]}-{sys.version_info.major}.{sys.version_info.minor}"
    python = folder / "bin" / "python"
    _CACHE.mkdir(parents=True, exist_ok=True)
    with (_CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests run side by side
        if not (folder / "ready").exists():
            pip = [str(python), "-m", "pip", "install", "--quiet", "--constraint", str(constraints)]
            for command in ([sys.executable, "-m", "venv", "--clear", str(folder)], [*pip, *groups["peers"]]):
                done = subprocess.run(command, capture_output=True, text=True, check=False)
                if done.returncode:
                    raise RuntimeError(f"{' '.join(command)} failed: {done.stderr[-800:]}")
            (folder / "ready").touch()
    return python


@contextmanager
def running(command: Sequence[str], ready: str, variables: Mapping[str, str] | None = None) -> Iterator[None]:
    """Run a server until the block ends; it begins once the address *ready* answers.

    Raises:
        RuntimeError: it ended, or did not start in time.
    """
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env={**os.environ, **(variables or {})}
    ) as process:
        try:
            _wait(process, ready)
            yield
        finally:
            process.kill()
            process.communicate()


def _wait(process: "subprocess.Popen[str]", ready: str) -> None:
    def answers() -> bool:
        if process.poll() is not None:
            assert process.stderr is not None
            raise RuntimeError(f"the server ended: {process.stderr.read()[-1500:]}")
        try:
            http.get(ready).raise_for_status()
        except httpx2.HTTPError:
            return False
        return True

    with httpx2.Client(timeout=HANGS, trust_env=False) as http:
        wait_until(answers, 5 * HANGS)
