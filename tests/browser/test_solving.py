"""One exercise of each kind, solved by mouse and by keyboard alone."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import MakePage

NUMERIC = "/exercises/collectives/ring-all-reduce-time"
CHOICE = "/exercises/collectives/ring-or-tree"
ORDER = "/exercises/collectives/steps-of-a-ring"
BUG = "/exercises/collectives/estimate-off-by-a-factor"
FUNCTION = "/exercises/collectives/write-ring-time"
EXPRESSION = "/exercises/collectives/derive-the-volume"
MATCH = "/exercises/diagnosis/technique-and-lever"
DESIGN = "/exercises/memory/the-mildest-stage"
PAIRS = {"dp": "copy", "pp": "slice", "tp": "split", "fsdp": "shard"}
RIGHT_ORDER = ("cut", "first", "pass", "own", "gather", "done")
PROGRAM = (
    "def ring_allreduce_ms(size_gb, n, bw_gb_s, latency_us):\n"
    "return 2 * (n - 1) * (size_gb / n / bw_gb_s * 1e3 + latency_us / 1e3)"
)
WRONG_PROGRAM = PROGRAM.replace("size_gb / n / bw", "size_gb / bw")

over_screens = pytest.mark.parametrize(
    ("theme", "width"), [("light", 1280), ("dark", 1280), ("light", 390), ("dark", 390)]
)


def verdict(page: Page, state: str, says: str) -> None:
    """The verdict came in place: the page was never left."""
    expect(page.locator(f"#result[data-state={state}] .fb")).to_contain_text(says)
    assert page.evaluate("performance.getEntriesByType('navigation').length") == 1
    assert page.evaluate("document.body.dataset.same") == "yes"


def stay(page: Page) -> Page:
    page.evaluate("document.body.dataset.same = 'yes'")
    return page


def to(page: Page, selector: str) -> None:
    """Press Tab until *selector* has the focus."""
    for _ in range(80):
        if page.evaluate("s => document.activeElement.matches(s)", selector):
            return
        page.keyboard.press("Tab")
    pytest.fail(f"Tab never reaches {selector}")


@over_screens
def test_a_number_by_mouse(open_page: MakePage, theme: str, width: int) -> None:
    page = stay(open_page(NUMERIC, theme, width))
    page.get_by_label("Your answer").fill("35 ms")
    page.get_by_role("button", name="Check").click()
    verdict(page, "incorrect", "reduce-scatter alone")
    page.get_by_label("Your answer").fill("0.07 s")
    page.get_by_role("button", name="Check").click()
    verdict(page, "correct", "Right")


@over_screens
def test_a_number_by_keyboard(open_page: MakePage, theme: str, width: int) -> None:
    page = stay(open_page(NUMERIC, theme, width))
    to(page, "#box-1")
    page.keyboard.type("soon")
    page.keyboard.press("Enter")
    verdict(page, "unreadable", "soon")
    to(page, "#box-1")
    page.keyboard.press("Control+a")
    page.keyboard.type("70")
    page.keyboard.press("Enter")
    verdict(page, "correct", "Right")


@over_screens
def test_a_choice_by_mouse(open_page: MakePage, theme: str, width: int) -> None:
    page = stay(open_page(CHOICE, theme, width))
    page.get_by_text("The ring always wins for training").click()
    page.get_by_role("button", name="Check").click()
    verdict(page, "incorrect", "Optimal in bandwidth is not optimal in time")
    page.get_by_text("The ring wins when the message is large").click()
    page.get_by_role("button", name="Check").click()
    verdict(page, "correct", "Right")


def test_a_choice_by_keyboard(open_page: MakePage) -> None:
    page = stay(open_page(CHOICE))
    to(page, "input[name=answer]")
    page.keyboard.press("Space")
    for _ in range(4):
        if page.evaluate("document.activeElement.value") == "depends":
            break
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    verdict(page, "correct", "Right")


def sort_items(page: Page, up: Callable[[str], None], down: Callable[[str], None]) -> None:
    """Bring each item to its place, one step at a time; the stranger to the end."""

    def keys() -> list[str | None]:
        items = page.locator("[data-order] > li")
        return [items.nth(n).get_attribute("data-key") for n in range(items.count())]

    while keys()[-1] != "same":
        down("same")
    for place, key in enumerate(RIGHT_ORDER):
        while keys().index(key) > place:
            up(key)


@over_screens
def test_an_order_by_mouse(open_page: MakePage, theme: str, width: int) -> None:
    page = stay(open_page(ORDER, theme, width))
    page.get_by_role("button", name="Check").click()
    expect(page.locator("#result .fb")).to_be_visible()

    def click(direction: str) -> Callable[[str], None]:
        return lambda key: page.click(f"li[data-key={key}] [data-move={direction}]")

    sort_items(page, click("up"), click("down"))
    page.get_by_role("button", name="Check").click()
    verdict(page, "correct", "everything is there when it is needed")


def test_an_order_by_keyboard(open_page: MakePage) -> None:
    page = stay(open_page(ORDER))
    page.wait_for_selector("[data-move]")

    def press(direction: str) -> Callable[[str], None]:
        def pressed(key: str) -> None:
            button = f"li[data-key={key}] [data-move]:not(:disabled)"
            page.locator(button).first.focus()
            page.keyboard.press(f"Arrow{direction}")

        return pressed

    sort_items(page, press("Up"), press("Down"))
    to(page, "button[value=check]")
    page.keyboard.press("Enter")
    verdict(page, "correct", "everything is there when it is needed")


def test_an_order_by_dragging(open_page: MakePage) -> None:
    page = open_page(ORDER)
    grip = page.locator("[data-order] > li .grip").first
    key = page.locator("[data-order] > li").first.get_attribute("data-key")
    box = grip.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 5, box["y"] + 5)
    page.mouse.down()
    page.mouse.move(box["x"] + 5, box["y"] + 150, steps=12)
    page.mouse.up()
    assert page.locator("[data-order] > li").first.get_attribute("data-key") != key


@over_screens
def test_a_formula_by_keyboard(open_page: MakePage, theme: str, width: int) -> None:
    page = stay(open_page(EXPRESSION, theme, width))
    to(page, "#formula")
    page.keyboard.type("2 S (N - 1)")
    page.keyboard.press("Enter")
    verdict(page, "incorrect", "Each step moves a chunk")
    expect(page.locator("#result math").first).to_be_visible()
    page.keyboard.type(" / N")
    page.keyboard.press("Enter")
    verdict(page, "correct", "at every point")
    page.fill("#formula", "__import__('os')")
    page.keyboard.press("Enter")
    verdict(page, "unreadable", "none of the functions")


@over_screens
def test_a_matching_by_mouse(open_page: MakePage, theme: str, width: int) -> None:
    page = stay(open_page(MATCH, theme, width))
    page.select_option("[name='answer.pp']", "split")
    page.get_by_role("button", name="Check").click()
    verdict(page, "incorrect", "Layers stay whole")
    for thing, partner in PAIRS.items():
        page.select_option(f"[name='answer.{thing}']", partner)
    page.get_by_role("button", name="Check").click()
    verdict(page, "correct", "each with its own")


def test_a_matching_by_keyboard(open_page: MakePage) -> None:
    page = stay(open_page(MATCH))
    for thing, partner in PAIRS.items():
        to(page, f"[name='answer.{thing}']")
        page.keyboard.type(partner)
        expect(page.locator(f"[name='answer.{thing}']")).to_have_value(partner)
    to(page, "button[value=check]")
    page.keyboard.press("Enter")
    verdict(page, "correct", "each with its own")


@over_screens
def test_a_design_by_mouse(open_page: MakePage, theme: str, width: int) -> None:
    page = stay(open_page(DESIGN, theme, width))
    page.get_by_label("ZeRO stage").select_option("1")
    page.get_by_role("button", name="Check").click()
    verdict(page, "unreadable", "Still to be chosen: gpus")
    page.get_by_label("GPUs").select_option("64")
    page.get_by_role("button", name="Check").click()
    verdict(page, "partial", "on each card, and 75 GB may be used")
    page.get_by_label("ZeRO stage").select_option("3")
    page.get_by_role("button", name="Check").click()
    verdict(page, "partial", "A milder stage fits as well")
    page.get_by_label("ZeRO stage").select_option("2")
    page.get_by_role("button", name="Check").click()
    verdict(page, "correct", "it meets every condition")


@over_screens
def test_a_buggy_line_by_mouse(open_page: MakePage, theme: str, width: int) -> None:
    page = stay(open_page(BUG, theme, width))
    page.click(".code li:nth-child(2) label")
    page.get_by_role("button", name="Check").click()
    verdict(page, "incorrect", "The 2 belongs here")
    page.click(".code li:nth-child(6) label")
    page.get_by_role("button", name="Check").click()
    verdict(page, "correct", "counts both phases already")


def test_a_buggy_line_by_keyboard(open_page: MakePage) -> None:
    page = stay(open_page(BUG))
    to(page, ".code input")
    page.keyboard.press("Space")
    for _ in range(5):
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    verdict(page, "correct", "counts both phases already")


@over_screens
def test_a_function_by_mouse(open_page: MakePage, theme: str, width: int) -> None:
    page = stay(open_page(FUNCTION, theme, width))
    page.click("#source")
    page.wait_for_selector(".cm-content")
    for program, state, says in (
        (WRONG_PROGRAM, "partial|incorrect", "send the whole array in every step"),
        (PROGRAM, "correct", "All 14 calls"),
    ):
        page.click(".cm-content")
        page.keyboard.press("Control+a")
        page.keyboard.type(program)
        page.get_by_role("button", name="Run").click()
        expect(page.locator(".tests li")).to_have_count(2)
        page.get_by_role("button", name="Submit").click()
        expect(page.locator("#result")).to_have_attribute("data-state", re.compile(state))
        expect(page.locator("#result .fb")).to_contain_text(says)


def test_a_function_by_keyboard(open_page: MakePage) -> None:
    page = stay(open_page(FUNCTION))
    to(page, "#source, .cm-content")  # the editor takes the place of the box as it gets the focus
    page.wait_for_selector(".cm-content")
    page.wait_for_function("document.activeElement.classList.contains('cm-content')")
    page.keyboard.press("Control+a")
    page.keyboard.type("def ring_allreduce_ms(a, b, c, d):\nprint('seen')\nreturn 1 / 0")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".tests")).to_contain_text("ZeroDivisionError")
    expect(page.locator(".tests")).to_contain_text("seen")
    expect(page.locator(".cm-fault")).to_contain_text("1 / 0")
    page.keyboard.press("Control+a")
    page.keyboard.type(PROGRAM)
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    to(page, "button[value=check]")
    page.keyboard.press("Enter")
    verdict(page, "correct", "All 14 calls")


@pytest.mark.parametrize(
    ("path", "fields", "button", "says"),
    [
        (NUMERIC, {"#box-1": "70 ms"}, "Check", "Right"),
        (CHOICE, {"input[value=depends]": None}, "Check", "Right"),
        (DESIGN, {"select[name='answer.stage']": "2", "select[name='answer.gpus']": "64"}, "Check", "Right"),
        (EXPRESSION, {"#formula": "2*S*(N-1)/N"}, "Check", "Right"),
        (MATCH, {f"select[name='answer.{k}']": v for k, v in PAIRS.items()}, "Check", "Right"),
        (ORDER, {f"[name='place.{k}']": str(n) for n, k in enumerate(RIGHT_ORDER, 1)}, "Check", "Right"),
        (BUG, {"input[value='6']": None}, "Check", "Right"),
        (FUNCTION, {"#source": PROGRAM.replace("\n", "\n    ")}, "Submit", "Right"),
    ],
    ids=["numeric", "choice", "design", "expression", "match", "order", "buggy_line", "function"],
)  # fmt: skip
def test_every_kind_works_without_scripts(
    open_page: MakePage, path: str, fields: dict[str, str | None], button: str, says: str
) -> None:
    page = open_page(path, script=False)
    for selector, text in fields.items():
        if text is None:
            page.check(selector, force=True)
        elif selector.startswith("select"):
            page.select_option(selector, text)
        else:
            page.fill(selector, text)
    page.get_by_role("button", name=button).click()
    expect(page.locator("#result .fb")).to_contain_text(says)
    expect(page.locator(".solution")).to_be_visible()
