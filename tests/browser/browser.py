"""Finds the browser for the tests."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Error, Page, Playwright

VARIABLE = "WALLCLOCK_CHROMIUM"
# The shell without a window takes half the processor's time of the whole browser.
_NAMES = (
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome-stable",
    "google-chrome",
)
# What draws needs no process of its own: without one, tests take a fourteenth less processor time.
_FLAGS = ("--disable-gpu", "--in-process-gpu", "--disable-dev-shm-usage", "--no-first-run")
# Pages are open for a second: to compile their scripts well would take longer than to run them.
BRIEF = "--js-flags=--no-opt,--no-maglev"
MISSING = (
    "No browser for the tests. Install one with `apt-get install chromium-headless-shell`, or with "
    "`.venv/bin/python -m playwright install --with-deps chromium`, or name one with "
    f"{VARIABLE}=/path/to/chromium."
)


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
        return playwright.chromium.launch(executable_path=path, args=[*_FLAGS, *flags, *sandbox])
    except Error as error:
        lines = [line for line in error.message.splitlines() if "error" in line] or [error.message]
        raise RuntimeError(f"{path} does not start: {lines[0]}") from error


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
