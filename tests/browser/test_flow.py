"""What one sees first, the menu of a phone, and the ways on."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import MakePage
from tests.browser.test_pages import assert_accessible
from tests.browser.test_solving import NUMERIC, to

pytestmark = pytest.mark.slow(30)

MENU = ("/", "/explore", "/labs", "/formulas", "/errata", "/progress", "/glossary", "/docs")


def bottom(page: Page, selector: str) -> float:
    """Where the last of what *selector* finds ends, from the top of the page."""
    return float(page.locator(selector).last.evaluate("e => e.getBoundingClientRect().bottom"))


@pytest.mark.parametrize(("width", "height", "screens"), [(1280, 800, 1), (390, 844, 1.5)])
def test_home_says_what_it_is_in_the_first_screen(
    open_page: MakePage, width: int, height: int, screens: float
) -> None:
    page = open_page("/", width=width)
    page.set_viewport_size({"width": width, "height": height})
    assert bottom(page, ".lead") < bottom(page, ".onward") <= height
    assert bottom(page, ".about") <= screens * height


@pytest.mark.parametrize("script", [True, False])
def test_the_menu_of_a_phone_reaches_everything(open_page: MakePage, *, script: bool) -> None:
    page = open_page(NUMERIC, "dark", 390, script=script)
    menu = page.get_by_role("navigation", name="Site")
    expect(menu).to_be_hidden()
    to(page, ".opener") if script else page.locator(".opener").focus()
    page.keyboard.press("Enter")
    expect(menu).to_be_visible()
    for path in MENU:
        expect(menu.locator(f'a[href="{path}"]')).to_be_in_viewport()
    if script:
        assert_accessible(page)
    page.keyboard.press("Escape")
    expect(menu).to_be_hidden()
    page.keyboard.press("Enter")
    for _ in range(3):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_url("**/labs")


def test_a_wide_screen_has_the_menu_in_a_row(open_page: MakePage) -> None:
    page = open_page(NUMERIC)
    expect(page.locator(".opener")).to_be_hidden()
    expect(page.get_by_role("link", name="Errata", exact=True)).to_be_visible()


def test_the_path_beside_the_exercise_learns_of_the_verdict(open_page: MakePage) -> None:
    page = open_page(NUMERIC)
    mark = page.locator("#path [aria-current] .mark")
    expect(mark).to_have_class("mark new")
    page.fill("#box-1", "70")
    page.keyboard.press("Enter")
    expect(mark).to_have_class("mark unaided")
    page.get_by_role("link", name="Continue: Bytes sent in a ring all-reduce").click()
    page.wait_for_url("**/bytes-sent-by-a-ring")
