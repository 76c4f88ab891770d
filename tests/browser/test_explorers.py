import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Page, expect

from tests.browser.accessible import assert_accessible, assert_fits
from tests.browser.browser import unreachable
from tests.browser.conftest import MakePage
from tests.browser.test_pages import over_screens
from tests.waiting import wait_until

pytestmark = pytest.mark.slow(80)
COVERED = re.compile(r"sent in total\s+\?$")


def unfold(page: Page) -> None:
    """Open the settings, where they are folded."""
    summary = page.get_by_text("Settings", exact=True)
    if summary.is_visible():
        summary.click()


@over_screens
def test_an_explorer_follows_its_slider(open_page: MakePage, theme: str, width: int) -> None:
    page = open_page("/explore/memory?parameters=405", theme, width)
    page.evaluate("document.body.dataset.same = 'yes'")
    expect(page.locator(".facts")).to_contain_text("101.2 GB")
    unfold(page)
    slide = page.get_by_label("Data-parallel GPUs, slider")
    slide.focus()
    page.keyboard.press("End")
    expect(page.locator("#c-ranks")).to_have_value("16384")
    expect(slide).to_have_attribute("aria-valuetext", "16384")
    expect(page.locator(".facts")).to_contain_text("395.5 MB")
    expect(page).to_have_url(re.compile("ranks=16384"))
    expect(page).to_have_title(re.compile("Data-parallel GPUs 16,384"))
    page.fill("#c-memory", "8 TB")
    expect(page.locator("#explored .feedback.notice")).to_contain_text("288 GB is the largest")
    assert page.evaluate("document.body.dataset.same") == "yes"
    canvas = page.locator(".canvas")
    canvas.focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".readout")).to_contain_text("data parallel, 6.48 TB, weights: 810 GB")
    assert_fits(page, width)
    assert_accessible(page)


def test_another_language_shows_the_same_state(open_page: MakePage) -> None:
    page = open_page("/explore/ring?ranks=3&show=1&lang=en")
    page.fill("#c-ranks", "5")
    page.wait_for_url("**ranks=5**")
    page.get_by_role("button", name="Deutsch").click()
    expect(page.locator("html[lang=de]")).to_be_attached()
    expect(page.locator("#c-ranks")).to_have_value("5")
    assert "lang=" not in page.url


def test_three_questions_are_answered_as_they_change(open_page: MakePage) -> None:
    page = open_page("/explore/fit")
    verdict = page.locator(".answer-first")
    expect(verdict).to_contain_text("Yes: ")
    page.select_option("#c-gpu", "RTX 4090")
    page.fill("#c-gpus", "1")
    expect(verdict).to_contain_text("No: 124 GB more than the 24 GB of a GPU. It fits on 8 of them")
    page.fill("#c-gpus", "16")
    expect(verdict).to_contain_text("Yes: ")
    expect(page).to_have_url(re.compile("gpus=16$"))  # an address has what was told
    expect(page.locator(".facts")).not_to_contain_text("was")  # another machine
    page.get_by_text("Layout, batch and bill").click()
    expect(page.locator("#c-batch")).to_have_attribute("placeholder", "1024")
    page.fill("#c-tensor", "4")
    expect(verdict).to_contain_text("tensor\N{NO-BREAK SPACE}4")
    expect(page.locator(".facts")).to_contain_text("was")
    assert_accessible(page)
    page.reload()
    page.get_by_text("Layout, batch and bill").click()
    expect(page.locator(".facts")).to_contain_text("was")
    page.fill("#c-tensor", "")
    expect(page).not_to_have_url(re.compile("tensor="))
    expect(verdict).not_to_contain_text("tensor\N{NO-BREAK SPACE}4")


def test_an_explorer_works_without_scripts(open_page: MakePage) -> None:
    page = open_page("/explore/pipeline", script=False)
    page.select_option("#c-schedule", "gpipe")
    page.fill("#c-microbatches", "12")
    page.get_by_role("button", name="Show").click()
    expect(page.locator(".said")).to_contain_text("GPipe takes 450 ms")
    expect(page.locator("svg.schedule:visible")).to_be_visible()


