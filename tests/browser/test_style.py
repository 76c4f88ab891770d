from playwright.sync_api import Browser

from app.web.frame.assets import FOLDER, minified

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
