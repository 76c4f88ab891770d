"""Figures that move: played, stepped and scrubbed without a request; at rest where motion is not wanted."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.accessible import assert_accessible
from tests.browser.conftest import MakePage
from tests.waiting import wait_until

pytestmark = pytest.mark.slow(60)

EXERCISE = "/exercises/collectives/bytes-sent-by-a-ring"
PARTS = """() => [...document.querySelectorAll("svg.figure")].find((svg) => svg.getClientRects().length)
  .querySelectorAll(".cells path").length"""
SIZES = """() => [...new Set([...document.querySelectorAll("body *")]
  .filter((node) => node.getClientRects().length && !node.closest("math, svg, code, sub, sup, option, .visually-hidden")
    && [...node.childNodes].some((child) => child.nodeType === 3 && child.textContent.trim()))
  .map((node) => getComputedStyle(node).fontSize))]"""
EDGE = "() => document.querySelector('main h1').getBoundingClientRect().left"
LISTED = (
    "/",
    "/chapters/collectives",
    EXERCISE,
    "/explore",
    "/explore/pipeline?show=1",
    "/explore/fit?show=1",
    "/labs",
)
SIX = {"13px", "15px", "17px", "20px", "28px", "44px"}


def scrub_of(page: Page) -> Locator:
    return page.locator(".scrub").first


def test_a_ring_plays_to_its_end_without_a_request(open_page: MakePage) -> None:
    page = open_page("/explore/ring?ranks=4&show=1")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.locator(".speed").first.select_option("3")
    page.get_by_role("button", name="Play", exact=True).click()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    expect(page.locator(".frame-says")).to_contain_text("step 6 of 6 of the ring, 4 of 4 of the tree")
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()
    assert asked == []
    page.locator(".speed").first.select_option(".5")
    page.get_by_role("button", name="Play", exact=True).click()  # from its end, it begins again
    page.get_by_role("button", name="Pause").click()
    stopped = scrub_of(page).input_value()
    assert int(stopped) <= 1
    page.wait_for_timeout(900)
    assert scrub_of(page).input_value() == stopped
    assert_accessible(page)


def test_a_figure_is_stepped_with_buttons_and_scrubbed_with_keys(open_page: MakePage) -> None:
    page = open_page("/chapters/sharding")
    says = page.locator(".side .frame-says")
    scrub_of(page).focus()
    page.keyboard.press("Home")
    expect(says).to_have_text("Each rank keeps a shard of every layer: its own color.")
    page.get_by_role("button", name="One step forward").click()
    expect(says).to_have_text("Forward: layer 0 is all-gathered, and computes.")
    page.get_by_role("button", name="One step back").click()
    page.get_by_role("button", name="One step back").click()
    expect(says).to_have_text("Each rank keeps a shard of every layer: its own color.")
    scrub_of(page).focus()
    page.keyboard.press("End")
    expect(says).to_contain_text("Freed")
    expect(scrub_of(page)).to_have_attribute("aria-valuetext", re.compile("Freed"))
    assert page.evaluate(PARTS) == 4  # one path for each color


def test_the_front_page_moves_within_a_second_unless_motion_is_not_wanted(open_page: MakePage) -> None:
    page = open_page("/")
    wait_until(lambda: int(scrub_of(page).input_value()) >= 1, 2)
    page.emulate_media(reduced_motion="reduce")
    page.reload()
    page.wait_for_timeout(1200)
    assert scrub_of(page).input_value() == "0"
    page.get_by_role("button", name="One step forward").click()
    assert scrub_of(page).input_value() == "1"


def test_a_figure_stands_still_without_scripts(open_page: MakePage) -> None:
    page = open_page("/", script=False)
    expect(page.locator(".side svg:visible")).to_have_count(1)
    expect(page.locator(".player")).to_be_hidden()
    expect(page.locator(".frame-says")).to_contain_text("chunks of one color")


def test_an_exercise_plays_the_number_that_was_typed(open_page: MakePage) -> None:
    page = open_page(EXERCISE)
    expect(page.locator(".illustration .player")).to_be_hidden()
    page.fill("[name=answer]", "500 MB")
    page.get_by_role("button", name="Check").click()
    says = page.locator(".illustration .frame-says")
    expect(says).to_contain_text("Chunks sent by each rank: 4. It holds one sum of 5 of 8 ranks.")
    page.wait_for_timeout(1200)
    expect(scrub_of(page)).to_have_value("4")
    page.fill("[name=answer]", "1.75 GB")
    page.get_by_role("button", name="Check").click()
    expect(page.locator(".insight")).to_have_text("Never more than twice the array, however many ranks: rings scale.")
    page.locator(".speed").select_option("3")
    expect(says).to_contain_text("It holds the whole sum of 8 of 8 chunks.")
    assert page.locator("#result").inner_text().count("✓") + page.locator(".judged:visible").count() == 0
    assert_accessible(page)


def test_an_answer_without_scripts_shows_how_far_it_comes(open_page: MakePage) -> None:
    page = open_page(EXERCISE, script=False)
    page.fill("[name=answer]", "875 MB")
    page.get_by_role("button", name="Check").click()
    expect(page.locator(".illustration .frame-says")).to_contain_text("Chunks sent by each rank: 7.")


def test_the_figure_beside_a_chapter_follows_its_text(open_page: MakePage) -> None:
    page = open_page("/chapters/collectives")
    page.set_viewport_size({"width": 1280, "height": 800})
    top = page.locator(".side").bounding_box()
    page.get_by_text("Trees take fewer steps").scroll_into_view_if_needed()
    page.mouse.wheel(0, 500)
    expect(page.locator(".frame-says")).to_contain_text("It holds the whole sum", timeout=20_000)
    box = page.locator(".side").bounding_box()
    assert top
    assert box
    assert box["x"] == top["x"] > 640
    assert 0 < box["y"] < 400


def test_two_schedules_have_one_player_and_one_clock(open_page: MakePage) -> None:
    page = open_page("/explore/pipeline?schedule=zb_h1&against=1f1b")
    page.set_viewport_size({"width": 1280, "height": 900})
    expect(page.locator(".player")).to_have_count(1)
    scrub_of(page).focus()
    page.keyboard.press("Home")
    for _ in range(4):
        page.get_by_role("button", name="One step forward").click()
    reach = page.evaluate(
        """() => [...document.querySelectorAll("svg.schedule.wide")].map((svg) => {
          const box = svg.querySelector(".tracks").getBBox();
          const cut = parseFloat(/inset\\(0(?:px)? ([\\d.]+)%/.exec(svg.querySelector(".tracks").style.clipPath)[1]);
          return Math.round(box.x + box.width * (1 - cut / 100));
        })"""
    )
    assert len(reach) == 2
    assert abs(reach[0] - reach[1]) <= 2


@pytest.mark.parametrize("path", LISTED)
def test_a_page_has_six_sizes_of_letters_and_the_same_left_edge(open_page: MakePage, path: str) -> None:
    page = open_page(path)
    page.set_viewport_size({"width": 1280, "height": 800})
    assert set(page.evaluate(SIZES)) <= SIX
    assert page.evaluate(EDGE) == 36