def test_a_micro_batch_is_traced_through_a_schedule(open_page: MakePage) -> None:
    page = open_page("/explore/pipeline?show=1")
    canvas = page.locator("#figure-pipeline-0 .canvas")
    readout = page.locator("#figure-pipeline-0 .readout")
    canvas.focus()
    page.keyboard.press("ArrowRight")
    expect(readout).to_have_text("forward of micro-batch 0, 0 s to 10 ms")
    assert (page.locator("#figure-pipeline-0 .traced").get_attribute("d") or "").count("M") == 8
    page.keyboard.press("ArrowLeft")
    expect(readout).to_contain_text("backward of micro-batch 7")  # the last of the last GPU
    box = page.locator("#figure-pipeline-0 svg:visible").bounding_box()
    assert box
    scale = box["width"] / 760
    page.mouse.move(box["x"] + 50 * scale, box["y"] + 15 * scale)
    expect(readout).to_have_text("forward of micro-batch 0, 0 s to 10 ms")
    plot = page.locator("#figure-pipeline-1 .canvas")
    plot.focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#figure-pipeline-1 .readout")).to_contain_text("GPU 0, 0 s: 1")
    page.locator("#figure-pipeline-0").get_by_role("button", name="Play", exact=True).click()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()


def test_a_state_has_a_link_and_so_has_a_figure_on_another_page(open_page: MakePage) -> None:
    page = open_page("/explore/memory?ranks=8")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy link").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert "ranks=8" in page.evaluate("navigator.clipboard.readText()")
    page.goto("/chapters/tensor")
    page.locator("#figure-split-1 summary").click()
    page.get_by_role("button", name=re.compile("^Copy link to ")).click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()").endswith("#figure-split-1")


def test_a_prediction_comes_before_the_figure(open_page: MakePage) -> None:
    page = open_page("/chapters/checkpoints")
    guess = page.get_by_role("textbox", name="Young's interval")
    guess.fill("1 h")  # a checkpoint takes 98 s, the MTBF is 24 h
    page.get_by_role("button", name="Reveal").click()
    expect(page.locator("#guessed")).to_contain_text("Young's interval is 68.59 min. Your prediction is 13 % too low")
    expect(page.locator("svg.figure:visible").first).to_be_visible()
    expect(guess).to_have_count(0)


@over_screens
def test_the_question_follows_the_sliders_until_it_is_answered(open_page: MakePage, theme: str, width: int) -> None:
    page = open_page("/explore/ring", theme, width)
    asked, facts = page.locator("#asked"), page.locator(".facts div").first
    expect(asked).to_contain_text("8 ranks all-reduce 1 GB")
    expect(facts).to_have_text(COVERED)
    assert_fits(page, width)
    assert_accessible(page)
    unfold(page)
    page.get_by_label("Sent in total").fill("1.5 GB")
    page.fill("#c-ranks", "4")
    expect(asked).to_contain_text("Settings: Ranks 4.")
    expect(facts).to_have_text(COVERED)
    expect(page.get_by_label("Sent in total")).to_have_value("1.5 GB")
    page.get_by_label("Sent in total").press("Enter")
    expect(page.locator("#guessed")).to_contain_text("Right: sent in total is 1.5 GB")
    expect(page.locator("#c-ranks")).to_have_value("4")
    expect(page.locator("[data-live]")).to_contain_text("Right: sent in total is 1.5 GB")
    expect(page.locator("#explored")).to_be_focused()
    expect(facts).to_contain_text("1.5 GB")
    assert_fits(page, width)
    assert_accessible(page)
    page.fill("#c-ranks", "2")  # once shown, it is shown
    expect(facts).to_contain_text("1 GB")
    expect(page.locator("#guessed")).to_have_count(0)
    page.get_by_role("link", name="Hide the answer").press("Enter")
    expect(asked).to_contain_text("Settings: Ranks 2.")
    expect(page.get_by_label("Sent in total")).to_be_focused()
    expect(facts).to_have_text(COVERED)
    page.keyboard.type("a lot")
    page.keyboard.press("Enter")
    expect(page.locator("#guessed")).to_contain_text("Cannot read")
    expect(facts).to_have_text(COVERED)
    page.get_by_role("link", name="Just show me").press("Enter")
    expect(facts).to_contain_text("1 GB")


