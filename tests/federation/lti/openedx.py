"""Open edX's platform for the tests: its environment is made once, in the user's cache."""

import fcntl
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2

PACKAGES = ("lti-consumer-xblock==11.4.4", "django<6", "cryptography")
_CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "wallclock-lti"
_SERVER = Path(__file__).parent / "openedx_server.py"
_SECONDS = 90


class Platform:
    """The platform that runs at *url*."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.http = httpx2.Client(timeout=30, trust_env=False)

    def told(self, path: str) -> Any:
        return self.http.get(f"{self.url}/{path}").json()

    def rotate(self) -> None:
        self.http.post(f"{self.url}/rotate")


def environment() -> Path:
    """The Python that has Open edX's platform.

    Raises:
        RuntimeError: it could not be installed.
    """
    folder = _CACHE / "openedx-11.4.4"
    python = folder / "bin" / "python"
    _CACHE.mkdir(parents=True, exist_ok=True)
    with (_CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests run side by side
        if not (folder / "ready").exists():
            for command in (
                [sys.executable, "-m", "venv", "--clear", str(folder)],
                [str(python), "-m", "pip", "install", "-q", *PACKAGES],
            ):
                done = subprocess.run(command, capture_output=True, text=True, check=False)
                if done.returncode:
                    raise RuntimeError(
                        f"{' '.join(PACKAGES)} could not be installed: {done.stderr[-800:]}"
                    )
            (folder / "ready").touch()
    return python


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextmanager
def platform(tool: str, members: int = 25) -> Iterator[Platform]:
    """Open edX's platform, which has the tool at the address *tool*."""
    port = free_port()
    command = [str(environment()), str(_SERVER), str(port), tool, str(members)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    made = Platform(f"http://localhost:{port}")
    try:
        _wait(process, made)
        yield made
    finally:
        process.kill()
        process.communicate()
        made.http.close()


def _wait(process: "subprocess.Popen[str]", made: Platform) -> None:
    ends = time.monotonic() + _SECONDS
    while time.monotonic() < ends:
        if process.poll() is not None:
            assert process.stderr is not None
            raise RuntimeError(f"the platform ended: {process.stderr.read()[-1500:]}")
        try:
            made.told("config")
        except httpx2.HTTPError:
            time.sleep(0.2)
        else:
            return
    raise RuntimeError("the platform did not start")
