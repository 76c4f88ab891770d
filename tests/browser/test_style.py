import pytest
from playwright.sync_api import Browser

from app.site.web.frame.assets import FOLDER, minify
from tests.browser.accessible import assert_good_on_every_screen
from tests.browser.conftest import MakePage
from tests.browser.test_solving import NUMERIC

pytestmark = pytest.mark.slow(15)

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
        assert page.evaluate(RULES, minify(css)) == rules
    page.close()


STYLED = """css => {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(css);
  document.adoptedStyleSheets = [sheet];
}"""
NAMELESS = """() => {
  const button = document.createElement("button");
  document.querySelector("main").append(button);
  const narrow = matchMedia("(width <= 320px)");
  narrow.onchange = () => (button.hidden = !narrow.matches);
  button.hidden = true;
}"""


@pytest.mark.parametrize(
    "rule",
    [
        "main p { color: #8f8f8f !important }",
        "main p { background: #333; color: #222 !important }",
        "main p { color: light-dark(#000, #333) !important }",
        "@media (max-width: 390px) { main p { color: #8f8f8f !important } }",
        "@media (max-width: 320px) { main p { color: light-dark(#000, #333) !important } }",
    ],
    ids=["color", "ground", "dark", "phone", "dark on the narrowest phone"],
)
def test_a_text_that_cannot_be_read_is_found_on_every_screen(open_page: MakePage, rule: str) -> None:
    page = open_page("/nothing")
    page.evaluate(STYLED, rule)
    with pytest.raises(AssertionError, match="color-contrast"):
        assert_good_on_every_screen(page)


def test_a_button_without_a_name_is_found_on_the_one_screen_that_shows_it(open_page: MakePage) -> None:
    page = open_page("/nothing")
    page.evaluate(NAMELESS)
    with pytest.raises(AssertionError, match="button-name"):
        assert_good_on_every_screen(page)


# The pages that a report measured, with the most words that each opens with: 33,800 in all then.
MOST_WORDS = {
    "/": 400, "/chapters/collectives": 800, "/explore/fit": 300, "/labs": 1100, "/measured": 600,
    "/trust": 500, "/formulas": 200, "/hardware": 500, "/glossary": 300, "/errata": 200, "/docs/solving": 420,
}  # fmt: skip
LEFT_EDGE = 36  # pixels, of every heading in a window of 1280
SIZES = {13, 15, 17, 20, 28, 44}
LOOKED_AT = """() => {
  const sizes = new Set();
  const walker = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode.parentElement;
    const apart = "svg, math, .math, code, pre, textarea, .visually-hidden";  // code is as large as the text around it looks
    if (walker.currentNode.data.trim() && node.checkVisibility() && !node.closest(apart))
      sizes.add(parseFloat(getComputedStyle(node).fontSize));
  }
  const cut = [...document.querySelectorAll("main table")].filter(
    (table) => table.checkVisibility() && table.getBoundingClientRect().right > innerWidth);
  return {
    words: document.querySelector("main").innerText.split(/\\s+/).length,
    left: document.querySelector("h1").getBoundingClientRect().left,
    sizes: [...sizes], cut: cut.length, links: document.querySelectorAll("footer a").length,
  };
}"""


@pytest.mark.parametrize(
    "path", [*MOST_WORDS, "/explore", "/explore/ring", "/reference", "/docs", "/progress", NUMERIC]
)
def test_a_page_has_few_words_six_sizes_one_edge_and_no_table_that_is_cut(open_page: MakePage, path: str) -> None:
    seen = open_page(path).evaluate(LOOKED_AT)
    assert seen["words"] <= MOST_WORDS.get(path, 800)
    assert round(seen["left"]) == LEFT_EDGE
    assert set(seen["sizes"]) <= SIZES
    assert seen["cut"] == 0
    assert seen["links"] <= 5