@over_screens
def test_a_wrong_prediction_is_told_its_mistake(open_page: MakePage, theme: str, width: int) -> None:
    page = open_page("/explore/ring", theme, width)
    page.get_by_label("Sent in total").fill("(8-1)/8 * 1 GB")
    page.keyboard.press("Enter")
    expect(page.locator("#guessed")).to_contain_text("(0.875 GB); sent in total is 1.75 GB")
    expect(page.locator("#guessed")).to_contain_text("That is one phase")
    expect(page.locator("[data-live]")).to_contain_text("That is one phase")
    assert_accessible(page)
    page.get_by_role("link", name="Bytes sent in a ring").click()
    expect(page).to_have_url(re.compile("/exercises/collectives/bytes-sent-by-a-ring"))


def test_a_prediction_needs_no_scripts(open_page: MakePage) -> None:
    page = open_page("/explore/ring", script=False)
    page.fill("#c-ranks", "4")
    page.get_by_role("button", name="Predict for these").click()
    expect(page.locator("#asked")).to_contain_text("Settings: Ranks 4.")
    expect(page.locator(".facts div").first).to_have_text(COVERED)
    page.get_by_label("Sent in total").fill("1.5 GB")
    page.get_by_role("button", name="Reveal").click()
    expect(page.locator("#guessed")).to_contain_text("Right")
    expect(page.locator(".facts")).to_contain_text("1.5 GB")


@contextmanager
def slow_motion(page: Page) -> Iterator[None]:
    """In this block, animations take a thousand times as long."""
    devtools = page.context.new_cdp_session(page)
    devtools.send("Animation.enable")
    devtools.send("Animation.setPlaybackRate", {"playbackRate": 0.001})
    yield
    devtools.send("Animation.setPlaybackRate", {"playbackRate": 1})
    devtools.detach()


def test_blocks_move_to_their_places_in_another_schedule_where_that_is_wanted(open_page: MakePage) -> None:
    page = open_page("/explore/pipeline?show=1")
    page.wait_for_timeout(400)  # a change right after another is shown at once
    moving = page.locator(".moving rect")
    with slow_motion(page):  # it lasts half a second, in which a busy machine does not look
        page.select_option("[name=schedule]", "zb_h1")
        moving.first.wait_for(state="attached")
        page.evaluate("document.getAnimations().forEach((one) => (one.pause(), (one.currentTime = 0)))")
        assert moving.count() == 3 * 4 * 8
        assert moving.last.evaluate("block => getComputedStyle(block).transform") != "none"
        page.evaluate("document.getAnimations().forEach((one) => one.finish())")
    expect(moving).to_have_count(0)
    page.emulate_media(reduced_motion="reduce")
    page.wait_for_timeout(400)
    page.select_option("[name=schedule]", "gpipe")
    expect(page.locator(".drawn figcaption").first).to_contain_text("GPipe")
    assert moving.count() == 0


def test_a_page_prints_without_its_controls(open_page: MakePage) -> None:
    page = open_page("/explore/memory?show=1")
    expect(page.get_by_text("Data-parallel GPUs 64")).to_be_hidden()
    page.emulate_media(media="print")
    expect(page.locator(".controls")).to_be_hidden()
    expect(page.get_by_text("Values and files")).to_be_hidden()
    expect(page.get_by_text("Data-parallel GPUs 64")).to_be_visible()
    expect(page.locator(".bar")).to_be_hidden()
    expect(page.locator("svg.bars:visible")).to_be_visible()
    expect(page.locator(".facts")).to_be_visible()


def test_figures_keep_their_colors_where_colors_are_forced(open_page: MakePage) -> None:
    page = open_page("/explore/pipeline?show=1")
    page.emulate_media(forced_colors="active")
    kinds = page.locator("svg.schedule.wide .track path").evaluate_all(
        "paths => new Set(paths.map(path => getComputedStyle(path).fill)).size"
    )
    assert kinds == 2


