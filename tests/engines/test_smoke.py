"""What a person does on the site, in Firefox and in the engine of Safari."""

from pathlib import Path

import pytest

from tests.browser.test_solving import (
    BUG,
    CHOICE,
    DESIGN,
    EXPRESSION,
    FUNCTION,
    MATCH,
    NUMERIC,
    ORDER,
    SCHEDULE,
    SHARDING,
)
from tests.engines.engine import Engine
from tests.pages import PAGES, SAMPLES

pytestmark = pytest.mark.slow(60)

SEEN = (
    "home", "chapter", "numeric", "order", "function", "schedule", "lab", "formulas", "formula with parts",
    "explorer, compared", "trace", "run", "own measurements", "progress", "classes", "errata", "search",
)  # fmt: skip
WIDER = "const { scrollWidth, clientWidth } = document.documentElement; return scrollWidth - clientWidth"
VALUES = (
    """return [...new FormData(document.querySelector("#answer"))].filter(([name]) => name !== "begun").join("; ")"""
)
CHOOSE = """const [selector, value] = arguments;
const field = document.querySelector(selector);
if (field.options) field.value = value; else field.checked = true;
field.dispatchEvent(new Event("input", { bubbles: true }));"""
CHOSEN = {
    CHOICE: ("input[value=depends]", ""),
    BUG: (".code input[value='2']", ""),
    MATCH: ("[name='answer.pp']", "split"),
    DESIGN: ("[name='answer.stage']", "2"),
    SHARDING: ("[name='move.1']", "multiply"),
}
TYPED = {
    NUMERIC: ".field input",
    EXPRESSION: "#formula",
    SAMPLES["lab"]: "#box-1",
    FUNCTION: ".cm-content",
    SCHEDULE: ".cm-content",
}
KEYS = "return [...document.querySelectorAll('[data-order] > li')].map((one) => one.dataset.key).join()"
PROGRAM = "def ring_allreduce_ms(a, b, c, d): return 42"


@pytest.mark.parametrize("width", [1280, 390])
def test_pages_begin_fit_and_are_quiet(engine: Engine, width: int) -> None:
    engine.resize(width)
    for name in SEEN:
        engine.go(PAGES[name])
        assert engine.run(WIDER) <= 0, name
        assert engine.errors() == [], name


@pytest.mark.parametrize("path", CHOSEN)
def test_what_is_chosen_comes_back(engine: Engine, path: str) -> None:
    engine.go(path)
    engine.run(CHOOSE, *CHOSEN[path])
    comes_back(engine)


@pytest.mark.parametrize("path", TYPED)
def test_what_is_typed_comes_back(engine: Engine, path: str) -> None:
    engine.go(path)
    field = TYPED[path]
    if field == ".cm-content":
        engine.click("#source")
    engine.click(field)
    engine.type("17")
    assert "17" in comes_back(engine)


def test_what_is_dragged_comes_back(engine: Engine) -> None:
    engine.go(ORDER)
    engine.expect(lambda: engine.run("return document.querySelector('.order .grip')"))
    first = engine.run(KEYS)
    engine.drag(".order .grip", 200)
    dragged = engine.run(KEYS)
    assert dragged != first
    comes_back(engine)
    engine.expect(lambda: engine.run(KEYS) == dragged, "the order")


def comes_back(engine: Engine) -> str:
    """What is sent after a reload, and after Back, is what was sent before."""
    before: str = engine.run(VALUES)
    assert before
    engine.reload()
    engine.expect(lambda: engine.run(VALUES) == before, "the answer, after a reload")
    engine.follow("/glossary")
    engine.back()
    engine.expect(lambda: engine.run(VALUES) == before, "the answer, after Back")
    return before


def test_a_number_is_judged_and_its_chapter_knows_it_after_back(engine: Engine) -> None:
    engine.go("/chapters/collectives")
    before = engine.run("return document.querySelectorAll('.mark.unaided').length")
    engine.follow(NUMERIC)
    engine.click(".field input")
    engine.key("Control", "a")
    engine.type("70 ms")
    engine.key("Enter")
    engine.see(".feedback.correct", "Right")
    engine.see(".field.success .judged", "right")
    engine.back()
    engine.expect(
        lambda: engine.run("return document.querySelectorAll('.mark.unaided').length") == before + 1,
        "one more that is solved",
    )


