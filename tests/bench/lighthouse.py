"""Lighthouse on the pages of a server, as a phone on a slow line: python -m tests.bench.lighthouse

It needs Node 18.16 or newer, and installs Lighthouse with npm into a temporary folder the first
time (or uses the one in LIGHTHOUSE, the path of its cli/index.js). The middle of three runs counts.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import sync_playwright

from tests.bench.__main__ import row
from tests.bench.figures import Figure
from tests.bench.load import server
from tests.browser.browser import find

_VERSION = "12"
_RUNS = 3
_PAGES = {
    "home": "/",
    "exercise": "/exercises/collectives/ring-all-reduce-time",
    "function": "/exercises/collectives/write-ring-time",
    "formula": "/formulas/collectives.ring_all_reduce_time",
}
_GOALS = {"performance": 98, "accessibility": 100, "best-practices": 100, "seo": 100}
_FLAGS = "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run"


def _installed(folder: Path) -> str:
    if path := os.environ.get("LIGHTHOUSE"):
        return path
    command = ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund"]
    subprocess.run(
        [*command, f"lighthouse@{_VERSION}"], cwd=folder, check=True, capture_output=True
    )
    return str(folder / "node_modules" / "lighthouse" / "cli" / "index.js")


def _scores(lighthouse: str, address: str, browser: str) -> dict[str, float]:
    command = ["node", lighthouse, address, "--quiet", "--output=json", f"--chrome-flags={_FLAGS}"]
    environment = {**os.environ, "CHROME_PATH": browser}
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    categories = json.loads(done.stdout)["categories"]
    return {name: 100 * categories[name]["score"] for name in _GOALS}


def measure() -> Iterator[Figure]:
    """Four scores for each page."""
    with sync_playwright() as playwright:
        browser = find(playwright)
    with tempfile.TemporaryDirectory() as folder, server(Path(folder)) as running:
        lighthouse = _installed(Path(folder))
        for page, path in _PAGES.items():
            address = f"http://127.0.0.1:{running.port}{path}"
            runs = [_scores(lighthouse, address, browser) for _ in range(_RUNS)]
            for name, goal in _GOALS.items():
                middle = sorted(run[name] for run in runs)[_RUNS // 2]
                yield Figure(f"Lighthouse, {page}: {name}", middle, "", goal, "higher")


if __name__ == "__main__":
    for figure in measure():
        sys.stdout.write(row(figure))
        sys.stdout.flush()