DRAGGED = {  # explorer: the control that a point of its figure moves, and where it starts
    "checkpoints": ("interval", "60"),
    "ring": ("size", "1000"),
    "machine": ("size", "4096"),
    "learning-rate": ("batch", "2048"),
    "formats": ("weight", "0.02"),
}


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("name", DRAGGED)
def test_a_point_that_is_dragged_moves_its_control(open_page: MakePage, name: str, width: int) -> None:
    control, start = DRAGGED[name]
    page = open_page(f"/explore/{name}?show=1", width=width)
    box = page.locator(f"#c-{control}")
    expect(box).to_have_value(start)
    handle = page.locator(".handle").first
    handle.scroll_into_view_if_needed()
    at = handle.bounding_box()
    assert at
    x, y = at["x"] + at["width"] / 2, at["y"] + at["height"] / 2
    dot = page.locator("svg.figure .draggable circle:visible").first.bounding_box()
    assert dot
    assert abs(dot["x"] + dot["width"] / 2 - x) < 2  # the handle lies over its point
    assert abs(dot["y"] + dot["height"] / 2 - y) < 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x - 45, y, steps=6)
    expect(box).not_to_have_value(start)
    page.mouse.up()
    value = box.input_value()
    assert float(value) < float(start)
    expect(page).to_have_url(re.compile(rf"[?&]{control}={re.escape(value)}(\+|&|$)"))

    def is_under_the_pointer() -> bool:
        moved = handle.bounding_box()
        assert moved
        # A power of two may be a bit off.
        return abs(moved["x"] + moved["width"] / 2 - (x - 45)) < 25

    wait_until(is_under_the_pointer)
    page.mouse.move(x + 60, y)
    expect(box).to_have_value(value)  # it was let go


def test_a_point_moves_with_the_keys_and_is_heard(open_page: MakePage) -> None:
    page = open_page("/explore/checkpoints?show=1")
    handle = page.get_by_role("slider", name="Interval, on the figure")
    expect(handle).to_have_attribute("aria-valuetext", "60 min")
    handle.focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#c-interval")).to_have_value("63")
    expect(handle).to_have_attribute("aria-valuetext", "63 min")
    expect(handle).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#c-interval")).to_have_value("65")
    expect(page.locator("[data-live]")).to_contain_text("Saving every 65 min wastes")
    page.keyboard.press("End")
    expect(page.locator("#c-interval")).to_have_value("1440")
    expect(page).to_have_url(re.compile("interval=1440"))
    assert_accessible(page)
    page.get_by_role("link", name="Hide the answer").click()
    expect(page.locator(".facts div").first).to_contain_text("?")
    expect(handle).to_have_count(1)  # the picture still moves


@over_screens
def test_a_bit_flips_when_it_is_clicked(open_page: MakePage, theme: str, width: int) -> None:
    page = open_page("/explore/formats?show=1", theme, width)
    page.get_by_role("button", name="mantissa, bit 6: 0; flipped").click()
    expect(page.locator("#c-weight")).to_have_value("0.0278320312")
    again = page.get_by_role("button", name="mantissa, bit 6: 1; flipped")
    expect(again).to_be_focused()
    expect(page.locator(".facts")).to_contain_text("0.027832")
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("button", name="mantissa, bit 5: 1; flipped")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#c-weight")).not_to_have_value("0.0278320312")
    assert_fits(page, width)
    assert_accessible(page)


def test_a_lost_connection_is_seen_and_heard_and_mends(open_page: MakePage) -> None:
    page = open_page("/explore/memory?show=1")
    notice = page.locator("[data-offline]")
    expect(notice).to_be_hidden()
    with unreachable(page, "/explore/memory"):
        slide = page.get_by_label("Data-parallel GPUs, slider")
        slide.focus()
        page.keyboard.press("ArrowRight")
        expect(notice).to_contain_text("The server cannot be reached")
        expect(page.locator("[data-live]")).to_contain_text("The server cannot be reached")
    page.keyboard.press("ArrowRight")
    expect(notice).to_be_hidden()
    expect(page).to_have_url(re.compile("ranks=256"))
