"""Nothing wide is cut without a cue: on a desktop, on phones, and with letters twice as large."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import HEIGHT, MakePage
from tests.pages import EXPLORED, PAGES
from tests.waiting import wait_until

pytestmark = pytest.mark.slow(120)

PUZZLES = tuple(
    f"/exercises/puzzles/{name}"
    for name in (
        "a-ring-by-hand",
        "a-slow-hop",
        "hide-the-sums",
        "just-in-time",
        "layers-outside",
        "one-forward-one-backward",
        "room-for-four",
        "two-chunks",
        "two-halves",
    )
)
# Of what is wider than its place: what neither fades at an edge nor is a field, in which the caret moves.
CUT = """() => {
  const cut = [];
  for (const one of document.querySelectorAll("body *")) {
    if (one.scrollWidth <= one.clientWidth + 1 || one.clientWidth < 2 || !one.checkVisibility()) continue;
    if (getComputedStyle(one).overflowX === "visible" || one.matches("input, textarea, select, svg, svg *")) continue;
    if (!("more" in one.dataset)) cut.push(`${one.tagName}.${one.className}: ${one.scrollWidth} in ${one.clientWidth}`);
  }
  return cut;
}"""
# Of the fields with an example in them: those in which it does not fit.
EXAMPLES_CUT = """() => [...document.querySelectorAll("main input[placeholder]")].filter((field) => {
  const pen = document.createElement("canvas").getContext("2d");
  pen.font = getComputedStyle(field, "::placeholder").font;
  const { paddingLeft, paddingRight } = getComputedStyle(field);
  const room = field.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight);
  return pen.measureText(field.placeholder).width > room;
}).map((field) => field.placeholder)"""
EDGES = """() => ["main > *", "footer p", "footer form p"].map(
  (one) => Math.round(document.querySelector(one).getBoundingClientRect().left))"""
NORMAL, LARGE = (
    {"fontSizes": {"standard": size, "fixed": size}} for size in (16, 32)
)  # as the settings of a browser have them


@contextmanager
def letters_twice_as_large(page: Page) -> Iterator[None]:
    settings = page.context.new_cdp_session(page)
    settings.send("Page.setFontSizes", LARGE)
    try:
        yield
    finally:  # else all later tests of this browser have large letters
        settings.send("Page.setFontSizes", NORMAL)
        settings.detach()


def assert_nothing_is_cut(page: Page, width: int) -> None:
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.evaluate("dispatchEvent(new Event('resize'))")
    wait_until(lambda: page.evaluate(CUT) == [])  # the edges fade a moment later


@pytest.mark.sweep
@pytest.mark.parametrize("path", [*PAGES.values(), *EXPLORED.values()], ids=[*PAGES, *EXPLORED])
def test_nothing_is_cut_without_a_cue(open_page: MakePage, path: str) -> None:
    page = open_page(path)
    for width in (1280, 390, 320):
        page.set_viewport_size({"width": width, "height": HEIGHT})
        assert_nothing_is_cut(page, width)
    with letters_twice_as_large(page):
        for width in (1280, 390):
            page.set_viewport_size({"width": width, "height": HEIGHT})
            assert_nothing_is_cut(page, width)


@pytest.mark.parametrize(
    "path", ["/exercises/collectives/bytes-sent-by-a-ring", "/exercises/collectives/bus-bandwidth"]
)
@pytest.mark.parametrize("language", ["en", "de"])
def test_the_example_in_a_field_is_not_cut(open_page: MakePage, path: str, language: str) -> None:
    page = open_page(f"{path}?lang={language}")
    assert page.locator("main input[placeholder]").count() > 0
    for width in (1280, 390, 320):
        page.set_viewport_size({"width": width, "height": HEIGHT})
        assert page.evaluate(EXAMPLES_CUT) == [], width


@pytest.mark.parametrize("path", ["/", "/hardware", "/explore/ring", "/chapters/memory"])
def test_the_footer_begins_where_the_page_does(open_page: MakePage, path: str) -> None:
    page = open_page(path)
    for width in (1920, 1280, 1010, 390):
        page.set_viewport_size({"width": width, "height": HEIGHT})
        assert len(set(page.evaluate(EDGES))) == 1, width


@pytest.mark.parametrize("path", PUZZLES)
def test_the_rules_of_a_puzzle_are_read_without_scrolling_sideways(open_page: MakePage, path: str) -> None:
    page = open_page(path)
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": HEIGHT})
        rules = page.locator(".examples").first
        expect(rules.locator("li").first).to_be_visible()
        assert rules.locator("li").count() <= 4
        table = rules.locator(".scroll")
        assert table.evaluate("table => table.scrollWidth <= table.clientWidth"), width


def test_an_edge_fades_as_long_as_more_is_behind_it(open_page: MakePage) -> None:
    page = open_page("/hardware", width=390)
    table = page.locator("table").first
    expect(table).to_have_attribute("data-more", "end")
    assert "gradient" in table.evaluate("one => getComputedStyle(one).maskImage")
    table.evaluate("one => one.scrollBy(20, 0)")
    expect(table).to_have_attribute("data-more", "start end")
    table.evaluate("one => one.scrollBy(9999, 0)")
    expect(table).to_have_attribute("data-more", "start")
