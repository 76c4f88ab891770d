"""Installs a browser for the tests where there is none, by the means that the machine has.

Where it has none, this is said, and the tests that need a browser are left out.
"""

import os
import shutil
import subprocess
import sys

from playwright.sync_api import sync_playwright

from tests.browser.browser import find, require_driver

# The second is for Playwright itself, where the system is a small one.
_DEBIAN = ("chromium", "libatomic1")


def main() -> None:
    """Install one, or say how to."""
    if not _fault():
        return
    sys.stderr.write("No browser yet: installing Chromium for the tests.\n")
    for command in _means():
        subprocess.run(command, check=False, stdout=subprocess.DEVNULL)
        if not _fault():
            return
    sys.stderr.write(f"{_fault()}\nTests that need a browser are left out.\n")


def _fault() -> str:
    """Why there is no browser; empty if there is one."""
    try:
        require_driver()
        with sync_playwright() as playwright:
            find(playwright)
    except RuntimeError as error:
        return str(error)
    return ""


def _means() -> list[list[str]]:
    means = [[sys.executable, "-m", "playwright", "install", "chromium"]]
    if shutil.which("apt-get") and os.geteuid() == 0:
        apt = ["apt-get", "-qq", "-o", "Dpkg::Use-Pty=0"]
        means = [[*apt, "update"], [*apt, "install", "--yes", *_DEBIAN], *means]
    return means


if __name__ == "__main__":
    main()
