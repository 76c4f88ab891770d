import gzip
import re

import pytest
from playwright.sync_api import Route, expect

from tests.browser.accessible import assert_accessible, assert_fits, assert_good_on_every_screen
from tests.browser.browser import unreachable
from tests.browser.conftest import MakePage, Server
from tests.browser.test_solving import BUG, FUNCTION, NUMERIC, ORDER
from tests.pages import EXPLORED, PAGES

pytestmark = pytest.mark.slow(300)

# Both themes and both widths; what a theme changes, its colors, does not depend on the width.
over_screens = pytest.mark.parametrize(("theme", "width"), [("light", 1280), ("dark", 390)])


@pytest.mark.sweep
@pytest.mark.parametrize("path", PAGES.values(), ids=PAGES)
def test_every_page_is_accessible_and_fits_every_screen(open_page: MakePage, path: str) -> None:
    page = open_page(path)
    expect(page.locator("h1")).to_have_count(1)
    assert_good_on_every_screen(page)


@pytest.mark.sweep
@pytest.mark.parametrize("path", [*PAGES.values(), *EXPLORED.values()], ids=[*PAGES, *EXPLORED])
def test_a_page_opened_on_the_narrowest_phone_scrolls_one_way_only(open_page: MakePage, path: str) -> None:
    assert_fits(open_page(path, "dark", 320), 320)


@over_screens
def test_verdict_hints_and_solution_are_accessible_too(open_page: MakePage, theme: str, width: int) -> None:
    page = open_page(NUMERIC, theme, width)
    page.fill("#box-1", "35")
    page.keyboard.press("Enter")
    page.wait_for_selector(".feedback")
    page.get_by_role("button", name="Hint").click()
    page.wait_for_selector(".hint")
    expect(page.locator(".feedback")).to_contain_text("reduce-scatter alone")  # it stays
    page.get_by_text("Show the solution", exact=True).click()
    page.get_by_role("button", name="Show it").click()
    page.wait_for_selector(".solution")
    assert_fits(page, width)
    assert_accessible(page)
    page.goto("/progress")
    assert_accessible(page)


@over_screens
def test_the_editor_is_accessible_too(open_page: MakePage, theme: str, width: int) -> None:
    page = open_page(FUNCTION, theme, width)
    page.focus("#source")
    page.wait_for_selector(".cm-content")
    page.get_by_role("button", name="Run").click()
    page.wait_for_selector(".tests")
    assert_fits(page, width)
    assert_accessible(page)


def test_what_was_typed_survives_a_reload(open_page: MakePage) -> None:
    page = open_page(NUMERIC)
    page.fill("#box-1", "12 ms, I think")
    page.reload()
    expect(page.locator("#box-1")).to_have_value("12 ms, I think")


def test_a_lost_connection_loses_nothing(open_page: MakePage) -> None:
    page = open_page(NUMERIC)
    page.fill("#box-1", "70")
    with unreachable(page, "/exercises/"):
        page.focus("#box-1")
        page.keyboard.press("Enter")
        expect(page.locator(".verdict")).to_contain_text("cannot be reached")
    expect(page.locator("#box-1")).to_have_value("70")
    page.keyboard.press("Enter")
    expect(page.locator(".feedback.correct")).to_be_visible()
    page.evaluate("console.clear()")


def test_the_theme_is_kept(open_page: MakePage) -> None:
    page = open_page("/")
    page.get_by_role("button", name="Dark colors").click()
    page.goto("/formulas")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    expect(page.get_by_role("button", name="Light colors")).to_be_visible()


def test_another_one_has_an_address_that_shows_the_same_variant(open_page: MakePage) -> None:
    page = open_page(NUMERIC)
    page.get_by_role("link", name="Another one").click()
    page.wait_for_url("**?seed=*")
    prompt = page.locator("#prompt").inner_text()
    other = open_page(page.url)
    assert other.locator("#prompt").inner_text() == prompt


def test_the_calculator_works_while_one_types(open_page: MakePage) -> None:
    page = open_page("/formulas/collectives.ring_all_reduce_time")
    for name, value in (("size", "2 GB"), ("ranks", "8"), ("bandwidth", "400 Gbit/s")):
        page.fill(f"#a-{name}", value)
    expect(page.locator("#calculation output")).to_have_text("70 ms")
    page.fill("#a-ranks", "2.5")
    expect(page.locator("#calculation")).to_contain_text("ranks")


def test_the_list_of_formulas_narrows(open_page: MakePage) -> None:
    page = open_page("/formulas")
    page.fill("#filter", "tree crossover")
    expect(page.locator("[data-entry]:visible")).to_have_count(2)


