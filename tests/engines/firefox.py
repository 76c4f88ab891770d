"""Firefox, over its remote protocol Marionette: WebDriver's commands on a socket."""

import json
import os
import socket
import subprocess
from pathlib import Path
from typing import Any

from tests.engines.engine import RESIZE, Command, Engine
from tests.needs import program
from tests.waiting import HANGS, wait_until

NAMES = ("firefox-esr", "firefox")
_SETTINGS = {
    "marionette.port": 0,
    "browser.shell.checkDefaultBrowser": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "app.normandy.enabled": False,
    "extensions.update.enabled": False,
    "browser.search.update": False,
}
# In the window of the browser: what its console has heard of pages.
_HEARD = """const heard = Services.console.getMessageArray()
  .filter((one) => one instanceof Ci.nsIScriptError && !(one.flags & Ci.nsIScriptError.warningFlag))
  .filter((one) => /^https?:/.test(one.sourceName))
  .map((one) => `${one.errorMessage} (${one.sourceName}:${one.lineNumber})`);
Services.console.reset();
return heard;"""
# A window is never as narrow as a phone; the place of the page in it is.
_NARROW = """const page = gBrowser.selectedBrowser;
page.style.maxWidth = page.style.minWidth = `${arguments[0]}px`;"""


class Firefox(Engine):
    """Firefox without a window."""

    name = "Firefox"

    def __init__(self, folder: Path) -> None:
        lines = (f"user_pref({json.dumps(k)}, {json.dumps(v)});\n" for k, v in _SETTINGS.items())
        (folder / "user.js").write_text("".join(lines))
        path = next(filter(None, map(program, NAMES)))
        options = ("--headless", "--marionette", "--remote-allow-system-access", "--no-remote")
        self._process = subprocess.Popen(
            [path, *options, "--profile", str(folder)],
            env={**os.environ, "HOME": str(folder)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        port = folder / "MarionetteActivePort"
        wait_until(lambda: port.exists() and port.read_text(), 5 * HANGS)
        self._socket = socket.create_connection(("127.0.0.1", int(port.read_text())))
        self._socket.settimeout(5 * HANGS)
        self._read = self._socket.makefile("rb")
        self._number = 0
        self._message()
        self._call("WebDriver:NewSession")

    def send(self, command: Command, **body: Any) -> Any:
        """The value of the answer."""
        answer = self._call(f"WebDriver:{command.name}", **body)
        return answer.get("value") if isinstance(answer, dict) else answer

    def resize(self, width: int, height: int = 900) -> None:
        """Make the page *width* pixels wide."""
        self.send(RESIZE, width=max(width, 500), height=height)
        self._in_browser(_NARROW, width)
        self.expect(lambda: self.run("return innerWidth") == width, f"{width} px")

    def errors(self) -> list[str]:
        """What the console of the browser has heard."""
        found: list[str] = self._in_browser(_HEARD)
        return found

    def close(self) -> None:
        """End the browser."""
        self._call("Marionette:Quit", flags=["eForceQuit"])
        self._read.close()
        self._socket.close()
        self._process.wait(timeout=5 * HANGS)

    def _in_browser(self, script: str, *values: object) -> Any:
        self._call("Marionette:SetContext", value="chrome")
        try:
            return self._call("WebDriver:ExecuteScript", script=script, args=list(values))["value"]
        finally:
            self._call("Marionette:SetContext", value="content")

    def _call(self, name: str, **body: Any) -> Any:
        self._number += 1
        message = json.dumps([0, self._number, name, body]).encode()
        self._socket.sendall(b"%d:%b" % (len(message), message))
        _, _, error, answer = self._message()
        if error:
            raise RuntimeError(f"{name}: {error['error']}: {error['message']}")
        return answer

    def _message(self) -> Any:
        """The next message: its length, a colon, and JSON."""
        length = b""
        while not length.endswith(b":"):
            length += self._read.read(1)
        return json.loads(self._read.read(int(length[:-1])))
