"""Nothing that is typed or chosen is lost, and what is on its way says so."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from playwright.sync_api import Page, Route, expect

from app.course.kinds import KINDS
from tests.browser.conftest import MakePage
from tests.browser.test_solving import (
    BUG,
    CHOICE,
    DESIGN,
    EXPRESSION,
    FUNCTION,
    MATCH,
    NUMERIC,
    ORDER,
    PAIRS,
    SCHEDULE,
    SHARDING,
    keys_of,
    show_list,
)
from tests.pages import SAMPLES

pytestmark = pytest.mark.slow(60)
PROGRAM = "def program(rank):\n    return []"


@dataclass(frozen=True)
class Typed:
    """An exercise, what someone types and chooses in it, and how that looks."""

    path: str
    fill: Callable[[Page], object]
    seen: Callable[[Page], object]


def chosen(page: Page) -> object:
    """The values of all fields, as they are sent."""
    found = page.evaluate("[...new FormData(document.querySelector('#answer')).entries()]")
    return [pair for pair in found if pair[0] != "begun"]


def reorder(page: Page) -> None:
    show_list(page)
    page.locator("[data-key] [data-move=down]").first.click()
    page.locator("[data-key] [data-move=down]").nth(2).click()


def match_pairs(page: Page) -> None:
    for thing, partner in PAIRS.items():
        page.select_option(f"[name='answer.{thing}']", partner)


def plan(page: Page) -> None:
    page.select_option("[name='move.1']", "multiply")
    page.select_option("[name='move.2']", "all-reduce C over X")
    page.fill("#box-1", "100 MB")


def design(page: Page) -> None:
    page.get_by_label("ZeRO stage").select_option("2")
    page.get_by_label("GPUs").select_option("64")


TYPED = {
    "numeric": Typed(NUMERIC, lambda page: page.fill("#box-1", "12 ms, I think"), chosen),
    "choice": Typed(CHOICE, lambda page: page.check("input[value=depends]"), chosen),
    "design": Typed(DESIGN, design, chosen),
    "expression": Typed(EXPRESSION, lambda page: page.fill("#formula", "2 S (N"), chosen),
    "match": Typed(MATCH, match_pairs, chosen),
    "order": Typed(ORDER, reorder, keys_of),
    "buggy_line": Typed(BUG, lambda page: page.check("input[value='2']", force=True), chosen),
    "function": Typed(FUNCTION, lambda page: page.fill("#source", PROGRAM), chosen),
    "schedule": Typed(SCHEDULE, lambda page: page.fill("#source", PROGRAM), chosen),
    "sharding": Typed(SHARDING, plan, chosen),
    "lab": Typed(SAMPLES["lab"], lambda page: page.fill("#box-1", "3 ms"), chosen),
}


def ready(page: Page) -> None:
    page.wait_for_selector("html[data-ready]", state="attached")


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_what_was_typed_or_chosen_is_there_again(open_page: MakePage, kind: str) -> None:
    """After a reload, after Back, and where the exercise is opened anew."""
    one = TYPED[kind]
    page = open_page(one.path)
    empty = one.seen(page)
    one.fill(page)
    before = one.seen(page)
    assert before != empty
    page.reload()
    ready(page)
    assert one.seen(page) == before
    page.goto("/glossary")
    page.go_back()
    ready(page)
    assert one.seen(page) == before
    page.goto("/glossary")
    page.goto(one.path)
    ready(page)
    assert one.seen(page) == before
    other = page.context.new_page()
    other.goto(page.url)
    ready(other)
    assert one.seen(other) == before
    other.close()


def test_each_of_two_tabs_keeps_its_own(open_page: MakePage) -> None:
    page = open_page(NUMERIC)
    other = page.context.new_page()
    other.goto(page.url)
    page.fill("#box-1", "1 ms")
    other.fill("#box-1", "2 ms")
    page.reload()
    other.reload()
    expect(page.locator("#box-1")).to_have_value("1 ms")
    expect(other.locator("#box-1")).to_have_value("2 ms")
    other.close()


def test_what_is_right_stays_in_its_tab_and_is_not_told_on_another_day(open_page: MakePage) -> None:
    page = open_page(NUMERIC)
    page.fill("#box-1", "35 ms")
    page.keyboard.press("Enter")
    page.wait_for_selector(".feedback.incorrect")
    page.reload()
    expect(page.locator("#box-1")).to_have_value("35 ms")
    page.fill("#box-1", "70 ms")
    page.keyboard.press("Enter")
    page.wait_for_selector(".feedback.correct")
    page.reload()
    expect(page.locator("#box-1")).to_have_value("70 ms")
    other = page.context.new_page()
    other.goto(page.url)
    ready(other)
    expect(other.locator("#box-1")).to_have_value("")
    other.close()


MARKED = """() => [...document.querySelectorAll(".field [name]")].map((field) => {
  const box = field.closest(".field");
  return [box.className, field.getAttribute("aria-invalid"), box.querySelector(".judged")?.textContent];
})"""


@pytest.mark.parametrize("kind", ["numeric", "expression", "match", "sharding"])
def test_each_field_shows_the_same_verdict_with_scripts_as_without(open_page: MakePage, kind: str) -> None:
    found = []
    for script in (True, False):
        page = open_page(TYPED[kind].path, script=script)
        TYPED[kind].fill(page)
        page.locator("button[value=check]").click()
        page.wait_for_selector("#result .feedback")
        if script and kind == "numeric":  # what cannot be read has no verdict
            assert page.evaluate(MARKED) == [["field", None, None]]
        found.append(page.evaluate(MARKED))
    assert found[0] == found[1]


def test_one_right_number_of_several_is_marked_and_an_edited_one_is_not(open_page: MakePage) -> None:
    page = open_page(MATCH)
    match_pairs(page)
    page.select_option("[name='answer.pp']", "split")
    page.get_by_role("button", name="Check").click()
    wrong = page.locator(".field", has=page.locator("[name='answer.pp']"))
    expect(wrong).to_have_class("field failure")
    expect(wrong).to_contain_text("✗ wrong")
    expect(page.locator("[name='answer.pp']")).to_have_attribute("aria-invalid", "true")
    expect(page.locator(".field.success")).to_have_count(3)
    page.select_option("[name='answer.pp']", "slice")
    expect(wrong).to_have_class("field")
    expect(wrong).not_to_contain_text("✗")
    expect(page.locator(".field.success")).to_have_count(3)


def test_while_an_answer_is_on_its_way_the_old_verdict_is_gray(open_page: MakePage) -> None:
    page = open_page(NUMERIC)
    page.fill("#box-1", "35 ms")
    page.keyboard.press("Enter")
    page.wait_for_selector(".feedback.incorrect")
    held: list[Route] = []
    page.route("**/exercises/**", lambda route: held.append(route))
    page.fill("#box-1", "70 ms")
    page.get_by_role("button", name="Check").click()
    expect(page.get_by_text("Checking …")).to_be_visible()
    gray = page.locator(".verdict").evaluate("one => getComputedStyle(one).filter")
    assert gray == "grayscale(1)"
    button = page.get_by_role("button", name="Check")
    button.hover()
    assert float(button.evaluate("one => getComputedStyle(one).opacity")) < 0.6
    button.click()
    assert len(held) == 1  # the same answer is not sent twice
    held[0].continue_()
    page.wait_for_selector(".feedback.correct")
    expect(page.get_by_text("Checking …")).to_be_hidden()
    assert page.locator(".verdict").get_attribute("aria-busy") is None


def test_the_last_press_wins_and_a_hint_comes_beside_a_verdict(open_page: MakePage) -> None:
    page = open_page(NUMERIC)
    held: list[Route] = []
    page.route("**/exercises/**", lambda route: held.append(route))
    for text in ("35 ms", "70 ms"):
        page.fill("#box-1", text)
        page.get_by_role("button", name="Check").click()
    page.get_by_role("button", name="Hint").click()
    while len(held) < 3:
        page.wait_for_timeout(10)
    held[1].continue_()
    page.wait_for_selector(".feedback.correct")
    held[2].continue_()
    page.wait_for_selector(".hint")
    held[0].continue_()
    expect(page.locator("[aria-busy]")).to_have_count(0)
    expect(page.locator(".feedback.correct")).to_be_visible()
    expect(page.locator(".hint")).to_be_visible()


def test_what_is_never_answered_says_so_and_is_sent_again(open_page: MakePage) -> None:
    page = open_page(NUMERIC)
    late = "AbortSignal.abort(new DOMException('late', 'TimeoutError'))"
    page.evaluate(f"AbortSignal.timeout = () => {late}")
    page.fill("#box-1", "70 ms")
    page.get_by_role("button", name="Check").click()
    expect(page.locator(".verdict")).to_contain_text("no reply in 20 seconds")
    page.evaluate("AbortSignal.timeout = () => undefined")
    page.get_by_role("button", name="Send again").click()
    page.wait_for_selector(".feedback.correct")
