"""Pages as axe sees them; the contrast of what looks the same is computed once."""

from pathlib import Path
from typing import Any

from axe_playwright_python.base import AXE_SCRIPT, AxeResults  # type: ignore[import-untyped]
from playwright.sync_api import Page

# What colors decide: once for what looks the same.
OF_COLORS = ("color-contrast", "link-in-text-block")
# What widths decide; the other rules read the same document as before.
OF_THE_WIDTH = (
    "css-orientation-lock", "meta-viewport", "scrollable-region-focusable", "target-size",
)  # fmt: skip
_LOOKS = Path(__file__).with_name("contrast.js").read_text("utf-8")
_known: list[
    str
] = []  # looks of texts whose contrast was computed: on every page they are the same

# Of many of a kind in a row, such as the formulas of a list, a few are looked at.
THIN_OUT = """() => {
  for (const parent of document.querySelectorAll("main :is(ul, ol, dl, tbody)")) {
    const alike = {};
    for (const child of [...parent.children]) {
      const kind = child.tagName + child.className;
      alike[kind] = (alike[kind] ?? 0) + 1;
      if (alike[kind] > 6) child.remove();
    }
  }
}"""

# A script makes what scrolls focusable when the window is resized, which precedes the next frame.
SETTLED = (
    "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())))"
)


def assert_accessible(page: Page, *rules: str) -> None:
    """By all rules, or by *rules* alone; always by the contrast of what looks unlike all before."""
    only: dict[str, Any] = {"rules": {rule: {"enabled": False} for rule in OF_COLORS}}
    if rules:
        only = {"runOnly": {"type": "rule", "values": rules}}
    options = {"resultTypes": ["violations"], **only}
    _bring_axe(page)
    _assert_nothing(page.evaluate("options => axe.run(document, options)", options))
    assert_contrast(page)


def assert_contrast(page: Page) -> None:
    """Of the texts that look unlike all those that were looked at before, here and elsewhere."""
    _bring_axe(page)
    result = page.evaluate(_LOOKS, _known)
    _assert_nothing(result["found"])
    _known.extend(result["sure"])


def assert_good_on_every_screen(page: Page) -> None:
    """Light and wide, as it was opened, and on phones; then dark and narrow."""
    for width in (320, 390, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        assert_fits(page, width)
    page.evaluate(SETTLED)
    page.evaluate(THIN_OUT)
    assert_accessible(page)
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size({"width": 390, "height": 900})
    page.evaluate(SETTLED)
    assert_accessible(page, *OF_THE_WIDTH)


def assert_fits(page: Page, width: int) -> None:
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def _bring_axe(page: Page) -> None:
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE_SCRIPT)


def _assert_nothing(found: dict[str, Any]) -> None:
    results = AxeResults(found)
    assert results.violations_count == 0, results.generate_report()
