import pytest
from playwright.sync_api import Browser

from app.web.frame.assets import FOLDER, minified
from tests.browser.accessible import assert_contrast
from tests.browser.conftest import MakePage

RULES = """css => {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(css);
  // Custom properties and what uses them keep the spaces after commas, which say nothing.
  return [...sheet.cssRules].map((rule) => rule.cssText.replaceAll(", ", ","));
}"""


def test_a_browser_reads_the_same_rules_from_a_minified_style_sheet(browser: Browser) -> None:
    page = browser.new_page()
    for path in (*sorted((FOLDER / "css").glob("*.css")), FOLDER / "figures.css"):
        css = path.read_text()
        rules = page.evaluate(RULES, css)
        assert rules
        assert page.evaluate(RULES, minified(css)) == rules
    page.close()


def test_a_text_that_cannot_be_read_is_found_on_any_page_and_on_any_ground(
    open_page: MakePage,
) -> None:
    """Texts that look alike are computed once; a color or a ground of its own is another look."""
    page = open_page("/glossary")
    assert_contrast(page)
    for style in ("color: #8f8f8f", "background: #333; color: #222"):
        page = open_page("/glossary")
        page.evaluate("style => document.querySelector('main p').style.cssText = style", style)
        with pytest.raises(AssertionError, match="color-contrast"):
            assert_contrast(page)
