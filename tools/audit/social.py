"""Draws static/screenshot.png, for the README, and the icons of a home screen, from static/favicon.svg.

Run it with `python -m tools.audit.social` when the pages have changed.
"""

import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from app.core.folders import ROOT
from tests.bench.load import server
from tests.browser.browser import launch

EXERCISE = "/exercises/collectives/ring-all-reduce-time"
WRONG = "35 ms"  # the reduce-scatter alone
ICONS = (180, 512)  # pixels: of iOS, and of a course that is installed
MARGIN = 5  # around the 22 units of the sign: a launcher may cut the icon to a circle
GROUND = "#fbfaf6"  # where an icon is transparent, iOS fills it with black


def draw_icon(target: Path, size: int) -> None:
    """The sign of the site, on a ground of its own."""
    inner = (ROOT / "static" / "favicon.svg").read_text("utf-8").partition(">")[2]
    side = 22 + 2 * MARGIN
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{size}" height="{size}" '
        f'viewBox="{-MARGIN} {-MARGIN} {side} {side}">'
        f'<rect x="{-MARGIN}" y="{-MARGIN}" width="{side}" height="{side}" fill="{GROUND}"/>{inner}'
    )
    with sync_playwright() as playwright:
        browser = launch(playwright)
        page = browser.new_page(viewport={"width": size, "height": size})
        page.set_content(f'<body style="margin: 0">{svg}')
        page.screenshot(path=target)
        browser.close()


def photograph(target: Path) -> None:
    """An exercise after a wrong answer whose cause is known."""
    with tempfile.TemporaryDirectory() as folder, server(Path(folder)) as running, sync_playwright() as playwright:
        browser = launch(playwright)
        page = browser.new_page(viewport={"width": 1200, "height": 860}, color_scheme="light")
        page.goto(f"http://127.0.0.1:{running.port}{EXERCISE}")
        page.fill("[name=answer]", WRONG)
        page.get_by_role("button", name="Check").click()
        page.get_by_text("reduce-scatter alone").wait_for()
        page.goto(f"http://127.0.0.1:{running.port}{EXERCISE}")  # a visitor who is known by now
        page.fill("[name=answer]", WRONG)
        page.get_by_role("button", name="Check").click()
        page.get_by_text("reduce-scatter alone").wait_for()
        page.mouse.move(0, 0)
        page.evaluate("document.activeElement.blur()")
        page.evaluate("window.scrollTo(0, 0)")
        page.screenshot(path=target)
        browser.close()


if __name__ == "__main__":
    for pixels in ICONS:
        draw_icon(ROOT / "static" / f"icon-{pixels}.png", pixels)
    photograph(ROOT / "static" / "screenshot.png")
