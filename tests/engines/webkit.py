"""WebKit, the engine of Safari, as Debian builds it: WebDriver over HTTP, on a screen in memory."""

import json
import os
import re
import signal
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from tests.engines.engine import Command, Engine
from tests.needs import program
from tests.sockets import reserved_port
from tests.waiting import HANGS, wait_until

PYTHON = "/usr/bin/python3"  # the one that has the bindings
DRIVER = "WebKitWebDriver"
_WINDOW = Path(__file__).with_name("webkit_window.py")
_AROUND = {"LIBGL_ALWAYS_SOFTWARE": "1", "WEBKIT_DISABLE_DMABUF_RENDERER": "1", "NO_AT_BRIDGE": "1"}
_HEARD = re.compile(r"^heard: (.*)$", re.MULTILINE)


class WebKit(Engine):
    """A window of WebKitGTK."""

    name = "WebKit"

    def __init__(self, folder: Path) -> None:
        self._heard = folder / "heard.txt"
        self._read = 0
        self._session = ""
        self._screen, screen = _screen(folder / "screen.txt")
        with reserved_port() as port:
            pass  # the driver takes it alone
        with self._heard.open("w") as heard:
            self._driver = subprocess.Popen(
                [str(program(DRIVER)), f"--port={port}"],
                stdout=heard,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # with the window, and what it starts
                env={**os.environ, **_AROUND, "DISPLAY": screen, "HOME": str(folder)},
            )
        self._url = f"http://127.0.0.1:{port}/session"
        wait_until(self._is_there, 5 * HANGS)
        window = {"binary": PYTHON, "args": [str(_WINDOW)]}
        wishes = {"alwaysMatch": {"webkitgtk:browserOptions": window}}
        self._session = self._ask("POST", "", {"capabilities": wishes})["sessionId"]

    def send(self, command: Command, **body: Any) -> Any:
        """The value of the answer."""
        path = command.path.format(**body)
        return self._ask(command.method, f"/{self._session}/{path}", body)

    def errors(self) -> list[str]:
        """What the console of the window has written."""
        text = self._heard.read_text(errors="replace")
        fresh, self._read = text[self._read :], len(text)
        return _HEARD.findall(fresh)

    def close(self) -> None:
        """End the window, its driver and its screen."""
        os.killpg(self._driver.pid, signal.SIGTERM)
        self._driver.wait(timeout=HANGS)
        self._screen.terminate()
        self._screen.wait(timeout=HANGS)

    def _is_there(self) -> bool:
        with suppress(OSError), urlopen(self._url.replace("session", "status"), timeout=HANGS):
            return True
        return False

    def _ask(self, method: str, path: str, body: object = None) -> Any:
        content = json.dumps(body).encode() if method == "POST" else None
        question = Request(f"{self._url}{path}", content, method=method)
        try:
            with urlopen(question, timeout=5 * HANGS) as answer:
                return json.load(answer)["value"]
        except HTTPError as error:
            raise RuntimeError(f"{method} {path}: {error.read().decode()}") from None


def _screen(path: Path) -> tuple[subprocess.Popen[bytes], str]:
    """A screen in memory, and its number, which goes to *path*."""
    with path.open("w") as number:
        process = subprocess.Popen(
            [str(program("Xvfb")), "-displayfd", "1", "-screen", "0", "1600x1200x24"],
            stdout=number,
            stderr=subprocess.DEVNULL,
        )
    wait_until(lambda: path.read_text().strip(), 5 * HANGS)
    return process, f":{path.read_text().strip()}"
