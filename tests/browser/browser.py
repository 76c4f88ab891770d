"""Finds the browser for the tests."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Error, Page, Playwright, expect, sync_playwright

from tests.needs import provided
from tests.waiting import HANGS

VARIABLE = "WALLCLOCK_CHROMIUM"
MILLISECONDS = 1000 * HANGS
# The shell without a window takes half the processor's time of the whole browser.
_NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
# What draws needs no process of its own: without one, tests take a fourteenth less processor time.
_FLAGS = ("--disable-gpu", "--in-process-gpu", "--disable-dev-shm-usage", "--no-first-run")
# Pages are open for a second: to compile their scripts well would take longer than to run them.
BRIEF = "--js-flags=--no-opt,--no-maglev"
MISSING = (
    "No browser for the tests. Install one with `apt-get install chromium-headless-shell`, or with "
    "`.venv/bin/python -m playwright install --with-deps chromium`, or name one with "
    f"{VARIABLE}=/path/to/chromium."
)


def require_driver() -> None:
    """See that Playwright itself works here, which says nothing of why when it does not.

    Raises:
        RuntimeError: its driver does not start; the message says why.
    """
    command = [sys.executable, "-m", "playwright", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        why = (done.stderr.strip().splitlines() or [f"it ended with {done.returncode}"])[-1]
        raise RuntimeError(f"Playwright does not start: {why}")


def find(playwright: Playwright) -> str:
    """The path of a Chromium: from the environment, the system's, or Playwright's own.

    Raises:
        RuntimeError: there is none; the message says how to install one.
    """
    own = playwright.chromium.executable_path
    named = os.environ.get(VARIABLE)
    for path in (named, *map(shutil.which, _NAMES), own):
        if path and Path(path).exists():
            return path
    raise RuntimeError(MISSING)


def launch(playwright: Playwright, *flags: str) -> Browser:
    """A browser without a window.

    Raises:
        RuntimeError: there is none, or it does not start.
    """
    path = find(playwright)
    sandbox = ("--no-sandbox",) if hasattr(os, "geteuid") and os.geteuid() == 0 else ()
    try:
        return playwright.chromium.launch(
            executable_path=path, args=[*_FLAGS, *flags, *sandbox], timeout=5 * MILLISECONDS
        )
    except Error as error:
        lines = [line for line in error.message.splitlines() if "error" in line] or [error.message]
        raise RuntimeError(f"{path} does not start: {lines[0]}") from error


@contextmanager
def running_browser(*flags: str) -> Iterator[Browser]:
    """A browser without a window; where there is none, the test is left out."""
    provided("browser", require_driver)
    with sync_playwright() as playwright:
        browser = provided("browser", lambda: launch(playwright, *flags))
        try:
            yield browser
        finally:
            browser.close()


def be_patient(page: Page, times: int = 1) -> None:
    """Wait on *page*, and for what is expected of any, until it hangs: a busy machine is slow."""
    page.context.set_default_timeout(times * MILLISECONDS)
    expect.set_options(timeout=times * MILLISECONDS)


@contextmanager
def unreachable(page: Page, path: str) -> Iterator[None]:
    """No request to an address that begins with *path* leaves *page* within the block.

    A page that is open already learns of a new route in its own time: it is asked until it does.
    """
    addresses = f"**{path}**"
    page.route(addresses, lambda route: route.abort())
    page.wait_for_function("path => fetch(path).then(() => false, () => true)", arg=path)
    yield
    page.unroute(addresses)