def test_what_the_editor_shows_is_what_runs_after_back(engine: Engine) -> None:
    engine.go(FUNCTION)
    engine.click("#source")
    engine.click(".cm-content")
    engine.key("Control", "a")
    engine.key("Delete")
    engine.type(PROGRAM)
    engine.follow("/glossary")
    engine.back()
    engine.click("button[value=run]")
    engine.see(".trial", "returned 42")


def test_figures_and_controls_agree_after_back(engine: Engine) -> None:
    engine.go("/explore/pipeline?show=1")
    engine.run("document.querySelector('.slide').focus()")
    engine.key("ArrowRight")
    engine.expect(lambda: engine.run("return location.search.includes('stages=5')"), "5 stages")
    engine.follow("/glossary")
    engine.back()
    assert engine.run("return document.querySelector('#c-stages').value") == "5"
    assert engine.run("return document.querySelector('#explored').textContent.includes('GPU 4')")


def test_a_filter_and_its_list_agree_after_back(engine: Engine) -> None:
    visible = "return document.querySelectorAll('[data-entry]:not([hidden])').length"
    engine.go("/formulas")
    engine.click("#filter")
    engine.type("crossover")
    engine.expect(lambda: engine.run(visible) < 10, "a short list")
    engine.follow("/glossary")
    engine.back()
    assert (engine.run("return document.querySelector('#filter').value") != "") == (engine.run(visible) < 10)


def test_the_theme_is_kept_and_a_page_from_memory_has_it_too(engine: Engine) -> None:
    engine.go("/errata")
    engine.follow("/explore")
    engine.click(".to-dark")
    engine.follow("/glossary")
    is_dark = "return document.documentElement?.dataset.theme === 'dark'"
    assert engine.run(is_dark)
    engine.back()
    engine.back()
    engine.expect(lambda: engine.run(is_dark), "the dark theme")
    engine.click(".to-light")


def test_terms_search_and_menu(engine: Engine) -> None:
    engine.go("/chapters/memory")
    line = "return getComputedStyle(document.querySelector('.term')).textDecorationLine"
    assert engine.run(line) == "underline"
    engine.click(".seek input")
    engine.type("bubble")
    engine.see("[data-hits] a", "ubble")
    engine.click("[data-hits] a")
    engine.expect(lambda: engine.run("return location.pathname") != "/chapters/memory", "a hit")
    engine.wait_until_ready()
    engine.resize(390)
    engine.click(".opener")
    height = "return document.querySelector('#menu').getBoundingClientRect().height"
    engine.expect(lambda: engine.run(height) > 100, "the menu")
    assert engine.run(height) < 750


def test_mathematics_scrolls_in_its_place_and_the_keyboard_reaches_it(engine: Engine) -> None:
    engine.resize(390)
    engine.go("/formulas/layout.step_time")
    wide = """return [...document.querySelectorAll(".math.block")]
      .map((one) => [one.scrollWidth > one.clientWidth, one.tabIndex === 0, one.dataset.more ?? ""])"""
    found = engine.expect(lambda: [one for one in engine.run(wide) if one[0]], "a long formula")
    assert found == [[True, True, "end"]] * len(found)


def test_a_formula_in_a_line_neither_fades_nor_stops_the_keyboard(engine: Engine) -> None:
    engine.go("/chapters/collectives")
    found = """return [...document.querySelectorAll(".math.inline")]
      .map((one) => [one.tabIndex === 0, one.dataset.more ?? ""])"""
    engine.expect(lambda: len(engine.run(found)) > 3, "formulas in lines")
    engine.run("dispatchEvent(new Event('resize'))")
    assert {tuple(one) for one in engine.run(found)} == {(False, "")}


def test_a_log_is_uploaded_and_progress_is_exported(engine: Engine, tmp_path: Path) -> None:
    log = tmp_path / "nccl.txt"
    log.write_text("hello\n")
    engine.go("/measured")
    engine.choose_file("[type=file]", log)
    engine.click("form.measuring button")
    engine.see(".feedback", "")
    engine.go("/progress")
    saved = "return fetch('/progress/export').then((answer) => answer.text())"
    assert '"attempts"' in engine.run(saved)
