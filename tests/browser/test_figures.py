"""Where figures stand on a screen, and whether they can be read there."""

import gzip
import io
import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, ViewportSize, expect

from app.core.measurements.published import SAMPLES
from app.core.measurements.trace.redaction import slim
from app.course.explorers import EXPLORERS
from app.course.explorers.base import open_explorer
from app.course.explorers.controls import address_text
from tests.browser.accessible import assert_good_on_every_screen
from tests.browser.conftest import MakePage

pytestmark = pytest.mark.slow(90)

HIGHEST = 560  # pixels from the top of the page to the first figure, at 1280 by 800
WIDE: ViewportSize = {"width": 1280, "height": 800}
BAR = 56  # pixels that the bar covers at the top
SMALLEST = 10  # pixels, of letters
LETTERS = """() => [...document.querySelectorAll("svg.figure")]
  .filter((svg) => svg.getClientRects().length)
  .flatMap((svg) => {
    const scale = svg.getScreenCTM().a;
    const edge = svg.getBoundingClientRect();
    return [...svg.querySelectorAll("text")].filter((text) => text.textContent.trim()).map((text) => {
      const box = text.getBoundingClientRect();
      return {
        says: text.textContent.trim(),
        size: scale * parseFloat(getComputedStyle(text).fontSize),
        out: Math.max(edge.left - box.left, box.right - edge.right, edge.top - box.top,
          box.bottom - edge.bottom),
      };
    });
  })"""
TOP = """() => [...document.querySelectorAll(".drawn svg.figure")]
  .find((svg) => svg.getClientRects().length).getBoundingClientRect().top"""
BESIDE = """() => document.querySelector(".settings").getBoundingClientRect().right
  < document.querySelector(".drawn").getBoundingClientRect().left"""
SIDEWAYS = """() => document.documentElement.scrollWidth > innerWidth
  || [...document.querySelectorAll(".canvas")].some((box) =>
    getComputedStyle(box).overflowX !== "visible" && box.scrollWidth > box.clientWidth)"""


def shared(name: str) -> str:
    """The address of the explorer as it starts, as *Copy link* gives it."""
    found = open_explorer(EXPLORERS, name)
    return "&".join(f"{c.name}={address_text(c, found.values[c.name])}" for c in found.explorer.controls).replace(
        " ", "+"
    )


# Addresses of one page, whose three questions stand above its figure, and everything else behind doors.
RUN = {"fit", "layout", "run"}


def open_doors(page: Page) -> None:
    page.evaluate("document.querySelectorAll('details.door').forEach((door) => (door.open = true))")


def top_of_the_first_figure(page: Page) -> float:
    return float(page.evaluate(TOP))


@pytest.mark.sweep
@pytest.mark.parametrize("name", sorted(EXPLORERS))
def test_an_explorer_is_accessible_fits_every_screen_and_has_its_first_figure_in_sight(
    open_page: MakePage, name: str
) -> None:
    page = open_page(f"/explore/{name}?show=1")
    page.set_viewport_size(WIDE)
    assert top_of_the_first_figure(page) <= HIGHEST
    assert_good_on_every_screen(page)


def test_the_figure_of_a_run_stays_in_sight_while_a_question_changes(open_page: MakePage) -> None:
    page = open_page("/explore/fit")
    page.set_viewport_size(WIDE)
    page.locator(".questions select").last.focus()
    page.evaluate("document.querySelector('#explored').classList.add('before')")
    page.keyboard.press("ArrowDown")
    expect(page.locator("#explored:not(.before)")).to_be_visible()
    assert BAR <= top_of_the_first_figure(page) <= HIGHEST


@pytest.mark.parametrize("name", sorted(EXPLORERS.keys() - RUN))
def test_the_first_figure_stays_in_sight_while_a_control_moves(open_page: MakePage, name: str) -> None:
    page = open_page(f"/explore/{name}?{shared(name)}")
    page.set_viewport_size(WIDE)
    assert top_of_the_first_figure(page) <= HIGHEST
    control = page.locator(".control .slide, .control select").last
    control.focus()  # this may scroll the settings, and the page a little
    at_its_end = control.evaluate("control => control.value === control.max")
    slides = control.get_attribute("type") == "range"
    page.evaluate("document.querySelector('#explored').classList.add('before')")
    page.keyboard.press(("Home" if at_its_end else "End") if slides else "ArrowDown")
    expect(page.locator("#explored:not(.before)")).to_be_visible()
    assert BAR <= top_of_the_first_figure(page) <= HIGHEST
    assert page.evaluate(BESIDE)


@pytest.mark.parametrize("name", sorted(EXPLORERS))
def test_a_narrow_figure_is_whole_and_legible(open_page: MakePage, name: str) -> None:
    page = open_page(f"/explore/{name}?show=1", width=390)
    if name in RUN:
        open_doors(page)
    else:
        expect(page.locator(".control").first).to_be_hidden()  # folded
    for width, height in ((390, 844), (320, 640)):
        page.set_viewport_size({"width": width, "height": height})
        figures = page.locator(".drawn svg.figure:visible")
        assert figures.count() == page.locator(".drawn").count()
        # The answer of a run is a sentence: its figure begins on the first screen, below three questions and the answer.
        assert top_of_the_first_figure(page) <= (0.8 if name in RUN else 0.6) * height
        if name in RUN:
            answer = page.locator(".answer-first").bounding_box()
            assert answer
            assert answer["y"] <= 0.6 * height
        assert_legible(page)


