"""axe and pa11y: every page in both themes and three widths, before and after it was used."""

import json
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Browser, Page

from tests.bench.figures import Figure
from tests.pages import PAGES, SAMPLES
from tools.audit.npm import installed

_THEMES = ("light", "dark")
_WIDTHS = (1280, 390, 320)
_PA11Y = "9"


def axe(origin: str, pages: Mapping[str, str], browser: Browser) -> Iterator[Figure]:
    """Violations, and pages that scroll sideways, over all screens."""
    for name, path in pages.items():
        violations = wide = 0
        for theme in _THEMES:
            for width in _WIDTHS:
                context = browser.new_context(
                    viewport={"width": width, "height": 800}, color_scheme="dark" if theme == "dark" else "light"
                )
                page = context.new_page()
                page.goto(origin + path)
                violations += _violations(page)
                _use(page, name)
                violations += _violations(page)
                wide += page.evaluate("document.documentElement.scrollWidth") > width
                context.close()
        yield Figure(f"{name}: axe", violations, "", 0, "lower")
        yield Figure(f"{name}: sideways scroll", wide, "", 0, "lower")


def _violations(page: Page) -> int:
    return int(Axe().run(page).violations_count)


def _use(page: Page, name: str) -> None:
    """What a visitor would do there: ask for a solution, move a slider, open every fold."""
    if name == "progress":  # empty at first
        origin = page.url.removesuffix(PAGES[name])
        page.goto(origin + SAMPLES["numeric"])
        page.get_by_role("textbox").first.fill("35 ms")
        page.get_by_role("button", name="Check").click()
        page.wait_for_selector(".feedback")
        page.goto(origin + PAGES[name])
    if name in SAMPLES:
        page.get_by_text("Show the solution", exact=True).click()
        page.get_by_role("button", name="Show it").click()
        page.wait_for_selector(".solution")
        page.wait_for_timeout(300)  # until the script has seen what is wide
    page.evaluate("document.querySelectorAll('details').forEach((one) => (one.open = true))")
    if page.locator(".slide").count():
        page.locator(".slide").first.focus()
        page.keyboard.press("ArrowRight")
        page.wait_for_timeout(400)
    if page.locator(".canvas").count():
        page.locator(".canvas").first.focus()
        page.keyboard.press("ArrowRight")


def pa11y(origin: str, pages: Mapping[str, str], browser: str) -> Iterator[Figure]:
    """Errors of WCAG 2 AA that pa11y finds with both of its engines."""
    program = installed("pa11y", _PA11Y) / "bin" / "pa11y.js"
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "config.json"
        for name, path in pages.items():
            errors = 0
            for width in _WIDTHS:
                config.write_text(json.dumps(_config(browser, width)))
                command = ["node", str(program), "--config", str(config), "--reporter", "json"]
                done = subprocess.run([*command, origin + path], capture_output=True, text=True, check=False)
                if not done.stdout:
                    raise RuntimeError(done.stderr.strip())
                errors += len(json.loads(done.stdout))
            yield Figure(f"{name}: pa11y", errors, "", 0, "lower")


def _config(browser: str, width: int) -> dict[str, object]:
    return {
        "chromeLaunchConfig": {"executablePath": browser, "args": ["--no-sandbox"]},
        "runners": ["axe", "htmlcs"],
        "standard": "WCAG2AA",
        "levelCapWhenNeedsReview": "warning",
        "viewport": {"width": width, "height": 800},
    }
