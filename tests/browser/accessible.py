"""Pages as axe sees them, on every screen on which it can see something else."""

from typing import Any, Literal

from axe_playwright_python.base import AXE_SCRIPT, AxeResults  # type: ignore[import-untyped]
from playwright.sync_api import Page

WIDTHS = (1280, 390, 320)
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
OF_COLORS = ("color-contrast", "link-in-text-block")  # the rules that a color scheme can change
OTHERS = {"rules": {rule: {"enabled": False} for rule in OF_COLORS}}
COLORS = {"runOnly": {"type": "rule", "values": OF_COLORS}}
# All that the rules of colors depend on: of each element that is shown, its colors and its letters.
LOOKS = """() => JSON.stringify([...document.body.querySelectorAll("*")].map((element) => {
  if (!element.checkVisibility({visibilityProperty: true, opacityProperty: true})) return "";
  const style = getComputedStyle(element);
  return [style.color, style.fill, style.backgroundColor, style.backgroundImage, style.opacity, style.filter,
    style.fontSize, style.fontWeight, style.textDecorationLine, style.display, style.position, style.textShadow,
    style.mixBlendMode].join();
}))"""
# A script makes what scrolls focusable when the window is resized, which precedes the next frame.
SETTLED = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())))"


def assert_accessible(page: Page, **options: Any) -> None:
    """By all rules, or as the *options* of axe say, as the page is shown now."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    asked = {"resultTypes": ["violations"], **options}
    results = AxeResults(page.evaluate("options => axe.run(document, options)", asked))
    assert results.violations_count == 0, results.generate_report()


def assert_good_on_every_screen(page: Page) -> None:
    """In every width by all rules; by those of colors in both schemes, wherever the page looks different."""
    looked: set[str] = set()
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme="light")
        page.evaluate(SETTLED)
        assert_fits(page, width)
        assert_accessible(page, **OTHERS)
        for scheme in SCHEMES:
            page.emulate_media(color_scheme=scheme)
            page.evaluate(SETTLED)
            if (looks := page.evaluate(LOOKS)) not in looked:
                assert_accessible(page, **COLORS)
                looked.add(looks)


def assert_fits(page: Page, width: int) -> None:
    assert page.evaluate("document.documentElement.scrollWidth") <= width