@pytest.mark.parametrize(
    "state",
    [
        "pipeline?stages=16&microbatches=64&schedule=dualpipe&against=zb_v",
        "ring?ranks=12&step=9&size=100000",
        "layout?model=DeepSeek-V3&expert=64&virtual=1&context=4",
        "fit?gpus=1&tensor=1&pipeline=1&virtual=1&stage=3",
        "memory?parameters=2000&ranks=16384&recipe=18",
        "routing?experts=256&active=8&ranks=64&tokens=4096",
        "formats?format=fp32&weight=999",
        "overlap?layers=128&what=weights&ahead=4",
        "split?ranks=32&hidden=16384&wide=65536",
        "run?parameters=2000&tokens=100&gpus=1&watts=2000",
        "hybrid-sharding?gpus=4096&weights=2000",
    ],
)
def test_the_largest_figures_are_whole_and_legible_on_the_narrowest_phone(open_page: MakePage, state: str) -> None:
    page = open_page(f"/explore/{state}", width=320)
    open_doors(page)
    assert page.locator(".drawn svg.figure:visible").count() == page.locator(".drawn").count()
    assert_legible(page)


def assert_legible(page: Page) -> None:
    assert not page.evaluate(SIDEWAYS)
    letters = page.evaluate(LETTERS)
    assert letters
    for text in letters:
        assert text["size"] >= SMALLEST, text
        assert text["out"] <= 1, text


@pytest.mark.parametrize("path", ["/", "/chapters/tensor", "/measured/h100-16-p5"])
@pytest.mark.parametrize("width", [1280, 390, 320])
def test_figures_elsewhere_are_whole_and_legible_too(open_page: MakePage, path: str, width: int) -> None:
    assert_legible(open_page(path, width=width))


def test_settings_on_a_phone_fold_and_stay_open_while_they_are_used(open_page: MakePage) -> None:
    page = open_page("/explore/pipeline?show=1", width=390)
    page.set_viewport_size({"width": 390, "height": 844})
    page.get_by_text("Settings", exact=True).click()
    stages = page.get_by_label("Stages, slider")
    stages.focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".drawn svg:visible").first).to_have_attribute("aria-label", re.compile("5 stages"))
    expect(stages).to_be_visible()
    assert 0 < top_of_the_first_figure(page) < 400  # above the settings, in sight
    page.get_by_text("Settings", exact=True).click()
    expect(stages).to_be_hidden()


def test_an_update_brings_the_width_that_is_shown_and_a_turn_brings_the_other(open_page: MakePage) -> None:
    page = open_page("/explore/memory?show=1", width=390)
    both = page.locator(".drawn svg.figure")
    expect(both).to_have_count(2)
    page.locator("#c-ranks").evaluate(
        "box => { box.value = 8; box.dispatchEvent(new Event('input', {bubbles: true})); }"
    )
    expect(page.locator(".facts")).to_contain_text("140 GB")
    expect(both).to_have_count(1)
    expect(page.locator("svg.narrow")).to_be_visible()
    page.set_viewport_size({"width": 1280, "height": 800})
    expect(page.locator("svg.wide")).to_be_visible()
    expect(both).to_have_count(1)


def test_paper_gets_the_wide_figure(open_page: MakePage) -> None:
    page = open_page("/explore/memory?show=1", width=390)
    expect(page.locator("svg.narrow")).to_be_visible()
    page.emulate_media(media="print")
    expect(page.locator("svg.wide")).to_be_visible()
    expect(page.locator("svg.narrow")).to_be_hidden()


def test_settings_unfold_without_scripts_and_without_a_wide_screen(open_page: MakePage) -> None:
    page = open_page("/explore/memory?show=1", width=390, script=False)
    expect(page.locator("svg.narrow")).to_be_visible()
    page.get_by_text("Settings", exact=True).click()
    page.fill("#c-ranks", "8")
    page.get_by_role("button", name="Show").click()
    expect(page.locator("svg.narrow")).to_be_visible()
    expect(page.locator(".facts")).to_contain_text("140 GB")


UNPACKED = """async () => {
  const [file] = document.querySelector("[name=file]").files;
  return new Response(file.stream().pipeThrough(new DecompressionStream("gzip"))).text();
}"""


def test_a_trace_is_made_slim_before_it_is_sent(open_page: MakePage, tmp_path: Path) -> None:
    page = open_page("/measured")
    file = json.loads(gzip.decompress(SAMPLES[1].path.read_bytes()))
    private = {"ph": "X", "cat": "python_function", "name": "/home/secret/a.py", "ts": 1, "dur": 2}
    file["traceEvents"][5:5] = [private, {**private, "cat": "kernel", "args": {"stack": "}],secret"}}]
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(file | {"traceName": "/secret"}), encoding="utf-8")
    page.locator("form[data-slim]").evaluate("form => { form.submit = () => {}; }")
    page.set_input_files("[name=file]", path)
    page.get_by_role("button", name="Compare").click()
    expect(page.get_by_role("status")).to_have_text("Sending and reading…")
    kept = json.loads(page.evaluate(UNPACKED))
    assert "secret" not in json.dumps(kept)
    own = io.BytesIO()
    with path.open("rb") as source:
        slim(source, own, packed=False)
    assert kept == json.loads(own.getvalue())
