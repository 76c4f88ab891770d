"""An exported course, from a host that compresses texts: its size, its scores, a phone on a slow line."""

import gzip
import http.server
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from playwright.sync_api import Browser, CDPSession

from tests.bench.figures import Figure
from tools.audit import lighthouse

_EXERCISE = "exercises/collectives/ring-all-reduce-time/"
_PAGES = {"front page": "", "exercise": _EXERCISE, "explorer": "explore/ring/"}
_GOALS = dict.fromkeys(("performance", "accessibility", "best-practices", "seo"), 95)
_COMPRESSED = (".html", ".js", ".css", ".svg", ".txt", ".json", ".webmanifest")
# Lighthouse's phone: a line of 1.6 Mbit/s with 150 ms to the host, and a quarter of this processor.
_LINE = {"offline": False, "latency": 150, "downloadThroughput": 200_000, "uploadThroughput": 93_750}
_SLOWER = 4
_PATIENCE = 180_000  # milliseconds
_ATTEMPTS = 5


class _Handler(http.server.SimpleHTTPRequestHandler):
    """Files as a common host sends them."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        path = Path(self.translate_path(self.path))
        path = path / "index.html" if path.is_dir() else path
        if not path.is_file():
            self.send_error(404)
            return
        body = path.read_bytes()
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(path.name))
        self.send_header("Cache-Control", "max-age=600")
        if path.suffix in _COMPRESSED:
            body = gzip.compress(body, 6)
            self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        return


@contextmanager
def _hosted(folder: Path) -> Iterator[str]:
    handler = partial(_Handler, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def measure(browser: Browser, path: str, runs: int) -> Iterator[Figure]:
    """The size of all of it, how soon an exercise can be answered, and Lighthouse's scores.

    *path* is that of the browser, for Lighthouse.
    """
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "app", "export", folder]
        said = subprocess.run(command, check=True, capture_output=True, text=True).stderr
        size = float(said.rpartition("fetches ")[2].partition(" MB")[0])
        yield Figure("export: everything, over the wire", size, "MB", 8)
        with _hosted(Path(folder)) as origin:
            yield from _on_a_phone(browser, origin)
            pages = {f"export, {one}": path for one, path in _PAGES.items()}
            yield from lighthouse.measure(origin, pages, path, runs, goals=_GOALS)


def _on_a_phone(browser: Browser, origin: str) -> Iterator[Figure]:
    """Of a visitor who was never there before: until an answer can be typed, and until a verdict."""
    ready, verdict = zip(*(_visited(browser, origin) for _ in range(_ATTEMPTS)), strict=True)
    phone = f"slow line, CPU ÷ {_SLOWER}"
    yield Figure(f"export, {phone}: first exercise ready", sorted(ready)[_ATTEMPTS // 2], "s", 3)
    yield Figure(f"export, {phone}: first verdict", sorted(verdict)[_ATTEMPTS // 2], "s")


def _visited(browser: Browser, origin: str) -> tuple[float, float]:
    """Seconds until an exercise can be answered, and until the verdict on an answer sent then."""
    context = browser.new_context(viewport={"width": 390, "height": 844})
    page = context.new_page()
    page.set_default_timeout(_PATIENCE)
    _throttle(context.new_cdp_session(page))
    page.goto(origin + _EXERCISE, wait_until="commit")
    page.wait_for_function("() => performance.getEntriesByName('ready').length")
    ready = page.evaluate("performance.getEntriesByName('ready')[0].startTime / 1000")
    page.fill("input[name=answer]", "1 s")
    page.click("button[value=check]")
    page.wait_for_selector(".feedback.incorrect")
    verdict = page.evaluate("performance.now() / 1000")
    context.close()
    return ready, verdict


def _throttle(session: CDPSession) -> None:
    session.send("Network.enable")
    session.send("Network.emulateNetworkConditions", _LINE)
    session.send("Emulation.setCPUThrottlingRate", {"rate": _SLOWER})
