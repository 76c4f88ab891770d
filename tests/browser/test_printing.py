"""On paper: light, with the whole figure, with room for the answer, without what only a screen does."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import MakePage
from tests.pages import SAMPLES

pytestmark = pytest.mark.slow(15)

ROOM = {  # where the answer is written, by kind
    "numeric": ".box input",
    "expression": ".box input",
    "choice": ".option input",
    "match": ".pair select",
    "order": ".order .seat",
    "buggy_line": ".code input",
    "function": ".editor",
    "schedule": ".editor",
    "design": ".pair select",
    "sharding": ".pair select",
    "lab": ".box input",
}
SCREEN_ONLY = ".bar, footer, .button, .foot, .grip, .moves, .tools, .readout, [data-turn], .slide"
HIDDEN_TEXTS = """() => [...document.querySelectorAll("svg text")]
  .filter((text) => text.textContent.trim() && getComputedStyle(text).display === "none")
  .map((text) => text.textContent)"""


def on_paper(page: Page) -> Page:
    page.get_by_role("button", name="Dark colors").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.emulate_media(media="print", color_scheme="dark")
    return page


def assert_printed_light(page: Page) -> None:
    dark, light = (
        page.evaluate("what => getComputedStyle(document.body)[what].match(/\\d+/g).map(Number)", what)
        for what in ("color", "backgroundColor")
    )
    assert max(dark) < 60
    assert min(light) > 230
    for part in page.locator(SCREEN_ONLY).all():
        expect(part).to_be_hidden()


def test_every_kind_has_room_for_an_answer_somewhere() -> None:
    assert set(ROOM) == set(SAMPLES)


@pytest.mark.parametrize("kind", SAMPLES)
def test_a_printed_exercise_has_room_for_the_answer(open_page: MakePage, kind: str) -> None:
    page = on_paper(open_page(SAMPLES[kind]))
    assert_printed_light(page)
    for room in page.locator(ROOM[kind]).all():
        expect(room).to_be_visible()
        box = room.bounding_box()
        assert box
        assert min(box["width"], box["height"]) >= 12
        assert room.evaluate("place => getComputedStyle(place).opacity") == "1"


def test_what_a_menu_offers_is_written_out_on_paper(open_page: MakePage) -> None:
    for kind, offered in (
        ("match", "a part of every layer · some of the layers, each one whole"),
        ("design", "one of 0, 1, 2, 3"),
        ("sharding", "multiply · all-gather C over X"),
    ):
        page = open_page(SAMPLES[kind])
        expect(page.get_by_text(offered)).to_be_hidden()
        on_paper(page)
        expect(page.get_by_text(offered)).to_be_visible()


def test_an_order_is_numbered_by_hand_on_paper(open_page: MakePage) -> None:
    page = on_paper(open_page(SAMPLES["order"]))
    expect(page.get_by_text("Number the statements from 1")).to_be_visible()
    seat = page.locator(".order .seat").first
    assert seat.evaluate("seat => getComputedStyle(seat).color") == "rgba(0, 0, 0, 0)"


@pytest.mark.parametrize(
    "path",
    [
        "/explore/pipeline?show=1",
        "/explore/memory?show=1",
        "/explore/all-reduce?show=1",
        "/chapters/tensor",
        "/progress",
    ],
)
def test_a_figure_is_printed_whole(open_page: MakePage, path: str) -> None:
    page = open_page(path)
    assert page.evaluate(HIDDEN_TEXTS) == []
    on_paper(page)
    assert page.evaluate(HIDDEN_TEXTS) == []
    assert_printed_light(page)


def test_a_wide_table_is_as_wide_as_the_paper(open_page: MakePage) -> None:
    page = open_page("/hardware", width=1040)  # A4, across
    on_paper(page)
    assert not page.evaluate("document.documentElement.scrollWidth > innerWidth")
    for table in page.locator("table").all():
        assert table.evaluate("table => table.scrollWidth <= table.clientWidth + 1")
