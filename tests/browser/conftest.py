import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Literal
from urllib.request import urlopen

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.browser import BRIEF, be_patient, running_browser
from tests.waiting import HANGS, wait_until

HEIGHT = 900  # of a window, in pixels


class Server:
    """`wallclock serve` in a process of its own, which can be started again."""

    def __init__(self, folder: Path) -> None:
        self.database = folder / "wallclock.db"
        self.url = ""
        self._process: subprocess.Popen[str] | None = None

    def start(self, *options: str) -> None:
        """Serve with these *options*, and wait until the sandbox is ready too."""
        environment = {
            **os.environ,
            "WALLCLOCK_DATABASE": f"sqlite:///{self.database}",
            "WALLCLOCK_RUNS": str(self.database.parent / "runs"),
        }
        self._process = subprocess.Popen(
            [sys.executable, "-m", "app", "serve", "--port", "0", *options],
            env=environment,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self._process.stderr is not None
        found = re.search(r"http://\S+", self._process.stderr.readline())
        assert found, "the server did not start"
        self.url = found[0]
        wait_until(self._is_ready, 5 * HANGS)

    def _is_ready(self) -> bool:
        with urlopen(f"{self.url}/healthz", timeout=HANGS) as answer:
            return b"ready" in answer.read()

    def stop(self) -> None:
        """End it with a signal; kill it where that is not enough."""
        if self._process:
            self._process.terminate()
            try:
                self._process.wait(timeout=HANGS)
            except subprocess.TimeoutExpired:
                self.kill()
                raise
            if self._process.stderr:
                self._process.stderr.close()

    def kill(self) -> None:
        """End it as a loss of power would."""
        if self._process:
            self._process.kill()
            self._process.wait(timeout=HANGS)
            if self._process.stderr:
                self._process.stderr.close()


@contextmanager
def serving(folder: Path) -> Iterator[Server]:
    """A server whose files are in *folder*, started, and ended whatever happens."""
    made = Server(folder)
    try:
        made.start()
        yield made
    finally:
        made.stop()


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("server")) as made:
        yield made


# Of the package, not the session: while it is open, no other test may run an event loop.
@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    with running_browser(BRIEF) as made:
        yield made


class Tab:
    """A page that one test after the other opens as a new visitor.

    A renderer that knows the scripts needs half the processor time of a new one.
    """

    def __init__(self, browser: Browser, url: str) -> None:
        self.url = url
        self.page = browser.new_context(base_url=url).new_page()
        be_patient(self.page)

    def clear(self, theme: str, width: int) -> Page:
        """Forget the visitor before, and every page of theirs."""
        self.page.unroute_all()
        self.page.goto("/livez")
        self.page.evaluate("localStorage.clear(); sessionStorage.clear()")
        self.page.context.clear_cookies()
        self.page.context.clear_permissions()
        self.page.mouse.move(0, 0)
        self.page.emulate_media(media="null", color_scheme=_scheme(theme), reduced_motion="null", forced_colors="null")
        self.page.set_viewport_size({"width": width, "height": HEIGHT})
        return self.page


@pytest.fixture(scope="package")
def tabs(browser: Browser) -> list[Tab]:
    """The tab of the server that runs, if one has been opened."""
    return []


MakePage = Callable[..., Page]


@pytest.fixture
def open_page(browser: Browser, server: Server, tabs: list[Tab]) -> Iterator[MakePage]:
    """Makes pages of new visitors; nothing may go to the console or to another host."""
    used = ExitStack()  # one that does not close keeps no other open
    complaints: list[str] = []
    watch: dict[Any, Any] = {
        "console": lambda m: complaints.append(m.text) if m.type == "error" else None,
        "pageerror": lambda error: complaints.append(str(error)),
        "request": lambda r: None if r.url.startswith((server.url, "data:")) else complaints.append(r.url),
    }

    def tab(theme: str, width: int) -> Page:
        if not tabs or tabs[0].url != server.url:
            tabs[:] = [Tab(browser, server.url)]
        return tabs[0].clear(theme, width)

    def new(theme: str, width: int, script: bool) -> Page:
        context = browser.new_context(
            base_url=server.url,
            viewport={"width": width, "height": HEIGHT},
            color_scheme=_scheme(theme),
            java_script_enabled=script,
        )
        used.callback(context.close)
        page = context.new_page()
        be_patient(page)
        return page

    def make(path: str, theme: str = "light", width: int = 1280, *, script: bool = True) -> Page:
        page = new(theme, width, script) if made or not script else tab(theme, width)
        made.append(page)
        for event, listener in watch.items():
            page.on(event, listener)
            used.callback(page.remove_listener, event, listener)
        page.goto(path)
        if script:
            page.wait_for_selector("html[data-ready]", state="attached")
        return page

    made: list[Page] = []
    with used:
        yield make
    # A page that is not there, a form that is refused, a line that is cut.
    expected = ("status of 404", "status of 422", "ERR_FAILED")
    assert [c for c in complaints if not any(e in c for e in expected)] == []


def _scheme(theme: str) -> Literal["light", "dark"]:
    return "dark" if theme == "dark" else "light"