def test_progress_is_there_after_the_server_was_killed(open_page: MakePage, server: Server) -> None:
    page = open_page(NUMERIC)
    page.fill("#box-1", "70")
    page.keyboard.press("Enter")
    page.wait_for_selector(".feedback.correct")
    cookies = page.context.cookies()
    server.kill()
    server.start()
    again = open_page("/")
    for cookie in cookies:
        name, value = str(cookie.get("name")), str(cookie.get("value"))
        again.context.add_cookies([{"name": name, "value": value, "url": server.url}])
    again.goto(f"{server.url}/progress")
    expect(again.locator(".totals")).to_contain_text(re.compile(r"1 of \d+"))


@pytest.mark.parametrize("path", ["/", NUMERIC, ORDER, BUG, FUNCTION, "/explore/pipeline", "/explore/fit"])
def test_a_first_visit_is_light(open_page: MakePage, path: str, server: Server) -> None:
    page = open_page("/nothing")
    sizes: dict[str, int] = {}
    scripts: list[int] = []
    styles: list[int] = []

    def count(response: object) -> None:
        body = response.body()  # type: ignore[attr-defined]
        kind = response.headers.get("content-type", "")  # type: ignore[attr-defined]
        packed = len(body) if "font" in kind else len(gzip.compress(body))
        sizes[response.url] = packed  # type: ignore[attr-defined]
        (scripts if "javascript" in kind else styles if "css" in kind else []).append(packed)

    fresh = page.context.browser.new_page() if page.context.browser else page
    fresh.on("response", count)
    fresh.goto(f"{server.url}{path}", wait_until="networkidle")
    fresh.close()
    assert sum(sizes.values()) <= 150_000
    figures = any("figures" in url for url in sizes)
    assert sum(scripts) <= 15_000
    assert sum(styles) <= (9_500 if figures else 6_400)


@over_screens
def test_a_term_is_explained_on_focus(open_page: MakePage, theme: str, width: int) -> None:
    page = open_page("/chapters/pipelines", theme, width)
    term = page.locator("a.term", has_text="bubble").first
    term.focus()
    shown = term.evaluate("e => getComputedStyle(e, '::after').content")
    assert "fills and drains" in shown
    assert_fits(page, width)
    assert_accessible(page)
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/glossary#bubble$"))
    expect(page.locator("#bubble")).to_be_in_viewport()


SHIFTS = """() => new Promise((done) => {
  let sum = 0;
  new PerformanceObserver((list) => list.getEntries().forEach((one) => (sum += one.value)))
    .observe({type: "layout-shift", buffered: true});
  document.fonts.ready.then(() => setTimeout(() => done(sum), 300));
})"""


def test_nothing_moves_when_the_fonts_arrive_late(open_page: MakePage) -> None:
    page = open_page("/glossary", width=320)

    def late(route: Route) -> None:
        page.wait_for_timeout(400)
        route.continue_()

    page.route("**/fonts/*", late)
    page.context.new_cdp_session(page).send("Network.setCacheDisabled", {"cacheDisabled": True})
    for path in ("/chapters/collectives", "/exercises/pipelines/bubble-two-ways"):
        page.goto(path)
        assert page.evaluate(SHIFTS) < 0.02, path


def test_a_teacher_makes_a_class_imports_a_roster_and_assigns(open_page: MakePage) -> None:
    page = open_page("/classes")
    assert page.input_value("#zone") == page.evaluate("Intl.DateTimeFormat().resolvedOptions().timeZone")
    page.fill("#name", "Distributed training")
    page.fill("#teacher", "Grace Hopper")
    page.click("text=Make the class")
    expect(page.locator(".join-link")).to_contain_text("/join/")
    assert_accessible(page)
    page.click("text=import a roster")
    page.fill("#text", "id,name\n1,Ada Lovelace\n2,Alan Turing")
    page.click("text=See what changes")
    expect(page.locator("main")).to_contain_text("2 new")
    page.click("text=Change the class")
    assert_accessible(page)
    page.click("text=Make codes for the")
    expect(page.locator(".slips li")).to_have_count(2)
    page.emulate_media(media="print")
    expect(page.locator("h1")).to_be_hidden()
    page.emulate_media(media="screen")
    page.click("text=Assignments")
    page.click("text=New assignment")
    page.fill("#filter", "three ways to compare")
    expect(page.locator("[data-entry]:visible")).to_have_count(1)
    page.check("[data-entry]:visible input[type=checkbox]")
    expect(page.locator("[data-sum]")).to_have_text("1 chosen, 1 point")
    page.fill("#title", "Week 1")
    page.fill("#due", "2036-10-02T23:59")
    expect(page.locator("#due-words")).to_contain_text("Thursday, Oct 2, 2036, 23:59, in ")
    page.click("button:has-text('Assign')")
    expect(page.locator("main")).to_contain_text("0 of 2 have answered every exercise")
    page.click("text=Week 1")
    assert_good_on_every_screen(page)
