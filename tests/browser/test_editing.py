"""The editor of `wallclock preview`, by keyboard."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.accessible import assert_accessible, assert_fits, assert_good_on_every_screen
from tests.browser.browser import be_patient
from tests.content.test_catalog import GOOD
from tests.waiting import HANGS

pytestmark = pytest.mark.slow(120)

SLIP = "unitt: ms"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("course") / "my-course"
    made.mkdir()
    (made / "first.yaml").write_text(GOOD, encoding="utf-8")
    return made


@pytest.fixture
def file(folder: Path) -> Path:
    path = folder / "first.yaml"
    path.write_text(GOOD, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def address(folder: Path) -> Iterator[str]:
    """The address that `wallclock preview` prints."""
    process = subprocess.Popen(
        [sys.executable, "-m", "app", "preview", str(folder), "--port", "0"], stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stderr is not None
        assert "Reading" in process.stderr.readline()
        found = re.search(r"http://\S+", process.stderr.readline())
        assert found
        yield found[0]
    finally:
        process.terminate()
        process.wait(timeout=HANGS)
        if process.stderr:
            process.stderr.close()


@pytest.fixture
def page(browser: Browser, address: str, file: Path) -> Iterator[Page]:
    """A page of the file, whose text has been checked; nothing may go to its console."""
    assert file.exists()
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    made = opened(context.new_page(), address)
    complaints: list[str] = []
    made.on("console", lambda m: complaints.append(m.text) if m.type == "error" else None)
    made.on("pageerror", lambda error: complaints.append(str(error)))
    yield made
    context.close()
    assert [one for one in complaints if "status of 4" not in one] == []


def opened(page: Page, address: str) -> Page:
    be_patient(page)
    page.goto(address)
    page.wait_for_selector("[data-checked]", state="attached")
    return page


def text_of(page: Page) -> Locator:
    return page.get_by_role("textbox", name="first.yaml")


def prompt_of(page: Page) -> Locator:
    return page.frame_locator("iframe").locator("#prompt")


def add(page: Page, line: str) -> None:
    """Type *line* at the end of the file."""
    text_of(page).press("Control+End")
    page.keyboard.type(line)


def test_a_preview_is_fresh_when_another_program_saves_the_file(page: Page, file: Path) -> None:
    expect(page.locator("#proof")).to_contain_text("Proven")
    expect(prompt_of(page)).to_contain_text("How much is 1 twice?")
    file.write_text(GOOD.replace("twice?", "doubled?"), encoding="utf-8")
    expect(prompt_of(page)).to_contain_text("doubled?")
    shown = page.frame_locator("iframe")
    shown.get_by_role("textbox", name="Your answer").fill("2")
    shown.get_by_role("button", name="Check").click()
    expect(shown.locator(".feedback")).to_contain_text("Right")
    file.write_text(GOOD.replace("level: 1", "levle: 1"), encoding="utf-8")
    expect(page.locator("#proof")).to_contain_text("did you mean 'level'?")
    expect(page.locator("[data-old]")).to_be_visible()
    assert_accessible(page)


def test_what_is_typed_is_proven_and_a_finding_leads_to_its_line(page: Page) -> None:
    add(page, f"{SLIP}\n\n")
    expect(page.locator("#proof")).to_contain_text("did you mean 'unit'?")
    expect(page.locator("[data-count]")).to_have_text("1 problem")
    expect(page.locator("[data-old]")).to_be_visible()
    expect(page.locator(".cm-lintRange-error")).to_have_text(SLIP)
    expect(prompt_of(page)).to_contain_text("How much is 1 twice?")
    assert_good_on_every_screen(page)
    page.get_by_role("button", name="Line 14").press("Enter")
    expect(text_of(page)).to_be_focused()
    page.keyboard.press("Shift+End")
    page.keyboard.type("# nothing")
    expect(page.locator("[data-count]")).to_have_text("Proven")
    expect(page.locator("[data-old]")).to_be_hidden()


def test_the_exercise_that_is_typed_is_shown_and_drawn_again(page: Page) -> None:
    text_of(page).press("Control+Home")
    for _ in range(3):
        page.keyboard.press("ArrowDown")
    page.keyboard.press("End")
    page.keyboard.type(" (really)")
    expect(prompt_of(page)).to_contain_text("How much is 1 twice? (really)")
    page.get_by_role("link", name="Variant 3").press("Enter")
    expect(page.frame_locator("iframe").locator("body")).to_be_visible()
    expect(page.get_by_role("link", name="Variant 3")).to_have_attribute("aria-current", "true")
    page.get_by_role("button", name="Another drawing").press("Enter")
    expect(page.locator("[data-drawings] [aria-current]")).to_have_count(0)
    expect(prompt_of(page)).to_contain_text("(really)")


def test_a_text_is_saved_by_keyboard_and_by_its_button(page: Page, file: Path) -> None:
    add(page, "level: 2 # twice")
    expect(page.locator("[data-state]")).to_have_text("Not saved")
    page.keyboard.press("Control+s")
    expect(page.locator("[data-state]")).to_have_text("Saved")
    assert file.read_text(encoding="utf-8") == f"{GOOD}level: 2 # twice"
    page.keyboard.type(", and a problem is no obstacle")
    page.get_by_role("button", name="Save", exact=True).press("Enter")
    expect(page.locator("[data-state]")).to_have_text("Saved")
    assert file.read_text(encoding="utf-8").endswith("no obstacle")
    page.reload()
    expect(text_of(page)).to_contain_text("no obstacle")


def test_where_the_file_has_changed_both_texts_are_offered(page: Page, file: Path) -> None:
    add(page, "# mine")
    file.write_text(f"{GOOD}# theirs", encoding="utf-8")
    expect(page.get_by_role("alert")).to_contain_text("has changed the file")
    page.keyboard.press("Control+s")
    expect(page.locator("[data-theirs]")).to_contain_text("# theirs")
    assert file.read_text(encoding="utf-8") == f"{GOOD}# theirs"
    assert_good_on_every_screen(page)
    page.get_by_role("button", name="Take the text of the file").press("Enter")
    expect(page.get_by_role("alert")).to_be_hidden()
    expect(text_of(page)).to_contain_text("# theirs")
    text_of(page).press("Control+z")
    expect(text_of(page)).to_contain_text("# mine")
    file.write_text(f"{GOOD}# theirs again", encoding="utf-8")
    page.get_by_role("button", name="Save mine over it").press("Enter")
    expect(page.locator("[data-state]")).to_have_text("Saved")
    assert file.read_text(encoding="utf-8") == f"{GOOD}# mine"


def test_a_second_tab_follows_the_first_until_it_has_work_of_its_own(page: Page, address: str, file: Path) -> None:
    other = opened(page.context.new_page(), address.partition("#")[0])  # the browser has the key
    add(page, "# one")
    page.keyboard.press("Control+s")
    expect(text_of(other)).to_contain_text("# one")
    add(other, ", two")
    text_of(page).press("Control+End")
    page.keyboard.type(", three")
    page.keyboard.press("Control+s")
    expect(page.locator("[data-state]")).to_have_text("Saved")
    text_of(other).press("Control+s")
    expect(other.get_by_role("alert")).to_contain_text("has changed the file")
    assert file.read_text(encoding="utf-8") == f"{GOOD}# one, three"


def test_a_file_that_is_gone_can_be_saved_again(page: Page, file: Path) -> None:
    file.unlink()
    expect(page.locator("[data-state]")).to_contain_text("The file is gone")
    text_of(page).press("Control+s")
    expect(page.locator("[data-state]")).to_have_text("Saved")
    assert file.read_text(encoding="utf-8") == GOOD


def test_keys_and_values_are_completed_by_keyboard(page: Page) -> None:
    add(page, "to")
    expect(page.get_by_role("listbox")).to_be_visible()
    expect(page.get_by_role("option")).to_have_text("tolerance0.5 %, 0.3 points, or exact")
    assert_accessible(page)
    page.wait_for_timeout(100)  # the list takes no key at once, so that none is taken by accident
    page.keyboard.press("Enter")
    page.keyboard.press("Control+Space")
    expect(page.get_by_role("option")).to_have_text("1 %the default")
    page.keyboard.press("Escape")
    expect(page.get_by_role("listbox")).to_be_hidden()
    page.keyboard.type("exact\ncore: ")
    page.keyboard.press("Control+Space")
    expect(page.get_by_role("option")).to_have_text(["true", "false"])
    page.wait_for_timeout(100)
    page.keyboard.press("Enter")
    expect(page.locator("[data-count]")).to_have_text("Proven")
    page.keyboard.press("Control+s")
    expect(page.locator("[data-state]")).to_have_text("Saved")
    page.keyboard.press("Tab")
    expect(text_of(page)).not_to_be_focused()


def test_the_words_of_a_key_are_beside_it_and_under_the_mouse(page: Page) -> None:
    text_of(page).press("Control+Home")
    expect(page.locator("#word")).to_have_text("kind: what is asked for")
    for _ in range(2):
        page.keyboard.press("ArrowDown")
    page.keyboard.press("End")
    expect(page.locator("#word")).to_have_text("level: 1 warm-up to 5 hard")
    expect(text_of(page)).to_have_attribute("aria-describedby", re.compile("word"))
    page.get_by_text("hints", exact=True).hover()
    expect(page.locator(".cm-tooltip-hover")).to_have_text("hints: from a nudge to nearly all")


OFFERED = """async ([script, lines]) => {
  const { kindOf, offers, placeAt, schemasAt, siblingsAt } = await import(script);
  const schema = await (await fetch("/preview/schema")).json();
  const number = lines.findIndex((line) => line.includes("|"));
  const column = lines[number].indexOf("|");
  lines[number] = lines[number].replace("|", "");
  const place = placeAt(lines, number, column);
  if (!place) return null;
  const there = place.isKey ? siblingsAt(lines, number, column - place.typed.length) : [];
  const found = offers(schemasAt(schema, kindOf(lines), place.path), place.isKey);
  return found.map(({ label }) => label).filter((label) => !there.includes(label));
}"""
KEYS_OF_A_FIGURE = ["explorer", "state", "figure", "predict"]
KEYS_OF_AN_OPTION = ["text", "says", "when", "score"]


def test_every_place_of_a_file_is_offered_what_may_be_there(page: Page) -> None:
    script = page.evaluate("performance.getEntriesByType('resource').find(({name}) => /yaml-words/.test(name)).name")
    texts: dict[str, list[str] | None] = {
        "ki|": ["kind"],
        "kind: choice # |": None,
        "kind: numeric\nanswers:\n  a:\n    prompt: b\n    |": [
            "answer",
            "unit",
            "quantity",
            "tolerance",
            "accept",
            "parts",
            "part_names",
            "mistakes",
        ],
        "kind: numeric\nhints:\n- o|": [],
        "kind: numeric\nprompt: >\n  some wor|": [],
        "kind: numeric\nfigures:\n  - |": KEYS_OF_A_FIGURE,
        "kind: numeric\nfigures:\n- |": KEYS_OF_A_FIGURE,
        "kind: numeric\nfigures:\n- explorer: x\n- |": KEYS_OF_A_FIGURE,
        "kind: numeric\nfigures:\n- explorer: x\n  |\n  state: {}\n- figure: 1": ["figure", "predict"],
        "kind: numeric\nfigure: {draws: ring, w|": ["draws", "with", "plays"],
        "kind: function\nresult: |": ["float", "int"],
        "kind: buggy_line\nmutate: [con|": ["constant", "operator", "factor", "off-by-one", "swap"],
        "kind: buggy_line\nmutate:\n  - con|": ["constant", "operator", "factor", "off-by-one", "swap"],
        "kind: choice\noptions:\n  half: {text: 2 GB, s|": KEYS_OF_AN_OPTION,
        "kind: choice\noptions:\n  half:\n    text: 2 GB\n    s|\nlevel: 2": KEYS_OF_AN_OPTION[1:],
        "kind: choice\noptions:\n  half:\n    text: |": [],
        "kind: numeric\nmistakes:\n  2 * size: |": [],
        "kind: lab\nbackend: |": ["gloo", "nccl"],
    }
    offered = {text: page.evaluate(OFFERED, [script, text.split("\n")]) for text in texts}
    assert offered == texts
    keys = page.evaluate(OFFERED, [script, ["kind: design", "title: x", "|", "hints: []"]])
    assert {"choose", "require", "prompt"} < set(keys)
    assert not {"kind", "title", "hints", "id", "digest"} & set(keys)


def test_the_file_is_beside_its_exercise_and_above_it_where_there_is_no_room(page: Page) -> None:
    file, shown = page.locator(".file"), page.locator(".shown")
    beside = "([file, shown]) => file.getBoundingClientRect().right <= shown.getBoundingClientRect().left"
    above = "([file, shown]) => file.getBoundingClientRect().bottom <= shown.getBoundingClientRect().top"
    both = [file.element_handle(), shown.element_handle()]
    assert page.evaluate(beside, both)
    for width in (390, 320):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate(above, both)
        assert_fits(page, width)


def test_without_the_key_a_file_is_read_and_not_edited(page: Page, address: str) -> None:
    context = page.context.browser.new_context() if page.context.browser else None
    assert context is not None
    reading = opened(context.new_page(), address.partition("#")[0])
    expect(reading.locator("[data-locked]")).to_be_visible()
    expect(reading.locator("#proof")).to_contain_text("Proven")
    add(reading, SLIP)
    expect(text_of(reading)).not_to_contain_text(SLIP)
    assert_accessible(reading)
    context.close()


def test_without_the_editor_the_text_is_edited_as_plain_text(browser: Browser, address: str, file: Path) -> None:
    assert file.exists()
    context = browser.new_context()
    plain = context.new_page()
    plain.route("**/codemirror-yaml.js", lambda route: route.abort())
    opened(plain, address)
    add(plain, f"{SLIP}\n")
    expect(plain.locator("#proof")).to_contain_text("did you mean 'unit'?")
    plain.get_by_role("button", name="Line 14").press("Enter")
    plain.keyboard.type("#")
    expect(plain.locator("[data-count]")).to_have_text("Proven")
    assert_accessible(plain)
    context.close()
