"""Looks at the site with tools from outside: python -m tools.audit [axe motion events pa11y lighthouse export contract]

Prints a row a figure; ends with 1 if one misses its goal. `--pages home,ring` takes those whose
names contain one of the words; `--runs 5` is for Lighthouse, of which the middle run counts.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Playwright, sync_playwright

from tests.bench.figures import Figure, row
from tests.bench.load import server
from tests.browser.browser import find, launch
from tests.pages import EXPLORED, PAGES
from tools.audit import access, contract, exported, lighthouse, motion

_TOOLS = ("axe", "motion", "events", "pa11y", "lighthouse", "export", "contract")


def main() -> int:
    """Print every figure."""
    parser = argparse.ArgumentParser(prog="python -m tools.audit", description=__doc__)
    parser.add_argument("tools", nargs="*", metavar="TOOL", help=f"{', '.join(_TOOLS)}; or all")
    parser.add_argument("--pages", default="", help="words that names of pages must contain")
    parser.add_argument("--runs", type=int, default=5, help="of Lighthouse on each page")
    asked = parser.parse_args()
    words = [word for word in asked.pages.split(",") if word]
    pages = {n: p for n, p in (PAGES | EXPLORED).items() if not words or any(w in n for w in words)}
    missed = 0
    with tempfile.TemporaryDirectory() as folder, server(Path(folder)) as running, sync_playwright() as playwright:
        origin = f"http://127.0.0.1:{running.port}"
        for tool in asked.tools or _TOOLS:
            for figure in _figures(tool, origin, pages, playwright, asked.runs):
                sys.stdout.write(row(figure))
                sys.stdout.flush()
                missed += not figure.met
    return 1 if missed else 0


def _figures(tool: str, origin: str, pages: dict[str, str], playwright: Playwright, runs: int) -> Iterator[Figure]:
    match tool:
        case "axe":
            yield from access.axe(origin, pages, launch(playwright))
        case "motion":
            yield from motion.measure(origin, launch(playwright))
        case "events":
            yield from motion.longest(origin, launch(playwright))
        case "pa11y":
            yield from access.pa11y(origin, pages, find(playwright))
        case "lighthouse":
            yield from lighthouse.measure(origin, pages, find(playwright), runs)
        case "export":
            yield from exported.measure(launch(playwright), find(playwright), runs)
        case "contract":
            yield from contract.measure()
        case _:
            raise SystemExit(f"there is no tool {tool!r}: use {', '.join(_TOOLS)}")


if __name__ == "__main__":
    sys.exit(main())
